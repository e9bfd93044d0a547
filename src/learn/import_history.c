/*
 * Histories from elsewhere (another halflife's export, a VPA's checkpoints) are joined with those of a target: by who
 * learns, because he alone owns what was learned. They come as lines of store/transfer.h in an annotation on its
 * Recommendation (annotation_commands.c). Each line is joined whole or not at all, and remembered with the target by
 * whose samples it holds, in the same transaction as the history; so that the same one never counts twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "learner_private.h"
#include "store/transfer.h"

/* --- whose samples --- */

static struct store_key import_key_of(const struct target *t, const char *container)
{
        return (struct store_key){text_of(t->ns), text_of(t->group), text_of(t->kind), text_of(t->name),
                                  text_of(container)};
}

int import_sources(const struct history *h, uint64_t ret[static TRANSFER_SOURCES])
{
        const struct target *t = h->target;
        const struct store_key key = import_key_of(t, h->container);
        int count = 0;
        ret[count++] = transfer_source(&key, &h->usage);
        for (int i = 0; t->imported && i < t->imported->count && count < TRANSFER_SOURCES; i++)
                if (t->imported->of[i].container == h->container)
                        ret[count++] = t->imported->of[i].source;
        return count;
}

/* --- may it? --- */

static const struct resource_policy *import_policy_of(const struct target *t, const char *container)
{
        bool ignore;
        return t->profile ? profile_spec_container(t->profile->spec, text_of(container), &ignore) : NULL;
}

static bool is_container(const struct target *t, const char *container)
{
        const struct workload *wl = t->workload;
        for (int i = 0; wl && i < wl->containers; i++)
                if (wl->container[i].name == container && wl->container[i].role != ROLE_INIT)
                        return true;
        return history_find(t, container) != NULL; /* as of one that only pods have */
}

static int check_half_lives(const struct usage *u, const struct resource_policy *policy, struct err *err)
{
        char theirs[DURATION_TEXT_MAX], ours[DURATION_TEXT_MAX];
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (u->of[r].half_life_ms != policy[r].half_life_ms)
                        return err_set(
                                err, ERR_INVALID,
                                "its half-life of %s is %s, and here %s: set resources.%s.halfLife to %s, import, "
                                "and set it back; what was learned is rescaled then",
                                resource_name(r), duration_print(u->of[r].half_life_ms, theirs),
                                duration_print(policy[r].half_life_ms, ours), resource_name(r), theirs);
        return 0;
}

static int import_check(struct learner *learner, const struct target *t, const char *container,
                        const struct transfer_row *row, struct err *err)
{
        const struct resource_policy *policy = import_policy_of(t, container);
        if (!policy)
                return err_set(err, ERR_INVALID, "no profile selects the workload");
        if (!is_container(t, container))
                return err_set(err, ERR_NOTFOUND, "the workload has no container of that name");
        if (row->usage.samples == 0)
                return err_set(err, ERR_INVALID, "it holds nothing");
        if (!usage_may_join(&row->usage, (struct wall){clock_skew_later(learner->skew)}))
                return err_set(err, ERR_INVALID,
                               "it tells of a time that has not come, or counts more than there can be: is one of the "
                               "clocks wrong?");
        if (t->imported && t->imported->count + row->sources >= IMPORTED_MOST)
                return err_set(err, ERR_TOOBIG, "%d histories were imported into this workload: no more are kept apart",
                               t->imported->count);
        return check_half_lives(&row->usage, policy, err);
}

/* --- doing --- */

static bool import_is_known(const struct target *t, const char *container, const struct transfer_row *row)
{
        const struct history *h = history_find(t, container);
        const struct store_key key = import_key_of(t, container);
        if (!h || h->usage.samples == 0)
                return false; /* what was remembered of one that is lost does not keep it away */
        for (int i = 0; i < row->sources; i++)
                if (imported_has(t, container, row->source[i]) || row->source[i] == transfer_source(&key, &h->usage))
                        return true;
        return false;
}

/* What it is itself is remembered too: joined, it begins earlier, and is known by another first sample. */
static int import_join(struct target *t, const char *container, struct transfer_row *row, struct err *err)
{
        const struct resource_policy *policy = import_policy_of(t, container);
        const struct store_key key = import_key_of(t, container);
        struct history *h = history_get(t, container, policy);
        struct usage_room room;
        uint64_t itself = h->usage.samples > 0 ? transfer_source(&key, &h->usage) : row->source[0];
        int rc;
        usage_adopt(&h->usage, policy);
        usage_rewindow(&row->usage, h->usage.window_ms);
        while ((rc = usage_merge(&h->usage, &row->usage, &room)) == ERR_NOSPACE)
                ingest_lend(&h->usage, &room);
        if (rc < 0)
                return err_set(err, rc, "together they weigh more than a history can");
        imported_add(t, container, itself);
        for (int i = 0; i < row->sources; i++)
                imported_add(t, container, row->source[i]);
        h->dirty = t->apply_state_dirty = true;
        return 0;
}

struct importing {
        struct learner *learner;
        struct target *target;
        json_t *containers; /* what became of each */
        int joined;
};

static char *import_take(struct importing *m, const char *container, struct transfer_row *row)
{
        struct err err = {0};
        if (import_is_known(m->target, container, row))
                return mem_string("known");
        if (import_check(m->learner, m->target, container, row, &err) < 0 ||
            import_join(m->target, container, row, &err) < 0)
                return mem_printf("refused: %s", err.text);
        m->joined++;
        return mem_string("joined");
}

static void refuse_line(struct importing *m, int number, const char *words)
{
        char at[24];
        snprintf(at, sizeof at, "line %d", number);
        AUTO(mem_free) char *why = mem_printf("refused: %s", words);
        json_object_set_new(m->containers, at, json_string(why));
}

static void take_line(struct importing *m, struct text line, int number)
{
        char scratch[TRANSFER_LINE_MAX];
        double room[2 * HISTOGRAM_BUCKETS];
        struct transfer_row row;
        struct err err = {0};
        if (transfer_parse(line, scratch, &row, room, &err) < 0) {
                refuse_line(m, number, err.text);
                return;
        }
        const char *container = intern_text(m->learner->cache->names, row.key.container);
        AUTO(mem_free) char *what = import_take(m, container, &row);
        json_object_set_new(m->containers, container, json_string(what));
        intern_drop(m->learner->cache->names, container);
}

static char *answer_of(const struct importing *m, const char *lines)
{
        char request[20];
        snprintf(request, sizeof request, "%016llx", (unsigned long long)transfer_source_named(lines));
        AUTO(json_decref) json_t *answer = json_pack("{s:s, s:O}", "request", request, "containers", m->containers);
        char *text = json_dumps(answer, JSON_COMPACT | JSON_ENSURE_ASCII), *kept = mem_string(text);
        free(text);
        return kept;
}

char *import_judge(struct learner *learner, struct target *t, const char *lines)
{
        enum { LINES_MOST = 256 };
        struct importing m = {.learner = learner, .target = t, .containers = json_object()};
        const char *at = lines;
        int number = 1;
        for (; *at && number <= LINES_MOST; number++) {
                size_t len = strcspn(at, "\n");
                take_line(&m, (struct text){at, len}, number);
                at += len + (at[len] == '\n');
        }
        if (*at)
                refuse_line(&m, number, "no more than 256 are read at once: ask for this one and those behind it anew");
        char *done = answer_of(&m, lines);
        json_decref(m.containers);
        if (m.joined > 0) {
                AUTO(mem_free) char *said = mem_printf("%d histories from elsewhere were joined", m.joined);
                log_info("histories from elsewhere were joined", KV("namespace", t->ns), KV("kind", t->kind),
                         KV("name", t->name), KV_INT("containers", m.joined));
                report_event(learner->report, t, false, "Imported", said);
                checkpointer_target(learner->checkpointer, t);
                nudge(learner->leadership);
        }
        return done;
}
