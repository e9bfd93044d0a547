/*
 * Loaded into halflife before its libraries: the process kills itself before the KILL_AT_WRITE-th time that it changes
 * a file, as SQLite does. Log lines and sockets do not count.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long left;

__attribute__((constructor)) static void kill_begin(void)
{
        const char *at = getenv("KILL_AT_WRITE");
        left = at ? strtol(at, NULL, 10) : 0;
}

/* The next function of that name, once it is sure that the process goes on. */
static void *kill_or_next(const char *name)
{
        if (atomic_fetch_sub(&left, 1) == 1)
                kill(getpid(), SIGKILL);
        return dlsym(RTLD_NEXT, name);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
        ssize_t (*next)(int, const void *, size_t, off64_t) = kill_or_next(__func__);
        return next(fd, from, size, at);
}

int fsync(int fd)
{
        int (*next)(int) = kill_or_next(__func__);
        return next(fd);
}

int fdatasync(int fd)
{
        int (*next)(int) = kill_or_next(__func__);
        return next(fd);
}

int ftruncate64(int fd, off64_t size)
{
        int (*next)(int, off64_t) = kill_or_next(__func__);
        return next(fd, size);
}

int unlink(const char *path)
{
        int (*next)(const char *) = kill_or_next(__func__);
        return next(path);
}
