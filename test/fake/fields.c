/*
 * Field ownership: FieldsV1 trees ({"f:spec":{"f:replicas":{}}}; a list item with keys is k:{"name":"app"} with "." for
 * the item itself), kept in metadata.managedFields, and server-side apply on top of them.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static bool is_leaf(const json_t *node)
{
        return json_object_size(node) == 0;
}

/* --- trees of values --- */

static char *field_name(const char *name)
{
        return mem_printf("f:%s", name);
}

static char *item_name(const json_t *item, const char *const *keys, size_t n)
{
        json_t *id = json_object();
        for (size_t i = 0; i < n; i++) {
                json_t *v = json_object_get(item, keys[i]);
                if (!v && strcmp(keys[i], "protocol") == 0)
                        json_object_set_new(id, keys[i], json_string("TCP"));
                else if (v)
                        json_object_set(id, keys[i], v);
        }
        char *text = json_dumps(id, JSON_COMPACT | JSON_SORT_KEYS), *name = mem_printf("k:%s", text);
        free(text);
        json_decref(id);
        return name;
}

static json_t *item_find(json_t *list, const char *name, const char *const *keys, size_t n)
{
        size_t i;
        json_t *item;
        json_array_foreach(list, i, item)
        {
                AUTO(mem_free) char *have = item_name(item, keys, n);
                if (strcmp(have, name) == 0)
                        return item;
        }
        return NULL;
}

static json_t *tree_of(const json_t *value, struct shape s)
{
        json_t *tree = json_object(), *child;
        const char *name, *keys[4];
        size_t i, n = shape_keys(s, keys);
        bool map = json_is_object(value) && !shape_atomic(s), list = json_is_array(value) && n > 0;
        if ((map && json_object_size(value) == 0) || (list && json_array_size(value) == 0))
                json_object_set_new(tree, ".", json_object()); /* itself, nothing below it */
        else if (map)
                json_object_foreach((json_t *)(uintptr_t)value, name, child)
                {
                        AUTO(mem_free) char *field = field_name(name);
                        json_object_set_new(tree, field, tree_of(child, shape_child(s, name)));
                }
        else if (list)
                json_array_foreach(value, i, child)
                {
                        AUTO(mem_free) char *item = item_name(child, keys, n);
                        json_t *fields = tree_of(child, shape_item(s));
                        json_object_set_new(fields, ".", json_object());
                        json_object_set_new(tree, item, fields);
                }
        return tree;
}

static void drop_unowned(json_t *tree, const char *sub)
{
        static const char *const meta[] = {"f:name",
                                           "f:namespace",
                                           "f:uid",
                                           "f:resourceVersion",
                                           "f:generation",
                                           "f:creationTimestamp",
                                           "f:managedFields",
                                           "f:selfLink",
                                           "f:deletionTimestamp",
                                           "f:generateName"};
        json_t *m = json_object_get(tree, "f:metadata");
        json_object_del(tree, ".");
        json_object_del(tree, "f:apiVersion");
        json_object_del(tree, "f:kind");
        for (size_t i = 0; i < sizeof meta / sizeof *meta; i++)
                json_object_del(m, meta[i]);
        if (m && is_leaf(m))
                json_object_del(tree, "f:metadata");
        if (strcmp(sub, "status") != 0) {
                json_object_del(tree, "f:status");
                return;
        }
        json_t *status = json_incref(json_object_get(tree, "f:status"));
        json_object_clear(tree);
        if (status)
                json_object_set_new(tree, "f:status", status);
}

json_t *fields_of(const json_t *object, struct shape s, const char *sub)
{
        json_t *tree = tree_of(object, s);
        drop_unowned(tree, sub);
        return tree;
}

/* --- arithmetic of trees --- */

void fields_add(json_t *a, const json_t *b)
{
        const char *name;
        json_t *child;
        json_object_foreach((json_t *)(uintptr_t)b, name, child)
        {
                json_t *have = json_object_get(a, name);
                if (have)
                        fields_add(have, child);
                else
                        json_object_set_new(a, name, json_deep_copy(child));
        }
}

bool fields_minus(json_t *a, const json_t *b)
{
        const char *name;
        json_t *child;
        void *next;
        if (is_leaf(b) || is_leaf(a))
                return true;
        json_object_foreach_safe(a, next, name, child)
        {
                const json_t *other = json_object_get(b, name);
                if (other && fields_minus(child, other))
                        json_object_del(a, name);
        }
        return is_leaf(a);
}

/* What is in both. */
static json_t *fields_common(const json_t *a, const json_t *b)
{
        json_t *both = json_object(), *child;
        const char *name;
        json_object_foreach((json_t *)(uintptr_t)a, name, child)
        {
                const json_t *other = json_object_get(b, name);
                if (!other)
                        continue;
                json_t *common = fields_common(child, other);
                if (is_leaf(common) && !(is_leaf(child) || is_leaf(other)))
                        json_decref(common);
                else
                        json_object_set_new(both, name, common);
        }
        return both;
}

/* --- comparing and changing documents by trees --- */

/* The leaves of tree (made of b) whose value in a is another one, or absent. */
static json_t *tree_changed(const json_t *a, const json_t *b, const json_t *tree, struct shape s)
{
        json_t *changed = json_object(), *child;
        const char *name, *keys[4];
        size_t n = shape_keys(s, keys);
        json_object_foreach((json_t *)(uintptr_t)tree, name, child)
        {
                bool item = name[0] == 'k';
                if (name[0] == '.')
                        continue;
                struct shape inner = item ? shape_item(s) : shape_child(s, name + 2);
                json_t *was = item ? item_find((json_t *)(uintptr_t)a, name, keys, n) : json_object_get(a, name + 2);
                json_t *is = item ? item_find((json_t *)(uintptr_t)b, name, keys, n) : json_object_get(b, name + 2);
                if (!was) {
                        json_object_set_new(changed, name, json_deep_copy(child));
                } else if (is_leaf(child)) {
                        if (!json_same(was, is))
                                json_object_set_new(changed, name, json_object());
                } else {
                        json_t *deeper = tree_changed(was, is, child, inner);
                        if (is_leaf(deeper))
                                json_decref(deeper);
                        else
                                json_object_set_new(changed, name, deeper);
                }
        }
        return changed;
}

static void item_remove(json_t *list, const json_t *item)
{
        size_t i;
        json_t *one;
        json_array_foreach(list, i, one) if (one == item)
        {
                json_array_remove(list, i);
                return;
        }
}

/* Remove from value what the tree names; parents that become empty go too. */
static void tree_remove(json_t *value, const json_t *tree, struct shape s)
{
        const char *name, *keys[4];
        json_t *child;
        size_t n = shape_keys(s, keys);
        json_object_foreach((json_t *)(uintptr_t)tree, name, child)
        {
                if (name[0] == '.')
                        continue;
                if (name[0] == 'k') {
                        json_t *item = item_find(value, name, keys, n);
                        if (item && json_object_get(child, "."))
                                item_remove(value, item);
                        else if (item)
                                tree_remove(item, child, shape_item(s));
                        continue;
                }
                json_t *member = json_object_get(value, name + 2);
                if (member && !is_leaf(child))
                        tree_remove(member, child, shape_child(s, name + 2));
                if (is_leaf(child) || (json_is_object(member) && json_object_size(member) == 0) ||
                    (json_is_array(member) && json_array_size(member) == 0))
                        json_object_del(value, name + 2);
        }
}

static void merge_applied(json_t *live, const json_t *applied, struct shape s);

static void merge_member(json_t *live, const char *name, json_t *value, struct shape s)
{
        const char *keys[4];
        json_t *have = json_object_get(live, name);
        bool deep = (json_is_object(have) && json_is_object(value) && !shape_atomic(s)) ||
                    (json_is_array(have) && json_is_array(value) && shape_keys(s, keys) > 0);
        if (deep)
                merge_applied(have, value, s);
        else
                json_object_set_new(live, name, json_deep_copy(value));
}

static void merge_applied(json_t *live, const json_t *applied, struct shape s)
{
        const char *name, *keys[4];
        json_t *value;
        size_t i, n = shape_keys(s, keys);
        json_object_foreach((json_t *)(uintptr_t)applied, name, value)
                merge_member(live, name, value, shape_child(s, name));
        json_array_foreach(applied, i, value)
        {
                AUTO(mem_free) char *id = item_name(value, keys, n);
                json_t *item = item_find(live, id, keys, n);
                if (item)
                        merge_applied(item, value, shape_item(s));
                else
                        json_array_append_new(live, json_deep_copy(value));
        }
}

/* --- managedFields --- */

static json_t *managed(json_t *object)
{
        json_t *meta = json_object_get(object, "metadata"), *list = json_object_get(meta, "managedFields");
        if (!json_is_array(list)) {
                list = json_array();
                json_object_set_new(meta, "managedFields", list);
        }
        return list;
}

static json_t *entry_find(json_t *list, const char *manager, const char *operation, const char *sub)
{
        size_t i;
        json_t *e;
        json_array_foreach(list, i, e) if (strcmp(text_at(e, "manager"), manager) == 0 &&
                                           strcmp(text_at(e, "operation"), operation) == 0 &&
                                           strcmp(text_at(e, "subresource"), sub) == 0) return e;
        return NULL;
}

static json_t *entry_open(struct fake *f, const struct kind *k, json_t *list, const char *manager,
                          const char *operation, const char *sub)
{
        json_t *e = entry_find(list, manager, operation, sub);
        if (!e) {
                struct buf av = {0};
                buf_init(&av, 512);
                e = json_pack("{s:s, s:s, s:s, s:n, s:s, s:{}}", "manager", manager, "operation", operation,
                              "apiVersion", kind_api_version(k, &av), "time", "fieldsType", "FieldsV1", "fieldsV1");
                if (*sub)
                        json_object_set_new(e, "subresource", json_string(sub));
                json_array_append_new(list, e);
                buf_release(&av);
        }
        json_object_set_new(e, "time", fake_time(f));
        return e;
}

/* Take these fields from every entry but one; entries left with nothing go. */
static void entries_yield(json_t *list, const json_t *fields, const json_t *keep)
{
        for (size_t i = json_array_size(list); i-- > 0;) {
                json_t *e = json_array_get(list, i);
                if (e != keep && !is_leaf(fields) && fields_minus(json_object_get(e, "fieldsV1"), fields))
                        json_array_remove(list, i);
        }
}

void fields_update(struct fake *f, const struct kind *k, const json_t *before, json_t *after, const char *manager,
                   const char *sub)
{
        struct shape s = shape_of(k);
        AUTO(json_decref) json_t *had = fields_of(before, s, sub);
        AUTO(json_decref) json_t *has = fields_of(after, s, sub);
        AUTO(json_decref) json_t *changed = tree_changed(before, after, has, s);
        AUTO(json_decref) json_t *gone = tree_changed(after, before, had, s);
        json_t *list = managed(after);
        fields_minus(gone, changed);
        entries_yield(list, gone, NULL);
        if (is_leaf(changed))
                return;
        json_t *mine = entry_open(f, k, list, manager, "Update", sub);
        fields_add(json_object_get(mine, "fieldsV1"), changed);
        entries_yield(list, changed, mine);
}

/* --- server-side apply --- */

static void path_text(struct buf *path, const char *name)
{
        if (name[0] != 'k') {
                buf_printf(path, ".%s", name + 2);
                return;
        }
        json_t *id = json_loads(name + 2, 0, NULL), *v;
        const char *key, *comma = "";
        buf_add_text(path, "[");
        json_object_foreach(id, key, v)
        {
                char *text = json_dumps(v, JSON_ENCODE_ANY);
                buf_printf(path, "%s%s=%s", comma, key, text);
                comma = ",";
                free(text);
        }
        buf_add_text(path, "]");
        json_decref(id);
}

static void list_conflicts(const json_t *tree, struct buf *path, const char *who, json_t *causes)
{
        const char *name;
        json_t *child;
        if (is_leaf(tree))
                json_array_append_new(causes, json_pack("{s:s, s:s, s:s}", "reason", "FieldManagerConflict", "message",
                                                        who, "field", path->data));
        json_object_foreach((json_t *)(uintptr_t)tree, name, child)
        {
                size_t len = path->len;
                if (name[0] == '.')
                        continue;
                path_text(path, name);
                list_conflicts(child, path, who, causes);
                path->len = len;
                path->data[len] = '\0';
        }
}

static json_t *conflicts_with(const json_t *list, const json_t *mine, const json_t *changes)
{
        json_t *causes = json_array(), *e;
        size_t i;
        json_array_foreach(list, i, e)
        {
                if (e == mine)
                        continue;
                AUTO(json_decref) json_t *both = fields_common(changes, json_object_get(e, "fieldsV1"));
                if (is_leaf(both))
                        continue;
                bool update = strcmp(text_at(e, "operation"), "Update") == 0, sub = *text_at(e, "subresource") != '\0';
                AUTO(mem_free)
                char *who = mem_printf("conflict with \"%s\"%s%s%s%s%s", text_at(e, "manager"),
                                       sub ? " with subresource \"" : "", text_at(e, "subresource"), sub ? "\"" : "",
                                       update ? " using " : "", update ? text_at(e, "apiVersion") : "");
                struct buf path = {0};
                buf_init(&path, 1 << 16);
                list_conflicts(both, &path, who, causes);
                buf_release(&path);
        }
        return causes;
}

json_t *fields_apply(struct fake *f, const struct kind *k, const json_t *live, const json_t *applied,
                     const char *manager, const char *sub, bool force, json_t **ret_causes)
{
        struct shape s = shape_of(k);
        AUTO(json_decref) json_t *wanted = fields_of(applied, s, sub);
        AUTO(json_decref) json_t *changes = tree_changed(live, applied, wanted, s);
        json_t *result = json_deep_copy(live), *list = managed(result);
        const json_t *mine = entry_find(list, manager, "Apply", sub);
        AUTO(json_decref) json_t *causes = conflicts_with(list, mine, changes);
        if (json_array_size(causes) > 0 && !force) {
                json_decref(result);
                *ret_causes = STEAL(&causes);
                return NULL;
        }
        AUTO(json_decref) json_t *dropped = mine ? json_deep_copy(json_object_get(mine, "fieldsV1")) : json_object();
        fields_minus(dropped, wanted);
        entries_yield(list, changes, mine);
        json_t *e;
        size_t i;
        json_array_foreach(list, i, e) if (e != mine) fields_minus(dropped, json_object_get(e, "fieldsV1"));
        tree_remove(result, dropped, s);
        const char *name;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)applied, name, value) if (strcmp(name, "status") == 0
                                                                                   ? strcmp(sub, "status") == 0
                                                                                   : strcmp(sub, "status") != 0)
                merge_member(result, name, value, shape_child(s, name));
        json_t *entry = entry_open(f, k, managed(result), manager, "Apply", sub);
        json_object_set(entry, "fieldsV1", wanted);
        return result;
}
