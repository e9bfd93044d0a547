/*
 * Events on the object of a target: what halflife did to it, and which requests were deployed.
 */
#include <string.h>

#include "base/buf.h"
#include "report_private.h"

void report_event(struct report *report, const struct target *t, bool warning, const char *reason, const char *note)
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
        if (may_write(report->leadership))
                event_emit(report->events, &e, loop_now(report->loop));
        mem_free(api_version);
}

/* --- deployed requests: reported once the object is in the cluster, whichever halflife answered the deploy --- */

enum { CHANGES_MAX = 900 };

/* "app cpu 2 -> 158m, app memory 1Gi -> 175Mi" */
static void events_add_change(struct buf *changes, const char *container, enum resource r, struct amount from,
                              struct amount to)
{
        char before[QUANTITY_TEXT_MAX] = "none", after[QUANTITY_TEXT_MAX] = "none";
        if (from.set == to.set && (!from.set || from.value == to.value))
                return;
        if (from.set)
                amount_print(r, from.value, before);
        if (to.set)
                amount_print(r, to.value, after);
        (void)buf_printf(changes, "%s%s %s %s -> %s", changes->len ? ", " : "", container, resource_name(r), before,
                         after);
}

/* Before the first cycle has ended, no Event: the halflife before the restart reported what already existed. */
static void events_deployed(struct report *report, const struct target *t, const char *reason,
                            const struct buf *changes)
{
        AUTO(mem_free) char *note = mem_printf("deployed with %s", changes->data);
        if (report->cycle_ended)
                report_event(report, t, false, reason, note);
}

void report_deployed(struct report *report, const struct target *t)
{
        const struct record_set *original = &t->workload->original, *applied = &t->workload->applied;
        AUTO(buf_release) struct buf changes;
        buf_init(&changes, CHANGES_MAX);
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
        if (changes.len)
                events_deployed(report, t, "Deployed", &changes);
}

static void events_add_pod(struct buf *changes, const struct workload *wl, const struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                for (int k = 0; k < wl->containers; k++)
                        for (enum resource r = CPU; r < RESOURCES && wl->container[k].name == p->container[i].name; r++)
                                events_add_change(changes, p->container[i].name, r, wl->container[k].request[r],
                                                  pod_request(&p->container[i], r));
}

/* Pods of one template have the same requests, so only a difference from the last report makes a new Event. */
void report_admitted(struct report *report, struct target *t)
{
        for (struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                if (!p->admitted)
                        continue;
                pod_admission_told(p);
                AUTO(buf_release) struct buf changes;
                buf_init(&changes, CHANGES_MAX);
                events_add_pod(&changes, t->workload, p);
                uint64_t digest = digest_bytes(0, buf_text(&changes).p, changes.len);
                if (changes.len && digest != t->admitted_digest)
                        events_deployed(report, t, "Admitted", &changes);
                if (changes.len)
                        target_admission_told(t, digest);
        }
}

uint64_t report_events_dropped(const struct report *report)
{
        return event_dropped(report->events);
}
