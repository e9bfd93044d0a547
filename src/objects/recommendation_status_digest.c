#include "objects/recommendation_status.h"

#include <string.h>

#include "base/map.h"

static uint64_t digest_text(uint64_t digest, const char *s)
{
        return s ? digest_bytes(digest, s, strlen(s) + 1) : digest_bytes(digest, "-", 1);
}

static uint64_t digest_number(uint64_t digest, int64_t n)
{
        return digest_bytes(digest, &n, sizeof n);
}

/* The advised CPU limit follows the model, which moves in each cycle. The digest therefore takes the share of throttled
 * periods in its place. */
static uint64_t digest_limit(uint64_t digest, const struct status_limit *l)
{
        if (!l)
                return digest;
        digest = digest_number(digest_number(digest, l->reason), l->current);
        return digest_number(digest, l->resource == CPU ? l->percent : l->advised);
}

static uint64_t digest_left(uint64_t digest, const struct vpa_policy *left)
{
        digest = digest_bytes(digest, left->rest, sizeof left->rest);
        for (int i = 0; i < left->rows; i++) {
                digest = digest_bytes(digest, left->row[i].container.p, left->row[i].container.len);
                digest = digest_bytes(digest, left->row[i].sets, sizeof left->row[i].sets);
        }
        return digest;
}

static int64_t digest_node(const struct status_node *n)
{
        return (int64_t)digest_number(digest_number(0, n->capacity), n->allocatable);
}

uint64_t recommendation_status_digest(const struct recommendation_status *s)
{
        uint64_t conditions = 0, containers = 0; /* sums, because the server may return lists in another order */
        uint64_t digest = digest_number(digest_number(digest_number(0, s->state), s->former), s->mode);
        digest = digest_bytes(digest, &s->decision, sizeof s->decision); /* a decision has only bools, so no padding */
        if (s->decision.other_autoscaler && s->left)
                digest = digest_left(digest, s->left);
        if (s->applied) {
                digest = digest_text(digest_number(digest, whole_second(s->applied_ms)), s->applied);
                digest = digest_number(digest, s->applied_mode);
                if (s->admitted)
                        digest = digest_text(digest, s->admitted);
                if (s->rest)
                        digest = digest_text(digest_number(digest, s->passed_ms > 0 ? whole_second(s->passed_ms) : 0),
                                             s->rest);
        }
        for (int i = 0; i < s->conditions; i++) {
                const struct status_condition *c = &s->condition[i];
                uint64_t of = digest_text(digest_text(digest_number(0, c->status), c->type), c->reason);
                conditions += digest_text(of, c->message);
        }
        for (int i = 0; i < s->containers; i++) {
                const struct status_container *c = &s->container[i];
                uint64_t of = digest_number(digest_text(0, c->name), status_container_state((enum state)s->state, c));
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        if (!s->node)
                                of = digest_number(digest_number(of, c->of[r].original), c->of[r].current);
                        of = digest_limit(of, status_limit_find(s->limits, i, r));
                        if (c->of[r].more)
                                of = digest_number(of, r);
                }
                containers += of;
        }
        for (enum resource r = CPU; r < RESOURCES; r++)
                digest = digest_number(digest, s->node ? digest_node(&s->node[r]) : s->quota ? s->quota[r].hard : -1);
        digest = digest_number(digest_number(digest, s->kills), (int64_t)conditions);
        return digest_number(digest, (int64_t)containers);
}
