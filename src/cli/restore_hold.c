/*
 * Sets and lifts holds. A hold is an annotation of the Recommendation that controller, admission and render obey.
 */
#include <string.h>

#include "base/yaml.h"
#include "kube/known_resource.h"
#include "restore.h"

/* Set the hold's annotation, or remove it (value NULL). Returns 1: changed; 0: the Recommendation is gone, which is
 * fine; negative: the error. */
static int restore_hold_annotate(struct restoring *r, const struct restore_target *t, const char *value,
                                 struct err *err)
{
        AUTO(mem_free)
        char *path = known_resource_path(KNOWN_RECOMMENDATIONS, t->ns, t->recommendation, NULL);
        AUTO(json_decref)
        json_t *body = json_pack("{s:{s:{s:o}}}", "metadata", "annotations", ANNOTATION_HOLD,
                                 value ? json_string(value) : json_null());
        AUTO(mem_free) char *answer = restore_patch(r, path, "application/merge-patch+json", body, err);
        if (answer)
                return 1;
        if (err->code != ERR_NOTFOUND)
                return err_wrap(err, "%s the recommendation '%s' in namespace '%s'", value ? "hold" : "resume",
                                t->recommendation, t->ns);
        *err = (struct err){0};
        return 0;
}

int restore_hold(struct restoring *r, struct err *err)
{
        int held = 0;
        for (size_t i = 0; i < r->targets && !r->interrupted; i++) {
                struct restore_target *t = r->target[i];
                if (!t->recommendation || t->hold)
                        continue;
                int rc = restore_hold_annotate(r, t, r->reason, err);
                if (rc < 0)
                        return rc;
                held += rc;
                t->hold = mem_string(r->reason);
        }
        return held;
}

int restore_resume(struct restoring *r, const struct restore_target *t, struct err *err)
{
        return restore_hold_annotate(r, t, NULL, err);
}
