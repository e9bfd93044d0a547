#include "cache/cache.h"

struct watched_kind *kind_watched(struct cache *w, struct text group, struct text kind)
{
        for (struct watched_kind *k = w->kinds; k; k = k->next)
                if (text_is(group, k->group) && text_is(kind, k->kind))
                        return k;
        struct watched_kind *k = MEM_NEW(struct watched_kind);
        k->group = intern_text(w->names, group);
        k->kind = intern_text(w->names, kind);
        k->template_path = "/spec/template";
        k->next = w->kinds;
        w->kinds = k;
        return k;
}
