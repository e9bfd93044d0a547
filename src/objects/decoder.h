/*
 * What the decoders of this module share: one reader over base/json that keeps the first thing wrong, and the pieces
 * that occur in more than one kind. Each decoder_x reads the value the reader stands at; after a refusal every one of
 * them gives its empty answer, so that a caller checks once, by decoder_end.
 */
#ifndef HALFLIFE_OBJECTS_DECODER_H
#define HALFLIFE_OBJECTS_DECODER_H

#include "objects/decode.h"

struct decoder {
        struct json j;
        struct arena *arena;
        const char *list; /* the list under way and the place in it, for messages; NULL: none */
        int index;
        struct text managed; /* raw metadata.managedFields of the object read last */
        struct err why;      /* code 0, or why an otherwise sound document is refused */
};

void decoder_init(struct decoder *d, struct text json, struct arena *a);
/* End the reading for a reason of our own; the first stands. */
void decoder_refuse(struct decoder *d, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What came of it: 0, or the code with "<what> '<namespace>/<name>': why" in err. A name is a must. */
int decoder_end(struct decoder *d, const char *what, const struct object_view *meta, struct err *err);

/* for each member of the object that follows (none when it is null) */
#define DECODER_EACH(d, key) for (bool entered_ = json_enter(&(d)->j, '{'); entered_ && json_key(&(d)->j, &(key));)

void decoder_meta(struct decoder *d, struct object_view *ret);
struct wall decoder_time(struct decoder *d, const char *field);
/* A quantity; null is absent. digits as for quantity_parse. */
bool decoder_quantity(struct decoder *d, const char *field, int digits, int64_t *ret);
/* {"cpu":…,"memory":…}, whole millicores and bytes; others are skipped. */
void decoder_amounts(struct decoder *d, const char *field, struct amount ret[RESOURCES]);
/* What another object is referred to by, {"apiVersion":…,"kind":…,"name":…}; what is not said stays as it was. */
void decoder_reference(struct decoder *d, struct owner_ref *ret);
/* {"requests":{…},"limits":{…}} */
void decoder_resources(struct decoder *d, struct amount request[RESOURCES], struct amount limit[RESOURCES]);
struct pod_place {
        struct text node, priority_class; /* "" : none */
};
/* The containers and initContainers of a pod spec, what the pod as a whole asks for, and where it
 * belongs; other members are skipped. */
void decoder_pod_spec(struct decoder *d, struct container_view ret[VIEW_CONTAINERS], int *ret_count,
                      struct amount ret_pod_asks[RESOURCES], struct pod_place *ret_place);
/* One more element of an array that may hold max: false at its end, or over the bound (refused). */
bool decoder_item(struct decoder *d, const char *list, int count, int max);
/* The raw value that a JSON pointer leads to, each of its parts with a prefix ("f:" in managedFields); empty where
 * there is none. */
struct text decoder_find(struct text from, const char *pointer, const char *prefix);
/* The requests under the template that other managers own by server-side apply, into w->owner. */
int decode_owners(struct text managed, const char *template_path, const char *field_manager, struct arena *a,
                  struct workload_view *w, struct err *err);

#endif
