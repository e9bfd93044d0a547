/*
 * Manifests edited in place: one or many documents of YAML or JSON are read, some values are set, and the same bytes
 * come out but for those. Nothing is ever printed anew: each edit is a splice into the text as it was given, so that
 * comments, order, quoting, line ends and everything that is not understood stay as they are.
 *
 *     struct doc *d AUTO(doc_free) = doc_new(text, len, &err);
 *     for (size_t i = 0; d && i < doc_count(d); i++) {
 *             const struct doc_object *o = doc_object(d, i);
 *             … doc_find, doc_members, doc_items from o->root …
 *             if (doc_edit(d, i, change, n, &why) < 0)
 *                     … listed as left alone, why.text tells the place …
 *     }
 *     doc_write(d, &out);
 *
 * What is read:
 *
 * - A stream is cut at the lines "---" and "...". A document that begins with '{' is read as JSON, or as several JSON
 *   values one behind the other; if that fails, and otherwise, as YAML, by libyaml.
 * - Every document that is a mapping is an object. Of one whose kind ends in "List" and whose `items` are a sequence
 *   each item is an object instead; an item without kind and apiVersion has what the list's tell, as the API server has
 *   it. A list that stands behind an alias, itself or its items, is one object that is not edited. Empty documents and
 *   sequences are no objects; a document that is a text is an error.
 * - What values mean is as base/yaml has it, but merge keys (<<) are followed.
 * - A document that cannot be read is an error, unless it holds "{{" or "{%": then it is text still to be rendered by
 *   another program, one object without a root and with the reason why it is left alone.
 *
 * Bounds: DOC_BYTES_MAX of text, DOC_NODES_MAX keys and values (24 bytes each), DOC_OBJECTS_MAX objects,
 * DOC_DEPTH_MAX of nesting, of which DOC_FLOW_MAX in brackets. Cost is linear in the text; aliases are never copied,
 * and where they make look-ups cost more than that, those fail from then on (ERR_INVALID).
 */
#ifndef HALFLIFE_MANIFEST_DOCUMENT_H
#define HALFLIFE_MANIFEST_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

enum {
        DOC_BYTES_MAX = 64 << 20,
        DOC_NODES_MAX = 8 << 20,
        DOC_OBJECTS_MAX = 256 << 10,
        DOC_DEPTH_MAX = 256,
        DOC_FLOW_MAX = 64,
        DOC_CHANGES_MAX = 1024
};

struct doc;

/*
 * Read a text, which has to stay as it is until doc_free. NULL with ERR_INVALID "line L, column C: reason" (both from
 * 1, columns in characters), or ERR_TOOBIG.
 */
struct doc *doc_new(const char *text, size_t len, struct err *err);
void doc_free(struct doc *d);
MEM_AUTO(doc_free, struct doc *)

/* An object, in the order of the text. Texts point into the document; those that are absent are {"", 0}. */
struct doc_object {
        struct text api_version, kind, namespace, name;
        uint32_t line, column; /* of its first byte, from 1 */
        uint32_t root;         /* its mapping; DOC_NONE where the document cannot be read */
        const char *refused;   /* why no edit can be made to it ("line 3, column 1: …"), or NULL */
        bool templated;        /* because it is text that another program is to render first */
};
size_t doc_count(const struct doc *d);
const struct doc_object *doc_object(const struct doc *d, size_t i);

/* --- reading ---
 *
 * A node is a key, a value or an item, by number; DOC_NONE is none, and whatever is asked of it is absent. Aliases are
 * followed, and members that merge keys (<<) bring are found behind a mapping's own.
 */
enum { DOC_NONE = 0 };
enum doc_type { DOC_ABSENT, DOC_NULL, DOC_TEXT, DOC_NUMBER, DOC_BOOL, DOC_MAPPING, DOC_SEQUENCE };

enum doc_type doc_type(const struct doc *d, uint32_t node);
/* A scalar's value with its escapes undone ("" for collections and DOC_NONE). Numbers and booleans as written. */
struct text doc_text(const struct doc *d, uint32_t node);
/* Where it begins, from 1. */
void doc_place(const struct doc *d, uint32_t node, uint32_t *ret_line, uint32_t *ret_column);

/*
 * The value of a key; DOC_NONE where it is absent, also in an absent or null mapping. ERR_INVALID, with the place,
 * where that cannot be told: the key is there twice, or what is asked is no mapping.
 */
int doc_find(const struct doc *d, uint32_t mapping, struct text key, uint32_t *ret, struct err *err);

struct doc_member {
        struct text key;
        uint32_t value;
};
/* At most max members of a mapping, its own before merged ones; returns how many. ERR_TOOBIG when there are more;
 * ERR_INVALID as doc_find. Costs the square of max. */
int doc_members(const struct doc *d, uint32_t mapping, size_t max, struct doc_member *ret, struct err *err);
/* At most max items of a sequence (none of an absent or null one); returns how many, errors alike. */
int doc_items(const struct doc *d, uint32_t sequence, size_t max, uint32_t *ret, struct err *err);

/* --- editing --- */

/* One step of a path from an object's root: a key of a mapping or, where key.p is NULL, an item of a sequence. */
struct doc_step {
        struct text key;
        size_t item;
};
/* Initialisers of one: const struct doc_step path[] = {DOC_KEY("spec"), DOC_ITEM(0)}; */
/* clang-format off */
#define DOC_KEY(literal) {.key = {"" literal, sizeof(literal) - 1}}
#define DOC_ITEM(n)      {.item = (n)}
/* clang-format on */

enum doc_form {
        DOC_STRING,   /* reads back as a string, whatever it looks like: quoted where it is new */
        DOC_QUANTITY, /* a Kubernetes quantity: plain or quoted as what it replaces, or as its neighbours; new ones that
                         look like a number are quoted */
        DOC_REMOVE,   /* the member goes; a mapping that it leaves empty stays as {} */
};

struct doc_change {
        const struct doc_step *path;
        size_t steps;
        enum doc_form form;
        struct text value; /* UTF-8 */
};

/*
 * Make changes to one object, at most once an object: all of them or, on an error, none. Absent parents are made in the
 * style and with the indentation around them, behind the last member there (`metadata` above `spec`); a null or {} in a
 * parent's place is filled. A scalar is replaced where it stands. What is already so is left. Returns how many changes
 * alter the text (removing what is absent does not), or ERR_INVALID with "line L, column C: why" for what cannot be
 * edited without touching what was not asked for:
 * - on the path an alias, an anchor that an alias elsewhere refers to, a merge key that may hold the member, a key that
 *   is there twice, a tag, an explicit key (?), an item that does not exist, a text or a sequence in a mapping's place;
 * - at its end templated text ("{{", "{%", "${"), a scalar of several lines or with an anchor, a collection;
 * - of removals those that would take along a comment on a line of its own, all of a mapping's members while others are
 *   added, items;
 * - in a document with a template in a value's place ("cpu: {{ x }}") everything.
 * The paths of one call may share a beginning, but none may be the beginning of another.
 */
int doc_edit(struct doc *d, size_t object, const struct doc_change *change, size_t n, struct err *err);

/* The text with all edits made. ERR_TOOBIG when out is too small for it. */
int doc_write(struct doc *d, struct buf *out, struct err *err);
/* Are there any? */
bool doc_changed(const struct doc *d);

#endif
