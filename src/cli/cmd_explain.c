/*
 * halflife explain: a number's histogram and how it came about. Asked of a running halflife, by its address or through
 * the API server; else told from the Recommendation alone; or read from a database.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_client.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/session.h"
#include "commands.h"
#include "explain.h"

enum {
        OPT_NAMESPACE,
        OPT_CONTAINER,
        OPT_RESOURCE,
        OPT_PERCENTILE,
        OPT_HALF_LIFE,
        OPT_MULTIPLIER,
        OPT_OUTPUT,
        OPT_ASCII,
        OPT_SERVER,
        OPT_SERVER_CA,
        OPT_TOKEN_FILE,
        OPT_HALFLIFE_NAMESPACE,
        OPT_DATABASE,
        OPT_KUBECONFIG,
        OPT_CONTEXT,
        OPT_HELP,
        OPTS
};
static const struct option_spec spec[OPTS] = {
        {.name = "namespace",
         .letter = 'n',
         .value = "NAME",
         .shape = OPTION_NAMESPACE,
         .help = "namespace; else the context's, or of a database the one that has it"},
        {.name = "container", .letter = 'c', .value = "NAME", .help = "this container alone"},
        {.name = "resource", .value = "RESOURCE", .help = "cpu or memory alone"},
        {.name = "percentile", .value = "PERCENT", .help = "what the number would be with this one, 50 to 100"},
        {.name = "half-life", .value = "TIME", .help = "likewise with this half-life, such as 48h"},
        {.name = "multiplier", .value = "FACTOR", .help = "likewise with this one, such as 1.2"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .help = "text or json (default text)"},
        {.name = "ascii", .help = "draw with ASCII alone, as where the locale is not UTF-8"},
        REMOTE_OPTIONS,
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

/* --help stands last, and is every command's. */
const struct option_spec *cmd_explain_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

struct explaining {
        struct option_given given[OPTS];
        struct inquiry q;
        struct evidence evidence;
        struct terminal terminal;
        bool json;
};

static const char *explain_value_of(const struct explaining *x, int option)
{
        return option_value(&x->given[option]);
}

/* --- arguments --- */

static int check_choices(const struct explaining *x, struct err *err)
{
        const char *output = explain_value_of(x, OPT_OUTPUT), *resource = x->q.resource;
        if (output && strcmp(output, "text") != 0 && strcmp(output, "json") != 0)
                return err_set(err, ERR_INVALID, "output '%s' is not one of text, json", output);
        if (resource && strcmp(resource, "cpu") != 0 && strcmp(resource, "memory") != 0)
                return err_set(err, ERR_INVALID, "resource '%s' is not one of cpu, memory", resource);
        if (explain_value_of(x, OPT_SERVER) && explain_value_of(x, OPT_DATABASE))
                return err_set(err, ERR_INVALID, "--server and --database exclude each other");
        return explain_value_of(x, OPT_SERVER) ? remote_check(explain_value_of(x, OPT_SERVER), err) : 0;
}

static int explain_read_arguments(struct explaining *x, int argc, char **argv, struct err *err)
{
        struct option_words words;
        bool ascii = false;
        int rc = options_parse(spec, OPTS, argc, argv, x->given, &words, err);
        if (rc == 0)
                rc = option_switch(&x->given[OPT_ASCII], &ascii, err);
        if (rc < 0 || x->given[OPT_HELP].count)
                return rc;
        if (words.count != 1)
                return err_set(err, ERR_INVALID, "one workload is wanted, KIND/NAME such as deploy/web, not %d",
                               words.count);
        x->q = (struct inquiry){
                .ns = explain_value_of(x, OPT_NAMESPACE),
                .container = explain_value_of(x, OPT_CONTAINER),
                .resource = explain_value_of(x, OPT_RESOURCE),
                .percentile = explain_value_of(x, OPT_PERCENTILE),
                .half_life = explain_value_of(x, OPT_HALF_LIFE),
                .multiplier = explain_value_of(x, OPT_MULTIPLIER),
        };
        x->json = explain_value_of(x, OPT_OUTPUT) && strcmp(explain_value_of(x, OPT_OUTPUT), "json") == 0;
        terminal_read(stdout, &x->terminal);
        x->terminal.utf8 = x->terminal.utf8 && !ascii;
        rc = check_choices(x, err);
        return rc < 0 ? rc : workload_parse(words.word[0], &x->q.workload, err);
}

/* --- of whom it is asked --- */

static int explain_open_session(const struct explaining *x, struct session *s, struct err *err)
{
        return session_open_given(s, explain_value_of(x, OPT_KUBECONFIG), explain_value_of(x, OPT_CONTEXT), err);
}

/* Without a kubeconfig it works as well, but for one that was named: then the namespace is "default", and there is no
 * other token. */
static int ask_server(struct explaining *x, struct err *err)
{
        struct session s;
        struct remote r = {0};
        AUTO(mem_free) char *token = NULL;
        int rc = remote_token(explain_value_of(x, OPT_TOKEN_FILE), &token, err);
        if (rc < 0)
                return rc;
        bool known = explain_open_session(x, &s, err) == 0;
        if (!known && (explain_value_of(x, OPT_KUBECONFIG) || explain_value_of(x, OPT_CONTEXT))) {
                session_release(&s);
                return err->code;
        }
        if (!x->q.ns)
                x->q.ns = known ? access_namespace(s.access) : "default";
        rc = remote_open(&r, explain_value_of(x, OPT_SERVER), explain_value_of(x, OPT_SERVER_CA),
                         token   ? token
                         : known ? access_bearer(s.access)
                                 : NULL,
                         err);
        if (rc == 0)
                rc = evidence_ask(&r, &x->q, &x->evidence, err);
        if (rc < 0)
                err_wrap(err, "server '%s'", explain_value_of(x, OPT_SERVER));
        remote_release(&r);
        session_release(&s);
        x->q.ns = NULL;
        return rc;
}

static int get_object(struct explaining *x, struct session *s, struct err *err)
{
        AUTO(mem_free)
        char *path =
                path_of("halflife.dev", "v1alpha1", x->q.ns, "recommendations", x->q.workload.recommendation, NULL);
        AUTO(mem_free) char *body = NULL;
        size_t len = 0;
        struct call call = {.method = HTTP_GET, .path = path, .deadline_ms = 10 * SECOND_MS};
        if (client_wait(s->client, &call, &body, &len, err) < 0)
                return err->code;
        x->evidence.recommendation = json_loadb(body, len, 0, NULL);
        if (!json_is_object(json_object_get(x->evidence.recommendation, "metadata")))
                return err_set(err, ERR_INVALID, "'%s' is no Recommendation: it has no metadata", path);
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

/* What to do where the object could not be read. */
static int tell_object(const struct explaining *x, struct err *err)
{
        const struct workload *w = &x->q.workload;
        struct err why = *err;
        if (why.code == ERR_NOTFOUND && !session_no_kinds(&why))
                return workload_unknown(w, x->q.ns, why.text, err);
        if (why.code == ERR_RETRY)
                return err_set(err, why.code,
                               "%s; --server URL asks halflife without the API server, --database FILE reads what it "
                               "wrote",
                               why.text);
        return session_advise(err);
}

static char *why_no_histogram(const char *ns, const struct inquiry *q, const struct err *why)
{
        const char *what = q->percentile || q->half_life || q->multiplier ? "No histogram, and nothing recomputed"
                                                                          : "No histogram";
        if (why->code == ERR_DENIED && strstr(why->text, "services/proxy"))
                return mem_printf(
                        "%s: %s. Whom the Role halflife-rest-proxy is bound to may: kubectl create rolebinding "
                        "halflife-rest-proxy -n %s --role=halflife-rest-proxy --group=GROUP",
                        what, why->text, ns);
        if (why->code == ERR_DENIED)
                return mem_printf("%s: %s. A token that may get recommendations does it: "
                                  "HALFLIFE_TOKEN=$(kubectl create token ACCOUNT -n %s)",
                                  what, why->text, q->ns);
        return mem_printf("%s: service 'halflife' in namespace '%s' did not answer (%s). "
                          "--halflife-namespace says where it is, --server URL asks it without the API server, "
                          "--database FILE reads what it wrote.",
                          what, ns, why->text);
}

static int ask_cluster(struct explaining *x, struct err *err)
{
        struct session s;
        AUTO(mem_free) char *token = NULL, *ns = NULL;
        const char *ours = explain_value_of(x, OPT_HALFLIFE_NAMESPACE);
        int rc = remote_token(explain_value_of(x, OPT_TOKEN_FILE), &token, err);
        if (rc < 0)
                return rc;
        rc = explain_open_session(x, &s, err);
        if (rc == 0) {
                ns = mem_string(x->q.ns ? x->q.ns : access_namespace(s.access));
                x->q.ns = ns;
                rc = get_object(x, &s, err);
                rc = rc < 0 ? tell_object(x, err) : 0;
        }
        if (rc == 0) {
                struct remote r;
                struct evidence told = {0};
                struct err why = {0};
                remote_through(&r, &s, ours ? ours : "halflife", token);
                if (evidence_ask(&r, &x->q, &told, &why) < 0)
                        told.note = why_no_histogram(ours ? ours : "halflife", &x->q, &why);
                told.recommendation = STEAL(&x->evidence.recommendation);
                x->evidence = told;
                remote_release(&r);
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
        if (explain_value_of(x, OPT_DATABASE))
                return evidence_read(explain_value_of(x, OPT_DATABASE), &x->q, &x->evidence, err);
        return explain_value_of(x, OPT_SERVER) ? ask_server(x, err) : ask_cluster(x, err);
}

/* --- the answer --- */

static void explain_print_json(const struct evidence *e)
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
        const struct evidence *e = &x->evidence;
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

static void explain_print_help(void)
{
        printf("usage: %s explain [option]... KIND/NAME\n\n"
               "Why a workload is to request what it is: the histogram behind each number, and the steps from there "
               "to the\ntarget in words. With another percentile, half-life or multiplier: what it would be then.\n\n",
               program_name());
        options_print(stdout, spec, OPTS);
}

int cmd_explain(int argc, char **argv)
{
        struct explaining x = {0};
        struct err err = {0};
        int code = EXIT_DONE;
        if (explain_read_arguments(&x, argc, argv, &err) < 0)
                code = EXIT_MISUSED;
        else if (x.given[OPT_HELP].count)
                explain_print_help();
        else if (explain_ask(&x, &err) < 0)
                code = EXIT_FAILED;
        else
                explain_print_answer(&x);
        if (code != EXIT_DONE)
                fprintf(stderr, "halflife explain: %s\n", terminal_tame(err.text));
        evidence_release(&x.evidence);
        return code;
}
