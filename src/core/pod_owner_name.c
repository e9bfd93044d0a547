#include "core/pod_owner_name.h"

#include <string.h>

enum { SUFFIX = 5, HASH_MOST = 10 };
static const struct text none = {NULL, 0};

static bool podname_is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_random(char c)
{
        static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
        return memchr(alphabet, c, sizeof alphabet - 1);
}

/* The text before its last '-', and in *ret_behind the text after it. Returns none where there is no '-', or one of the
 * two texts is empty. */
static struct text podname_cut(struct text t, struct text *ret_behind)
{
        for (size_t at = t.len; at-- > 1;)
                if (t.p[at] == '-') {
                        *ret_behind = (struct text){t.p + at + 1, t.len - at - 1};
                        return ret_behind->len > 0 ? (struct text){t.p, at} : none;
                }
        return none;
}

static bool podname_all(struct text t, bool is(char c))
{
        for (size_t i = 0; i < t.len; i++)
                if (!is(t.p[i]))
                        return false;
        return true;
}

struct text pod_owner_name(struct text pod, enum pod_naming naming)
{
        struct text last, middle, before = podname_cut(pod, &last);
        if (!before.p)
                return none;
        if (naming == POD_BY_ORDINAL)
                return podname_all(last, podname_is_digit) ? before : none;
        if (last.len != SUFFIX || !podname_all(last, is_random))
                return none;
        if (naming == POD_BY_RANDOM)
                return before;
        struct text owner = podname_cut(before, &middle);
        if (!owner.p)
                return none;
        bool fits = naming == POD_BY_RUN ? podname_all(middle, podname_is_digit)
                                         : middle.len <= HASH_MOST && podname_all(middle, is_random);
        return fits ? owner : none;
}

bool pod_naming_of(struct text kind, enum pod_naming naming)
{
        static const struct {
                const char *kind;
                enum pod_naming naming;
        } known[] = {
                {"Deployment", POD_BY_TEMPLATE}, {"Rollout", POD_BY_TEMPLATE}, {"CronJob", POD_BY_RUN},
                {"StatefulSet", POD_BY_ORDINAL}, {"DaemonSet", POD_BY_RANDOM}, {"ReplicaSet", POD_BY_RANDOM},
                {"Job", POD_BY_RANDOM},          {"CloneSet", POD_BY_RANDOM},
        };
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                if (text_is(kind, known[i].kind))
                        return known[i].naming == naming;
        return true;
}
