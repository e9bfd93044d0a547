/*
 * What is asked of whoever learns by an annotation on a Recommendation: who may write those may ask, and nobody else.
 * The annotation stands until the answer is written beside it, which waits until what was done is on disk; so that it
 * is done once, whenever this process ends.
 */
#include "base/yaml.h"
#include "learner_private.h"

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
        char *key; /* of the Recommendation: it may go meanwhile */
};

static void command_answered(void *arg, const struct client_answer *a)
{
        struct answering *w = arg;
        struct published *p = map_get(&w->learner->cache->published, text_of(w->key));
        leadership_write_ended(w->learner->leadership);
        if (p && p->command[w->name])
                p->command[w->name]->answering = false;
        if (p && p->target && a->err.code != 0) { /* written in the next cycle, as long as it is asked for */
                const struct target *t = p->target;
                report_refusal(w->learner->report, &(struct refused){t->kind, t->ns, t->name, t->recommendation},
                               &a->err);
        }
        mem_free(w->key);
        mem_free(w);
}

static void command_answer(struct learner *learner, struct published *p, enum annotation_command_name name)
{
        struct answering *w = MEM_NEW(struct answering);
        const struct target *t = p->target;
        AUTO(mem_free)
        char *path = path_of("halflife.dev", "v1alpha1", t->ns, "recommendations", t->recommendation, NULL);
        AUTO(json_decref)
        json_t *body = json_pack("{s:{s:{s:n, s:s}}}", "metadata", "annotations", annotation_command_key(name),
                                 table[name].answers, p->command[name]->answer);
        char *text = json_dumps(body, JSON_COMPACT);
        *w = (struct answering){learner, name, mem_string(p->key)};
        p->command[name]->answering = true;
        leadership_write_begun(learner->leadership);
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
        if (!w || w->answering)
                return;
        if (!w->answer) {
                w->answer = table[name].judge(learner, p->target, w->asks);
                w->batch = checkpointer_last_sent(learner->checkpointer);
        }
        if (!checkpointer_under_way(learner->checkpointer, w->batch))
                command_answer(learner, p, name);
}

void annotation_commands_settle(struct learner *learner)
{
        struct published *p;
        for (size_t at = 0; may_write(learner->leadership) && (p = map_each(&learner->cache->published, &at));)
                for (int name = 0; p->known && p->target && name < ANNOTATION_COMMANDS; name++)
                        command_settle(learner, p, (enum annotation_command_name)name);
}
