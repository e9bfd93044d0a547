/*
 * halflife get: list the Recommendations in the columns of kubectl get.
 */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/session.h"
#include "commands.h"
#include "kube/known_resource.h"
#include "list_client.h"
#include "table.h"
#include "target_arg.h"
#include "terminal.h"
#include "yaml_print.h"

struct getting {
        struct session session;
        struct session_options where;
        enum { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME } output;
        bool all;
        const char *labels;       /* a label selector; NULL: any labels */
        const char *ns;           /* NULL: all namespaces */
        const char *name;         /* the Recommendation to show; NULL: show the list */
        struct workload workload; /* the workload, if the argument was KIND/NAME */
        struct table table;
        json_t *items; /* the collected objects, for the formats json and yaml */
        int64_t now_ms;
        int found;
};

/* --- columns: those of crds/recommendations.halflife.dev.yaml --- */

/* A column: the value at a path of keys. Columns of ages show the time since the value. */
static const struct column {
        const char *title, *path;
        bool wide, age;
} columns[] = {
        {"TARGET", "spec.targetRef.name", false, false},
        {"CPU", "status.pod.cpu.original", false, false},
        {"CPU-TARGET", "status.pod.cpu.target", false, false},
        {"MEMORY", "status.pod.memory.original", false, false},
        {"MEM-TARGET", "status.pod.memory.target", false, false},
        {"CPU-SO-FAR", "status.soFar.cpu", false, false},
        {"MEM-SO-FAR", "status.soFar.memory", false, false},
        {"CPU-SAVING", "status.saving.cpu", false, false},
        {"MEM-SAVING", "status.saving.memory", false, false},
        {"STATE", "status.state", false, false},
        {"MODE", "status.mode", false, false},
        {"APPLIED", "status.conditions.Applied.status", false, false},
        {"REASON", "status.conditions.Applied.reason", false, false},
        {"AGE", "metadata.creationTimestamp", false, true},
        {"PROFILE", "spec.profileRef.name", true, false},
        {"SAMPLES", "status.samples", true, false},
        {"LAST-SAMPLE", "status.lastSample", true, true},
        {"CPU-LIMIT", "status.containers.*.limits.cpu.advised", true, false},
        {"MEM-LIMIT", "status.containers.*.limits.memory.advised", true, false},
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

static const json_t *at_path(const json_t *value, const char *path);

/* The value at a path in the first element of a list that has this path; NULL: no element has it. */
static const json_t *first_at_path(const json_t *list, const char *path)
{
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *found = at_path(json_array_get(list, i), path);
                if (found)
                        return found;
        }
        return NULL;
}

/* Find the value at a path. In a list, a step is the type of a condition, or "*" for the first element that has the
 * rest of the path. */
static const json_t *at_path(const json_t *value, const char *path)
{
        char key[64];
        while (value && *path) {
                size_t len = strcspn(path, ".");
                snprintf(key, sizeof key, "%.*s", (int)len, path);
                if (strcmp(key, "*") == 0)
                        return first_at_path(value, path + len + (path[len] == '.'));
                value = json_is_array(value) ? of_type(value, key) : json_object_get(value, key);
                path += len + (path[len] == '.');
        }
        return value;
}

/* The age as kubectl prints it: two units if the larger one is small ("3m20s"). */
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
        if (c->age && text)
                return wall_parse(text, strlen(text), &at) == 0 ? age_of(g->now_ms - at.ms) : mem_string("<unknown>");
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

/* Add a Recommendation to the output. Refuse an item without a name, since any program may answer at the server's
 * address. */
static int get_row(void *arg, json_t *item, struct err *err)
{
        struct getting *g = arg;
        const json_t *meta = json_object_get(item, "metadata");
        if (!json_is_string(json_object_get(meta, "name")))
                return err_set(err, ERR_INVALID,
                               "the server's answer is not a Recommendation: it has no metadata.name");
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

/* --- reading Recommendations --- */

static int get_one(struct getting *g, struct err *err)
{
        AUTO(mem_free) char *path = known_resource_path(KNOWN_RECOMMENDATIONS, g->ns, g->name, NULL);
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
        AUTO(mem_free) char *path = known_resource_path(KNOWN_RECOMMENDATIONS, g->ns, NULL, NULL);
        const struct listing all = {path, g->labels, start_over, get_row, g};
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
                       "Recommendation '%s' does not exist in namespace '%s': halflife get -A -o name lists all, and "
                       "KIND/NAME such as deploy/web finds the one of a workload",
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
                        "no recommendations%s%s; does a profile match any workload? kubectl get "
                        "clusterprofiles,profiles -A\n",
                        g->ns ? " in namespace " : "", g->ns ? g->ns : "");
}

/* The argument is KIND/NAME, a Recommendation's name, or that name as -o name prints it. */
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

static int get_check(void *state, const struct command_line *line, struct err *err)
{
        struct getting *g = state;
        g->items = json_array();
        if (line->words.count > 1)
                return err_set(
                        err, ERR_INVALID,
                        "takes at most one name, not '%s' as well: name a workload as KIND/NAME, such as deploy/web",
                        line->words.word[1]);
        int rc = line->words.count ? get_read_name(g, line->words.word[0], err) : 0;
        if (rc < 0)
                return rc;
        if (g->name && g->all)
                return err_set(err, ERR_INVALID, "a name belongs to one namespace: use -n instead of -A");
        return g->all && g->ns ? err_set(err, ERR_INVALID, "-A and -n exclude each other") : 0;
}

static int get_run(void *state, struct err *err)
{
        struct getting *g = state;
        int rc = session_open_given(&g->session, &g->where, err);
        if (rc < 0)
                return rc;
        g->now_ms = now_read().wall.ms;
        if (!g->all && !g->ns)
                g->ns = access_namespace(g->session.access);
        get_header(g);
        if ((g->name ? get_one : get_all)(g, err) < 0)
                return get_tell(g, err);
        get_print(g);
        return EXIT_DONE;
}

static void get_release(void *state)
{
        struct getting *g = state;
        table_release(&g->table);
        json_decref(g->items);
        session_release(&g->session);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE, OPTION_IN(struct getting, ns),
         .help = "namespace; default: the context's"},
        {.name = "all-namespaces", .letter = 'A', OPTION_IN(struct getting, all),
         .help = "list every namespace, as kubectl get -A does"},
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS,
         OPTION_IN(struct getting, labels),
         .help = "only workloads with these labels (the workload's own, not its pods')"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "table|wide|json|yaml|name",
         OPTION_IN(struct getting, output),
         .help = "table, wide, json, yaml or name (default table)"},
        SESSION_OPTIONS(struct getting, where),
};
/* clang-format on */

const struct command command_get = {
        .name = "get",
        .help = "list recommendations, as kubectl get does",
        .words = TAKES_WORKLOADS,
        .usage = {"[option]... [KIND/NAME]"},
        .intro = "Lists recommendations, as kubectl get recommendations does.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct getting),
        .check = get_check,
        .run = get_run,
        .release = get_release,
};
