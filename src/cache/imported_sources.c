/*
 * The foreign histories whose samples a target's histories contain.
 */
#include "cache/imported_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

bool imported_has(const struct target *t, const char *container, uint64_t source)
{
        for (int i = 0; t->imported && i < t->imported->count; i++)
                if (t->imported->of[i].container == container && t->imported->of[i].source == source)
                        return true;
        return false;
}

void imported_add(struct target *t, const char *container, uint64_t source)
{
        int count = t->imported ? t->imported->count : 0;
        if (imported_has(t, container, source) || count == IMPORTED_MOST)
                return;
        struct imported *more = mem_new(sizeof *more + (size_t)(count + 1) * sizeof more->of[0]);
        if (count)
                memcpy(more->of, t->imported->of, (size_t)count * sizeof more->of[0]);
        more->of[count] = (struct imported_source){intern_keep(container), source};
        more->count = count + 1;
        mem_free(t->imported);
        t->imported = more;
}

void imported_inherit(struct cache *w, struct target *t, struct target *old)
{
        for (int i = 0; old->imported && i < old->imported->count; i++)
                imported_add(t, old->imported->of[i].container, old->imported->of[i].source);
        t->apply_state_dirty |= old->imported != NULL;
        imported_forget(w, old);
}

void imported_forget(struct cache *w, struct target *t)
{
        for (int i = 0; t->imported && i < t->imported->count; i++)
                intern_drop(w->names, t->imported->of[i].container);
        mem_free(t->imported);
        t->imported = NULL;
}

json_t *imported_print(const struct target *t)
{
        json_t *all = json_object();
        char source[20];
        for (int i = 0; i < t->imported->count; i++) {
                json_t *list = json_object_get(all, t->imported->of[i].container);
                if (!list)
                        json_object_set_new(all, t->imported->of[i].container, list = json_array());
                snprintf(source, sizeof source, "%016llx", (unsigned long long)t->imported->of[i].source);
                json_array_append_new(list, json_string(source));
        }
        return all;
}

void imported_read(struct cache *w, struct target *t, const json_t *printed)
{
        const char *name;
        json_t *list, *source;
        size_t i;
        json_object_foreach((json_t *)(uintptr_t)printed, name, list)
        {
                const char *container = intern_text(w->names, text_of(name));
                json_array_foreach(list, i, source)
                {
                        const char *digits = json_string_value(source);
                        if (digits)
                                imported_add(t, container, strtoull(digits, NULL, 16));
                }
                intern_drop(w->names, container);
        }
}
