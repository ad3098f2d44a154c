/* Loaded before libc (LD_PRELOAD): while the file $FAILING_SYNC exists, no write-ahead log can be synced. If the file is
   not empty, as many syncs succeed first as it has octets. What was written to it stays where the system keeps it, as
   with a disk that fails once. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(int descriptor) {
  const char *switch_file = getenv("FAILING_SYNC");
  char link[64], target[4096];
  struct stat state;
  if (switch_file == NULL || stat(switch_file, &state) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 4 || memcmp(target + length - 4, "-wal", 4) != 0) return 0;
  if (state.st_size == 0) return 1;
  truncate(switch_file, state.st_size - 1);
  return 0;
}

static int sync_by(long call, int descriptor) {
  if (!fails(descriptor)) return (int)syscall(call, descriptor);
  errno = EIO;
  return -1;
}

int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }
