#include "path_rotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

#define DAY_MS (24 * (int64_t)HOUR_MS)

enum { CLOCKS_APART_MS = 5 * MINUTE_MS };

static bool is_path_name(const char *name, size_t len)
{
        return (len == ADMISSION_PATH_LEN && strspn(name, "0123456789abcdef") >= len) ||
               (len == strlen(ADMISSION_WELL_KNOWN) && strncmp(name, ADMISSION_WELL_KNOWN, len) == 0);
}

static void path_add(struct path_rotation *p, const char *name, size_t len, struct wall since)
{
        p->since[p->paths.count] = since;
        snprintf(p->paths.name[p->paths.count++], sizeof p->paths.name[0], "%.*s", (int)len, name);
}

struct path_rotation path_rotation_read(const char *text)
{
        struct path_rotation p = {0};
        for (const char *line = text; line && *line;) {
                char *name;
                long long seconds = strtoll(line, &name, 10);
                size_t len = strcspn(name, "\n");
                if (name == line || *name != ' ' || !is_path_name(name + 1, len - 1) || seconds < 0 ||
                    seconds > INT64_MAX / SECOND_MS || p.paths.count == ADMISSION_PATHS_MAX)
                        return (struct path_rotation){0};
                path_add(&p, name + 1, len - 1, (struct wall){seconds * SECOND_MS});
                line = name + len + (name[len] == '\n');
        }
        return p;
}

char *path_rotation_print(const struct path_rotation *p)
{
        char *text = mem_string("");
        for (int i = 0; i < p->paths.count; i++) {
                char *more = mem_printf("%s%lld %s\n", text, (long long)(p->since[i].ms / SECOND_MS), p->paths.name[i]);
                mem_free(text);
                text = more;
        }
        return text;
}

static int path_make(struct path_rotation *p, struct wall now, struct err *err)
{
        uint8_t bits[ADMISSION_PATH_LEN / 2];
        char name[ADMISSION_PATH_LEN + 1];
        if (getrandom(bits, sizeof bits, 0) != sizeof bits)
                return err_set(err, ERR_IO, "no random bits for a path: %m");
        for (size_t i = 0; i < sizeof bits; i++)
                snprintf(name + 2 * i, 3, "%02x", bits[i]);
        path_add(p, name, ADMISSION_PATH_LEN, now);
        return 1;
}

/* Begin the rotation: keep the path in force as the old path, and make a first new path. */
static int path_begin(struct path_rotation *p, const char *in_force, struct wall now, struct err *err)
{
        struct path_rotation fresh = {0};
        const char *old = *in_force == '/' && is_path_name(in_force + 1, strlen(in_force + 1)) ? in_force + 1
                                                                                               : ADMISSION_WELL_KNOWN;
        path_add(&fresh, old, strlen(old), now);
        int rc = path_make(&fresh, now, err);
        if (rc > 0)
                *p = fresh;
        return rc;
}

/* Somebody set the well-known path again, such as the manifests of an older version. Serve it beside the newest path,
 * as in the beginning. */
static void path_readmit(struct path_rotation *p, struct wall now)
{
        struct path_rotation fresh = {0};
        path_add(&fresh, ADMISSION_WELL_KNOWN, strlen(ADMISSION_WELL_KNOWN), now);
        path_add(&fresh, p->paths.name[p->paths.count - 1], ADMISSION_PATH_LEN, now);
        *p = fresh;
}

static void path_drop_oldest(struct path_rotation *p)
{
        memcpy(p->paths.name[0], p->paths.name[1], sizeof p->paths.name[0]);
        p->since[0] = p->since[1];
        p->paths.count = 1;
}

const char *path_rotation_current(const struct path_rotation *p, struct wall now)
{
        int newest = p->paths.count - 1;
        if (newest < 0)
                return NULL;
        bool spread = now.ms - p->since[newest].ms >= PATH_SPREAD_MS;
        return p->paths.name[newest > 0 && !spread ? newest - 1 : newest];
}

int path_rotation_step(struct path_rotation *p, const char *in_force, struct wall now, struct err *err)
{
        if (p->paths.count == 0)
                return path_begin(p, in_force, now, err);
        if (strcmp(in_force, "/" ADMISSION_WELL_KNOWN) == 0 && !admission_paths_has(&p->paths, text_of(in_force))) {
                path_readmit(p, now);
                return 1;
        }
        int newest = p->paths.count - 1;
        int64_t age = now.ms - p->since[newest].ms;
        if (age < -CLOCKS_APART_MS) { /* another process's clock was ahead: count from now */
                p->since[newest] = now;
                return 1;
        }
        if (newest == 0)
                return age >= PATH_DAYS * DAY_MS ? path_make(p, now, err) : 0;
        if (age < PATH_SPREAD_MS)
                return 0;
        bool had = *in_force == '/' && strcmp(in_force + 1, p->paths.name[newest]) == 0;
        if (!had) { /* the configuration got the new path only now: keep the old one as long again */
                p->since[newest].ms = now.ms - PATH_SPREAD_MS;
                return 1;
        }
        if (age < 2 * (int64_t)PATH_SPREAD_MS)
                return 0;
        path_drop_oldest(p);
        return 1;
}
