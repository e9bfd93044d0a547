#include "owner_by_name.h"

#include "core/pod_owner_name.h"

struct target *owner_by_name_find(struct target *const *candidate, size_t count, struct text pod)
{
        struct target *found = NULL;
        struct text owner[POD_NAMINGS];
        for (enum pod_naming n = POD_BY_TEMPLATE; n < POD_NAMINGS; n++)
                owner[n] = pod_owner_name(pod, n);
        for (size_t i = 0; i < count; i++) {
                struct target *t = candidate[i];
                bool named = false;
                for (enum pod_naming n = POD_BY_TEMPLATE; n < POD_NAMINGS && !named; n++)
                        named = text_is(owner[n], t->name) && pod_naming_of(text_of(t->kind), n);
                if (named && found)
                        return NULL;
                if (named)
                        found = t;
        }
        return found;
}
