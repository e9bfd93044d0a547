/*
 * Edit manifests in place: read a stream of YAML or JSON documents, set some values, and write all other bytes back
 * unchanged. Each edit is a splice into the given text; nothing is printed from the parsed tree. Comments, order,
 * quoting, line ends and unknown content therefore survive.
 *
 *     struct doc *d AUTO(doc_free) = doc_new(text, len, &err);
 *     for (size_t i = 0; d && i < doc_count(d); i++) {
 *             const struct doc_object *o = doc_object(d, i);
 *             … doc_find, doc_members, doc_items from o->root …
 *             if (doc_edit(d, i, change, n, &why) < 0)
 *                     … report that the object is unchanged; why.text names the place …
 *     }
 *     doc_write(d, &out, &err);
 *
 * How the text becomes objects:
 *
 * - The lines "---" and "..." separate documents. A document that begins with '{' is read as JSON, or as several JSON
 *   values in a row. Where JSON fails, and for every other document, libyaml reads the document as YAML.
 * - Every document that is a mapping is an object. If its kind ends in "List" and its `items` are a sequence, each item
 *   is an object instead. An item without kind and apiVersion takes them from the list, as in the API server: kind
 *   PodList gives kind Pod. A list behind an alias, or with `items` behind an alias, is one object that cannot be
 *   edited. Empty documents and top-level sequences are not objects; a document that is a scalar is an error.
 * - Scalars mean what base/yaml says, and merge keys (<<) are followed.
 * - A document that cannot be parsed is an error, unless it holds "{{" or "{%". Such a document is a template that
 *   another program has to render first: it becomes one object without a root, and `refused` says why.
 *
 * Bounds: DOC_BYTES_MAX bytes of text, DOC_NODES_MAX keys and values (24 bytes each), DOC_OBJECTS_MAX objects,
 * DOC_DEPTH_MAX levels of nesting, at most DOC_FLOW_MAX of them in brackets. Cost is linear in the text. Aliases are
 * never copied; if they make look-ups cost more than linear, all further look-ups fail (ERR_INVALID).
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
 * Read a text. The document refers to it, so the caller keeps it unchanged until doc_free. Returns NULL on an error:
 * ERR_INVALID "line L, column C: reason" (both count from 1, columns in characters), or ERR_TOOBIG.
 */
struct doc *doc_new(const char *text, size_t len, struct err *err);
void doc_free(struct doc *d);
MEM_AUTO(doc_free, struct doc *)

/* One object; objects come in the order of the text. Texts point into the document; absent ones are {"", 0}. */
struct doc_object {
        struct text api_version, kind, namespace, name;
        uint32_t line, column; /* of the object's first byte, from 1 */
        uint32_t root;         /* the object's mapping; DOC_NONE if the document cannot be parsed */
        const char *refused;   /* why the object cannot be edited ("line 3, column 1: …"), or NULL */
        bool templated;        /* cannot be edited because another program has to render it first */
};
size_t doc_count(const struct doc *d);
const struct doc_object *doc_object(const struct doc *d, size_t i);

/* --- reading ---
 *
 * A node is the number of a key, a value or an item. DOC_NONE stands for no node: its type is DOC_ABSENT, its text is
 * empty, and it has no members. Aliases are followed. Members from merge keys (<<) come after a mapping's own members.
 */
enum { DOC_NONE = 0 };
enum doc_type { DOC_ABSENT, DOC_NULL, DOC_TEXT, DOC_NUMBER, DOC_BOOL, DOC_MAPPING, DOC_SEQUENCE };

enum doc_type doc_type(const struct doc *d, uint32_t node);
/* A scalar's value with escapes resolved ("" for collections and DOC_NONE); numbers and booleans as written. */
struct text doc_text(const struct doc *d, uint32_t node);
/* The line and column where the node begins, both from 1. */
void doc_place(const struct doc *d, uint32_t node, uint32_t *ret_line, uint32_t *ret_column);

/*
 * Find the value of a key. Returns 0; *ret is DOC_NONE if the key is absent, or if the mapping is absent, null or [].
 * ERR_INVALID, with the place: the mapping has the key twice, or the node is not a mapping.
 */
int doc_find(const struct doc *d, uint32_t mapping, struct text key, uint32_t *ret, struct err *err);

struct doc_member {
        struct text key;
        uint32_t value;
};
/* List the members of a mapping, its own before merged ones. Returns their number; ERR_TOOBIG if there are more than
 * max; ERR_INVALID as doc_find. Takes time quadratic in max. */
int doc_members(const struct doc *d, uint32_t mapping, size_t max, struct doc_member *ret, struct err *err);
/* List the items of a sequence; an absent or null sequence, or {}, has none. Result and errors are those of
 * doc_members. */
int doc_items(const struct doc *d, uint32_t sequence, size_t max, uint32_t *ret, struct err *err);

/* --- editing --- */

/* One step of a path from an object's root: a key of a mapping or, if key.p is NULL, an item of a sequence (from 0). */
struct doc_step {
        struct text key;
        size_t item;
};
/* Initialisers of a step: const struct doc_step path[] = {DOC_KEY("spec"), DOC_ITEM(0)}; */
/* clang-format off */
#define DOC_KEY(literal) {.key = {"" literal, sizeof(literal) - 1}}
#define DOC_ITEM(n)      {.item = (n)}
/* clang-format on */

enum doc_form {
        DOC_STRING,   /* set a value that reads back as a string whatever it looks like; new values are quoted */
        DOC_QUANTITY, /* set a Kubernetes quantity, quoted or plain like the replaced value or a neighbouring one; new
                         values that look like a number are quoted */
        DOC_REMOVE,   /* remove the member; a mapping without any other member becomes {} */
};

struct doc_change {
        const struct doc_step *path;
        size_t steps;
        enum doc_form form;
        struct text value; /* UTF-8 */
};

/*
 * Change one object, at most one call per object: all changes are made or, on an error, none. Absent parents are added
 * after the last member of their mapping, in the style and indentation around them; `metadata` goes above `spec`. A
 * null, {} or [] in a parent's place is filled. A scalar is replaced in place. A value that is already right stays.
 * Returns the number of changes that alter the text; the removal of an absent member alters nothing. ERR_INVALID "line
 * L, column C: why" if a change cannot be made without altering something else as well:
 * - on the path: an alias, an anchor that an alias elsewhere refers to, a merge key that may hold the member, a
 *   duplicate key, a tag, an explicit key (?), a missing item, a scalar or a sequence in place of a mapping;
 * - at the end of the path: templated text ("{{", "{%", "${"), a scalar of several lines or with an anchor, a
 *   collection;
 * - removals of items, removals that would also remove a comment on its own line, and the removal of all members of a
 *   mapping that gets new ones;
 * - any change of a document with a template in a value's place ("cpu: {{ x }}").
 * Several paths of one call may begin with the same steps, but no path may be the beginning of another.
 */
int doc_edit(struct doc *d, size_t object, const struct doc_change *change, size_t n, struct err *err);

/* Append the text with all edits to `out`. ERR_TOOBIG if the text exceeds out's limit. */
int doc_write(struct doc *d, struct buf *out, struct err *err);
/* Did any edit alter the text? */
bool doc_changed(const struct doc *d);

#endif
