#include "core/vpa_policy.h"

#include <string.h>

enum { CONTAINER_NAME = 63 }; /* bytes of the longest name that a container may have */

void vpa_policy_begin(struct vpa_policy *p)
{
        *p = (struct vpa_policy){.rest = {true, true}};
}

static const struct vpa_policy_row *vpa_policy_row_of(const struct vpa_policy *p, struct text container)
{
        for (int i = 0; i < p->rows; i++)
                if (text_equal(p->row[i].container, container))
                        return &p->row[i];
        return NULL;
}

void vpa_policy_add(struct vpa_policy *p, struct text container, const bool sets[static RESOURCES])
{
        if (text_is(container, "*")) {
                memcpy(p->rest, sets, sizeof p->rest);
                return;
        }
        if (container.len == 0 || container.len > CONTAINER_NAME || vpa_policy_row_of(p, container))
                return;
        struct vpa_policy_row *to = &p->row[p->rows++];
        to->container = container;
        memcpy(to->sets, sets, sizeof to->sets);
}

bool vpa_policy_settle(struct vpa_policy *p)
{
        int kept = 0;
        for (int i = 0; i < p->rows; i++)
                if (memcmp(p->row[i].sets, p->rest, sizeof p->rest) != 0)
                        p->row[kept++] = p->row[i];
        p->rows = kept;
        return kept > 0 || p->rest[CPU] || p->rest[MEMORY]; /* if rest sets nothing, each kept row sets something */
}

bool vpa_policy_sets_all(const struct vpa_policy *p)
{
        return !p || (p->rows == 0 && p->rest[CPU] && p->rest[MEMORY]);
}

bool vpa_policy_sets(const struct vpa_policy *p, struct text container, enum resource r)
{
        const struct vpa_policy_row *row = p ? vpa_policy_row_of(p, container) : NULL;
        return !p || (row ? row->sets[r] : p->rest[r]);
}

bool vpa_policy_equal(const struct vpa_policy *a, const struct vpa_policy *b)
{
        if (!a || !b)
                return vpa_policy_sets_all(a) && vpa_policy_sets_all(b);
        bool same = a->rows == b->rows && memcmp(a->rest, b->rest, sizeof a->rest) == 0;
        for (int i = 0; same && i < a->rows; i++)
                same = text_equal(a->row[i].container, b->row[i].container) &&
                       memcmp(a->row[i].sets, b->row[i].sets, sizeof a->row[i].sets) == 0;
        return same;
}

size_t vpa_policy_size(const struct vpa_policy *p)
{
        size_t size = sizeof *p + (size_t)p->rows * sizeof p->row[0];
        for (int i = 0; i < p->rows; i++)
                size += p->row[i].container.len;
        return size;
}

struct vpa_policy *vpa_policy_copy(const struct vpa_policy *p, void *to)
{
        size_t size = sizeof *p + (size_t)p->rows * sizeof p->row[0];
        struct vpa_policy *copy = memcpy(to, p, size);
        char *name = (char *)to + size;
        for (int i = 0; i < p->rows; i++) {
                struct text from = p->row[i].container;
                if (from.len)
                        memcpy(name, from.p, from.len);
                copy->row[i].container = (struct text){name, from.len};
                name += from.len;
        }
        return copy;
}
