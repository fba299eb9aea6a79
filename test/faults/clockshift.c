/*
 * A library to preload (LD_PRELOAD) that sets the wall clock of one process forward or back while it runs. The monotonic clock
 * is left alone, as it is when someone sets the time of a real machine.
 *
 *   gcc -O2 -Wall -shared -fPIC -o clockshift.so clockshift.c -ldl
 *   CLOCKSHIFT_FILE=offset LD_PRELOAD=$PWD/clockshift.so node worker.js …
 *
 * CLOCKSHIFT_FILE  a file that holds one little-endian number of eight bytes: milliseconds to add. It is shared memory: whoever
 *                  writes the file changes the clock from the next reading on.
 *
 * Without the variable the library does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset_ms;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void load_offset(void) {
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *file = getenv("CLOCKSHIFT_FILE");
  if (file == NULL) return;
  int descriptor = open(file, O_RDONLY);
  if (descriptor == -1) return;
  void *mapped = mmap(NULL, sizeof *offset_ms, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapped != MAP_FAILED) offset_ms = mapped;
}

static int64_t shift_ms(void) { return offset_ms == NULL ? 0 : *offset_ms; }

static int64_t wall_ns(void) {
  struct timespec now;
  /* Other constructors may ask for the time before ours has run. */
  if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + shift_ms() * 1000000;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    int64_t ns = wall_ns();
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
  }
  if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  return real_clock_gettime(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  int64_t ns = wall_ns();
  now->tv_sec = ns / 1000000000;
  now->tv_usec = ns % 1000000000 / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  time_t now = wall_ns() / 1000000000;
  if (seconds != NULL) *seconds = now;
  return now;
}
