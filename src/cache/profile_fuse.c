#include "cache/profile_fuse.h"

#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

/* --- which fuses are blown --- */

const struct profile_fuse *profile_fuse_of(const struct profile *p, const char *ns)
{
        if (p->fuses.count == 0)
                return NULL;
        const struct profile_fuse *whole = map_get(&p->fuses, text_of(""));
        return whole || p->ns ? whole : map_get(&p->fuses, text_of(ns));
}

bool target_fused(const struct target *t)
{
        return t->profile && profile_fuse_of(t->profile, t->ns);
}

const struct profile_fuse *profile_fuse_first(const struct profile *p)
{
        const struct profile_fuse *f, *first = NULL;
        for (size_t at = 0; (f = map_each(&p->fuses, &at));)
                if (!first || f->blown_ms < first->blown_ms ||
                    (f->blown_ms == first->blown_ms && strcmp(f->ns, first->ns) < 0))
                        first = f;
        return first;
}

/* --- blowing and dropping fuses --- */

static void profile_fuse_free(struct profile_fuse *f)
{
        mem_free(f->ns);
        mem_free(f->why);
        mem_free(f);
}

static void profile_fuses_clear(struct map *fuses)
{
        struct profile_fuse *f;
        for (size_t at = 0; (f = map_each(fuses, &at));)
                profile_fuse_free(f);
        map_release(fuses);
}

static void profile_fuse_put(struct map *fuses, const char *ns, int64_t blown_ms, int64_t generation, const char *why)
{
        if (map_get(fuses, text_of(ns)))
                return;
        struct profile_fuse *f = MEM_NEW(struct profile_fuse);
        *f = (struct profile_fuse){mem_string(ns), blown_ms, generation, mem_string(why)};
        map_put(fuses, text_of(f->ns), f);
}

void profile_fuse_blow(struct profile *p, const char *ns, int64_t blown_ms, int64_t generation, const char *why)
{
        profile_fuse_put(&p->fuses, ns, blown_ms, generation, why);
}

void profile_fuse_drop(struct profile *p, struct profile_fuse *f)
{
        map_drop(&p->fuses, text_of(f->ns));
        profile_fuse_free(f);
}

/* --- fuses as JSON --- */

static int compare_fuses(const void *a, const void *b)
{
        const struct profile_fuse *const *x = a, *const *y = b;
        return strcmp((*x)->ns, (*y)->ns);
}

json_t *profile_fuses_json(const struct profile *p)
{
        if (p->fuses.count == 0)
                return NULL;
        AUTO(mem_free) const struct profile_fuse **sorted = mem_new_array(p->fuses.count, sizeof *sorted);
        const struct profile_fuse *f;
        size_t n = 0;
        for (size_t at = 0; (f = map_each(&p->fuses, &at));)
                sorted[n++] = f;
        qsort(sorted, n, sizeof *sorted, compare_fuses);
        json_t *list = json_array();
        for (size_t i = 0; i < n; i++) {
                char time[WALL_TEXT_MAX];
                f = sorted[i];
                json_t *row = json_pack("{s:s, s:I, s:s}", "since", wall_print((struct wall){f->blown_ms}, time),
                                        "generation", (json_int_t)f->generation, "message", f->why);
                if (*f->ns)
                        json_object_set_new(row, "namespace", json_string(f->ns));
                json_array_append_new(list, row);
        }
        return list;
}

static void fuses_parse(struct map *fuses, const json_t *list)
{
        size_t i;
        json_t *row;
        json_array_foreach(list, i, row)
        {
                const char *since = json_string_value(json_object_get(row, "since"));
                const char *ns = json_string_value(json_object_get(row, "namespace"));
                const char *why = json_string_value(json_object_get(row, "message"));
                struct wall at;
                if (fuses->count <= PROFILE_FUSES_MOST && since && wall_parse(since, strlen(since), &at) == 0)
                        profile_fuse_put(fuses, ns ? ns : "", at.ms,
                                         (int64_t)json_integer_value(json_object_get(row, "generation")),
                                         why ? why : "");
        }
}

void profile_fuses_add(struct profile *p, const json_t *list)
{
        fuses_parse(&p->fuses, list);
}

/* --- fuses in a profile's status --- */

void profile_fuses_read(struct profile *p, const json_t *status)
{
        profile_fuses_clear(&p->fuses_told);
        fuses_parse(&p->fuses_told, json_object_get(status, "fuses"));
}

void profile_fuses_follow(struct profile *p)
{
        const struct profile_fuse *f;
        profile_fuses_clear(&p->fuses);
        for (size_t at = 0; (f = map_each(&p->fuses_told, &at));)
                if (f->generation == p->generation)
                        profile_fuse_blow(p, f->ns, f->blown_ms, f->generation, f->why);
}

void profile_fuses_release(struct profile *p)
{
        profile_fuses_clear(&p->fuses);
        profile_fuses_clear(&p->fuses_told);
}
