/*
 * Writes Recommendations: the head if it is not up to date, then the status. Both writes use server-side apply, because
 * the object is halflife's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"
#include "cache/change_log.h"
#include "kube/known_resource.h"

/* A write of a Recommendation that is under way. The pointer to the target stays valid, because a busy target is not
 * freed. labels: digest of the labels being written. */
struct publishing {
        struct applier *applier;
        struct target *target;
        struct buf body; /* the JSON of the status write; send_status closes it */
        struct writer writer;
        uint64_t labels;
};

/* --- when to write --- */

static int status_bucket_of(enum resource r, int64_t value)
{
        return histogram_sum_bucket(r, r == CPU ? (double)value / 1000.0 : (double)value);
}

/* Is an amount more than one histogram bucket away from the amount written before, or is only one of the two known? */
static bool amount_left(enum resource r, status_amount now, status_amount before)
{
        if ((now < 0) != (before < 0))
                return true;
        int apart = now < 0 ? 0 : status_bucket_of(r, now) - status_bucket_of(r, before);
        return apart > 1 || apart < -1;
}

/* Whether a node's learned peak has left its histogram bucket. Target values do not count: they change with each pod on
 * the node. */
static bool peak_left(const struct status_node now[static RESOURCES], const struct status_node before[static RESOURCES])
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                status_amount a = now[r].peak, b = before[r].peak;
                if ((a < 0) != (b < 0) || (a >= 0 && status_bucket_of(r, a) != status_bucket_of(r, b)))
                        return true;
        }
        return false;
}

static bool so_far_left(const struct recommendation_status *now, const struct recommendation_status *before)
{
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (amount_left(r, now->so_far ? now->so_far[r] : -1, before->so_far ? before->so_far[r] : -1))
                        return true;
        return false;
}

/* Whether a target value (on a node: a learned peak) differs from the published one by more than one histogram
 * bucket. */
static bool target_left(const struct recommendation_status *now, const struct recommendation_status *before)
{
        if (now->node && before->node)
                return peak_left(now->node, before->node);
        for (int i = 0; i < now->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        status_amount target = now->container[i].of[r].target, then = -1;
                        for (int k = 0; k < before->containers; k++)
                                if (before->container[k].name == now->container[i].name)
                                        then = before->container[k].of[r].target;
                        if (amount_left(r, target, then))
                                return true;
                }
        return false;
}

/* Whether the target needs no Recommendation: halflife never saw a pod of it, and changed nothing. A cluster may have
 * thousands of such workloads and namespaces. A Recommendation that import, adopt or a person made is published all the
 * same. */
static bool has_nothing_to_say(const struct plan *p)
{
        const struct target *t = p->target;
        return !t->published && !t->hold && t->pod_count == 0 && !t->histories && !t->apply_state.changed_ms &&
               !p->carries;
}

enum publish_need publish_needs(struct applier *applier, const struct plan *p)
{
        const struct target *t = p->target;
        struct recommendation_status status;
        if (has_nothing_to_say(p))
                return PUBLISH_NOTHING;
        if (!publish_head_stands(applier, t))
                return PUBLISH_HEAD;
        plan_status(p, &applier->plans, &status);
        if (t->published->digest != recommendation_status_digest(&status))
                return PUBLISH_STATUS;
        int64_t age_ms = p->now.ms - t->status_ms;
        bool due = age_ms >= applier->live->status_ms || age_ms < 0;
        const struct recommendation_status *written = &t->published->status;
        return due && (target_left(&status, written) || so_far_left(&status, written)) ? PUBLISH_STATUS
                                                                                       : PUBLISH_NOTHING;
}

/* --- writing --- */

static char *path_of_recommendation(const struct target *t, const char *subresource)
{
        return known_resource_path(KNOWN_RECOMMENDATIONS, t->ns, t->recommendation, subresource);
}

static void publishing_end(struct publishing *p, const struct client_answer *a)
{
        struct applier *applier = p->applier;
        struct target *t = p->target;
        buf_release(&p->body);
        mem_free(p);
        work_done(applier, t, &a->err, a->retry_after_ms);
}

static void status_written(void *arg, const struct client_answer *a)
{
        struct publishing *p = arg;
        struct target *t = p->target;
        if (a->err.code == 0) {
                AUTO(json_decref) json_t *body = json_loadb(p->body.data, p->body.len, 0, NULL);
                if (t->published) /* NULL: somebody deleted the Recommendation during the write */
                        published_set_status(p->applier->cache, t->published, json_object_get(body, "status"));
                target_status_written(t, loop_now(p->applier->loop).wall);
        }
        publishing_end(p, a);
}

static void body_begin(struct publishing *p, const struct recommendation_status *status)
{
        enum { BODY_MOST = 4 << 20 };
        buf_init(&p->body, BODY_MOST);
        p->writer = (struct writer){.b = &p->body};
        writer_open(&p->writer, NULL, '{');
        writer_text(&p->writer, "apiVersion", TEXT(OWN_API_VERSION));
        writer_text(&p->writer, "kind", TEXT("Recommendation"));
        writer_open(&p->writer, "metadata", '{');
        writer_text(&p->writer, "name", text_of(p->target->recommendation));
        writer_text(&p->writer, "namespace", text_of(p->target->ns));
        writer_close(&p->writer, '}');
        writer_open(&p->writer, "status", '{');
        recommendation_status_write(&p->writer, status);
}

static void send_status(struct publishing *p)
{
        struct target *t = p->target;
        AUTO(mem_free) char *path = path_of_recommendation(t, "status");
        writer_int(&p->writer, "observedGeneration", t->published ? t->published->generation : 0);
        writer_close(&p->writer, '}');
        writer_close(&p->writer, '}');
        apply_send_text(p->applier->client, path, buf_text(&p->body), status_written, p);
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
        if (may_write(p->applier->leadership)) /* this process may have lost the Lease by now */
                send_status(p);
        else
                publishing_end(p, a);
}

static void send_head(struct publishing *p)
{
        json_t *body = publish_build_head(p->applier, p->target);
        char *path = path_of_recommendation(p->target, NULL);
        p->labels = publish_labels_digest(p->applier, p->target->workload);
        apply_send(p->applier->client, path, body, head_written, p);
        json_decref(body);
        mem_free(path);
}

/*
 * A Recommendation that was deleted while a person held it is created again, with the hold's annotation from the start.
 * The annotation gets another field manager than the head, or the next apply of the head would remove it.
 */
static void held_made(void *arg, const struct client_answer *a)
{
        struct publishing *p = arg;
        if (a->err.code != 0 && a->err.code != ERR_CONFLICT) { /* ERR_CONFLICT: a new Recommendation is there already */
                publishing_end(p, a);
                return;
        }
        if (a->err.code == 0) {
                AUTO(mem_free)
                char *note = mem_printf("the Recommendation was deleted and made again with its hold: %s",
                                        p->target->hold ? p->target->hold : "");
                notice_event(p->applier->notices, p->target, false, "HoldKept", note);
        }
        send_head(p);
}

static void send_held(struct publishing *p)
{
        json_t *body = publish_build_head(p->applier, p->target);
        json_t *meta = json_object_get(body, "metadata");
        json_object_del(meta, "labels");
        json_object_set_new(meta, "annotations", json_pack("{s:s}", ANNOTATION_HOLD, p->target->hold));
        AUTO(mem_free)
        char *path = known_resource_path(KNOWN_RECOMMENDATIONS, p->target->ns, NULL, NULL);
        char *text = json_dumps(body, JSON_COMPACT);
        struct call call = {
                .method = HTTP_POST, .path = path, .query = "fieldManager=halflife-hold", .body = text_of(text)};
        client_start(p->applier->client, &call, held_made, p);
        free(text); /* free, not mem_free: jansson allocated the text */
        json_decref(body);
}

/* --- the Event about a held change --- */

/* Whether the published status already has the condition with the same reason: an Event has then reported it. */
static bool publish_told(const struct target *t, const struct plan_condition *c)
{
        const struct published *before = t->published;
        for (int i = 0; before && i < before->status.conditions; i++)
                if (strcmp(before->status.condition[i].type, c->type) == 0 &&
                    strcmp(before->status.condition[i].reason, c->reason) == 0)
                        return true;
        return false;
}

/* Report once, by an Event, that pods come with other requests than halflife's admission gives them. */
static void publish_tell_admission(struct applier *applier, const struct target *t, const struct plan *p)
{
        const struct plan_condition *c = plan_condition(p, "Contested");
        if (!c || p->contested || publish_told(t, c))
                return;
        change_log_add(applier->cache, t, p->now,
                       &(struct change){
                               .kind = CHANGE_CONTESTED, .by = "admission", .reason = c->reason, .words = c->message});
        notice_event(applier->notices, t, true, "Contested", c->message);
}

/* Report once, by an Event, that a change is held: only if the reason about to be written is not the published
 * condition's. */
static void publish_tell_hold(struct applier *applier, const struct target *t, const struct plan *p)
{
        const struct plan_condition *applied = plan_condition(p, "Applied");
        enum reason hold = p->orphaned ? REASON_ORPHANED : p->hold;
        if (!applied || applied->status || !(reason_worth_event(hold) || p->resize.stuck) || publish_told(t, applied))
                return;
        bool fails =
                p->resize.stuck && (p->resize.refused || p->resize.invalid || p->resize.worst == RESIZE_INFEASIBLE);
        notice_event(applier->notices, t, fails || hold == REASON_CONTESTED || hold == REASON_ORPHANED, applied->reason,
                     applied->message);
}

void publish_status(struct applier *applier, const struct plan *plan)
{
        struct recommendation_status status;
        struct publishing *p = MEM_NEW(struct publishing);
        *p = (struct publishing){.applier = applier, .target = plan->target};
        publish_tell_hold(applier, plan->target, plan);
        publish_tell_admission(applier, plan->target, plan);
        plan_status(plan, &applier->plans, &status);
        body_begin(p, &status);
        if (publish_head_stands(applier, plan->target))
                send_status(p);
        else if (plan->target->hold && !(plan->target->published && plan->target->published->known))
                send_held(p);
        else
                send_head(p);
}

static void publish_deleted(void *arg, const struct client_answer *a)
{
        struct publishing *p = arg;
        struct client_answer said = *a;
        if (said.err.code == ERR_NOTFOUND)
                said.err.code = 0; /* the Recommendation is deleted already */
        if (said.err.code == 0 && p->target->published)
                published_deleted(
                        p->target->published); /* do not delete it again before the watch reports the deletion */
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
