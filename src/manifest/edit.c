#include <assert.h>

#include "base/utf8.h"

#include "document_private.h"

enum { STEP_USUAL = 2 };

static int edit_value(struct edit *e, struct insertion_point in, uint32_t key, uint32_t value, struct change_set set,
                      size_t depth);

/* --- sets of changes --- */

struct change_set set_new(struct edit *e, size_t most)
{
        return (struct change_set){.item = arena_new(&e->scratch, (most + 1) * sizeof(struct doc_change *))};
}

static bool same_step(const struct doc_change *a, const struct doc_change *b, size_t depth)
{
        assert(a->steps > depth && b->steps > depth); /* the contract: no path is the beginning of another */
        const struct doc_step *x = &a->path[depth], *y = &b->path[depth];
        if (!x->key.p || !y->key.p)
                return !x->key.p && !y->key.p && x->item == y->item;
        return text_equal(x->key, y->key);
}

struct change_set set_group(struct edit *e, struct change_set set, size_t i, size_t depth, bool *ret_first)
{
        struct change_set group = set_new(e, set.count - i);
        *ret_first = true;
        for (size_t j = 0; j < i && *ret_first; j++)
                *ret_first = !same_step(set.item[j], set.item[i], depth);
        for (size_t j = i; j < set.count && *ret_first; j++)
                if (same_step(set.item[j], set.item[i], depth))
                        group.item[group.count++] = set.item[j];
        return group;
}

/* The changes that set a value. Removals from an absent mapping have nothing to do. */
static struct change_set set_without_removals(struct edit *e, struct change_set set)
{
        struct change_set rest = set_new(e, set.count);
        for (size_t i = 0; i < set.count; i++)
                if (set.item[i]->form != DOC_REMOVE)
                        rest.item[rest.count++] = set.item[i];
        return rest;
}

static bool is_last(struct change_set set, size_t depth)
{
        bool last = set.item[0]->steps == depth;
        assert(!last || set.count == 1);
        return last;
}

/* Are the steps at this depth keys, so that a mapping is expected? */
static bool set_has_keys(struct change_set set, size_t depth)
{
        for (size_t i = 0; i < set.count; i++)
                if (!set.item[i]->path[depth].key.p)
                        return false;
        return true;
}

/* Refuse items in the paths below a new mapping: everything there is new, so no item exists yet. */
static int only_keys(struct edit *e, uint32_t at, struct change_set set, size_t depth)
{
        for (size_t i = 0; i < set.count; i++)
                for (size_t step = depth; step < set.item[i]->steps; step++)
                        if (!set.item[i]->path[step].key.p)
                                return fail_at(e->d, at, e->err, "item %zu does not exist",
                                               set.item[i]->path[step].item);
        return 0;
}

/* --- what cannot be edited --- */

static int check_value(struct edit *e, uint32_t key, uint32_t value)
{
        const struct node *n = &e->d->node[value];
        struct text name = doc_text(e->d, key ? key : value);
        if (n->type == NODE_ALIAS)
                return fail_at(e->d, value, e->err, "'%.*s' is an alias: write out what it stands for", TEXT_ARG(name));
        if (n->flags & NODE_SHARED)
                return fail_at(e->d, value, e->err, "'%.*s' has an anchor that an alias refers to", TEXT_ARG(name));
        if (n->flags & NODE_TAGGED)
                return fail_at(e->d, value, e->err, "'%.*s' has a tag", TEXT_ARG(name));
        return 0;
}

/* Refuse to change a member that is absent from a mapping with a merge key, because the merged mapping may provide
 * it. */
static int check_absent(struct edit *e, uint32_t mapping, struct text key)
{
        uint32_t merge = merge_find(e->d, mapping);
        return merge ? fail_at(e->d, merge, e->err, "a merge key (<<) may hold '%.*s': write it out", TEXT_ARG(key))
                     : 0;
}

/* Refuse to remove a member with an anchor that an alias refers to. */
static int check_removed(struct edit *e, uint32_t key)
{
        uint32_t end = node_next(e->d, node_next(e->d, key));
        for (uint32_t at = key; at < end; at++)
                if (e->d->node[at].flags & NODE_SHARED)
                        return fail_at(e->d, at, e->err, "an anchor that an alias refers to would be removed");
        return 0;
}

/* --- the walk --- */

/* The changes to a mapping's own members: those to add and the keys of those to remove. */
struct member_edit {
        struct change_set fresh;
        uint32_t *gone; /* key nodes, in the order of the changes */
        size_t gone_count;
};

static int edit_member(struct edit *e, struct insertion_point at, struct change_set group, size_t depth,
                       struct member_edit *member_edit)
{
        const struct doc_step *step = &group.item[0]->path[depth];
        if (!step->key.p)
                return fail_at(e->d, at.mapping, e->err, "a mapping, where a sequence is expected");
        uint32_t key;
        int rc = member_find(e->d, at.mapping, step->key, &key, e->err);
        if (rc < 0)
                return rc;
        if (key == DOC_NONE) {
                rc = check_absent(e, at.mapping, step->key);
                struct change_set fresh = set_without_removals(e, group);
                for (size_t i = 0; i < fresh.count; i++)
                        member_edit->fresh.item[member_edit->fresh.count++] = fresh.item[i];
                return rc < 0 ? rc : only_keys(e, at.mapping, fresh, depth);
        }
        if (is_last(group, depth + 1) && group.item[0]->form == DOC_REMOVE) {
                member_edit->gone[member_edit->gone_count++] = key;
                return check_removed(e, key);
        }
        return edit_value(e, at, key, node_next(e->d, key), group, depth + 1);
}

static bool is_gone(const struct member_edit *member_edit, uint32_t key)
{
        for (size_t i = 0; i < member_edit->gone_count; i++)
                if (member_edit->gone[i] == key)
                        return true;
        return false;
}

/* The key of the last member that stays, or DOC_NONE. */
static uint32_t last_kept(const struct doc *d, uint32_t mapping, const struct member_edit *member_edit)
{
        uint32_t last = DOC_NONE;
        for (uint32_t at = mapping + 1; at < d->node[mapping].skip; at = node_next(d, node_next(d, at)))
                if (!is_gone(member_edit, at))
                        last = at;
        return last;
}

/* Is this a flow mapping without braces, as in "[a: 1]"? It cannot take more members. */
static bool edit_is_pair(const struct doc *d, uint32_t mapping)
{
        const struct node *n = &d->node[mapping];
        return n->style == STYLE_FLOW && !(n->flags & (NODE_ANCHORED | NODE_TAGGED)) &&
               (d->text[n->begin] != '{' || d->node[mapping + 1].begin == n->begin);
}

static int finish_mapping(struct edit *e, struct insertion_point at, uint32_t owner, size_t depth,
                          struct member_edit *member_edit)
{
        uint32_t last = last_kept(e->d, at.mapping, member_edit);
        int rc = 0;
        if ((member_edit->fresh.count || member_edit->gone_count) && edit_is_pair(e->d, at.mapping))
                return fail_at(e->d, at.mapping, e->err,
                               "a pair in a list, without braces of its own, cannot be edited: write {KEY: VALUE}");
        if (member_edit->fresh.count && last == DOC_NONE)
                return fail_at(e->d, at.mapping, e->err, "all members would be removed and others added");
        if (member_edit->gone_count)
                rc = remove_members(e, at.mapping, owner, member_edit->gone, member_edit->gone_count);
        if (rc == 0 && member_edit->fresh.count)
                rc = insert_members(e, at, last, member_edit->fresh, depth);
        return rc;
}

static int edit_mapping(struct edit *e, struct insertion_point at, uint32_t owner, struct change_set set, size_t depth)
{
        struct member_edit member_edit = {.fresh = set_new(e, set.count),
                                          .gone = arena_new(&e->scratch, set.count * sizeof(uint32_t))};
        int rc = 0;
        for (size_t i = 0; i < set.count && rc == 0; i++) {
                bool first;
                struct change_set group = set_group(e, set, i, depth, &first);
                if (first)
                        rc = edit_member(e, at, group, depth, &member_edit);
        }
        return rc < 0 ? rc : finish_mapping(e, at, owner, depth, &member_edit);
}

static int edit_item(struct edit *e, struct insertion_point in, uint32_t sequence, struct change_set group,
                     size_t depth)
{
        const struct doc *d = e->d;
        const struct doc_step *step = &group.item[0]->path[depth];
        if (step->key.p)
                return fail_at(d, sequence, e->err, "a sequence, where a mapping is expected");
        uint32_t at = sequence + 1;
        for (size_t i = 0; i < step->item && at < d->node[sequence].skip; i++)
                at = node_next(d, at);
        if (at >= d->node[sequence].skip)
                return fail_at(d, sequence, e->err, "item %zu does not exist", step->item);
        if (group.item[0]->form == DOC_REMOVE && group.item[0]->steps == depth + 1)
                return fail_at(d, at, e->err, "items of a sequence cannot be removed");
        return edit_value(e, in, DOC_NONE, at, group, depth + 1);
}

static int edit_sequence(struct edit *e, struct insertion_point in, uint32_t sequence, struct change_set set,
                         size_t depth)
{
        int rc = 0;
        for (size_t i = 0; i < set.count && rc == 0; i++) {
                bool first;
                struct change_set group = set_group(e, set, i, depth, &first);
                if (first)
                        rc = edit_item(e, in, sequence, group, depth);
        }
        return rc;
}

/* The insertion point of `mapping`, inside the mapping of `in`. Between block mappings, the difference of columns
 * becomes the indentation step. */
static struct insertion_point insertion_point_within(const struct doc *d, struct insertion_point in, uint32_t mapping)
{
        struct insertion_point at = {mapping, in.step};
        if (in.mapping != DOC_NONE && d->node[mapping].style == STYLE_BLOCK &&
            d->node[in.mapping].style == STYLE_BLOCK) {
                int step = (int)d->node[mapping + 1].column - (int)d->node[in.mapping + 1].column;
                at.step = step > 0 ? step : at.step;
        }
        return at;
}

static int edit_empty(struct edit *e, struct insertion_point in, uint32_t key, uint32_t value, struct change_set set,
                      size_t depth)
{
        struct change_set fresh = set_without_removals(e, set);
        if (fresh.count == 0)
                return 0;
        if (key == DOC_NONE)
                return fail_at(e->d, value, e->err, "an empty item or document cannot be filled");
        int rc = only_keys(e, value, fresh, depth);
        return rc < 0 ? rc : insert_mapping(e, in, key, fresh, depth);
}

/* Edit the value of a key (DOC_NONE: of an item); `in` is the key's mapping. All changes of the set have the same path
 * before `depth`. */
static int edit_value(struct edit *e, struct insertion_point in, uint32_t key, uint32_t value, struct change_set set,
                      size_t depth)
{
        struct doc *d = e->d;
        const struct node *n = &d->node[value];
        int rc = check_value(e, key, value);
        if (rc < 0)
                return rc;
        if (is_last(set, depth))
                return replace_scalar(e, key, value, set.item[0]);
        bool empty = n->type != NODE_SCALAR && n->skip == value + 1;
        if (n->type == NODE_SEQUENCE && !(empty && set_has_keys(set, depth)))
                return edit_sequence(e, (struct insertion_point){DOC_NONE, in.step}, value, set, depth);
        if (n->type == NODE_MAPPING && !empty)
                return edit_mapping(e, insertion_point_within(d, in, value), key, set, depth);
        if (empty || (doc_type(d, value) == DOC_NULL && !(n->flags & NODE_ANCHORED)))
                return edit_empty(e, in, key, value, set, depth);
        return fail_at(d, value, e->err, "a text, where a mapping is expected");
}

/* --- one object --- */

static bool edit_is_utf8(struct text t)
{
        for (size_t i = 0, len; i < t.len; i += len) {
                len = utf8_length(t.p + i, t.len - i);
                if (len == 0)
                        return false;
        }
        return true;
}

static int check_changes(const struct doc_change *change, size_t n, struct err *err)
{
        assert(n <= DOC_CHANGES_MAX);
        for (size_t i = 0; i < n; i++) {
                assert(change[i].steps > 0);
                if (!edit_is_utf8(change[i].value))
                        return err_set(err, ERR_INVALID, "a value to be set is not UTF-8");
        }
        return 0;
}

int doc_edit(struct doc *d, size_t object, const struct doc_change *change, size_t n, struct err *err)
{
        assert(object < d->objects && !d->object[object].edited);
        struct object *o = &d->object[object];
        if (o->is.refused)
                return err_set(err, ERR_INVALID, "%s", o->is.refused);
        int rc = check_changes(change, n, err);
        if (rc < 0 || n == 0)
                return rc;
        o->edited = true;
        struct edit e = {.d = d, .err = err};
        struct change_set set = set_new(&e, n);
        for (size_t i = 0; i < n; i++)
                set.item[set.count++] = &change[i];
        size_t before = d->splices;
        rc = edit_value(&e, (struct insertion_point){DOC_NONE, STEP_USUAL}, DOC_NONE, o->is.root, set, 0);
        arena_release(&e.scratch);
        if (rc < 0)
                d->splices = before;
        return rc < 0 ? rc : e.altered;
}
