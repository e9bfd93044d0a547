#include "cgroup_choice.h"

enum {
        UID_LEAST = 32,
        UID_MOST = 36
}; /* length of a pod's UID: 32 digits in a static pod; else with four dashes or underscores */

static bool is_uid_byte(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-' || c == '_';
}

/* The pod's UID in ".../pod<uid>/..." or ".../kubepods-burstable-pod<uid>.slice/..."; "": there is none. */
static struct text cgroup_pod(struct text id)
{
        static const char before[] = "pod";
        for (size_t at = 0; at + sizeof before - 1 + UID_LEAST <= id.len; at++) {
                size_t len = 0, uid = at + sizeof before - 1;
                if (memcmp(id.p + at, before, sizeof before - 1) != 0)
                        continue;
                while (len < UID_MOST && uid + len < id.len && is_uid_byte(id.p[uid + len]))
                        len++;
                if (len >= UID_LEAST)
                        return (struct text){id.p + uid, len};
        }
        return (struct text){"", 0};
}

/* Compare two UIDs; '_' equals '-', since systemd's names of slices have '_' where a UID has '-'. */
static bool cgroup_same_uid(struct text a, struct text b)
{
        bool same = a.len == b.len;
        for (size_t i = 0; same && i < a.len; i++)
                same = (a.p[i] == '_' ? '-' : a.p[i]) == (b.p[i] == '_' ? '-' : b.p[i]);
        return same;
}

static bool cgroup_doubtful(const struct cgroup_value *c, size_t count)
{
        struct text pod = {"", 0};
        for (size_t i = 0; i < count; i++) {
                struct text its = cgroup_pod(c[i].id);
                if (its.len && pod.len && !cgroup_same_uid(its, pod))
                        return true;
                pod = its.len ? its : pod;
        }
        return false;
}

static bool cgroup_within(struct text inner, struct text outer)
{
        return outer.len && inner.len > outer.len && inner.p[outer.len] == '/' &&
               memcmp(inner.p, outer.p, outer.len) == 0;
}

/* How many of the cgroups in `c` are directly within c[outer]. */
static size_t cgroup_children(const struct cgroup_value *c, size_t count, size_t outer)
{
        size_t children = 0;
        for (size_t i = 0; i < count; i++) {
                bool direct = cgroup_within(c[i].id, c[outer].id);
                for (size_t k = 0; direct && k < count; k++)
                        direct = !(cgroup_within(c[i].id, c[k].id) && cgroup_within(c[k].id, c[outer].id));
                children += direct;
        }
        return children;
}

double cgroup_choose(const struct cgroup_value *c, size_t count, bool *ret_doubt)
{
        double chosen = 0;
        *ret_doubt = count > CGROUPS_MOST || cgroup_doubtful(c, count);
        for (size_t i = 0; i < count; i++) {
                bool counts = *ret_doubt || cgroup_children(c, count, i) != 1;
                if (counts && c[i].value > chosen)
                        chosen = c[i].value;
        }
        return chosen;
}
