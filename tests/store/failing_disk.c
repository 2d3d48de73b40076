/* Stands before the C library's calls that write, and fails, or kills the process, at the n-th on memory.db. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

long calls = 0, syncs = 0, fail_at = 0, kill_at = 0;
int fail_errno = EIO;

static int on_memory_db(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "memory.db") != NULL;
}

static int fails(int fd, int sync) {
    if (!on_memory_db(fd)) return 0;
    calls++;
    syncs += sync;
    if (kill_at && calls == kill_at) raise(SIGKILL);
    if (!fail_at || calls != fail_at) return 0;
    errno = fail_errno;
    return 1;
}

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *from, size_t size) { return fails(fd, 0) ? -1 : REAL(write)(fd, from, size); }
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) { return fails(fd, 0) ? -1 : REAL(pwrite)(fd, from, size, at); }
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) { return fails(fd, 0) ? -1 : REAL(pwrite64)(fd, from, size, at); }
int fsync(int fd) { return fails(fd, 1) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(fd, 1) ? -1 : REAL(fdatasync)(fd); }
int ftruncate(int fd, off_t size) { return fails(fd, 0) ? -1 : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return fails(fd, 0) ? -1 : REAL(ftruncate64)(fd, size); }
