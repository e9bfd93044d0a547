/*
 * What was read: all keys and values of all documents in one array, in the order of the text (pre-order), so that a
 * collection's children follow it and `skip` is where they end. A mapping's children are key, value, key, value, ….
 * Node 0 is none.
 */
#ifndef HALFLIFE_MANIFEST_DOCUMENT_PRIVATE_H
#define HALFLIFE_MANIFEST_DOCUMENT_PRIVATE_H

#include "manifest/document.h"

enum node_type { NODE_SCALAR, NODE_MAPPING, NODE_SEQUENCE, NODE_ALIAS };
enum node_style { STYLE_PLAIN, STYLE_SINGLE, STYLE_DOUBLE, STYLE_LITERAL /* folded too */, STYLE_BLOCK, STYLE_FLOW };
enum node_flags {
        NODE_ANCHORED = 1,
        NODE_SHARED = 2, /* an alias refers to it */
        NODE_TAGGED = 4,
        NODE_STRING = 8,     /* tagged as a string */
        NODE_MULTILINE = 16, /* a scalar of several lines */
        NODE_JSON = 32,      /* of a document read as JSON */
        NODE_OPEN = 64,      /* being read */
};

struct node {
        uint32_t begin, end;   /* bytes of the text; a block's end is its last value's; anchor and tag are within */
        uint32_t line, column; /* from 1 */
        union {
                uint32_t skip;  /* collections: the node behind its children */
                uint32_t value; /* scalars: 1 + number in doc.value, 0: as written */
                uint32_t of;    /* aliases: the node it stands for */
        };
        uint8_t type, style, flags;
};

struct object {
        struct doc_object is;
        bool edited;
};

struct splice {
        uint32_t at, drop;
        uint32_t turn; /* splices at one place come in the order they were made */
        struct text put;
};

struct doc {
        const char *text;
        size_t len;
        struct node *node;
        size_t nodes, node_cap;
        struct text *value; /* scalars that are not as written */
        size_t values, value_cap;
        struct object *object;
        size_t objects, object_cap;
        struct splice *splice;
        size_t splices, splice_cap;
        uint64_t *looked;   /* members that look-ups went through: they change it, and nothing else of a document */
        struct arena arena; /* values, refusals, what is put in, looked */
};

/* A piece of the stream that holds one document (or several JSON values). */
struct part {
        size_t begin, len;
        uint32_t line;       /* of its first byte, from 1 */
        uint32_t directives; /* lines that begin with % */
        bool empty;          /* nothing but markers, comments and white space */
};

/* split.c: the next part of the text, false at its end. State: ret_part of the call before, {0} at first. */
bool part_next(const char *text, size_t len, struct part *part);
/* Does a part hold templated text? */
bool part_templated(const char *text, const struct part *part);

/*
 * yaml.c, json.c: read a part. For each document, found is called with its root and the node of what is surely
 * templated text in it, or DOC_NONE. ERR_INVALID with *ret_at the byte where reading failed.
 */
typedef int document_found(struct doc *d, uint32_t root, uint32_t templated, struct err *err);
int yaml_load(struct doc *d, const struct part *part, document_found *found, size_t *ret_at, struct err *err);
int json_load(struct doc *d, const struct part *part, document_found *found, size_t *ret_at, struct err *err);
/* Does the part begin as JSON objects do? */
bool json_looks(const struct doc *d, const struct part *part);

/* doc.c */
/* A new node, with all but its position's end set; DOC_NONE and an error when there are too many. */
uint32_t node_add(struct doc *d, struct node n, struct err *err);
/* Remember a scalar's value, copied, where it is not what is written between from and to. */
void node_set_value(struct doc *d, uint32_t node, struct text value, size_t from, size_t to);
void splice_add(struct doc *d, size_t at, size_t drop, struct text put);
/* ERR_INVALID "line L, column C: …". */
int fail_at(const struct doc *d, uint32_t node, struct err *err, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/* find.c */
static inline uint32_t node_next(const struct doc *d, uint32_t at)
{
        const struct node *n = &d->node[at];
        return n->type == NODE_MAPPING || n->type == NODE_SEQUENCE ? n->skip : at + 1;
}
/* An alias' node, else the node itself. */
uint32_t node_resolve(const struct doc *d, uint32_t at);
/* A mapping's own member. *ret_key is DOC_NONE when it is absent. */
int member_find(const struct doc *d, uint32_t mapping, struct text key, uint32_t *ret_key, struct err *err);
/* The merge key of a mapping, or DOC_NONE. */
uint32_t merge_find(const struct doc *d, uint32_t mapping);
/* What a plain scalar reads as. */
enum doc_type plain_type(struct text t);

/* spell.c: keys and values as text. Texts are UTF-8. */
struct spelling {
        bool json;   /* as JSON has it */
        bool quoted; /* keys are quoted here */
};
void spell_key(struct buf *b, struct text key, const struct spelling *how);
/* A string in quotes like those of style, or, where that has none, in the simpler ones. */
void spell_string(struct buf *b, struct text value, enum node_style style, const struct spelling *how);
/* model: the scalar that is replaced, or a neighbour, or DOC_NONE. */
void spell_quantity(struct buf *b, const struct doc *d, struct text value, uint32_t model, const struct spelling *how);

/* --- the parts of an edit --- */

/* Changes that agree in all steps so far. */
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
struct spot {
        uint32_t mapping;
        int step; /* columns from a block mapping to one within it, as seen around it */
};

/* edit.c: an empty set with room for most, which lives as long as the edit. */
struct change_set set_new(struct edit *e, size_t most);
/* The changes of a set from i on that agree with i's in their step at depth. first: none before i does. */
struct change_set set_group(struct edit *e, struct change_set set, size_t i, size_t depth, bool *ret_first);
/* insert.c: make new members behind the member that begins with key last. */
int insert_members(struct edit *e, struct spot at, uint32_t last, struct change_set set, size_t depth);
/* Put members in a place of a null or empty mapping, the value of key in the mapping at. */
int insert_mapping(struct edit *e, struct spot at, uint32_t key, struct change_set set, size_t depth);
/* Set a scalar, the value of key (DOC_NONE: an item). */
int replace_scalar(struct edit *e, uint32_t key, uint32_t value, const struct doc_change *change);
/* remove.c: remove the members that begin with these keys, in the order of the text; owner: the mapping's own key. */
int remove_members(struct edit *e, uint32_t mapping, uint32_t owner, const uint32_t *key, size_t n);

/* text.c: places in the text. */
static inline bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}
static inline bool is_break(char c)
{
        return c == '\n' || c == '\r';
}
/* The break of the line, or the end of the text. */
size_t line_end(const struct doc *d, size_t at);
/* Behind the break at a line's end. */
size_t line_next(const struct doc *d, size_t end);
/* Does only white space stand before it on its line? ret_margin: that. */
bool line_begins(const struct doc *d, size_t at, struct text *ret_margin);
/* Does a key begin its line, but for the dashes of items that it is the first of, with its colon behind it? Those that
 * are written with a question mark do not. */
bool key_begins(const struct doc *d, uint32_t key);
/* The line break used around here. */
struct text line_break(const struct doc *d, size_t at);
/* Behind the colon that follows a key on its line, or 0. */
size_t colon_behind(const struct doc *d, uint32_t key);
/* May the blank lines behind a block of text be its own? */
bool literal_keeps(const struct doc *d, const struct node *n);
bool text_templated(struct text t);
/* What has to stand before a comma or brace that is put behind a value: a space where the value is nothing but its
 * key's colon, which would join with them. */
static inline struct text space_behind(const struct doc *d, uint32_t value)
{
        const struct node *n = &d->node[value];
        return n->begin == n->end && n->end > 0 && d->text[n->end - 1] == ':' ? TEXT(" ") : TEXT("");
}

#endif
