/* What annotations on Recommendations ask for, as it was read. */
#include <string.h>

#include "cache/cache.h"

static const char *const asks_by[WISHES] = {[WISH_ADOPT] = ANNOTATION_ADOPT, [WISH_IMPORT] = ANNOTATION_IMPORT};

const char *wish_annotation(enum wish_name name)
{
        return asks_by[name];
}

void wish_free(struct wish *w)
{
        if (!w)
                return;
        mem_free(w->asks);
        mem_free(w->answer);
        mem_free(w);
}

void wish_set(struct wish **w, const char *asks)
{
        if (asks && *w && strcmp(asks, (*w)->asks) == 0)
                return;
        wish_free(*w);
        *w = asks ? MEM_NEW(struct wish) : NULL;
        if (asks)
                (*w)->asks = mem_string(asks);
}
