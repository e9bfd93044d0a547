/*
 * Holds, set and lifted: the annotation that controller, admission and render obey.
 */
#include <string.h>

#include "base/yaml.h"
#include "restore.h"

/* value NULL: lifted. Gone meanwhile is as good: 1 changed, 0 gone, < 0 the error. */
static int restore_hold_annotate(struct restoring *r, const struct restore_target *t, const char *value,
                                 struct err *err)
{
        AUTO(mem_free)
        char *path = path_of("halflife.dev", "v1alpha1", t->ns, "recommendations", t->recommendation, NULL);
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
