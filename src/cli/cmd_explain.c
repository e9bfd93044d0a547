/*
 * halflife explain: the histogram behind a target, and each step from the histogram to the target. The data comes from
 * a running halflife (by its address or through the API server), else from the Recommendation alone, or from a
 * database.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_client.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/session.h"
#include "commands.h"
#include "explain_print.h"
#include "kube/known_resource.h"
#include "rest/explain_change.h"

struct explaining {
        struct session_options where;
        struct api_client_options from;
        struct explain_arguments q;
        struct explain_data explain_data;
        struct terminal terminal;
        bool ascii, json;
};

/* Refuse options that a running halflife would refuse, even if none will be asked. */
static int check_numbers(const struct explain_arguments *q, struct err *err)
{
        int number;
        int64_t ms;
        int rc = q->percentile ? explain_change_percentile("--percentile", text_of(q->percentile), &number, err) : 0;
        if (rc == 0 && q->multiplier)
                rc = explain_change_multiplier("--multiplier", text_of(q->multiplier), &number, err);
        if (rc == 0 && q->half_life)
                rc = explain_change_half_life("--half-life", text_of(q->half_life), &ms, err);
        return rc;
}

static int explain_check(void *state, const struct command_line *line, struct err *err)
{
        struct explaining *x = state;
        if (line->words.count != 1)
                return err_set(err, ERR_INVALID, "give one workload, KIND/NAME such as deploy/web, not %d",
                               line->words.count);
        terminal_read(stdout, &x->terminal);
        x->terminal.utf8 = x->terminal.utf8 && !x->ascii;
        if (x->from.server && x->from.database)
                return err_set(err, ERR_INVALID, "--server and --database exclude each other");
        int rc = check_numbers(&x->q, err);
        if (rc == 0 && x->from.server)
                rc = api_client_check(x->from.server, err);
        return rc < 0 ? rc : workload_parse(line->words.word[0], &x->q.workload, err);
}

/* --- where the data comes from --- */

static int ask_server(struct explaining *x, struct err *err)
{
        struct session s = {0};
        struct api_client r = {0};
        AUTO(mem_wipe) char *token = NULL;
        int rc = api_client_token(x->from.token_file, &token, err);
        if (rc == 0)
                rc = session_open_optional(&s, &x->where, err);
        if (rc < 0) {
                session_release(&s);
                return rc;
        }
        if (!x->q.ns)
                x->q.ns = s.access ? access_namespace(s.access) : "default";
        const char *bearer = s.access ? access_bearer(s.access) : NULL;
        rc = api_client_open(&r, x->from.server, x->from.server_ca, token ? token : bearer, err);
        if (rc == 0)
                rc = explain_data_ask(&r, &x->q, &x->explain_data, err);
        if (rc < 0)
                err_wrap(err, "server '%s'", x->from.server);
        api_client_release(&r);
        session_release(&s);
        x->q.ns = NULL;
        return rc;
}

static int get_object(struct explaining *x, struct session *s, struct err *err)
{
        AUTO(mem_free)
        char *path = known_resource_path(KNOWN_RECOMMENDATIONS, x->q.ns, x->q.workload.recommendation, NULL);
        AUTO(mem_free) char *body = NULL;
        size_t len = 0;
        struct call call = {.method = HTTP_GET, .path = path, .deadline_ms = 10 * SECOND_MS};
        if (client_wait(s->client, &call, &body, &len, err) < 0)
                return err->code;
        x->explain_data.recommendation = json_loadb(body, len, 0, NULL);
        if (!json_is_object(json_object_get(x->explain_data.recommendation, "metadata")))
                return err_set(err, ERR_INVALID, "'%s' is not a Recommendation: it has no metadata", path);
        return 0;
}

static bool has_container(const json_t *recommendation, const char *name)
{
        const json_t *containers = json_object_get(json_object_get(recommendation, "status"), "containers");
        for (size_t i = 0; i < json_array_size(containers); i++) {
                const char *is = json_string_value(json_object_get(json_array_get(containers, i), "name"));
                if (is && strcmp(is, name) == 0)
                        return true;
        }
        return false;
}

/* Turn the error of reading the Recommendation into one that says what to do. */
static int tell_object(const struct explaining *x, struct err *err)
{
        const struct workload *w = &x->q.workload;
        struct err why = *err;
        if (why.code == ERR_NOTFOUND && !session_no_kinds(&why))
                return workload_unknown(w, x->q.ns, why.text, err);
        if (why.code == ERR_RETRY)
                return err_set(err, why.code,
                               "%s; without the API server, --server URL asks halflife directly, and --database FILE "
                               "reads its database",
                               why.text);
        return session_advise(err);
}

static char *why_no_histogram(const char *ns, const struct explain_arguments *q, const struct err *why)
{
        const char *what = q->percentile || q->half_life || q->multiplier ? "No histogram, and nothing recomputed"
                                                                          : "No histogram";
        if (api_client_no_proxy(why))
                return mem_printf("%s: %s. The Role halflife-rest-proxy grants access: " API_CLIENT_GRANT, what,
                                  why->text, ns);
        if (why->code == ERR_DENIED)
                return mem_printf("%s: %s. Give the token of an account that may get recommendations: "
                                  "HALFLIFE_TOKEN=$(kubectl create token ACCOUNT -n %s)",
                                  what, why->text, q->ns);
        return mem_printf("%s: Service 'halflife' in namespace '%s' did not answer (%s). --halflife-namespace gives "
                          "its namespace, --server URL asks halflife directly, --database FILE reads its database.",
                          what, ns, why->text);
}

static int ask_cluster(struct explaining *x, struct err *err)
{
        struct session s;
        AUTO(mem_free) char *token = NULL, *ns = NULL;
        const char *ours = api_client_namespace(&x->from);
        int rc = api_client_token(x->from.token_file, &token, err);
        if (rc < 0)
                return rc;
        rc = session_open_given(&s, &x->where, err);
        if (rc == 0) {
                ns = mem_string(x->q.ns ? x->q.ns : access_namespace(s.access));
                x->q.ns = ns;
                rc = get_object(x, &s, err);
                rc = rc < 0 ? tell_object(x, err) : 0;
        }
        if (rc == 0) {
                struct api_client r;
                struct explain_data told = {0};
                struct err why = {0};
                api_client_through(&r, &s, ours, token);
                if (explain_data_ask(&r, &x->q, &told, &why) < 0)
                        told.note = why_no_histogram(ours, &x->q, &why);
                told.recommendation = STEAL(&x->explain_data.recommendation);
                x->explain_data = told;
                api_client_release(&r);
                if (x->q.container && !has_container(told.recommendation, x->q.container))
                        rc = err_set(err, ERR_NOTFOUND, "'%.*s/%s' has no container '%s'", TEXT_ARG(x->q.workload.word),
                                     x->q.workload.name, x->q.container);
        }
        x->q.ns = NULL;
        session_release(&s);
        return rc;
}

static int explain_ask(struct explaining *x, struct err *err)
{
        if (x->from.database)
                return explain_data_read(x->from.database, &x->q, &x->explain_data, err);
        return x->from.server ? ask_server(x, err) : ask_cluster(x, err);
}

/* --- the answer --- */

static void explain_print_json(const struct explain_data *e)
{
        json_t *all = json_object();
        const struct {
                const char *key;
                json_t *value;
        } member[] = {{"explain", e->explain}, {"histograms", e->histograms}, {"recommendation", e->recommendation}};
        for (size_t i = 0; i < sizeof member / sizeof member[0]; i++)
                if (member[i].value)
                        json_object_set(all, member[i].key, member[i].value);
        if (e->note)
                json_object_set_new(all, "note", json_string(e->note));
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        fputc('\n', stdout);
        json_decref(all);
}

static void explain_print_answer(const struct explaining *x)
{
        const struct explain_data *e = &x->explain_data;
        if (x->json)
                explain_print_json(e);
        else if (e->explain)
                explain_print(stdout, e, &x->terminal);
        else
                explain_print_object(stdout, e, x->q.container, x->q.resource, &x->terminal);
        if (e->note && !x->json) {
                fflush(stdout);
                fprintf(stderr, "%s%s\n", e->explain ? "" : "\n", terminal_tame(e->note));
        }
}

static int explain_run(void *state, struct err *err)
{
        struct explaining *x = state;
        int rc = explain_ask(x, err);
        if (rc < 0)
                return rc;
        explain_print_answer(x);
        return EXIT_DONE;
}

static void explain_release(void *state)
{
        struct explaining *x = state;
        explain_data_release(&x->explain_data);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE,
         OPTION_IN(struct explaining, q.ns),
         .help = "namespace; default: the context's, or with --database the namespace that has the workload"},
        {.name = "container", .letter = 'c', .value = "NAME", OPTION_IN(struct explaining, q.container),
         .help = "only this container"},
        {.name = "resource", .value = "RESOURCE", .choices = "cpu|memory", OPTION_IN(struct explaining, q.resource),
         .help = "only cpu or only memory (default both)"},
        {.name = "percentile", .value = "PERCENT", .examples = "50|90|95|99|100",
         OPTION_IN(struct explaining, q.percentile),
         .help = "also show the target value with this percentile, 50 to 100"},
        {.name = "half-life", .value = "TIME", OPTION_IN(struct explaining, q.half_life),
         .help = "also show the target value with this half-life, such as 48h"},
        {.name = "multiplier", .value = "FACTOR", OPTION_IN(struct explaining, q.multiplier),
         .help = "also show the target value with this multiplier, such as 1.2"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "text|json", OPTION_IN(struct explaining, json),
         .help = "text or json (default text)"},
        {.name = "ascii", OPTION_IN(struct explaining, ascii),
         .help = "draw with ASCII only; the default if the locale is not UTF-8"},
        REMOTE_OPTIONS(struct explaining, from),
        SESSION_OPTIONS(struct explaining, where),
};
/* clang-format on */

const struct command command_explain = {
        .name = "explain",
        .help = "show the histogram behind a recommendation, and the steps to its target value",
        .words = TAKES_WORKLOADS,
        .usage = {"[option]... KIND/NAME"},
        .intro = "Explains the recommendation of a workload: the histogram behind each target value, and in words the "
                 "steps\n"
                 "from one to the other. --percentile, --half-life and --multiplier show the target value they would "
                 "give.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct explaining),
        .check = explain_check,
        .run = explain_run,
        .release = explain_release,
};
