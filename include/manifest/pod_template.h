/*
 * Pod templates in documents: the containers, requests and limits that render reads, and the requests and annotations
 * that render sets.
 */
#ifndef HALFLIFE_MANIFEST_POD_TEMPLATE_H
#define HALFLIFE_MANIFEST_POD_TEMPLATE_H

#include "core/request_reading.h"
#include "core/rules.h"
#include "core/runtime_heap.h"
#include "manifest/document.h"

enum { TEMPLATE_CONTAINERS = 64, TEMPLATE_STEPS = 4 };

struct template_container {
        struct text name;
        enum container_role role; /* MAIN, SIDECAR (init with restartPolicy Always), INIT */
        size_t item;              /* the container's index in containers or initContainers, from 0 */
        struct amount request[RESOURCES], limit[RESOURCES];
        struct request_reading read[RESOURCES]; /* the variable or file by which the container gets its request */
        struct runtime_heap heap;
};

/* A pod template as read; texts point into the document. */
struct template_view {
        struct doc_step path[TEMPLATE_STEPS];                     /* from the object's root to the template */
        size_t steps;                                             /* 0: the object is a Pod */
        uint32_t labels, annotations;                             /* the template's; DOC_NONE where absent */
        struct template_container container[TEMPLATE_CONTAINERS]; /* containers, then initContainers */
        int containers;
        struct amount pod_asks[RESOURCES]; /* pod-level request (spec.resources), by the same rule as decode_workload */
};

/*
 * Read an object's pod template. template_path is a JSON pointer from core/kind ("/spec/template"; "" for a Pod); *ret
 * points into it, so it must be a constant. Returns 0. ERR_NOTFOUND: there is no spec at that path. ERR_INVALID, with
 * the place: a duplicate key, a request or limit that is not a quantity, a container without a name, two containers of
 * the same name, or a node of the wrong type. ERR_TOOBIG: more than TEMPLATE_CONTAINERS containers, or some 4000
 * variables or volumes.
 */
int template_read(const struct doc *d, size_t object, const char *template_path, struct template_view *ret,
                  struct err *err);

/* Does the object, of whatever kind, request CPU or memory anywhere ("resources" with "requests")? */
bool template_asks(const struct doc *d, size_t object);

/* The requests to set on one container. */
struct template_change {
        int container; /* index in template_view.container */
        bool write[RESOURCES];
        struct amount to[RESOURCES]; /* an amount that is not set removes the request */
};

/* An annotation to set or, if value is NULL, to remove. */
struct template_note {
        const char *key, *value;
};

/*
 * Set requests on the template, and annotations on both the template and the object itself. A request of equal value
 * stays as it is written; if all requests are equal, the annotations stay too. At most TEMPLATE_NOTES notes. Call this
 * instead of doc_edit, at most once per object. Returns how many changes alter the text, or ERR_INVALID as doc_edit.
 */
enum { TEMPLATE_NOTES = 8 };
int template_edit(struct doc *d, size_t object, const struct template_view *t, const struct template_change *change,
                  size_t changes, const struct template_note *note, size_t notes, struct err *err);

#endif
