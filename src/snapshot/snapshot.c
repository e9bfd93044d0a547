#include "snapshot/snapshot.h"

#include <assert.h>
#include <stdlib.h>

#include "core/kind.h"

struct snapshot_kept {
        struct snapshot_kept *next;
        void *p;
        void (*drop)(void *p);
};

struct snapshot *snapshot_new(void)
{
        struct snapshot *v = MEM_NEW(struct snapshot);
        v->refs = 1;
        return v;
}

struct snapshot *snapshot_hold(struct snapshot *v)
{
        __atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
        return v;
}

static void snapshot_free(struct snapshot *v)
{
        for (struct snapshot_kept *k = v->kept; k; k = k->next)
                k->drop(k->p);
        mem_free(v->target);
        mem_free(v->profile);
        mem_free(v->ns);
        mem_free(v->names);
        arena_release(&v->arena);
        mem_free(v);
}

void snapshot_drop(struct snapshot *v)
{
        if (v && __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) == 0)
                snapshot_free(v);
}

void snapshot_keep(struct snapshot *v, void *p, void (*drop)(void *p))
{
        struct snapshot_kept *k = arena_new(&v->arena, sizeof *k);
        *k = (struct snapshot_kept){v->kept, p, drop};
        v->kept = k;
}

/* --- filling --- */

/* Make room for one more element in a list of `count`, and return the list. Its capacity doubles when it is full. */
static void *snapshot_grown(void *list, size_t count, size_t size)
{
        enum { LEAST = 16 };
        if (count == 0)
                return mem_resize(list, LEAST, size);
        return count >= LEAST && (count & (count - 1)) == 0 ? mem_resize(list, 2 * count, size) : list;
}

void snapshot_add_target(struct snapshot *v, const struct snapshot_target *t)
{
        assert(t->ns && t->recommendation && t->labels_size <= UINT32_MAX);
        v->target = snapshot_grown(v->target, v->targets, sizeof *v->target);
        v->target[v->targets++] = t;
}

void snapshot_add_profile(struct snapshot *v, const struct snapshot_profile *p)
{
        v->profile = snapshot_grown(v->profile, v->profiles, sizeof *v->profile);
        v->profile[v->profiles++] = p;
}

void snapshot_add_ns(struct snapshot *v, const struct snapshot_ns *ns)
{
        v->ns = snapshot_grown(v->ns, v->namespaces, sizeof *v->ns);
        v->ns[v->namespaces++] = ns;
}

const char *snapshot_name(struct snapshot *v, const char *name)
{
        enum { LATELY = 256 };
        size_t hash = 5381;
        if (!name)
                return NULL;
        for (const char *c = name; *c; c++)
                hash = hash * 33 ^ (unsigned char)*c;
        if (!v->names)
                v->names = mem_new_array(LATELY, sizeof *v->names);
        const char **at = &v->names[hash % LATELY];
        if (!*at || strcmp(*at, name) != 0)
                *at = arena_text(&v->arena, text_of(name));
        return *at;
}

static bool same_conditions(const struct snapshot_condition *a, const struct snapshot_condition *b, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (a[i].type != b[i].type || a[i].reason != b[i].reason || a[i].status != b[i].status)
                        return false;
        return true;
}

const struct snapshot_condition *snapshot_conditions(struct snapshot *v, const struct snapshot_condition *c,
                                                     size_t count)
{
        if (v->conditions && v->conditions_count == count && same_conditions(v->conditions, c, count))
                return v->conditions;
        struct snapshot_condition *copy = arena_new(&v->arena, count * sizeof *copy);
        if (count)
                memcpy(copy, c, count * sizeof *copy);
        v->conditions = copy;
        v->conditions_count = count;
        return copy;
}

const struct vpa_policy *snapshot_vpa_policy(struct snapshot *v, const struct vpa_policy *p)
{
        return p ? vpa_policy_copy(p, arena_new(&v->arena, vpa_policy_size(p))) : NULL;
}

const char *snapshot_labels(struct snapshot *v, const struct label_pair *label, size_t labels, uint32_t *ret_size)
{
        size_t size = 0;
        for (size_t i = 0; i < labels; i++)
                size += label[i].key.len + label[i].value.len + 2;
        char *packed = arena_new(&v->arena, size + 1), *at = packed;
        for (size_t i = 0; i < labels; i++) {
                memcpy(at, label[i].key.p, label[i].key.len);
                at += label[i].key.len + 1;
                if (label[i].value.len)
                        memcpy(at, label[i].value.p, label[i].value.len);
                at += label[i].value.len + 1;
        }
        *ret_size = (uint32_t)size;
        return packed;
}

size_t snapshot_unpack_labels(const char *labels, uint32_t size, struct label_pair *ret, size_t max)
{
        size_t count = 0;
        for (const char *at = labels, *end = labels + size; at < end && count < max; count++) {
                ret[count].key = text_of(at);
                at += ret[count].key.len + 1;
                ret[count].value = text_of(at);
                at += ret[count].value.len + 1;
        }
        return count;
}

/* --- order --- */

static int compare_target(const void *a, const void *b)
{
        const struct snapshot_target *x = *(const struct snapshot_target *const *)a,
                                     *y = *(const struct snapshot_target *const *)b;
        int way = strcmp(x->ns, y->ns);
        return way ? way : strcmp(x->recommendation, y->recommendation);
}

static int compare_ns(const void *a, const void *b)
{
        const struct snapshot_ns *x = *(const struct snapshot_ns *const *)a, *y = *(const struct snapshot_ns *const *)b;
        return strcmp(x->name, y->name);
}

static struct profile_rank snapshot_rank_of(const struct snapshot_profile *p)
{
        return (struct profile_rank){!p->ns, p->spec->priority, p->created_ms, p->name};
}

/* Compare profiles by their namespaces; NULL, that of ClusterProfiles, comes last. */
static int compare_profile_ns(const char *a, const char *b)
{
        return !a || !b ? !a - !b : strcmp(a, b);
}

static int compare_profile(const void *a, const void *b)
{
        const struct snapshot_profile *x = *(const struct snapshot_profile *const *)a,
                                      *y = *(const struct snapshot_profile *const *)b;
        int way = compare_profile_ns(x->ns, y->ns);
        if (way)
                return way;
        return profile_beats(snapshot_rank_of(x), snapshot_rank_of(y))   ? -1
               : profile_beats(snapshot_rank_of(y), snapshot_rank_of(x)) ? 1
                                                                         : 0;
}

void snapshot_finish(struct snapshot *v)
{
        mem_free(v->names);
        v->names = NULL;
        if (v->targets)
                qsort(v->target, v->targets, sizeof *v->target, compare_target);
        if (v->profiles)
                qsort(v->profile, v->profiles, sizeof *v->profile, compare_profile);
        if (v->namespaces)
                qsort(v->ns, v->namespaces, sizeof *v->ns, compare_ns);
}

/* --- looking up --- */

size_t snapshot_after(const struct snapshot *v, struct text ns, struct text recommendation)
{
        size_t low = 0, high = v->targets;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                int way = text_compare(text_of(v->target[mid]->ns), ns);
                if (way == 0)
                        way = text_compare(text_of(v->target[mid]->recommendation), recommendation);
                if (way <= 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

const struct snapshot_target *snapshot_find(const struct snapshot *v, struct text ns, struct text group,
                                            struct text kind, struct text name)
{
        char key[KIND_NAME_MAX];
        kind_recommendation_name(group, kind, name, key);
        size_t behind = snapshot_after(v, ns, text_of(key));
        const struct snapshot_target *t = behind > 0 ? v->target[behind - 1] : NULL;
        return t && text_is(ns, t->ns) && strcmp(t->recommendation, key) == 0 ? t : NULL;
}

enum dimension snapshot_dimension(const struct snapshot_target *t)
{
        return kind_dimension(text_of(t->group), text_of(t->kind));
}

const struct snapshot_ns *snapshot_find_ns(const struct snapshot *v, struct text ns)
{
        size_t low = 0, high = v->namespaces;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                int way = text_compare(text_of(v->ns[mid]->name), ns);
                if (way == 0)
                        return v->ns[mid];
                if (way < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return NULL;
}

/* How many profiles stand before the first of namespace `ns` in v->profile; {NULL, 0}: before ClusterProfiles. */
static size_t profiles_before(const struct snapshot *v, struct text ns)
{
        size_t low = 0, high = v->profiles;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                const char *of = v->profile[mid]->ns;
                if (of && (!ns.p || text_compare(text_of(of), ns) < 0))
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

size_t snapshot_profiles_of(const struct snapshot *v, struct text ns, size_t *ret_first)
{
        size_t first = profiles_before(v, ns), end = first;
        while (end < v->profiles && (ns.p ? v->profile[end]->ns && text_is(ns, v->profile[end]->ns) : true))
                end++;
        *ret_first = first;
        return end - first;
}

/* The first profile of namespace `ns` that selects the subject, or the first that is left out, since no profile after
 * that one selects anything. */
static const struct snapshot_profile *choose_among(const struct snapshot *v, struct text ns,
                                                   const struct profile_subject *s)
{
        size_t first, count = snapshot_profiles_of(v, ns, &first);
        for (size_t i = first; i < first + count; i++)
                if (v->profile[i]->left_out || profile_selects(v->profile[i]->spec, ns, s))
                        return v->profile[i];
        return NULL;
}

const struct snapshot_profile *snapshot_choose(const struct snapshot *v, struct text ns, struct text group,
                                               struct text kind, const struct label_pair *label, size_t labels)
{
        struct label_pair ns_label[VIEW_LABELS_MAX];
        const struct snapshot_ns *of = snapshot_find_ns(v, ns);
        enum dimension d = kind_dimension(group, kind);
        const struct profile_subject subject = {
                .ns = ns,
                .ns_label = ns_label,
                .ns_labels = of ? snapshot_unpack_labels(of->labels, of->labels_size, ns_label, VIEW_LABELS_MAX) : 0,
                .system = of && of->system,
                .dimension = d,
                .group = group,
                .kind = kind,
                .by_default = kind_is_default(d, group, kind),
                .label = label,
                .labels = labels,
        };
        const struct snapshot_profile *own = choose_among(v, ns, &subject);
        if (own)
                return own->left_out ? NULL : own;
        return choose_among(v, (struct text){0}, &subject);
}
