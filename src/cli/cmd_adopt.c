/*
 * halflife adopt: a workload with a new name takes over the history of its old name. Only the controller writes
 * histories, so the command asks the controller by an annotation on the new workload's Recommendation, and waits for
 * the answer in another annotation.
 */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/session.h"
#include "commands.h"
#include "kube/known_resource.h"
#include "list_client.h"
#include "objects/decode.h"
#include "recommendation_ask.h"
#include "target_arg.h"
#include "terminal.h"

struct adopting {
        struct session session;
        struct session_options where;
        struct workload old, new;
        const char *ns, *timeout;
        int64_t timeout_ms;
};

static int adopt_command_check(void *state, const struct command_line *line, struct err *err)
{
        struct adopting *a = state;
        const char *const *word = line->words.word;
        a->timeout_ms = 3 * MINUTE_MS;
        if (a->timeout && (duration_parse(a->timeout, strlen(a->timeout), &a->timeout_ms) < 0 ||
                           a->timeout_ms < SECOND_MS || a->timeout_ms > HOUR_MS))
                return err_set(err, ERR_INVALID, "--timeout '%s' is not a duration from 1s to 1h, such as 3m",
                               a->timeout);
        if (line->words.count != 2)
                return err_set(err, ERR_INVALID, "give the old and the new workload: adopt deploy/old deploy/new");
        int rc = workload_parse(word[0], &a->old, err);
        if (rc == 0)
                rc = workload_parse(word[1], &a->new, err);
        if (rc == 0 && strcmp(a->old.recommendation, a->new.recommendation) == 0)
                return err_set(err, ERR_INVALID, "'%s' is both the old and the new workload: nothing to adopt",
                               word[0]);
        return rc;
}

static char *path_of_new(const struct adopting *a)
{
        return known_resource_path(KNOWN_RECOMMENDATIONS, a->ns, a->new.recommendation, NULL);
}

static const char *adopt_note(const json_t *object, const char *key)
{
        return json_string_value(
                json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"), key));
}

static int adopt_ask(struct adopting *a, struct err *err)
{
        const struct recommendation_ask ask = {.ns = a->ns,
                                               .group = a->new.group,
                                               .kind = a->new.kind,
                                               .name = a->new.name,
                                               .recommendation = a->new.recommendation,
                                               .manager = "halflife-adopt",
                                               .asks = ANNOTATION_ADOPT,
                                               .value = a->old.recommendation,
                                               .answers = ANNOTATION_ADOPTED};
        return recommendation_ask_send(&a->session, &ask, err);
}

static void adopt_fired(void *arg)
{
        *(bool *)arg = true;
}

static void wait_a_second(struct adopting *a)
{
        struct loop_timer timer = {0};
        bool over = false;
        loop_timer_set(a->session.loop, &timer, SECOND_MS, adopt_fired, &over);
        while (!over)
                loop_turn(a->session.loop, -1);
}

/* Wait for the controller's answer, which the caller frees. If the controller refuses, the answer begins with
 * "refused". */
static int await_answer(struct adopting *a, char **ret_answer, struct err *err)
{
        AUTO(mem_free) char *path = path_of_new(a);
        int64_t until = mono_read().ns + a->timeout_ms * 1000000;
        for (;;) {
                AUTO(json_decref) json_t *object = listing_ask(a->session.client, path, NULL, LISTING_ITEM_BYTES, err);
                if (!object && err->code == ERR_NOTFOUND)
                        return workload_unknown(&a->new, a->ns, "its Recommendation was deleted before an answer", err);
                if (!object && err->code != ERR_RETRY)
                        return err->code;
                if (object && !adopt_note(object, ANNOTATION_ADOPT) && adopt_note(object, ANNOTATION_ADOPTED)) {
                        *ret_answer = mem_string(adopt_note(object, ANNOTATION_ADOPTED));
                        return 0;
                }
                if (mono_read().ns >= until && !object)
                        return err->code;
                if (mono_read().ns >= until)
                        return err_set(err, ERR_NOTFOUND,
                                       "no answer within %lld s: does a controller run, and hold the Lease? Once one "
                                       "does, it carries out the request",
                                       (long long)(a->timeout_ms / SECOND_MS));
                wait_a_second(a);
        }
}

static int adopt_run(void *state, struct err *err)
{
        struct adopting *a = state;
        AUTO(mem_free) char *answer = NULL;
        int rc = session_open_given(&a->session, &a->where, err);
        if (rc < 0)
                return rc;
        a->ns = a->ns ? a->ns : access_namespace(a->session.access);
        rc = adopt_ask(a, err);
        if (rc == 0)
                rc = await_answer(a, &answer, err);
        if (rc < 0)
                return session_advise(err);
        if (strncmp(answer, "refused: ", 9) == 0)
                return err_set(err, ERR_INVALID, "%s", answer);
        printf("%s %s adopted %s\n", a->ns, a->new.recommendation, terminal_tame(answer));
        return EXIT_DONE;
}

static void adopt_release(void *state)
{
        struct adopting *a = state;
        session_release(&a->session);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE, OPTION_IN(struct adopting, ns),
         .help = "namespace of both workloads; default: the context's"},
        {.name = "timeout", .value = "DURATION", OPTION_IN(struct adopting, timeout),
         .help = "how long to wait for the controller's answer, 1s to 1h (default 3m)"},
        SESSION_OPTIONS(struct adopting, where),
};
/* clang-format on */

const struct command command_adopt = {
        .name = "adopt",
        .help = "give the histories of a deleted workload to its successor",
        .words = TAKES_WORKLOADS,
        .usage = {"[option]... OLD NEW"},
        .intro = "Gives the histories of OLD, a deleted workload, to NEW, its successor (both KIND/NAME). The "
                 "half-lives of\n"
                 "both must be equal. A running controller does the work, within one interval.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct adopting),
        .check = adopt_command_check,
        .run = adopt_run,
        .release = adopt_release,
};
