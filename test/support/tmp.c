#include "tmp.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

static char folder[256];
static pid_t maker;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
        (void)st, (void)type, (void)where;
        return remove(path);
}

/* A forked child that exits must not take its parent's files along. */
static void remove_folder(void)
{
        if (getpid() == maker)
                nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tmp_dir(void)
{
        const char *base = getenv("TMPDIR");
        if (folder[0])
                return folder;
        snprintf(folder, sizeof folder, "%s/halflife-test-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(folder)) {
                perror(folder);
                abort();
        }
        maker = getpid();
        atexit(remove_folder);
        return folder;
}

char *tmp_path(const char *name)
{
        return mem_printf("%s/%s", tmp_dir(), name);
}

char *tmp_file(const char *name, const char *text)
{
        char *path = tmp_path(name);
        FILE *out = fopen(path, "w");
        if (!out || fputs(text, out) < 0 || fclose(out) != 0) {
                perror(path);
                abort();
        }
        return path;
}
