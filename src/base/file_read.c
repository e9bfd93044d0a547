#include "base/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

static int file_read_code(void)
{
        return errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND
               : errno == EACCES || errno == EPERM ? ERR_DENIED
                                                   : ERR_IO;
}

static int file_read_rest(int fd, const char *path, struct buf *b, struct err *err)
{
        for (;;) {
                char part[16384];
                ssize_t n = read(fd, part, sizeof part);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return err_set(err, file_read_code(), "read '%s': %m", path);
                if (n == 0)
                        return 0;
                if (buf_add(b, part, (size_t)n) < 0)
                        return err_set(err, ERR_TOOBIG, "read '%s': the file is longer than %zu bytes", path, b->max);
        }
}

/* Reads the file open as fd to its end, and closes fd. */
static char *file_read_open(int fd, const char *path, size_t max, size_t *ret_len, struct err *err)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, max);
        int rc = file_read_rest(fd, path, &b, err);
        close(fd);
        if (rc < 0)
                return NULL;
        *ret_len = b.len;
        return buf_steal(&b);
}

char *file_read(const char *path, size_t max, size_t *ret_len, struct err *err)
{
        struct stat st;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0) {
                err_set(err, file_read_code(), "open '%s': %m", path);
                if (fd >= 0)
                        close(fd);
                return NULL;
        }
        if (S_ISREG(st.st_mode))
                return file_read_open(fd, path, max, ret_len, err);
        err_set(err, ERR_IO, "read '%s': it is a %s, not a file", path,
                S_ISDIR(st.st_mode)    ? "folder"
                : S_ISFIFO(st.st_mode) ? "pipe"
                                       : "device");
        close(fd);
        return NULL;
}

char *file_read_input(const char *path, size_t max, size_t *ret_len, struct err *err)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                return file_read_open(fd, path, max, ret_len, err);
        err_set(err, file_read_code(), "open '%s': %m", path);
        return NULL;
}
