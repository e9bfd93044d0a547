/* Reading objects of a document without much ado: what cannot be told is absent. */
#ifndef HALFLIFE_DEPLOY_RENDER_PRIVATE_H
#define HALFLIFE_DEPLOY_RENDER_PRIVATE_H

#include "base/map.h"
#include "deploy/render.h"
#include "manifest/document.h"

static inline uint32_t render_at(const struct doc *d, uint32_t mapping, const char *key)
{
        uint32_t at = DOC_NONE;
        return doc_find(d, mapping, text_of(key), &at, NULL) == 0 ? at : (uint32_t)DOC_NONE;
}

static inline struct text render_text(const struct doc *d, uint32_t mapping, const char *key)
{
        return doc_text(d, render_at(d, mapping, key));
}

/* The autoscalers of some texts, by what they scale. {0}: none. */
struct scaler {
        bool utilization[RESOURCES];
        bool sets_requests; /* it sets them itself */
};
struct scalers {
        struct map of;     /* "ns/group/kind/name" */
        struct map ran_by; /* the same of what a Rollout refers to (workloadRef) -> struct text, the Rollout's key */
        struct arena arena;
};
/* Of one object, where it is an autoscaler. */
void scalers_add(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns);
/* NULL: none scales it. */
const struct scaler *scalers_find(const struct scalers *s, struct text ns, struct text group, struct text kind,
                                  struct text name, struct arena *scratch);
void scalers_release(struct scalers *s);

#endif
