/*
 * Annotation commands: an annotation on a Recommendation asks the halflife that learns to adopt or import histories.
 * The right to write Recommendations is thus the right to give commands.
 *
 * A patch removes the annotation and writes the answer in its place, but only after the result is on disk. So a command
 * is run once, no matter when the process ends.
 */
#include "base/yaml.h"
#include "kube/known_resource.h"
#include "learner_private.h"

enum { ANSWERS_AT_ONCE = 8 };

static const struct {
        const char *answers;
        char *(*judge)(struct learner *learner, struct target *t, const char *asked);
} table[ANNOTATION_COMMANDS] = {
        [COMMAND_ADOPT] = {ANNOTATION_ADOPTED, adopt_judge},
        [COMMAND_IMPORT] = {ANNOTATION_IMPORTED, import_judge},
};

struct answering {
        struct learner *learner;
        enum annotation_command_name name;
        char *key; /* key of the Recommendation, which may be deleted before its answer is written */
};

static void annotation_commands_go_on(struct learner *learner);

static void command_answered(void *arg, const struct client_answer *a)
{
        struct answering *w = arg;
        struct published *p = map_get(&w->learner->cache->published, text_of(w->key));
        struct learner *learner = w->learner;
        leadership_write_ended(learner->leadership);
        learner->command_answers--;
        if (p && p->command[w->name])
                annotation_command_set_answering(p->command[w->name], false);
        if (p && p->command[w->name] && a->err.code != 0)
                annotation_command_failed(p->command[w->name], learner->command_pass);
        if (p && p->target &&
            a->err.code != 0) { /* if the annotation is still there, the next cycle writes the answer again */
                const struct target *t = p->target;
                notice_refusal(w->learner->notices, &(struct refused){t->kind, t->ns, t->name, t->recommendation},
                               &a->err);
        }
        mem_free(w->key);
        mem_free(w);
        if (learner->commands_await)
                annotation_commands_go_on(learner);
}

static void command_answer(struct learner *learner, struct published *p, enum annotation_command_name name)
{
        struct answering *w = MEM_NEW(struct answering);
        const struct target *t = p->target;
        AUTO(mem_free)
        char *path = known_resource_path(KNOWN_RECOMMENDATIONS, t->ns, t->recommendation, NULL);
        AUTO(json_decref)
        json_t *body = json_pack("{s:{s:{s:n, s:s}}}", "metadata", "annotations", annotation_command_key(name),
                                 table[name].answers, p->command[name]->answer);
        char *text = json_dumps(body, JSON_COMPACT);
        *w = (struct answering){learner, name, mem_string(p->key)};
        annotation_command_set_answering(p->command[name], true);
        leadership_write_begun(learner->leadership);
        learner->command_answers++;
        client_start(learner->client,
                     &(struct call){.method = HTTP_PATCH,
                                    .path = path,
                                    .query = "fieldManager=" FIELD_MANAGER,
                                    .content_type = "application/merge-patch+json",
                                    .body = text_of(text)},
                     command_answered, w);
        free(text);
}

static void command_settle(struct learner *learner, struct published *p, enum annotation_command_name name)
{
        struct annotation_command *w = p->command[name];
        if (!w || w->answering || w->failed_in == learner->command_pass)
                return;
        if (!w->answer) {
                char *answer = table[name].judge(learner, p->target, w->asks);
                annotation_command_answered(w, answer, checkpointer_last_sent(learner->checkpointer));
        }
        if (learner->command_answers < ANSWERS_AT_ONCE && !checkpointer_under_way(learner->checkpointer, w->batch))
                command_answer(learner, p, name);
}

static struct published *annotation_commands_next(struct learner *learner)
{
        struct published *p = map_each(&learner->cache->published, &learner->command_at);
        if (p)
                return p;
        learner->command_at = 0;
        return map_each(&learner->cache->published, &learner->command_at);
}

/* Answer the waiting commands, at most ANSWERS_AT_ONCE at once, because the answers share the request rate with all
 * other work. Each call goes on where the last call ended, and a failed answer waits for the next pass. So answers that
 * the API server always refuses do not block other answers. */
static void annotation_commands_go_on(struct learner *learner)
{
        struct published *p;
        size_t left = learner->cache->published.count;
        for (; left > 0 && may_write(learner->leadership); left--) {
                if (learner->command_answers >= ANSWERS_AT_ONCE || !(p = annotation_commands_next(learner)))
                        break;
                for (int name = 0; p->known && p->target && name < ANNOTATION_COMMANDS; name++)
                        command_settle(learner, p, (enum annotation_command_name)name);
        }
        learner->commands_await = left > 0;
}

void annotation_commands_settle(struct learner *learner)
{
        learner->command_pass++;
        annotation_commands_go_on(learner);
}
