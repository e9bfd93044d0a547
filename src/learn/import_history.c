/*
 * An import joins histories from elsewhere, such as another halflife's export or a VPA's checkpoints, with those of a
 * target. Only the halflife that learns imports histories, because it alone owns them. The imported histories are lines
 * as in store/transfer.h, in an annotation on the target's Recommendation (annotation_command_run.c).
 *
 * Each line is joined whole or not at all. The target remembers the identity of each joined history, stored in the same
 * transaction, so that no history counts twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/noun.h"
#include "base/yaml.h"
#include "learner_private.h"
#include "store/transfer.h"

/* --- identities of histories --- */

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

/* --- checks --- */

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
        /* An injected container, which pods have and the template has not, counts if it has a history. */
        return history_find(t, container) != NULL;
}

static int check_half_lives(const struct usage *u, const struct resource_policy *policy, struct err *err)
{
        char theirs[DURATION_TEXT_MAX], ours[DURATION_TEXT_MAX];
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (u->of[r].half_life_ms != policy[r].half_life_ms)
                        return err_set(
                                err, ERR_INVALID,
                                "its half-life of %s is %s, and here %s: set resources.%s.halfLife to %s, import, "
                                "and set it back; halflife then rescales the histories",
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
                return err_set(err, ERR_INVALID, "the history has no samples");
        if (row->usage.of[CPU].sum && !target_is_sum(t))
                return err_set(err, ERR_INVALID, "the history is of a whole namespace or node, and not of a container");
        if (!usage_may_join(&row->usage, (struct wall){clock_skew_later(learner->skew)}))
                return err_set(err, ERR_INVALID,
                               "the history reaches into the future, or its counts are too high to be true: is a clock "
                               "wrong?");
        if (t->imported && t->imported->count + row->sources >= IMPORTED_MOST)
                return err_set(err, ERR_TOOBIG, "the workload has %s already and can take no more",
                               NOUN_COUNT(t->imported->count, "imported history"));
        return check_half_lives(&row->usage, policy, err);
}

/* --- joining --- */

static bool import_is_known(const struct target *t, const char *container, const struct transfer_row *row)
{
        const struct history *h = history_find(t, container);
        const struct store_key key = import_key_of(t, container);
        if (!h || h->usage.samples == 0)
                return false; /* the target's own history was lost after the import: import the same sources again */
        for (int i = 0; i < row->sources; i++)
                if (imported_has(t, container, row->source[i]) || row->source[i] == transfer_source(&key, &h->usage))
                        return true;
        return false;
}

/* Join an imported line with the container's history. Also remember the history's identity from before the join: the
 * identity derives from the first sample, which the join may replace by an earlier one. */
static int import_join(struct target *t, const char *container, struct transfer_row *row, struct err *err)
{
        const struct resource_policy *policy = import_policy_of(t, container);
        const struct store_key key = import_key_of(t, container);
        struct history *h = history_get(t, container, policy);
        struct usage_room room;
        uint64_t itself = h->usage.samples > 0 ? transfer_source(&key, &h->usage) : row->source[0];
        int rc;
        usage_adopt(history_usage(h), policy);
        if (target_is_sum(t))
                usage_make_sum(&row->usage);
        usage_rewindow(&row->usage, h->usage.window_ms);
        while ((rc = usage_merge(history_usage(h), &row->usage, &room)) == ERR_NOSPACE)
                ingest_lend(history_usage(h), &room);
        if (rc < 0)
                return err_set(err, rc, "the histories together exceed the weight that one history can hold");
        imported_add(t, container, itself);
        for (int i = 0; i < row->sources; i++)
                imported_add(t, container, row->source[i]);
        history_learned(h);
        target_record_changed(t);
        return 0;
}

struct importing {
        struct learner *learner;
        struct target *target;
        json_t *containers; /* result for each container or unreadable line: "joined", "known" or "refused: …" */
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
        struct usage_memory memory;
        struct transfer_row row;
        struct err err = {0};
        if (transfer_parse(line, scratch, &row, &memory, &err) < 0) {
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
                refuse_line(
                        &m, number,
                        "at most 256 lines are imported at once: import this line and the following ones separately");
        char *done = answer_of(&m, lines);
        json_decref(m.containers);
        if (m.joined > 0) {
                AUTO(mem_free)
                char *said = mem_printf("joined %s with what halflife has learned",
                                        NOUN_COUNT(m.joined, "imported history"));
                log_info("imported histories were joined", KV("namespace", t->ns), KV("kind", t->kind),
                         KV("name", t->name), KV_INT("containers", m.joined));
                notice_event(learner->notices, t, false, "Imported", said);
                checkpointer_target(learner->checkpointer, t);
                schedule_pass(learner->leadership);
        }
        return done;
}
