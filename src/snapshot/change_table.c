#include "snapshot/change_table.h"

#include <stdatomic.h>

static const char *const change_kinds[CHANGE_KINDS] = {
        [CHANGE_APPLIED] = "Applied",   [CHANGE_RAISED] = "Raised",   [CHANGE_DEPLOYED] = "Deployed",
        [CHANGE_ADMITTED] = "Admitted", [CHANGE_GUARDED] = "Guarded", [CHANGE_CONTESTED] = "Contested"};

const char *change_kind_name(enum change_kind k)
{
        return change_kinds[k];
}

bool change_kind_find(struct text name, enum change_kind *ret)
{
        for (enum change_kind k = 0; k < CHANGE_KINDS; k++)
                if (text_is(name, change_kinds[k])) {
                        *ret = k;
                        return true;
                }
        return false;
}

struct change_table *change_table_new(size_t most)
{
        struct change_table *t = MEM_NEW(struct change_table);
        t->refs = 1;
        t->row = mem_new_array(most + 1, sizeof *t->row);
        return t;
}

void change_table_add(struct change_table *t, const struct change *c)
{
        struct change *to = &t->row[t->rows++];
        const char **const text[] = {&to->ns,        &to->group, &to->object_kind, &to->name, &to->mode,
                                     &to->container, &to->by,    &to->reason,      &to->words};
        *to = *c;
        for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
                *text[i] = **text[i] ? arena_text(&t->arena, text_of(*text[i])) : "";
}

struct change_table *change_table_hold(struct change_table *t)
{
        atomic_fetch_add(&t->refs, 1);
        return t;
}

void change_table_drop(struct change_table *t)
{
        if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
                return;
        arena_release(&t->arena);
        mem_free(t->row);
        mem_free(t);
}
