/*
 * A library to preload (LD_PRELOAD) that makes calls of the file system fail, or stops the process exactly there.
 *
 *   gcc -O2 -Wall -shared -fPIC -o faultfs.so faultfs.c -ldl
 *   FAULTFS_PLAN=plan FAULTFS_MATCH=/tmp/dir LD_PRELOAD=$PWD/faultfs.so node worker.js …
 *
 * FAULTFS_MATCH  calls on files whose path contains this text are looked at, all others go through; "$" at its end stands for
 *                the end of the path
 * FAULTFS_EXCEPT calls on files whose path contains this text go through all the same; none unless set
 * FAULTFS_PLAN   a file that holds one `struct plan`. It is shared memory: whoever writes the file (the test, or the process
 *                under test itself) changes the plan from the next call on, and reads there how many calls were seen.
 *
 * Without these two variables the library does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum operation { NOTHING, WRITE, SYNC, TRUNCATE, READ };

enum action {
  /* The call fails with `error`. */
  FAIL = 1,
  /* kill -9 of this process. */
  KILL = 2,
  /* Prints "POINT <number of the call>" and goes on after a byte on standard input: what is on disk until then is what a kill
     at this call would leave behind. */
  FREEZE = 3,
  /* A write with an offset is done with one bit turned over, and nobody is told. */
  FLIP = 4,
  /* Of a write with an offset half is done, and that is told. */
  SHORT = 5
};

/* Little-endian numbers of eight bytes; test/support/faultfs.ts writes and reads the same. */
struct plan {
  int64_t operation;
  int64_t action;
  /* Half of the bytes are written before the action is taken. */
  int64_t torn;
  /* An errno: 28 is ENOSPC, 5 is EIO. */
  int64_t error;
  /* The first call to act at: 1 is the next one. */
  int64_t first;
  /* From then on, act at every so many-th call. */
  int64_t step;
  /* How often to act; -1 is for ever. */
  int64_t count;
  /* Out: calls of this operation so far, and how often was acted. */
  int64_t seen;
  int64_t acted;
};

static struct plan *plan;
static const char *match;
static const char *except;

__attribute__((constructor)) static void load_plan(void) {
  const char *file = getenv("FAULTFS_PLAN");
  match = getenv("FAULTFS_MATCH");
  except = getenv("FAULTFS_EXCEPT");
  if (!file || !match) return;
  int descriptor = open(file, O_RDWR | O_CLOEXEC);
  void *mapped = MAP_FAILED;
  if (descriptor >= 0) {
    mapped = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
  }
  if (mapped == MAP_FAILED) {
    /* A test that silently injects nothing would pass. */
    fprintf(stderr, "faultfs: the plan %s cannot be read\n", file);
    _exit(99);
  }
  plan = mapped;
}

static int is_matched(int descriptor) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (except && *except && strstr(path, except)) return 0;
  size_t wanted = strlen(match);
  if (wanted == 0 || match[wanted - 1] != '$') return strstr(path, match) != NULL;
  wanted -= 1;
  return (size_t)length >= wanted && memcmp(path + length - wanted, match, wanted) == 0;
}

/* The number of the call if something is to happen at it, else 0. Leaves errno as it is. */
static int64_t hit(int descriptor, enum operation operation) {
  if (!plan || plan->operation != operation) return 0;
  int before = errno;
  int matched = is_matched(descriptor);
  errno = before;
  if (!matched) return 0;
  int64_t seen = __atomic_add_fetch(&plan->seen, 1, __ATOMIC_SEQ_CST);
  if (seen < plan->first) return 0;
  if (plan->step > 1 && (seen - plan->first) % plan->step != 0) return 0;
  if (plan->count >= 0 && plan->acted >= plan->count) return 0;
  __atomic_add_fetch(&plan->acted, 1, __ATOMIC_SEQ_CST);
  return seen;
}

#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* Writes a copy in which one bit is another. Which one follows from the number of the call. */
static ssize_t write_flipped(__typeof__(&pwrite64) real, int descriptor, const void *bytes, size_t length, off64_t offset,
                             int64_t call) {
  unsigned char *copy = malloc(length);
  if (!copy) return real(descriptor, bytes, length, offset);
  memcpy(copy, bytes, length);
  copy[(size_t)(call * 2654435761u) % length] ^= (unsigned char)(1u << (call % 8));
  ssize_t written = real(descriptor, copy, length, offset);
  int after = errno;
  free(copy);
  errno = after;
  return written;
}

/* Whether the call is to fail (errno says why). After a freeze it goes on as if nothing had been. */
static int act(int64_t call) {
  if (plan->action == FLIP || plan->action == SHORT) return 0;
  if (plan->action == KILL) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (plan->action == FREEZE) {
    char byte;
    dprintf(STDOUT_FILENO, "POINT %lld\n", (long long)call);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) continue;
    return 0;
  }
  errno = (int)plan->error;
  return 1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  REAL(pwrite64);
  int64_t call = hit(descriptor, WRITE);
  if (call && length > 1 && plan->action == FLIP) return write_flipped(real, descriptor, bytes, length, offset, call);
  if (call && length > 1 && plan->action == SHORT) return real(descriptor, bytes, length / 2, offset);
  if (call) {
    if (plan->torn && real(descriptor, bytes, length / 2, offset) < 0) return -1;
    if (act(call)) return -1;
  }
  return real(descriptor, bytes, length, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  return pwrite64(descriptor, bytes, length, offset);
}

/* Files that are written without an offset are small and new (the name of the lock's owner): never torn, so that a call that
   goes on after a freeze has not moved the file's own offset. */
ssize_t write(int descriptor, const void *bytes, size_t length) {
  REAL(write);
  int64_t call = hit(descriptor, WRITE);
  if (call && act(call)) return -1;
  return real(descriptor, bytes, length);
}

int fsync(int descriptor) {
  REAL(fsync);
  int64_t call = hit(descriptor, SYNC);
  if (call && act(call)) return -1;
  return real(descriptor);
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  int64_t call = hit(descriptor, SYNC);
  if (call && act(call)) return -1;
  return real(descriptor);
}

int ftruncate64(int descriptor, off64_t length) {
  REAL(ftruncate64);
  int64_t call = hit(descriptor, TRUNCATE);
  if (call && act(call)) return -1;
  return real(descriptor, length);
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

ssize_t pread64(int descriptor, void *bytes, size_t length, off64_t offset) {
  REAL(pread64);
  int64_t call = hit(descriptor, READ);
  if (call && act(call)) return -1;
  return real(descriptor, bytes, length, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t length, off_t offset) {
  return pread64(descriptor, bytes, length, offset);
}
