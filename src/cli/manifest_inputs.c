#include "manifest_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_read.h"
#include "base/mem.h"

enum { DEPTH_MAX = 32 };

static int input_keep(struct inputs *m, const char *path, char *data, size_t len, struct err *err)
{
        if (m->count == INPUTS_MAX || m->bytes + len > INPUT_BYTES_MAX) {
                mem_free(data);
                return err_set(err, ERR_TOOBIG, "'%s': more than %d files or %d MiB at once: render them in parts",
                               path, INPUTS_MAX, INPUT_BYTES_MAX >> 20);
        }
        if (m->count == m->cap) {
                m->cap = m->cap ? m->cap * 2 : 16;
                m->item = mem_resize(m->item, m->cap, sizeof *m->item);
        }
        m->bytes += len;
        m->item[m->count++] = (struct input){mem_string(path), data, {data, len}};
        return 0;
}

static int add_file(struct inputs *m, const char *path, struct err *err)
{
        size_t len;
        char *data = file_read_input(path, INPUT_BYTES_MAX, &len, err);
        return data ? input_keep(m, path, data, len, err) : err->code;
}

static int add_stdin(struct inputs *m, struct err *err)
{
        char *data = NULL;
        size_t len = 0, cap = 0;
        if (m->stdin_read)
                return err_set(err, ERR_INVALID, "standard input ('-') can be given only once");
        m->stdin_read = true;
        for (ssize_t n = 1; n > 0 && len <= INPUT_BYTES_MAX; len += n > 0 ? (size_t)n : 0) {
                if (len == cap) {
                        cap = cap ? cap * 2 : 64 << 10;
                        data = mem_resize(data, cap, 1);
                }
                do
                        n = read(STDIN_FILENO, data + len, cap - len);
                while (n < 0 && errno == EINTR);
                if (n < 0) {
                        mem_free(data);
                        return err_set(err, ERR_IO, "standard input: %m");
                }
        }
        return input_keep(m, "-", data, len, err);
}

/* --- folders --- */

static int by_name(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_manifest(const char *name)
{
        const char *dot = strrchr(name, '.');
        return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

/* Read the names in a folder, sorted, without those that begin with a dot. The caller frees the names and the array. */
static int read_names(const char *path, char ***ret, size_t *ret_count, struct err *err)
{
        DIR *d = opendir(path);
        char **name = NULL;
        size_t count = 0, cap = 0;
        if (!d)
                return err_set(err, ERR_IO, "'%s': %m", path);
        for (const struct dirent *e; (e = readdir(d));) {
                if (e->d_name[0] == '.')
                        continue;
                if (count == cap) {
                        cap = cap ? cap * 2 : 64;
                        name = mem_resize(name, cap, sizeof *name);
                }
                name[count++] = mem_string(e->d_name);
        }
        closedir(d);
        if (count)
                qsort(name, count, sizeof *name, by_name);
        *ret = name;
        *ret_count = count;
        return 0;
}

static int add_folder(struct inputs *m, const char *path, int depth, struct err *err);

static int add_entry(struct inputs *m, const char *folder, const char *name, int depth, struct err *err)
{
        bool slash = folder[strlen(folder) - 1] == '/';
        AUTO(mem_free) char *path = mem_printf("%s%s%s", folder, slash ? "" : "/", name);
        struct stat st;
        if (stat(path, &st) < 0)
                return is_manifest(name) ? err_set(err, ERR_IO, "'%s': %m", path) : 0;
        if (S_ISDIR(st.st_mode))
                return add_folder(m, path, depth + 1, err);
        return S_ISREG(st.st_mode) && is_manifest(name) ? add_file(m, path, err) : 0;
}

static int add_folder(struct inputs *m, const char *path, int depth, struct err *err)
{
        char **name = NULL;
        size_t count = 0;
        if (depth > DEPTH_MAX)
                return err_set(err, ERR_TOOBIG, "'%s': folders more than %d deep: does a link lead back?", path,
                               DEPTH_MAX);
        int rc = read_names(path, &name, &count, err);
        for (size_t i = 0; rc == 0 && i < count; i++)
                rc = add_entry(m, path, name[i], depth, err);
        for (size_t i = 0; i < count; i++)
                mem_free(name[i]);
        mem_free(name);
        return rc;
}

int inputs_add(struct inputs *m, const char *path, struct err *err)
{
        struct stat st;
        size_t before = m->count;
        if (strcmp(path, "-") == 0)
                return add_stdin(m, err);
        if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
                return add_file(m, path, err);
        int rc = add_folder(m, path, 0, err);
        if (rc == 0 && m->count == before)
                return err_set(err, ERR_NOTFOUND, "'%s' contains no *.yaml, *.yml or *.json", path);
        return rc;
}

void inputs_release(struct inputs *m)
{
        for (size_t i = 0; i < m->count; i++) {
                mem_free(m->item[i].path);
                mem_free(m->item[i].data);
        }
        mem_free(m->item);
        *m = (struct inputs){0};
}
