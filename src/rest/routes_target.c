/*
 * A target as JSON: its status is to the letter that of its Recommendation, as far as a view has it.
 */
#include <stdio.h>

#include "core/kind.h"
#include "core/pod.h"
#include "handlers.h"

static const struct {
        const char *key;
        size_t at;
} fields[] = {
        {"original", offsetof(struct snapshot_numbers, original)},
        {"current", offsetof(struct snapshot_numbers, current)},
        {"model", offsetof(struct snapshot_numbers, model)},
        {"target", offsetof(struct snapshot_numbers, target)},
        {"lower", offsetof(struct snapshot_numbers, lower)},
        {"upper", offsetof(struct snapshot_numbers, upper)},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static struct amount target_amount_at(const struct snapshot_numbers *n, int field)
{
        snapshot_amount value;
        memcpy(&value, (const char *)n + fields[field].at, sizeof value);
        return amount_of_view(value);
}

static void write_numbers(struct writer *w, enum resource r, const struct snapshot_numbers *n)
{
        writer_open(w, resource_name(r), '{');
        for (int i = 0; i < FIELDS; i++)
                writer_amount(w, fields[i].key, r, target_amount_at(n, i));
        if (n->reason)
                writer_text(w, "reason", text_of(reason_name((enum reason)n->reason)));
        writer_close(w, '}');
}

static void write_container(struct writer *w, const struct snapshot_target *t, const struct snapshot_container *c)
{
        enum state state = t->state == STATE_HELD ? STATE_HELD : (enum state)c->state;
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(c->name));
        writer_text(w, "state", text_of(state_name(state)));
        for (enum resource r = CPU; r < RESOURCES; r++)
                write_numbers(w, r, &c->of[r]);
        writer_close(w, '}');
}

static void write_pod(struct writer *w, const struct snapshot_target *t)
{
        writer_open(w, "pod", '{');
        for (enum resource r = CPU; r < RESOURCES; r++) {
                writer_open(w, resource_name(r), '{');
                for (int f = 0; f < FIELDS; f++) {
                        struct pod_sum sum = {0};
                        for (uint16_t i = 0; i < t->containers; i++) {
                                const struct snapshot_container *c = &t->container[i];
                                struct amount a = target_amount_at(&c->of[r], f);
                                if (!a.set && c->role == ROLE_INIT)
                                        a = amount_of_view(c->of[r].original);
                                pod_sum_add(&sum, c->role, a);
                        }
                        writer_amount(w, fields[f].key, r, pod_sum_total(&sum));
                }
                writer_close(w, '}');
        }
        writer_close(w, '}');
}

static bool has_applied(const struct snapshot_container *c)
{
        return c->of[CPU].applied >= 0 || c->of[MEMORY].applied >= 0;
}

static const char *target_mode_of(const struct snapshot_target *t)
{
        return t->profile ? apply_mode_writes(t->profile->spec->apply.mode) : NULL;
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
                        writer_amount(w, resource_name(r), r, amount_of_view(t->container[i].of[r].applied));
                writer_close(w, '}');
        }
        writer_close(w, ']');
        writer_close(w, '}');
}

static void write_conditions(struct writer *w, const struct snapshot_target *t)
{
        writer_open(w, "conditions", '[');
        for (uint16_t i = 0; i < t->conditions; i++) {
                const struct snapshot_condition *c = &t->condition[i];
                writer_open(w, NULL, '{');
                writer_text(w, "type", text_of(c->type));
                writer_text(w, "status", c->status ? TEXT("True") : TEXT("False"));
                writer_text(w, "reason", text_of(c->reason));
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

static void write_quota(struct writer *w, const struct snapshot_quota *quota)
{
        writer_open(w, "quota", '{');
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (quota[r].hard < 0)
                        continue;
                writer_open(w, resource_name(r), '{');
                writer_amount(w, "hard", r, amount_of_view(quota[r].hard));
                writer_amount(w, "used", r, amount_of_view(quota[r].used));
                writer_close(w, '}');
        }
        writer_close(w, '}');
}

static void write_status(struct writer *w, const struct snapshot_target *t, const struct text *container)
{
        writer_open(w, "status", '{');
        writer_text(w, "state", text_of(state_name((enum state)t->state)));
        writer_open(w, "containers", '[');
        for (uint16_t i = 0; i < t->containers; i++)
                if (!container || text_is(*container, t->container[i].name))
                        write_container(w, t, &t->container[i]);
        writer_close(w, ']');
        if (!container)
                write_pod(w, t);
        writer_open(w, "saving", '{');
        for (enum resource r = CPU; r < RESOURCES; r++)
                writer_amount(w, resource_name(r), r, (struct amount){true, t->saving[r]});
        writer_close(w, '}');
        if (t->quota)
                write_quota(w, t->quota);
        if (t->samples > 0 || !t->since_ms) /* a Recommendation does not tell while too few are there */
                writer_int(w, "samples", t->samples);
        writer_time(w, "since", t->since_ms);
        writer_time(w, "lastSample", t->last_ms);
        writer_int(w, "confidencePercent", t->confidence_percent);
        write_applied(w, t);
        write_conditions(w, t);
        if (t->hold)
                writer_text(w, "hold", text_of(t->hold));
        writer_close(w, '}');
}

/* --- who it is --- */

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
