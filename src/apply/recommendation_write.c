/*
 * Writing Recommendations: head first where it has to be, then the status. Both by server-side apply: the object is
 * ours.
 */
#include <stdio.h>
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"

/* What a write under way needs at its end; targets are not freed while busy. */
struct publishing {
        struct applier *applier;
        struct target *target;
        json_t *status; /* to be written after the head; NULL: the status is what is under way */
        uint64_t labels;
};

static char *path_of_recommendation(const struct target *t, const char *subresource)
{
        return path_of("halflife.dev", "v1alpha1", t->ns, "recommendations", t->recommendation, subresource);
}

static void publishing_end(struct publishing *p, const struct client_answer *a)
{
        struct applier *applier = p->applier;
        struct target *t = p->target;
        json_decref(p->status);
        mem_free(p);
        work_done(applier, t, &a->err, a->retry_after_ms);
}

static void status_written(void *arg, const struct client_answer *a)
{
        struct publishing *p = arg;
        struct target *t = p->target;
        if (a->err.code == 0) {
                if (t->published) /* else it was deleted meanwhile */
                        published_set_status(p->applier->cache, t->published, p->status);
                target_status_written(t, loop_now(p->applier->loop).wall);
        }
        publishing_end(p, a);
}

static void send_status(struct publishing *p)
{
        struct target *t = p->target;
        json_object_set_new(p->status, "observedGeneration", json_integer(t->published ? t->published->generation : 0));
        json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}, s:O}", "apiVersion", "halflife.dev/v1alpha1", "kind",
                                 "Recommendation", "metadata", "name", t->recommendation, "namespace", t->ns, "status",
                                 p->status);
        char *path = path_of_recommendation(t, "status");
        apply_send(p->applier->client, path, body, status_written, p);
        json_decref(body);
        mem_free(path);
}

static void head_written(void *arg, const struct client_answer *a)
{
        struct publishing *p = arg;
        if (a->err.code != 0) {
                publishing_end(p, a);
                return;
        }
        struct cache *w = p->applier->cache;
        struct target *t = p->target;
        struct client_answer said = *a;
        AUTO(mem_free) char *key = mem_printf("%s/%s", t->ns, t->recommendation);
        if (published_upsert(w, a->body, t->published ? t->published->epoch : 0, &said.err) < 0) {
                publishing_end(p, &said);
                return;
        }
        target_set_published(t, published_get(w, text_of(key)), p->labels);
        if (may_write(p->applier->leadership)) /* the Lease may have gone meanwhile */
                send_status(p);
        else
                publishing_end(p, a);
}

static void send_head(struct publishing *p)
{
        json_t *body = publish_build_head(p->target);
        char *path = path_of_recommendation(p->target, NULL);
        p->labels = publish_labels_digest(workload_own_labels(p->target->workload));
        apply_send(p->applier->client, path, body, head_written, p);
        json_decref(body);
        mem_free(path);
}

/* --- what holds a change back, as an Event --- */

/* What an owner wants to hear of. A young history, a small change, a cooldown are the way of the thing; they are in the
 * status. */
static bool publish_worth_telling(enum reason hold)
{
        return hold == REASON_HPA_HOLD || hold == REASON_ROLLOUT_BLOCKED || hold == REASON_ORPHANED ||
               hold == REASON_MANAGED || hold == REASON_QUOTA || hold == REASON_OTHER_AUTOSCALER ||
               hold == REASON_CONTESTED || hold == REASON_BUDGET;
}

/* Once, when it begins: when the condition that is about to be written says another reason than the one that stands. */
static void publish_tell_hold(struct applier *applier, const struct target *t, const struct plan *p)
{
        const struct plan_condition *applied = plan_condition(p, "Applied");
        enum reason hold = p->orphaned ? REASON_ORPHANED : p->hold;
        const struct published *before = t->published;
        if (!applied || applied->status || !(publish_worth_telling(hold) || p->resize.stuck))
                return;
        for (int i = 0; before && i < before->conditions; i++)
                if (strcmp(before->condition[i].type, "Applied") == 0 &&
                    strcmp(before->condition[i].reason, applied->reason) == 0)
                        return;
        bool fails = p->resize.stuck && (p->resize.refused || p->resize.worst == RESIZE_INFEASIBLE);
        report_event(applier->report, t, fails || hold == REASON_CONTESTED || hold == REASON_ORPHANED, applied->reason,
                     applied->message);
}

void publish_status(struct applier *applier, const struct plan *plan)
{
        publish_tell_hold(applier, plan->target, plan);
        struct publishing *p = MEM_NEW(struct publishing);
        *p = (struct publishing){.applier = applier, .target = plan->target, .status = publish_build_status(plan)};
        if (publish_needs(plan, applier->live->status_ms) == PUBLISH_HEAD)
                send_head(p);
        else
                send_status(p);
}

static void publish_deleted(void *arg, const struct client_answer *a)
{
        struct publishing *p = arg;
        struct client_answer said = *a;
        if (said.err.code == ERR_NOTFOUND)
                said.err.code = 0; /* somebody was faster */
        if (said.err.code == 0 && p->target->published)
                published_deleted(p->target->published); /* until the watch tells, so that it is not deleted twice */
        publishing_end(p, &said);
}

void publish_delete(struct applier *applier, struct target *t)
{
        struct publishing *p = MEM_NEW(struct publishing);
        *p = (struct publishing){.applier = applier, .target = t};
        char *path = path_of_recommendation(t, NULL);
        struct call call = {.method = HTTP_DELETE, .path = path};
        client_start(applier->client, &call, publish_deleted, p);
        mem_free(path);
}
