/*
 * The shared part of this module's decoders: a reader over base/json that keeps the first error, and functions for
 * parts that several kinds have. Each decoder_x reads the next value. After an error every function returns its empty
 * value, so that a caller checks once, with decoder_end.
 */
#ifndef HALFLIFE_OBJECTS_DECODER_H
#define HALFLIFE_OBJECTS_DECODER_H

#include "objects/decode.h"

struct decoder {
        struct json j;
        struct arena *arena;
        const char *list; /* name of the list that is being read, which messages give with `index`; NULL: none */
        int index;
        const char *path;    /* path of the current row of a table */
        struct text managed; /* raw metadata.managedFields of the last object read */
        struct err why;      /* why well-formed JSON is refused; code 0: it is not */
};

void decoder_init(struct decoder *d, struct text json, struct arena *a);
/* Refuse the document although its JSON is well-formed: reading ends, and decoder_end returns the code. The first
 * refusal counts. */
void decoder_refuse(struct decoder *d, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The result of the reading: 0, or the code with "<what> '<namespace>/<name>': why" in err. An object with neither a
 * name nor a generateName is an error. */
int decoder_end(struct decoder *d, const char *what, const struct object_view *meta, struct err *err);

/* A loop over the members of the next value, an object or null; null has none. */
#define DECODER_EACH(d, key) for (bool entered_ = json_enter(&(d)->j, '{'); entered_ && json_key(&(d)->j, &(key));)

struct wall decoder_time(struct decoder *d, const char *field);
/* A quantity, with digits as in quantity_parse. Returns false for null. */
bool decoder_quantity(struct decoder *d, const char *field, int digits, int64_t *ret);
/* As decoder_quantity, but an unreadable quantity is no error of the document: it only sets *ret_readable to false. */
bool decoder_quantity_or_odd(struct decoder *d, int digits, int64_t *ret, bool *ret_readable);
/* {"cpu":…,"memory":…} in whole millicores and bytes; other resources are skipped. */
void decoder_amounts(struct decoder *d, const char *field, struct amount ret[RESOURCES]);

/*
 * Tables describe objects: for each member its path, its reader and the offset of the result. Members without a row are
 * skipped. A null counts as an object without members.
 */
typedef void decoder_reader(struct decoder *d, void *to); /* reads the next value into *to */
struct decoder_field {
        const char *path; /* "spec.updatePolicy.updateMode"; rows with a common prefix must be adjacent */
        decoder_reader *read;
        size_t at; /* offset of the result in the table's struct */
};
/* Read the next value, an object, by a table that ends with {0}. */
void decoder_fields(struct decoder *d, const struct decoder_field *table, void *to);
/* The last part of the current row's path, for messages. */
const char *decoder_field_name(const struct decoder *d);

/* Readers, and the type that each writes. */
decoder_reader decoder_field_text;    /* struct text */
decoder_reader decoder_field_int;     /* int64_t */
decoder_reader decoder_field_raw;     /* struct text, the raw JSON */
decoder_reader decoder_field_time;    /* struct wall */
decoder_reader decoder_field_amounts; /* struct amount [RESOURCES] */
decoder_reader decoder_meta;          /* struct object_view */
decoder_reader decoder_reference;     /* struct owner_ref, without a UID; absent members leave their field as it was */

/* A kind of object and its view, a struct that begins with a struct object_view. */
struct decoder_kind {
        const char *what;
        size_t size; /* of the view */
        const struct decoder_field *table;
};
/* Read an object into its view. *ret_managed gets the raw metadata.managedFields; ret_managed may be NULL. */
int decoder_view(const struct decoder_kind *kind, struct text json, struct arena *a, void *ret,
                 struct text *ret_managed, struct err *err);

/* One entry of metadata.managedFields. */
struct managed_entry {
        struct text manager, operation, fields; /* fields: raw JSON of fieldsV1 */
};
typedef void managed_reader(struct decoder *d, const struct managed_entry *e, void *arg);
/* Call `each` for every entry of managedFields, in order. `managed` is their raw JSON, and may be empty. */
int decoder_managed(struct text managed, struct arena *a, managed_reader *each, void *arg, const char *what,
                    const struct object_view *meta, struct err *err);
/* Read {"requests":{…},"limits":{…}}. */
void decoder_resources(struct decoder *d, struct amount request[RESOURCES], struct amount limit[RESOURCES]);
/* Note on each of the `count` containers the variables and files that read its requests. `volumes` is the raw JSON of
 * the pod's volumes; empty: none. */
void decoder_readings(struct decoder *d, struct text volumes, struct container_view *c, int count);
struct pod_place {
        struct text node, priority_class;  /* "": none */
        struct amount overhead[RESOURCES]; /* overhead of the pod's RuntimeClass; unset: none */
};
/* Read a pod spec: its containers and initContainers, its pod-level requests (decode.h), its node, its priority class
 * and its overhead. Other members are skipped. *ret_cut becomes true where the pod spec has more than VIEW_CONTAINERS
 * containers. */
void decoder_pod_spec(struct decoder *d, struct container_view ret[VIEW_CONTAINERS], int *ret_count, bool *ret_cut,
                      struct amount ret_pod_asks[RESOURCES], struct pod_place *ret_place);
/* Whether the array named `list` has a further element to read, after the `count` before it. Elements beyond `max` are
 * skipped, and *cut becomes true; `cut` may be NULL. */
bool decoder_item_cut(struct decoder *d, const char *list, int count, int max, bool *cut);
/* The raw value at a JSON pointer; empty: none. `prefix` goes before each part of the pointer ("f:" in
 * managedFields). */
struct text decoder_find(struct text from, const char *pointer, const char *prefix);
/* Write to w->owner which requests of the template other managers own by server-side apply. */
int decode_owners(struct text managed, const char *template_path, const char *field_manager, struct arena *a,
                  struct workload_view *w, struct err *err);

#endif
