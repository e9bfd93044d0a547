/*
 * Which of a workload's labels are its own, which its pods have, and which its selector asks for. The latter two are
 * bits, because nearly every selector asks only for labels of the template.
 */
#ifndef HALFLIFE_CACHE_LABEL_ROLES_H
#define HALFLIFE_CACHE_LABEL_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "cache/labels.h"
#include "objects/decode.h"

struct label_roles {
        uint32_t own;      /* number of leading labels that are the workload's own; its Recommendation copies them */
        uint32_t carried;  /* bit i: its pods have label i */
        uint32_t selected; /* bit i: its selector asks for label i with that value; 0: the selector is not of this form
                            */
};

/* What the bits cannot express. Few workloads need it. */
struct label_roles_rest {
        struct labels labels; /* labels of its pods; empty: the bits give them */
        char *selector;       /* as text, such as "app=web,tier in (a,b)"; NULL: the bits give it */
        bool labels_cut;      /* its pods have more labels than are known */
        bool selector_unread; /* it has a selector that is longer than halflife reads */
};

/* Read which labels a workload's pods have, and which its selector asks for. labels: the workload's own, then its
 * template's. sets: as for labels_set. */
void label_roles_read(const struct workload_view *v, const struct labels *labels, struct map *sets, struct arena *a,
                      struct label_roles *ret, struct label_roles_rest *ret_rest);
void label_roles_release(struct map *sets, struct label_roles_rest *r);
/* The labels of its pods, in the arena; of texts that the workload owns. */
struct labels label_roles_of_pods(const struct labels *labels, const struct label_roles *s,
                                  const struct label_roles_rest *r, struct arena *a);
/* Its selector, in the arena; NULL: it has none that can be read (rest.selector_unread: it may ask for any label). */
struct selector *label_roles_selector(const struct labels *labels, const struct label_roles *s,
                                      const struct label_roles_rest *r, struct arena *a);

#endif
