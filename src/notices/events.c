/*
 * Emits Events on a target's object: what halflife did to it, and which requests were deployed.
 */
#include <string.h>

#include "base/buf.h"
#include "cache/change_log.h"
#include "notices_private.h"

void notice_event(struct notices *notices, const struct target *t, bool warning, const char *reason, const char *note)
{
        AUTO(mem_free) char *uid = t->workload ? workload_uid(t->workload) : NULL;
        char *api_version = *t->group ? mem_printf("%s/%s", t->group, t->version) : mem_string(t->version);
        struct event e = {
                .api_version = api_version,
                .kind = t->kind,
                .ns = t->ns,
                .name = t->name,
                .uid = uid,
                .warning = warning,
                .reason = reason,
                .action = "Apply",
                .note = note,
        };
        if (may_write(notices->leadership))
                event_emit(notices->events, &e, loop_now(notices->loop));
        mem_free(api_version);
}

/* --- deployed requests: reported once the object is in the cluster, whichever halflife answered the deploy --- */

enum { CHANGES_MAX = 900, ROWS_MAX = 2 * VIEW_CONTAINERS };

/* The changed requests: together as text for an Event, and one by one for the log of changes. */
struct event_changes {
        struct buf text;
        struct change row[ROWS_MAX];
        int rows;
};

/* Add a changed request to a list such as "app cpu 2 -> 158m, app memory 1Gi -> 175Mi". Does nothing if from equals
 * to. */
static void events_add_change(struct event_changes *changes, const char *container, enum resource r, struct amount from,
                              struct amount to)
{
        struct buf *text = &changes->text;
        char before[QUANTITY_TEXT_MAX] = "none", after[QUANTITY_TEXT_MAX] = "none";
        if (from.set == to.set && (!from.set || from.value == to.value))
                return;
        if (from.set)
                amount_print(r, from.value, before);
        if (to.set)
                amount_print(r, to.value, after);
        (void)buf_printf(text, "%s%s %s %s -> %s", text->len ? ", " : "", container, resource_name(r), before, after);
        if (changes->rows < ROWS_MAX)
                changes->row[changes->rows++] = (struct change){.container = container,
                                                                .resource = r,
                                                                .from = status_amount_of(from),
                                                                .to = status_amount_of(to),
                                                                .by = CHANGE_BY_DEPLOY};
}

/* Emit the Event about deployed requests. Not before the first cycle has ended: the halflife before the restart has
 * reported what already existed. */
static void events_deployed(struct notices *notices, struct cache *w, const struct target *t, enum change_kind kind,
                            struct event_changes *changes)
{
        AUTO(mem_free) char *note = mem_printf("deployed with %s", changes->text.data);
        if (!notices->cycle_ended || !may_write(notices->leadership))
                return;
        notice_event(notices, t, false, change_kind_name(kind), note);
        for (int i = 0; i < changes->rows; i++) {
                changes->row[i].kind = kind;
                change_log_add(w, t, loop_now(notices->loop).wall, &changes->row[i]);
        }
}

void notice_deployed(struct notices *notices, struct cache *w, const struct target *t)
{
        const struct record_set *original = &t->workload->original, *applied = &t->workload->applied;
        struct event_changes changes = {.rows = 0};
        buf_init(&changes.text, CHANGES_MAX);
        for (int i = 0; i < applied->rows; i++) {
                const struct record_row *to = &applied->row[i], *from = NULL;
                for (int k = 0; k < original->rows && !from; k++)
                        if (original->row[k].container == to->container)
                                from = &original->row[k];
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (to->request[r].set)
                                events_add_change(&changes, to->container, r,
                                                  from ? from->request[r] : (struct amount){0}, to->request[r]);
        }
        if (changes.text.len)
                events_deployed(notices, w, t, CHANGE_DEPLOYED, &changes);
        buf_release(&changes.text);
}

static void events_add_pod(struct event_changes *changes, const struct workload *wl, const struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                for (int k = 0; k < wl->containers; k++)
                        for (enum resource r = CPU; r < RESOURCES && wl->container[k].name == p->container[i].name; r++)
                                events_add_change(changes, p->container[i].name, r, wl->container[k].request[r],
                                                  pod_request(&p->container[i], r));
}

/* Report the requests that admission gave new pods. Pods of one template have the same requests, so only a difference
 * from the last report makes a new Event. */
void notice_admitted(struct notices *notices, struct cache *w, struct target *t)
{
        for (struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                if (!p->admitted)
                        continue;
                pod_admission_told(p);
                struct event_changes changes = {.rows = 0};
                buf_init(&changes.text, CHANGES_MAX);
                events_add_pod(&changes, t->workload, p);
                uint64_t digest = digest_bytes(0, buf_text(&changes.text).p, changes.text.len);
                if (changes.text.len && digest != t->admitted_digest)
                        events_deployed(notices, w, t, CHANGE_ADMITTED, &changes);
                if (changes.text.len)
                        target_admission_told(t, digest);
                buf_release(&changes.text);
        }
}

uint64_t notice_events_dropped(const struct notices *notices)
{
        return event_dropped(notices->events);
}
