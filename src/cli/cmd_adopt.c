/*
 * halflife adopt: what was learned of a workload goes on under another name. The controller does it, who alone writes
 * histories; it is asked by an annotation on the new Recommendation, and answers beside it.
 */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/session.h"
#include "commands.h"
#include "list_client.h"
#include "objects/decode.h"
#include "target_arg.h"
#include "terminal.h"

enum { OPT_NAMESPACE, OPT_TIMEOUT, OPT_KUBECONFIG, OPT_CONTEXT, OPT_HELP, OPTS };
static const struct option_spec spec[OPTS] = {
        {.name = "namespace",
         .letter = 'n',
         .value = "NAME",
         .shape = OPTION_NAMESPACE,
         .help = "namespace of both; else the context's"},
        {.name = "timeout",
         .value = "DURATION",
         .help = "how long to wait for the controller's answer, 1s to 1h (default 3m)"},
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

const struct option_spec *cmd_adopt_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

struct adopting {
        struct session session;
        struct option_given given[OPTS];
        struct workload old, new;
        const char *ns;
        int64_t timeout_ms;
};

static int adopt_read_arguments(struct adopting *a, int argc, char **argv, struct err *err)
{
        struct option_words words;
        int rc = options_parse(spec, OPTS, argc, argv, a->given, &words, err);
        if (rc < 0 || a->given[OPT_HELP].count)
                return rc;
        const char *timeout = option_value(&a->given[OPT_TIMEOUT]);
        a->ns = option_value(&a->given[OPT_NAMESPACE]);
        a->timeout_ms = 3 * MINUTE_MS;
        if (timeout && (duration_parse(timeout, strlen(timeout), &a->timeout_ms) < 0 || a->timeout_ms < SECOND_MS ||
                        a->timeout_ms > HOUR_MS))
                return err_set(err, ERR_INVALID, "--timeout '%s' is no duration from 1s to 1h, such as 3m", timeout);
        if (words.count != 2)
                return err_set(err, ERR_INVALID, "say what it was and what it is: adopt deploy/old deploy/new");
        rc = workload_parse(words.word[0], &a->old, err);
        if (rc == 0)
                rc = workload_parse(words.word[1], &a->new, err);
        if (rc == 0 && strcmp(a->old.recommendation, a->new.recommendation) == 0)
                return err_set(err, ERR_INVALID, "'%s' is both: it has its history", words.word[0]);
        return rc;
}

static char *path_of_new(const struct adopting *a)
{
        return path_of("halflife.dev", "v1alpha1", a->ns, "recommendations", a->new.recommendation, NULL);
}

static const char *adopt_note(const json_t *object, const char *key)
{
        return json_string_value(
                json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"), key));
}

static int adopt_ask(struct adopting *a, struct err *err)
{
        AUTO(mem_free) char *path = path_of_new(a);
        AUTO(json_decref)
        json_t *body = json_pack("{s:{s:{s:s, s:n}}}", "metadata", "annotations", ANNOTATION_ADOPT,
                                 a->old.recommendation, ANNOTATION_ADOPTED);
        char *text = json_dumps(body, JSON_COMPACT);
        const struct call call = {.method = HTTP_PATCH,
                                  .path = path,
                                  .query = "fieldManager=halflife-adopt",
                                  .content_type = "application/merge-patch+json",
                                  .body = text_of(text),
                                  .deadline_ms = 10 * SECOND_MS};
        int rc = client_wait(a->session.client, &call, NULL, NULL, err);
        free(text);
        return rc == ERR_NOTFOUND && !session_no_kinds(err)
                       ? workload_unknown(&a->new, a->ns, "it has no Recommendation", err)
                       : rc;
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

/* The answer, which begins with "refused" where it is no. */
static int await_answer(struct adopting *a, char **ret_answer, struct err *err)
{
        AUTO(mem_free) char *path = path_of_new(a);
        int64_t until = mono_read().ns + a->timeout_ms * 1000000;
        for (;;) {
                AUTO(json_decref) json_t *object = listing_ask(a->session.client, path, NULL, LISTING_ITEM_BYTES, err);
                if (!object && err->code != ERR_RETRY)
                        return err->code;
                if (object && !adopt_note(object, ANNOTATION_ADOPT) && adopt_note(object, ANNOTATION_ADOPTED)) {
                        *ret_answer = mem_string(adopt_note(object, ANNOTATION_ADOPTED));
                        return 0;
                }
                if (mono_read().ns >= until)
                        return err_set(err, ERR_RETRY,
                                       "no answer within %lld s: does a controller run, and hold the Lease? It is done "
                                       "when one does",
                                       (long long)(a->timeout_ms / SECOND_MS));
                wait_a_second(a);
        }
}

static int adopt_history(struct adopting *a, struct err *err)
{
        AUTO(mem_free) char *answer = NULL;
        int rc = session_open_given(&a->session, option_value(&a->given[OPT_KUBECONFIG]),
                                    option_value(&a->given[OPT_CONTEXT]), err);
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
        return 0;
}

int cmd_adopt(int argc, char **argv)
{
        struct adopting a = {0};
        struct err err = {0};
        int code = EXIT_DONE;
        if (adopt_read_arguments(&a, argc, argv, &err) < 0) {
                fprintf(stderr, "halflife adopt: %s\n", err.text);
                code = EXIT_MISUSED;
        } else if (a.given[OPT_HELP].count) {
                printf("usage: %s adopt [option]... OLD NEW\n\n", program_name());
                terminal_intro(
                        "What was learned of OLD, a workload that is gone, goes on in NEW, the one that it became "
                        "(both KIND/NAME). Half-lives must be the same. The controller does it, within a cycle.");
                options_print(stdout, spec, OPTS);
        } else if (adopt_history(&a, &err) < 0) {
                fprintf(stderr, "halflife adopt: %s\n", terminal_tame(err.text));
                code = EXIT_FAILED;
        }
        session_release(&a.session);
        return code;
}
