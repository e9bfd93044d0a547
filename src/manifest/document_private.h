/*
 * The parsed text: one array holds all keys and values of all documents in the order of the text (pre-order). A
 * collection's children follow it directly, and its `skip` is the index after the last of them. A mapping's children
 * are key, value, key, value, …. Index 0 (DOC_NONE) stands for no node.
 */
#ifndef HALFLIFE_MANIFEST_DOCUMENT_PRIVATE_H
#define HALFLIFE_MANIFEST_DOCUMENT_PRIVATE_H

#include "manifest/document.h"

enum node_type { NODE_SCALAR, NODE_MAPPING, NODE_SEQUENCE, NODE_ALIAS };
/* STYLE_LITERAL stands for literal and folded scalars. */
enum node_style { STYLE_PLAIN, STYLE_SINGLE, STYLE_DOUBLE, STYLE_LITERAL, STYLE_BLOCK, STYLE_FLOW };
enum node_flags {
        NODE_ANCHORED = 1,
        NODE_SHARED = 2, /* an alias refers to this node */
        NODE_TAGGED = 4,
        NODE_STRING = 8,     /* tagged as a string */
        NODE_MULTILINE = 16, /* a scalar that spans several lines */
        NODE_JSON = 32,      /* belongs to a document that was read as JSON */
        NODE_OPEN = 64,      /* a collection whose end has not been read yet */
};

struct node {
        uint32_t begin, end;   /* byte offsets, anchor and tag included; a block collection ends with its last value */
        uint32_t line, column; /* from 1 */
        union {
                uint32_t skip;  /* collections: the node after all children */
                uint32_t value; /* scalars: 1 + index in doc.value; 0: the value is the text as written */
                uint32_t of;    /* aliases: the node that the alias refers to */
        };
        uint8_t type, style, flags;
};

struct object {
        struct doc_object is;
        bool edited;
};

struct splice {
        uint32_t at, drop; /* where in the text, and how many bytes to drop there */
        uint32_t turn;     /* order of creation, which also orders splices at the same place */
        struct text put;
};

struct doc {
        const char *text;
        size_t len;
        struct node *node;
        size_t nodes, node_cap;
        struct text *value; /* values of scalars that differ from the text as written */
        size_t values, value_cap;
        struct object *object;
        size_t objects, object_cap;
        struct splice *splice;
        size_t splices, splice_cap;
        uint64_t *looked;   /* members visited by all look-ups; a pointer, since look-ups take a const document */
        struct arena arena; /* owns values, reasons of refusal, inserted texts and *looked */
};

/* A piece of the stream that holds one document (or several JSON values). */
struct part {
        size_t begin, len;
        uint32_t line;       /* line of the first byte, from 1 */
        uint32_t directives; /* number of lines that begin with % */
        bool empty;          /* holds nothing but markers, comments and white space */
};

/* split.c: replace *part by the part after it; {0} stands before the first part. False at the end of the text. */
bool part_next(const char *text, size_t len, struct part *part);
/* Does a part hold templated text? */
bool part_templated(const char *text, const struct part *part);

/*
 * read_yaml.c, read_json.c: read a part. They call `found` for each document, with the document's root and with the
 * first node that is certainly a template ("{{ x }}" in a value's place), else DOC_NONE. On ERR_INVALID *ret_at is the
 * byte where reading failed.
 */
typedef int document_found(struct doc *d, uint32_t root, uint32_t templated, struct err *err);
int yaml_load(struct doc *d, const struct part *part, document_found *found, size_t *ret_at, struct err *err);
int json_load(struct doc *d, const struct part *part, document_found *found, size_t *ret_at, struct err *err);
/* Does the part begin with '{', as a JSON object does? */
bool json_looks(const struct doc *d, const struct part *part);

/* document.c */
/* Append a node. Returns its index, or DOC_NONE and ERR_TOOBIG if there are too many nodes. */
uint32_t node_add(struct doc *d, struct node n, struct err *err);
/* Keep a copy of a scalar's value, unless the text between the offsets `from` and `to` already is that value. */
void node_set_value(struct doc *d, uint32_t node, struct text value, size_t from, size_t to);
void splice_add(struct doc *d, size_t at, size_t drop, struct text put);
/* Set and return ERR_INVALID, "line L, column C: …" with the place of the node. */
int fail_at(const struct doc *d, uint32_t node, struct err *err, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
/* Set and return ERR_TOOBIG, with the node's place: "more than 64 containers". */
int fail_many(const struct doc *d, uint32_t node, struct err *err, size_t most, const char *what);

/* find.c */
static inline uint32_t node_next(const struct doc *d, uint32_t at)
{
        const struct node *n = &d->node[at];
        return n->type == NODE_MAPPING || n->type == NODE_SEQUENCE ? n->skip : at + 1;
}
/* The node that an alias refers to; any other node itself. */
uint32_t node_resolve(const struct doc *d, uint32_t at);
/* Find one of a mapping's own members, not merged ones. *ret_key is DOC_NONE if it is absent. ERR_INVALID: the mapping
 * has the key twice. */
int member_find(const struct doc *d, uint32_t mapping, struct text key, uint32_t *ret_key, struct err *err);
/* The merge key of a mapping, or DOC_NONE. */
uint32_t merge_find(const struct doc *d, uint32_t mapping);
/* The type that a scalar without quotes reads as. */
enum doc_type plain_type(struct text t);

/* quote.c: write keys and values. Texts are UTF-8. */
struct quoting {
        bool json;   /* write JSON */
        bool quoted; /* the mapping's other keys are in double quotes, so a new one is, too */
};
void quote_key(struct buf *b, struct text key, const struct quoting *how);
/* Write a string in the quotes of `style`; for a style without quotes, in the kind of quotes that needs no escapes. */
void quote_string(struct buf *b, struct text value, enum node_style style, const struct quoting *how);
/* Write a quantity in the quoting of `model`: the replaced scalar, or a neighbour; DOC_NONE: there is none. */
void quote_quantity(struct buf *b, const struct doc *d, struct text value, uint32_t model, const struct quoting *how);

/* --- the parts of an edit --- */

/* Changes whose paths agree in all steps down to the current depth. */
struct change_set {
        const struct doc_change **item;
        size_t count;
};

struct edit {
        struct doc *d;
        struct err *err;
        struct arena scratch;
        int altered;
};

/* A mapping that is edited. */
struct insertion_point {
        uint32_t mapping;
        int step; /* indentation in columns from one block mapping to the next inner one, taken from the text around */
};

/* edit.c: an empty set with room for `most` changes; the set lives as long as the edit. */
struct change_set set_new(struct edit *e, size_t most);
/* Group the changes from index `i` on whose step at `depth` equals that of change `i`. *ret_first is false, and the
 * group is empty, if a change before `i` has that step: the group of that change holds them already. */
struct change_set set_group(struct edit *e, struct change_set set, size_t i, size_t depth, bool *ret_first);
/* insert.c: add new members after the member whose key is the node `last`. */
int insert_members(struct edit *e, struct insertion_point at, uint32_t last, struct change_set set, size_t depth);
/* Replace a null or an empty collection, the value of `key` in the mapping of `at`, by a mapping with new members. */
int insert_mapping(struct edit *e, struct insertion_point at, uint32_t key, struct change_set set, size_t depth);
/* Set the scalar `value`. `key` is the node of its key, or DOC_NONE for an item of a sequence. */
int replace_scalar(struct edit *e, uint32_t key, uint32_t value, const struct doc_change *change);
/* remove.c: remove the members with these keys, given in the order of the text. `owner` is the key whose value the
 * mapping is; DOC_NONE: the mapping is an item or the root. */
int remove_members(struct edit *e, uint32_t mapping, uint32_t owner, const uint32_t *key, size_t n);

/* line.c: places in the text, as byte offsets. */
static inline bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}
static inline bool is_break(char c)
{
        return c == '\n' || c == '\r';
}
/* The offset of the break that ends the line of `at`, or the end of the text. */
size_t line_end(const struct doc *d, size_t at);
/* The offset after the line break that begins at `end`. */
size_t line_next(const struct doc *d, size_t end);
/* Does only white space precede the place on its line? *ret_margin is the white space directly before it. */
bool line_begins(const struct doc *d, size_t at, struct text *ret_margin);
/* Is the key the first on its line, with its colon on that line too? Dashes of items that begin with the key may
 * precede the key. False for explicit keys ("? key"). */
bool key_begins(const struct doc *d, uint32_t key);
/* The break of the line of `at` or, on the last line, of the line before; "\n" if the text has no break. */
struct text line_break(const struct doc *d, size_t at);
/* The offset after the colon that follows a key on its line, or 0 if none does. */
size_t colon_behind(const struct doc *d, uint32_t key);
/* May the blank lines after a literal or folded scalar belong to its value? */
bool literal_keeps(const struct doc *d, const struct node *n);
/* Does the text hold "{{" or "{%"? */
bool text_templated(struct text t);
/* What to insert between a value and a new comma or brace after it. An empty value ends with its key's colon, which
 * would join with the comma or brace, so a space goes between. */
static inline struct text space_behind(const struct doc *d, uint32_t value)
{
        const struct node *n = &d->node[value];
        return n->begin == n->end && n->end > 0 && d->text[n->end - 1] == ':' ? TEXT(" ") : TEXT("");
}

#endif
