/*
 * halflife get: the Recommendations, in the columns that kubectl shows.
 */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/session.h"
#include "commands.h"
#include "list_client.h"
#include "table.h"
#include "target_arg.h"
#include "terminal.h"
#include "yaml_print.h"

enum { OPT_NAMESPACE, OPT_ALL, OPT_SELECTOR, OPT_OUTPUT, OPT_KUBECONFIG, OPT_CONTEXT, OPT_HELP, OPTS };
static const struct option_spec spec[OPTS] = {
        {.name = "namespace",
         .letter = 'n',
         .value = "NAME",
         .shape = OPTION_NAMESPACE,
         .help = "namespace; else the context's"},
        {.name = "all-namespaces", .letter = 'A', .help = "list those of every namespace, as kubectl get -A does"},
        {.name = "selector",
         .letter = 'l',
         .value = "LABELS",
         .shape = OPTION_LABELS,
         .help = "only those with these labels (the workload's own)"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .help = "table, wide, json, yaml or name (default table)"},
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

/* --help stands last, and is every command's. */
const struct option_spec *cmd_get_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME, OUTPUTS };
static const char *const outputs[] = {"table", "wide", "json", "yaml", "name"};

struct getting {
        struct session session;
        struct option_given given[OPTS];
        enum output output;
        const char *ns;           /* NULL: all */
        const char *name;         /* of a Recommendation; NULL: the list */
        struct workload workload; /* what name was said by, where it was KIND/NAME */
        struct table table;
        json_t *items; /* for json and yaml */
        int64_t now_ms;
        int found;
};

/* --- columns: those of crds/recommendations.halflife.dev.yaml --- */

/* A value at a path of keys; for ages the time since. */
static const struct column {
        const char *title, *path;
        bool wide, age;
} columns[] = {
        {"TARGET", "spec.targetRef.name", false, false},
        {"CPU", "status.pod.cpu.original", false, false},
        {"CPU-TARGET", "status.pod.cpu.target", false, false},
        {"MEMORY", "status.pod.memory.original", false, false},
        {"MEM-TARGET", "status.pod.memory.target", false, false},
        {"CPU-SAVING", "status.saving.cpu", false, false},
        {"MEM-SAVING", "status.saving.memory", false, false},
        {"STATE", "status.state", false, false},
        {"MODE", "status.applied.mode", false, false},
        {"AGE", "metadata.creationTimestamp", false, true},
        {"PROFILE", "spec.profileRef.name", true, false},
        {"REASON", "status.conditions.Applied.reason", true, false},
        {"SAMPLES", "status.samples", true, false},
        {"LAST-SAMPLE", "status.lastSample", true, true},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const json_t *of_type(const json_t *conditions, const char *type)
{
        size_t i;
        json_t *row;
        json_array_foreach((json_t *)(uintptr_t)conditions, i, row)
        {
                const char *is = json_string_value(json_object_get(row, "type"));
                if (is && strcmp(is, type) == 0)
                        return row;
        }
        return NULL;
}

static const json_t *at_path(const json_t *value, const char *path)
{
        char key[64];
        while (value && *path) {
                size_t len = strcspn(path, ".");
                snprintf(key, sizeof key, "%.*s", (int)len, path);
                value = json_is_array(value) ? of_type(value, key) : json_object_get(value, key);
                path += len + (path[len] == '.');
        }
        return value;
}

/* As kubectl does: the two largest units where the first is small. */
static char *age_of(int64_t ms)
{
        int64_t s = ms / 1000;
        if (s < 0)
                s = 0;
        if (s < 120)
                return mem_printf("%llds", (long long)s);
        if (s < 600)
                return s % 60 ? mem_printf("%lldm%llds", (long long)(s / 60), (long long)(s % 60))
                              : mem_printf("%lldm", (long long)(s / 60));
        if (s < 3 * 3600)
                return mem_printf("%lldm", (long long)(s / 60));
        if (s < 8 * 3600)
                return s / 60 % 60 ? mem_printf("%lldh%lldm", (long long)(s / 3600), (long long)(s / 60 % 60))
                                   : mem_printf("%lldh", (long long)(s / 3600));
        if (s < 48 * 3600)
                return mem_printf("%lldh", (long long)(s / 3600));
        return mem_printf("%lldd", (long long)(s / 86400));
}

static char *cell_of(const struct getting *g, const json_t *item, const struct column *c)
{
        const json_t *value = at_path(item, c->path);
        const char *text = json_string_value(value);
        struct wall at;
        if (c->age)
                return text && wall_parse(text, strlen(text), &at) == 0 ? age_of(g->now_ms - at.ms)
                                                                        : mem_string("<unknown>");
        if (json_is_integer(value))
                return mem_printf("%lld", (long long)json_integer_value(value));
        return mem_string(text ? text : "");
}

static bool get_shown(const struct getting *g, const struct column *c)
{
        return !c->wide || g->output == OUTPUT_WIDE;
}

static int columns_shown(const struct getting *g)
{
        int n = 1 + !g->ns;
        for (int i = 0; i < COLUMNS; i++)
                n += get_shown(g, &columns[i]);
        return n;
}

static void get_header(struct getting *g)
{
        if (g->output == OUTPUT_NAME) {
                table_init(&g->table, 1);
                return;
        }
        table_init(&g->table, columns_shown(g));
        if (!g->ns)
                table_add(&g->table, mem_string("NAMESPACE"));
        table_add(&g->table, mem_string("NAME"));
        for (int i = 0; i < COLUMNS; i++)
                if (get_shown(g, &columns[i]))
                        table_add(&g->table, mem_string(columns[i].title));
}

/* Anybody may answer at that address: what has no name is no Recommendation. */
static int get_row(void *arg, json_t *item, struct err *err)
{
        struct getting *g = arg;
        const json_t *meta = json_object_get(item, "metadata");
        if (!json_is_string(json_object_get(meta, "name")))
                return err_set(err, ERR_INVALID, "the server's answer is no Recommendation: it has no metadata.name");
        g->found++;
        if (g->output == OUTPUT_JSON || g->output == OUTPUT_YAML) {
                json_array_append(g->items, item);
                return 0;
        }
        if (g->output == OUTPUT_NAME) {
                table_add(&g->table, mem_printf("recommendation.halflife.dev/%s",
                                                json_string_value(json_object_get(meta, "name"))));
                return 0;
        }
        if (!g->ns)
                table_add(&g->table, mem_string(json_string_value(json_object_get(meta, "namespace"))));
        table_add(&g->table, mem_string(json_string_value(json_object_get(meta, "name"))));
        for (int i = 0; i < COLUMNS; i++)
                if (get_shown(g, &columns[i]))
                        table_add(&g->table, cell_of(g, item, &columns[i]));
        return 0;
}

/* --- asking --- */

static int get_one(struct getting *g, struct err *err)
{
        AUTO(mem_free) char *path = path_of("halflife.dev", "v1alpha1", g->ns, "recommendations", g->name, NULL);
        AUTO(json_decref) json_t *item = listing_ask(g->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        return item ? get_row(g, item, err) : err->code;
}

static void start_over(void *arg)
{
        struct getting *g = arg;
        table_release(&g->table);
        json_array_clear(g->items);
        g->found = 0;
        get_header(g);
}

static int get_all(struct getting *g, struct err *err)
{
        AUTO(mem_free) char *path = path_of("halflife.dev", "v1alpha1", g->ns, "recommendations", NULL, NULL);
        const struct listing all = {path, option_value(&g->given[OPT_SELECTOR]), start_over, get_row, g};
        return listing_read(g->session.client, &all, err);
}

static int get_tell(const struct getting *g, struct err *err)
{
        struct err why = *err;
        if (why.code != ERR_NOTFOUND || !g->name || session_no_kinds(err))
                return session_advise(err);
        if (g->workload.name)
                return workload_unknown(&g->workload, g->ns, why.text, err);
        return err_set(err, why.code,
                       "there is no Recommendation '%s' in namespace '%s': halflife get -A -o name lists them, and "
                       "KIND/NAME such as deploy/web is the one of a workload",
                       g->name, g->ns);
}

static void print_items(const struct getting *g)
{
        json_t *list = json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", g->items);
        const json_t *all = g->name && g->found ? json_array_get(g->items, 0) : list;
        if (g->output == OUTPUT_YAML)
                yaml_print(stdout, all);
        else {
                json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
                printf("\n");
        }
        json_decref(list);
}

static void get_print(const struct getting *g)
{
        if (g->output == OUTPUT_JSON || g->output == OUTPUT_YAML)
                print_items(g);
        else if (g->found)
                table_print(stdout, &g->table);
        if (!g->found)
                fprintf(stderr,
                        "no recommendations%s%s; does a profile select anything? kubectl get clusterprofiles,profiles "
                        "-A\n",
                        g->ns ? " in namespace " : "", g->ns ? g->ns : "");
}

/* KIND/NAME, the Recommendation's own name, or that as -o name tells it. */
static int get_read_name(struct getting *g, const char *word, struct err *err)
{
        static const char own[] = "recommendation.halflife.dev/";
        g->name = strncmp(word, own, sizeof own - 1) == 0 ? word + sizeof own - 1 : word;
        if (!strchr(g->name, '/'))
                return 0;
        int rc = workload_parse(g->name, &g->workload, err);
        g->name = g->workload.recommendation;
        return rc;
}

static int get_read_arguments(struct getting *g, int argc, char **argv, struct err *err)
{
        struct option_words words;
        bool all = false;
        int rc = options_parse(spec, OPTS, argc, argv, g->given, &words, err);
        if (rc == 0)
                rc = option_switch(&g->given[OPT_ALL], &all, err);
        if (rc < 0)
                return rc;
        const char *output = option_value(&g->given[OPT_OUTPUT]);
        for (g->output = OUTPUT_TABLE; output && g->output < OUTPUTS; g->output++)
                if (strcmp(output, outputs[g->output]) == 0)
                        break;
        if (g->output == OUTPUTS)
                return err_set(err, ERR_INVALID, "output '%s' is not one of table, wide, json, yaml, name", output);
        if (words.count > 1)
                return err_set(err, ERR_INVALID, "one name at most, not '%s' as well", words.word[1]);
        rc = words.count ? get_read_name(g, words.word[0], err) : 0;
        if (rc < 0)
                return rc;
        if (g->name && all)
                return err_set(err, ERR_INVALID, "a name is of one namespace: use -n rather than -A");
        g->ns = all ? NULL : option_value(&g->given[OPT_NAMESPACE]);
        return all && g->given[OPT_NAMESPACE].count ? err_set(err, ERR_INVALID, "-A and -n exclude each other") : all;
}

int cmd_get(int argc, char **argv)
{
        struct getting g = {.items = json_array(), .now_ms = now_read().wall.ms};
        struct err err = {0};
        int all = get_read_arguments(&g, argc, argv, &err);
        int code = EXIT_DONE;
        if (all < 0) {
                fprintf(stderr, "halflife get: %s\n", err.text);
                code = EXIT_MISUSED;
        } else if (g.given[OPT_HELP].count) {
                printf("usage: %s get [option]... [KIND/NAME]\n\nThe recommendations, as kubectl get recommendations "
                       "shows them.\n\n",
                       program_name());
                options_print(stdout, spec, OPTS);
        } else if (session_open_given(&g.session, option_value(&g.given[OPT_KUBECONFIG]),
                                      option_value(&g.given[OPT_CONTEXT]), &err) < 0) {
                fprintf(stderr, "halflife get: %s\n", terminal_tame(err.text));
                code = EXIT_FAILED;
        } else {
                if (!all && !g.ns)
                        g.ns = access_namespace(g.session.access);
                get_header(&g);
                if ((g.name ? get_one : get_all)(&g, &err) < 0) {
                        get_tell(&g, &err);
                        fprintf(stderr, "halflife get: %s\n", terminal_tame(err.text));
                        code = EXIT_FAILED;
                } else {
                        get_print(&g);
                }
        }
        table_release(&g.table);
        json_decref(g.items);
        session_release(&g.session);
        return code;
}
