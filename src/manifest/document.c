#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "document_private.h"

enum { LISTS_NESTED_MAX = 8, DIRECTIVES_MAX = 1000 };

/* --- arrays --- */

/* Make room for one more element. */
static void *doc_grown(void *array, size_t count, size_t *cap, size_t size)
{
        if (count < *cap)
                return array;
        *cap = *cap ? *cap + *cap / 2 : 64;
        return mem_resize(array, *cap, size);
}

uint32_t node_add(struct doc *d, struct node n, struct err *err)
{
        if (d->nodes > DOC_NODES_MAX) {
                err_set(err, ERR_TOOBIG, "line %u, column %u: more than %d keys and values", n.line, n.column,
                        DOC_NODES_MAX);
                return DOC_NONE;
        }
        d->node = doc_grown(d->node, d->nodes, &d->node_cap, sizeof *d->node);
        d->node[d->nodes] = n;
        return (uint32_t)d->nodes++;
}

void node_set_value(struct doc *d, uint32_t node, struct text value, size_t from, size_t to)
{
        if (from <= to && value.len == to - from && memcmp(d->text + from, value.p, value.len) == 0)
                return;
        d->value = doc_grown(d->value, d->values, &d->value_cap, sizeof *d->value);
        d->value[d->values++] = (struct text){arena_text(&d->arena, value), value.len};
        d->node[node].value = (uint32_t)d->values;
}

void splice_add(struct doc *d, size_t at, size_t drop, struct text put)
{
        d->splice = doc_grown(d->splice, d->splices, &d->splice_cap, sizeof *d->splice);
        struct text copy = {put.len ? arena_text(&d->arena, put) : "", put.len};
        d->splice[d->splices] = (struct splice){(uint32_t)at, (uint32_t)drop, (uint32_t)d->splices, copy};
        d->splices++;
}

int fail_at(const struct doc *d, uint32_t node, struct err *err, const char *fmt, ...)
{
        char why[ERR_TEXT_MAX - 64];
        va_list args;
        va_start(args, fmt);
        vsnprintf(why, sizeof why, fmt, args);
        va_end(args);
        uint32_t line, column;
        doc_place(d, node, &line, &column);
        return err_set(err, ERR_INVALID, "line %u, column %u: %s", line, column, why);
}

int fail_many(const struct doc *d, uint32_t node, struct err *err, size_t most, const char *what)
{
        (void)fail_at(d, node, err, "more than %zu %s", most, what);
        if (err)
                err->code = ERR_TOOBIG;
        return ERR_TOOBIG;
}

/* --- objects --- */

/* What an object inherits from the document or the list around it. */
struct around {
        struct text api_version, kind; /* for items that have neither; empty if the list implies none */
        const char *refused;
        bool templated;
        int depth;
};

static struct object *object_add(struct doc *d, uint32_t root, const struct around *around, struct err *err)
{
        if (d->objects == DOC_OBJECTS_MAX) {
                err_set(err, ERR_TOOBIG, "more than %d objects", DOC_OBJECTS_MAX);
                return NULL;
        }
        d->object = doc_grown(d->object, d->objects, &d->object_cap, sizeof *d->object);
        struct object *o = &d->object[d->objects++];
        *o = (struct object){.is = {.root = root, .refused = around->refused, .templated = around->templated}};
        return o;
}

static const char *doc_refusal(struct doc *d, const struct err *err)
{
        return arena_text(&d->arena, text_of(err->text));
}

/* The text of a member. If the mapping has the key twice, the object cannot be edited. */
static struct text doc_identity(struct doc *d, struct doc_object *o, uint32_t mapping, struct text key)
{
        struct err err = {0};
        uint32_t value = DOC_NONE;
        if (doc_find(d, mapping, key, &value, &err) < 0 && !o->refused)
                o->refused = doc_refusal(d, &err);
        return doc_text(d, value);
}

static void doc_identify(struct doc *d, struct doc_object *o, const struct around *list)
{
        uint32_t metadata = DOC_NONE;
        struct err err = {0};
        o->api_version = doc_identity(d, o, o->root, TEXT("apiVersion"));
        o->kind = doc_identity(d, o, o->root, TEXT("kind"));
        if (o->kind.len == 0 && o->api_version.len == 0) {
                o->api_version = list->api_version;
                o->kind = list->kind;
        }
        if (doc_find(d, o->root, TEXT("metadata"), &metadata, &err) < 0 && !o->refused)
                o->refused = doc_refusal(d, &err);
        if (doc_type(d, metadata) != DOC_MAPPING)
                return;
        o->namespace = doc_identity(d, o, metadata, TEXT("namespace"));
        o->name = doc_identity(d, o, metadata, TEXT("name"));
}

static bool ends_in_list(struct text kind)
{
        return kind.len >= 4 && memcmp(kind.p + kind.len - 4, "List", 4) == 0;
}

static const char *why_not_edited(struct doc *d, uint32_t node, const char *what)
{
        struct err err = {0};
        unsigned flags = d->node[node].flags;
        if (d->node[node].type == NODE_ALIAS)
                fail_at(d, node, &err, "%s is an alias: write out what it stands for", what);
        else if (flags & NODE_SHARED)
                fail_at(d, node, &err, "%s has an anchor that an alias refers to", what);
        else if (flags & NODE_TAGGED)
                fail_at(d, node, &err, "%s has a tag", what);
        return err.code ? doc_refusal(d, &err) : NULL;
}

static int add_objects(struct doc *d, uint32_t root, struct around around, struct err *err);

/*
 * If an object is a list, replace it by its items. A list behind an alias stays one object that cannot be edited, since
 * aliases of lists of aliases would multiply into too many objects.
 */
static int add_items(struct doc *d, struct doc_object *o, int depth, struct err *err)
{
        uint32_t items = DOC_NONE;
        if (depth == LISTS_NESTED_MAX || !ends_in_list(o->kind) || d->node[o->root].type == NODE_ALIAS ||
            doc_find(d, o->root, TEXT("items"), &items, NULL) < 0 || doc_type(d, items) != DOC_SEQUENCE)
                return 0;
        if (!o->refused)
                o->refused = why_not_edited(d, items, "'items'");
        if (d->node[items].type == NODE_ALIAS)
                return 0;
        struct doc_object list = *o;
        struct around in = {.refused = list.refused, .templated = list.templated, .depth = depth + 1};
        if (list.kind.len > 4) {
                in.api_version = list.api_version;
                in.kind = (struct text){list.kind.p, list.kind.len - 4};
        }
        d->objects--;
        int rc = 0;
        for (uint32_t at = items + 1; at < d->node[items].skip && rc == 0; at = node_next(d, at))
                rc = add_objects(d, at, in, err);
        return rc;
}

static int add_objects(struct doc *d, uint32_t root, struct around around, struct err *err)
{
        if (doc_type(d, root) != DOC_MAPPING)
                return 0;
        struct object *o = object_add(d, root, &around, err);
        if (!o)
                return ERR_TOOBIG;
        doc_place(d, root, &o->is.line, &o->is.column);
        if (!o->is.refused)
                o->is.refused = why_not_edited(d, root, "the object");
        doc_identify(d, &o->is, &around);
        return add_items(d, &o->is, around.depth, err);
}

static int add_document(struct doc *d, uint32_t root, uint32_t templated, struct err *err)
{
        struct around around = {0};
        enum doc_type type = doc_type(d, root);
        if (type != DOC_MAPPING && type != DOC_SEQUENCE && type != DOC_NULL)
                return fail_at(d, root, err, "a text, where an object is expected");
        if (templated) {
                struct err why = {0};
                fail_at(d, templated, &why, "templated text: render it first");
                around.refused = doc_refusal(d, &why);
                around.templated = true;
        }
        return add_objects(d, root, around, err);
}

/* --- reading --- */

/* How many nodes, values and objects there were before a part was read, so that a failed attempt can be undone. */
struct before {
        size_t nodes, values, objects;
};

static struct before before_of(const struct doc *d)
{
        return (struct before){d->nodes, d->values, d->objects};
}

static void go_back(struct doc *d, struct before to)
{
        d->nodes = to.nodes;
        d->values = to.values;
        d->objects = to.objects;
}

/* Whether a part holds line breaks of YAML that editors and line_end do not take for breaks, so that line numbers would
 * differ. */
static bool holds_odd_break(const char *text, const struct part *part)
{
        static const char *const odd[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
                if (memmem(text + part->begin, part->len, odd[i], strlen(odd[i])))
                        return true;
        return false;
}

static void refuse_odd_breaks(struct doc *d, const struct part *part, size_t first)
{
        if (first == d->objects || !holds_odd_break(d->text, part))
                return;
        char *why AUTO(mem_free) =
                mem_printf("line %u, column 1: the document holds U+0085, U+2028 or U+2029, which YAML "
                           "takes for line breaks",
                           part->line);
        const char *refused = arena_text(&d->arena, text_of(why));
        for (size_t i = first; i < d->objects; i++)
                d->object[i].is.refused = refused;
}

/* Try JSON if the part looks like it, then YAML. If both fail, return the error further into the text. */
static int read_part(struct doc *d, const struct part *part, struct err *err)
{
        struct before before = before_of(d);
        struct err json_err = {0};
        size_t json_at = 0, yaml_at;
        if (json_looks(d, part)) {
                int rc = json_load(d, part, add_document, &json_at, &json_err);
                if (rc != ERR_INVALID) {
                        *err = json_err;
                        return rc;
                }
                go_back(d, before);
        }
        if (part->directives > DIRECTIVES_MAX) /* libyaml compares each directive with all before, in quadratic time */
                return err_set(err, ERR_INVALID, "line %u, column 1: more than %d lines begin with %%", part->line,
                               DIRECTIVES_MAX);
        int rc = yaml_load(d, part, add_document, &yaml_at, err);
        if (rc < 0 && json_err.code && json_at > yaml_at)
                *err = json_err;
        if (rc == 0)
                refuse_odd_breaks(d, part, before.objects);
        return rc;
}

/* Add a template that cannot be parsed as an object without a root. *err holds the parse error, and is cleared. */
static int add_templated(struct doc *d, const struct part *part, struct err *err)
{
        char *why AUTO(mem_free) = mem_printf("%s; it is templated text: render it first", err->text);
        const struct around around = {.refused = arena_text(&d->arena, text_of(why)), .templated = true};
        struct object *o = object_add(d, DOC_NONE, &around, err);
        if (!o)
                return ERR_TOOBIG;
        o->is.line = part->line;
        o->is.column = 1;
        *err = (struct err){0};
        return 0;
}

static int doc_read_all(struct doc *d, struct err *err)
{
        struct part part = {0};
        int rc = 0;
        while (rc == 0 && part_next(d->text, d->len, &part)) {
                struct before before = before_of(d);
                rc = part.empty ? 0 : read_part(d, &part, err);
                if (rc == ERR_INVALID && part_templated(d->text, &part)) {
                        go_back(d, before);
                        rc = add_templated(d, &part, err);
                }
        }
        return rc;
}

struct doc *doc_new(const char *text, size_t len, struct err *err)
{
        if (len > DOC_BYTES_MAX) {
                err_set(err, ERR_TOOBIG, "the text is %zu bytes long: at most %d are read", len, DOC_BYTES_MAX);
                return NULL;
        }
        struct doc *d AUTO(doc_free) = MEM_NEW(struct doc);
        struct err why = {0};
        d->text = len ? text : "";
        d->len = len;
        d->looked = arena_new(&d->arena, sizeof *d->looked);
        node_add(d, (struct node){0}, &why);
        if (doc_read_all(d, &why) < 0) {
                if (err)
                        *err = why;
                return NULL;
        }
        return STEAL(&d);
}

void doc_free(struct doc *d)
{
        if (!d)
                return;
        mem_free(d->node);
        mem_free(d->value);
        mem_free(d->object);
        mem_free(d->splice);
        arena_release(&d->arena);
        mem_free(d);
}

size_t doc_count(const struct doc *d)
{
        return d->objects;
}

const struct doc_object *doc_object(const struct doc *d, size_t i)
{
        assert(i < d->objects);
        return &d->object[i].is;
}

/* --- writing --- */

/* Orders splices by place. At the same place, insertions come before the removal, in the order of their creation. */
static int splice_order(const void *a, const void *b)
{
        const struct splice *x = a, *y = b;
        if (x->at != y->at)
                return x->at < y->at ? -1 : 1;
        if (!x->drop != !y->drop)
                return x->drop ? 1 : -1;
        return (x->turn > y->turn) - (x->turn < y->turn);
}

static int doc_put(struct buf *out, const char *p, size_t len, struct err *err)
{
        if (buf_add(out, p, len) < 0)
                return err_set(err, ERR_TOOBIG, "the edited text is longer than %zu bytes", out->max);
        return 0;
}

int doc_write(struct doc *d, struct buf *out, struct err *err)
{
        size_t at = 0;
        int rc = 0;
        if (d->splices)
                qsort(d->splice, d->splices, sizeof *d->splice, splice_order);
        for (size_t i = 0; i < d->splices && rc == 0; i++) {
                const struct splice *s = &d->splice[i];
                assert(s->at >= at);
                rc = doc_put(out, d->text + at, s->at - at, err);
                if (rc == 0)
                        rc = doc_put(out, s->put.p, s->put.len, err);
                at = s->at + s->drop;
        }
        return rc < 0 ? rc : doc_put(out, d->text + at, d->len - at, err);
}

bool doc_changed(const struct doc *d)
{
        return d->splices > 0;
}
