/*
 * The list of the last hour's guards, which the fuses count (core/fuse_verdict.h). The list has a bound, and each
 * namespace has a share of it, so that one namespace cannot make the list forget what happened in other namespaces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/noun.h"
#include "base/yaml.h"
#include "safety_private.h"

enum { WORDS_MAX = 600, NAMED_MOST = 5, KEPT_MOST = 2 * FUSE_GUARDS_MOST, SHARE_MOST = FUSE_GUARDS_MOST };

/* The namespace of a guard: its name up to the slash. */
static struct text guard_namespace(const char *name)
{
        return (struct text){name, strcspn(name, "/")};
}

/* --- forgetting --- */

static void guard_remove(struct fuse *f, int i)
{
        mem_free(f->guard[i].name);
        mem_free(f->guard[i].profile);
        f->guards--;
        memmove(f->guard + i, f->guard + i + 1, (size_t)(f->guards - i) * sizeof *f->guard);
}

void fuse_guards_forget_old(struct fuse *f, int64_t now_ms)
{
        for (int i = f->guards - 1; i >= 0; i--) {
                if (f->guard[i].at_ms > now_ms) /* from a clock that was ahead: the guard's hour begins now */
                        f->guard[i].at_ms = now_ms;
                if (!fuse_is_recent(&f->guard[i], now_ms))
                        guard_remove(f, i);
        }
}

void fuse_guards_release(struct fuse *f)
{
        while (f->guards > 0)
                guard_remove(f, f->guards - 1);
        mem_free(f->guard);
        f->guard = NULL;
}

void fuse_guards_end(struct fuse *f, const char *profile, const char *ns)
{
        for (int i = f->guards - 1; i >= 0; i--) {
                struct fuse_guard *g = &f->guard[i];
                if (strcmp(g->profile, profile) != 0 || (ns && !text_is(guard_namespace(g->name), ns)))
                        continue;
                if (g->reach < FUSE_CLUSTER) {
                        guard_remove(f, i);
                } else {
                        mem_free(g->profile);
                        g->profile = mem_string("");
                }
        }
}

/* --- adding --- */

/* The place of the oldest guard that no scope wider than `reach` counts: of name's namespace, or of any (name NULL);
 * -1: none. */
static int guard_oldest(const struct fuse *f, const char *name, enum fuse_scope reach)
{
        for (int i = 0; i < f->guards; i++)
                if (f->guard[i].reach <= reach &&
                    (!name || text_equal(guard_namespace(name), guard_namespace(f->guard[i].name))))
                        return i;
        return -1;
}

/* Remove a guard if there is no room for a new one of `name`: the namespace's oldest if its share is used up, else the
 * oldest of a full list. Guards that the cluster's fuse counts go last, so that a namespace cannot count twice
 * there. */
static void guard_make_room(struct fuse *f, const char *name)
{
        int of_namespace = 0;
        for (int i = 0; i < f->guards; i++)
                of_namespace += text_equal(guard_namespace(name), guard_namespace(f->guard[i].name));
        if (of_namespace < SHARE_MOST && f->guards < KEPT_MOST)
                return;
        const char *from = of_namespace < SHARE_MOST ? NULL : name;
        int oldest = guard_oldest(f, from, FUSE_PROFILE);
        guard_remove(f, oldest >= 0 ? oldest : guard_oldest(f, from, FUSE_CLUSTER));
}

void fuse_guards_add(struct fuse *f, int64_t at_ms, const char *name, const char *profile, enum fuse_scope reach)
{
        guard_make_room(f, name);
        f->guard = mem_resize(f->guard, (size_t)f->guards + 1, sizeof *f->guard);
        f->guard[f->guards++] = (struct fuse_guard){at_ms, mem_string(name), mem_string(profile), reach};
}

/* --- in words --- */

char *fuse_guards_words(const struct fuse *f, const struct fuse_guard *of, enum fuse_scope scope, bool named)
{
        AUTO(buf_release) struct buf text;
        int count = 0, told = 0;
        buf_init(&text, WORDS_MAX);
        for (int i = 0; i < f->guards; i++)
                count += fuse_counts(scope, of, &f->guard[i]);
        (void)buf_printf(&text, "%s within an hour", NOUN_COUNT(count, "guard"));
        for (int i = f->guards - 1; i >= 0 && named && told < NAMED_MOST; i--) {
                if (!fuse_counts(scope, of, &f->guard[i]))
                        continue;
                if (buf_printf(&text, "%s%s", told ? ", " : ": ", f->guard[i].name) < 0)
                        break;
                told++;
        }
        if (named && count > NAMED_MOST)
                (void)buf_printf(&text, ", …");
        return mem_string_n(text.data, text.len);
}

/* --- as JSON --- */

json_t *fuse_guards_json(const struct fuse *f)
{
        json_t *list = json_array();
        for (int i = 0; i < f->guards; i++) {
                const struct fuse_guard *g = &f->guard[i];
                json_array_append_new(
                        list, json_pack("[I, s, s, i]", (json_int_t)g->at_ms, g->name, g->profile, (int)g->reach));
        }
        return list;
}

/* Read the list of guards. The previous version wrote only a guard's time and name, and counted each guard for the
 * cluster. */
void fuse_guards_read(struct fuse *f, const json_t *list)
{
        size_t i;
        json_t *row;
        json_array_foreach(list, i, row)
        {
                const char *name = json_string_value(json_array_get(row, 1));
                const char *profile = json_string_value(json_array_get(row, 2));
                json_int_t reach = json_integer_value(json_array_get(row, 3));
                bool narrower = reach >= FUSE_SHARE && reach < FUSE_CLUSTER;
                fuse_guards_add(f, (int64_t)json_integer_value(json_array_get(row, 0)), name ? name : "",
                                profile ? profile : "", narrower ? (enum fuse_scope)reach : FUSE_CLUSTER);
        }
}
