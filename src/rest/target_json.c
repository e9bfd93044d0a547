/*
 * Writes a target as JSON. The status has the same members and texts as the Recommendation's status, as far as a view
 * has them.
 */
#include <stdio.h>

#include "core/kind.h"
#include "handlers.h"

static bool has_applied(const struct status_container *c)
{
        return c->of[CPU].applied >= 0 || c->of[MEMORY].applied >= 0;
}

static const char *target_mode_of(const struct snapshot_target *t)
{
        if (!t->profile || (t->profile->unseen && t->mode >= APPLY_MODES))
                return NULL;
        return apply_mode_writes(t->profile->unseen ? (enum apply_mode)t->mode : t->profile->spec->apply.mode);
}

static void write_applied(struct writer *w, const struct snapshot_target *t)
{
        uint16_t first = 0;
        while (first < t->containers && !has_applied(&t->container[first]))
                first++;
        if (first == t->containers)
                return;
        writer_open(w, "applied", '{');
        writer_time(w, "time", t->applied_ms);
        if (target_mode_of(t))
                writer_text(w, "mode", text_of(target_mode_of(t)));
        writer_open(w, "containers", '[');
        for (uint16_t i = first; i < t->containers; i++) {
                if (!has_applied(&t->container[i]))
                        continue;
                writer_open(w, NULL, '{');
                writer_text(w, "name", text_of(t->container[i].name));
                for (enum resource r = CPU; r < RESOURCES; r++)
                        writer_amount(w, resource_name(r), r, amount_of_status(t->container[i].of[r].applied));
                writer_close(w, '}');
        }
        writer_close(w, ']');
        writer_close(w, '}');
}

void write_first_sample(struct writer *w, int64_t ms)
{
        writer_time(w, "firstSample", ms);
        writer_time(w, "since", ms);
}

static void write_status(struct writer *w, const struct snapshot_target *t, const struct text *container)
{
        writer_open(w, "status", '{');
        writer_text(w, "state", text_of(state_name((enum state)t->state)));
        status_write_mode(w, t->mode);
        writer_open(w, "containers", '[');
        for (uint16_t i = 0; i < t->containers; i++)
                if (!container || text_is(*container, t->container[i].name))
                        status_write_container(w, (enum state)t->state, &t->container[i], t->limits, i);
        writer_close(w, ']');
        if (!container) {
                struct status_numbers pod[RESOURCES];
                status_pod_numbers(t->container, t->containers, pod);
                status_write_resources(w, "pod", pod);
                if (t->so_far)
                        status_write_so_far(w, t->so_far);
        }
        status_write_saving(w, t->saving);
        if (t->quota)
                status_write_quota(w, t->quota);
        if (t->node)
                status_write_node(w, t->node);
        if (t->samples > 0 || !t->since_ms) /* a status leaves the count out while samples are too few */
                writer_int(w, "samples", t->samples);
        write_first_sample(w, t->since_ms);
        writer_time(w, "lastSample", t->last_ms);
        writer_int(w, "confidencePercent", t->confidence_percent);
        write_applied(w, t);
        writer_open(w, "conditions", '[');
        for (uint16_t i = 0; i < t->conditions; i++) {
                const struct snapshot_condition *c = &t->condition[i];
                status_write_condition(w, &(struct status_condition){c->type, c->reason, .status = c->status});
        }
        writer_close(w, ']');
        if (t->hold)
                writer_text(w, "hold", text_of(t->hold));
        writer_close(w, '}');
}

/* --- identity --- */

static void write_version(struct writer *w, const char *group, const char *version)
{
        char text[512];
        if (!version || !*version)
                return;
        int len = snprintf(text, sizeof text, "%s%s%s", group, *group ? "/" : "", version);
        writer_text(w, "apiVersion", (struct text){text, len < (int)sizeof text ? (size_t)len : sizeof text - 1});
}

static void write_known(struct writer *w, const struct snapshot_target *t)
{
        writer_open(w, "metadata", '{');
        writer_text(w, "namespace", text_of(t->ns));
        writer_text(w, "kind", text_of(t->kind));
        write_version(w, t->group, t->version);
        writer_text(w, "name", text_of(t->name));
        writer_text(w, "recommendation", text_of(t->recommendation));
        writer_open(w, "labels", '{');
        for (const char *at = t->labels, *end = at + t->labels_size; at < end;) {
                struct text key = text_of(at), value = text_of(at + key.len + 1);
                writer_member(w, key, value);
                at = value.p + value.len + 1;
        }
        writer_close(w, '}');
        writer_close(w, '}');
}

void write_profile(struct writer *w, const struct snapshot_profile *p)
{
        if (!p)
                return;
        writer_open(w, "profile", '{');
        writer_text(w, "kind", p->ns ? TEXT("Profile") : TEXT("ClusterProfile"));
        writer_text(w, "name", text_of(p->name));
        writer_close(w, '}');
}

void write_metadata(struct writer *w, const struct ask *k)
{
        if (k->target) {
                write_known(w, k->target);
                return;
        }
        const struct kind *row = kind_find(text_of(k->route->group), text_of(k->route->kind));
        writer_open(w, "metadata", '{');
        writer_text(w, "namespace", text_of(k->route->ns));
        writer_text(w, "kind", text_of(k->route->kind));
        write_version(w, k->route->group, row ? row->version : NULL);
        writer_text(w, "name", text_of(k->route->workload));
        writer_close(w, '}');
}

void write_target(struct writer *w, const struct snapshot_target *t, const struct text *container)
{
        write_known(w, t);
        write_profile(w, t->profile);
        write_status(w, t, container);
}
