/*
 * A library to preload (LD_PRELOAD) that sets the wall clock of one process forward or back while it runs. The monotonic clock
 * is left alone, as it is when someone sets the time of a real machine. Or it lets all clocks of the process go faster, and shortens
 * what its event loop waits for.
 *
 *   gcc -O2 -Wall -shared -fPIC -o clockshift.so clockshift.c -ldl
 *   CLOCKSHIFT_FILE=offset LD_PRELOAD=$PWD/clockshift.so node worker.js …
 *
 * CLOCKSHIFT_FILE  a file that holds little-endian numbers of eight bytes: milliseconds to add to the wall clock, and how many times
 *                  faster all clocks go (once if it is not there). It is shared memory: whoever writes the file changes the wall clock
 *                  from the next reading on; the speed is read once, when the process begins.
 *
 * Without the variable the library does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset_ms;
static int64_t speed = 1;
/* When the process began, by each of its clocks. */
static int64_t wall_began_ns;
static int64_t steady_began_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void load_offset(void) {
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *file = getenv("CLOCKSHIFT_FILE");
  if (file == NULL) return;
  int descriptor = open(file, O_RDONLY);
  if (descriptor == -1) return;
  void *mapped = mmap(NULL, 2 * sizeof *offset_ms, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) return;
  offset_ms = mapped;
  struct timespec now;
  real_clock_gettime(CLOCK_REALTIME, &now);
  wall_began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  real_clock_gettime(CLOCK_MONOTONIC, &now);
  steady_began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  if (offset_ms[1] > 1) speed = offset_ms[1];
}

static int64_t shift_ms(void) { return offset_ms == NULL ? 0 : *offset_ms; }

static int64_t wall_ns(void) {
  struct timespec now;
  /* Other constructors may ask for the time before ours has run. */
  if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_clock_gettime(CLOCK_REALTIME, &now);
  int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  if (speed > 1) ns = wall_began_ns + (ns - wall_began_ns) * speed;
  return ns + shift_ms() * 1000000;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    int64_t ns = wall_ns();
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
  }
  if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_clock_gettime(clock, now);
  if (result == 0 && speed > 1 && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)) {
    int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec;
    ns = steady_began_ns + (ns - steady_began_ns) * speed;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
  }
  return result;
}

/* What the event loop of Node waits with. A wait that is too short does no harm: the loop looks at the clock and waits again. */
static int shortened(int timeout_ms) { return timeout_ms > 0 && speed > 1 ? (int)(timeout_ms / speed) + 1 : timeout_ms; }

int epoll_wait(int descriptor, struct epoll_event *events, int count, int timeout_ms) {
  static __typeof__(&epoll_wait) real;
  if (real == NULL) real = (__typeof__(&epoll_wait))dlsym(RTLD_NEXT, "epoll_wait");
  return real(descriptor, events, count, shortened(timeout_ms));
}

int epoll_pwait(int descriptor, struct epoll_event *events, int count, int timeout_ms, const sigset_t *mask) {
  static __typeof__(&epoll_pwait) real;
  if (real == NULL) real = (__typeof__(&epoll_pwait))dlsym(RTLD_NEXT, "epoll_pwait");
  return real(descriptor, events, count, shortened(timeout_ms), mask);
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
