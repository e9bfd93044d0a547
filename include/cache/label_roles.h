/*
 * Which of a workload's labels are its own, which its pods have, and which its selector asks for. The last two roles
 * are kept as bits, because nearly every selector asks only for labels of the template.
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
        uint32_t carried;  /* bit i: the workload's pods have label i */
        uint32_t selected; /* bit i: the workload's selector asks for label i with its value; 0: there is no selector,
                              or bits do not express it */
};

/* What the bits of struct label_roles cannot express. Few workloads need this struct. */
struct label_roles_rest {
        struct labels labels; /* labels of the workload's pods; empty: the bits give them */
        char *selector;       /* the selector as text, such as "app=web,tier in (a,b)"; NULL: the bits give it */
        bool labels_cut;      /* the workload's pods have more labels than halflife keeps */
        bool selector_unread; /* the workload has a selector that is longer than halflife reads */
};

/* Read which labels a workload's pods have, and which its selector asks for. `labels`: the workload's own labels, then
 * its template's. `sets`: as for labels_set. */
void label_roles_read(const struct workload_view *v, const struct labels *labels, struct map *sets, struct arena *a,
                      struct label_roles *ret, struct label_roles_rest *ret_rest);
void label_roles_release(struct map *sets, struct label_roles_rest *r);
/* The labels of the workload's pods. The pairs are in the arena or the workload's; their texts are the workload's. */
struct labels label_roles_of_pods(const struct labels *labels, const struct label_roles *s,
                                  const struct label_roles_rest *r, struct arena *a);
/* The workload's selector, in the arena; NULL: none that can be read. If r->selector_unread is set, it may ask for any
 * label. */
struct selector *label_roles_selector(const struct labels *labels, const struct label_roles *s,
                                      const struct label_roles_rest *r, struct arena *a);

#endif
