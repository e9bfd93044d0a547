/*
 * Pod templates in documents: what render has to know of an object, and the requests and annotations that it sets.
 */
#ifndef HALFLIFE_MANIFEST_POD_TEMPLATE_H
#define HALFLIFE_MANIFEST_POD_TEMPLATE_H

#include "core/rules.h"
#include "manifest/document.h"

enum { TEMPLATE_CONTAINERS = 64, TEMPLATE_STEPS = 4 };

struct template_container {
        struct text name;
        enum container_role role; /* MAIN, SIDECAR (init with restartPolicy Always), INIT */
        size_t item;              /* its number in containers or initContainers */
        struct amount request[RESOURCES], limit[RESOURCES];
};

/* Texts point into the document. */
struct template_view {
        struct doc_step path[TEMPLATE_STEPS];                     /* of the template, from the object's root */
        size_t steps;                                             /* 0: the object is a Pod */
        uint32_t labels, annotations;                             /* the template's; DOC_NONE where absent */
        struct template_container container[TEMPLATE_CONTAINERS]; /* containers, then initContainers */
        int containers;
        struct amount pod_asks[RESOURCES]; /* what the pod as a whole asks for (spec.resources), as decode_workload */
};

/*
 * Read an object's template, at a JSON pointer of core/kind ("/spec/template", a constant; "" for a Pod). 0;
 * ERR_NOTFOUND where nothing is there; ERR_INVALID with the place for what is no pod template or cannot be told: a key
 * there twice, a request or limit that is no quantity, containers without a name or of the same name. ERR_TOOBIG for
 * more containers.
 */
int template_read(const struct doc *d, size_t object, const char *template_path, struct template_view *ret,
                  struct err *err);

/* What to set on one container of the view. */
struct template_change {
        int container;
        bool write[RESOURCES];
        struct amount to[RESOURCES]; /* not set: the request is removed */
};

/* An annotation to set; value NULL: to remove. */
struct template_note {
        const char *key, *value;
};

/*
 * Set requests, and annotations on the template with a copy on the object itself. A request that has the same value
 * already, however it is written, stays as it is; where all do, so do the annotations. Returns how many changes alter
 * the text, or ERR_INVALID as doc_edit, instead of which it is called: at most once an object. At most TEMPLATE_NOTES
 * notes.
 */
enum { TEMPLATE_NOTES = 8 };
int template_edit(struct doc *d, size_t object, const struct template_view *t, const struct template_change *change,
                  size_t changes, const struct template_note *note, size_t notes, struct err *err);

#endif
