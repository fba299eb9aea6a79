/*
 * A library to preload (LD_PRELOAD) that writes down what a process does to its files, for a simulation of power cuts.
 *
 *   gcc -O2 -Wall -shared -fPIC -o recordfs.so recordfs.c -ldl
 *   RECORDFS_LOG=record RECORDFS_MATCH=/tmp/dir/log.db LD_PRELOAD=$PWD/recordfs.so node worker.js …
 *
 * RECORDFS_MATCH  files whose path contains this text are recorded
 * RECORDFS_LOG    where to: one record after the other, each
 *                   u8 operation, u32 length of path, path, i64 offset or size, u32 length of data, data
 *                 with the operations W (write), S (sync), T (truncate), U (unlink), and A (a line "ACK …" on standard output).
 *
 * Each is written down after the call has succeeded. Without these two variables the library does nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int record = -1;
static const char *match;
static ssize_t (*real_write)(int, const void *, size_t);
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void open_record(void) {
  const char *file = getenv("RECORDFS_LOG");
  match = getenv("RECORDFS_MATCH");
  real_write = dlsym(RTLD_NEXT, "write");
  if (!file || !match) return;
  record = open(file, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (record >= 0) return;
  /* A test that silently records nothing would pass. */
  fprintf(stderr, "recordfs: %s cannot be written\n", file);
  _exit(99);
}

static void put(const void *bytes, size_t length) {
  const char *from = bytes;
  while (length > 0) {
    ssize_t written = real_write(record, from, length);
    if (written <= 0) _exit(98);
    from += written;
    length -= (size_t)written;
  }
}

static void note(char operation, const char *path, int64_t number, const void *data, uint32_t length) {
  uint32_t path_length = (uint32_t)strlen(path);
  pthread_mutex_lock(&one_at_a_time);
  put(&operation, 1);
  put(&path_length, sizeof path_length);
  put(path, path_length);
  put(&number, sizeof number);
  put(&length, sizeof length);
  put(data, length);
  pthread_mutex_unlock(&one_at_a_time);
}

/* Whether the file is one that is recorded; its path is put into `path`. */
static int is_recorded(int descriptor, char path[4096]) {
  char link[64];
  if (record < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, match) != NULL;
}

#define REAL(name) \
  static typeof(&name) real; \
  if (!real) real = (typeof(&name))dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  REAL(pwrite64);
  char path[4096];
  ssize_t written = real(descriptor, bytes, length, offset);
  if (written > 0 && is_recorded(descriptor, path)) note('W', path, offset, bytes, (uint32_t)written);
  return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  return pwrite64(descriptor, bytes, length, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
  /* Before it is said: what was said was done before. */
  if (record >= 0 && descriptor == 1 && length > 4 && memcmp(bytes, "ACK ", 4) == 0)
    note('A', "", 0, bytes, (uint32_t)length);
  return real_write(descriptor, bytes, length);
}

int fsync(int descriptor) {
  REAL(fsync);
  char path[4096];
  int result = real(descriptor);
  if (result == 0 && is_recorded(descriptor, path)) note('S', path, 0, "", 0);
  return result;
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  char path[4096];
  int result = real(descriptor);
  if (result == 0 && is_recorded(descriptor, path)) note('S', path, 0, "", 0);
  return result;
}

int ftruncate64(int descriptor, off64_t size) {
  REAL(ftruncate64);
  char path[4096];
  int result = real(descriptor, size);
  if (result == 0 && is_recorded(descriptor, path)) note('T', path, size, "", 0);
  return result;
}

int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

int unlink(const char *path) {
  REAL(unlink);
  int result = real(path);
  if (result == 0 && record >= 0 && strstr(path, match)) note('U', path, 0, "", 0);
  return result;
}
