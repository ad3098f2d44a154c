/* Loaded before libc (LD_PRELOAD): while the file $FAILING_SYNC exists, no write-ahead log can be synced. What was
   written to it stays where the system keeps it, as with a disk that fails once. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(int descriptor) {
  const char *switch_file = getenv("FAILING_SYNC");
  char link[64], target[4096];
  if (switch_file == NULL || access(switch_file, F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, target, sizeof target - 1);
  return length >= 4 && memcmp(target + length - 4, "-wal", 4) == 0;
}

static int sync_by(long call, int descriptor) {
  if (!fails(descriptor)) return (int)syscall(call, descriptor);
  errno = EIO;
  return -1;
}

int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }
