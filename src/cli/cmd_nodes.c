/*
 * halflife nodes: the nodes by pressure, as a running halflife knows them: what they use, what is requested of them,
 * and the workloads furthest above their requests.
 */
#include <stdio.h>
#include <string.h>

#include "api_client.h"
#include "base/buf.h"
#include "base/noun.h"
#include "base/yaml.h"
#include "cli/session.h"
#include "commands.h"
#include "core/amount.h"
#include "core/kind.h"
#include "table.h"
#include "terminal.h"

struct node_listing {
        struct session_options where;
        struct api_client_options from;
        enum { NODES_TABLE, NODES_WIDE, NODES_JSON } output;
        const char *labels, *ns, *limit; /* the options' values; NULL: not given */
        json_t *answer;
};

/* --- asking halflife --- */

static int nodes_ask(struct node_listing *n, struct err *err)
{
        AUTO(buf_release) struct buf path;
        buf_init(&path, 16 << 10);
        buf_add_text(&path, "/api/v1/nodes");
        api_client_add_parameter(&path, "labelSelector", n->labels);
        api_client_add_parameter(&path, "namespace", n->ns);
        api_client_add_parameter(&path, "limit", n->limit);
        const struct api_client_question q = {
                .where = &n->where, .from = &n->from, .path_query = path.data, .may = "list nodes"};
        n->answer = api_client_ask(&q, err);
        return n->answer ? 0 : err->code;
}

/* --- the table --- */

static const json_t *nodes_at(const json_t *item, enum resource r, const char *key)
{
        return json_object_get(json_object_get(item, resource_name(r)), key);
}

/* An amount in halflife's answer, in millicores or bytes; 0: the answer lacks it. */
static int64_t nodes_amount(const json_t *value, enum resource r)
{
        const char *text = json_string_value(value);
        struct amount a;
        return text && amount_parse(text_of(text), r, &a) == 0 ? a.value : 0;
}

static char *nodes_percent(const json_t *value)
{
        return json_is_number(value) ? mem_printf("%.0f%%", json_number_value(value)) : mem_string("-");
}

/* What pods request of a node, as a share of what the node has for pods. */
static char *nodes_requested(const json_t *item, enum resource r, const char *key)
{
        int64_t of = nodes_amount(nodes_at(item, r, "allocatable"), r), asked = nodes_amount(nodes_at(item, r, key), r);
        return of > 0 ? mem_printf("%lld%%", (long long)((__int128)asked * 100 / of)) : mem_string("-");
}

static char *nodes_text(const json_t *value)
{
        const char *text = json_string_value(value);
        return mem_string(text ? text : "-");
}

static char *nodes_status(const json_t *item)
{
        return mem_printf("%s%s", json_is_true(json_object_get(item, "ready")) ? "Ready" : "NotReady",
                          json_is_true(json_object_get(item, "unschedulable")) ? ",Cordoned" : "");
}

/* "12/15 cpu": how many of the samples are hot, in the resource that has more of them. */
static char *nodes_hot(const json_t *item)
{
        int64_t cpu = json_integer_value(nodes_at(item, CPU, "hotSamples")),
                memory = json_integer_value(nodes_at(item, MEMORY, "hotSamples")), most = cpu > memory ? cpu : memory;
        return most ? mem_printf("%lld/%lld %s", (long long)most,
                                 (long long)json_integer_value(json_object_get(item, "samples")),
                                 resource_name(cpu >= memory ? CPU : MEMORY))
                    : mem_string("-");
}

/* Print a workload and how far its usage on the node exceeds its requests, in the resource where that is the larger
 * share of the node. */
static void nodes_add_workload(struct buf *b, const json_t *item, const json_t *of)
{
        enum resource most = CPU;
        int64_t above[RESOURCES];
        double share[RESOURCES];
        char amount[QUANTITY_TEXT_MAX];
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t capacity = nodes_amount(nodes_at(item, r, "capacity"), r);
                above[r] = nodes_amount(nodes_at(of, r, "used"), r) - nodes_amount(nodes_at(of, r, "requested"), r);
                share[r] = capacity > 0 ? (double)above[r] / (double)capacity : 0;
                most = share[r] > share[most] ? r : most;
        }
        const char *kind = json_string_value(json_object_get(of, "kind")),
                   *ns = json_string_value(json_object_get(of, "namespace")),
                   *name = json_string_value(json_object_get(of, "name"));
        if (kind && ns && name && above[most] > 0)
                buf_printf(b, "%s%s/%s/%s +%s", b->len ? ", " : "", ns, kind, name,
                           amount_print(most, above[most], amount));
}

static char *nodes_workloads(const json_t *item)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        const json_t *all = json_object_get(item, "workloads");
        buf_init(&b, 4 << 10);
        for (size_t i = 0; i < json_array_size(all); i++)
                nodes_add_workload(&b, item, json_array_get(all, i));
        return b.len ? buf_steal(&b) : mem_string("-");
}

static char *nodes_taints(const json_t *item)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        const json_t *all = json_object_get(item, "taints");
        buf_init(&b, 4 << 10);
        for (size_t i = 0; i < json_array_size(all); i++) {
                const char *taint = json_string_value(json_array_get(all, i));
                buf_printf(&b, "%s%s", b.len ? "," : "", taint ? taint : "");
        }
        return b.len ? buf_steal(&b) : mem_string("-");
}

static const char *const titles[] = {"NAME",          "PRESSURE",         "CPU",           "MEMORY", "HOT",
                                     "CPU-REQUESTED", "MEMORY-REQUESTED", "ABOVE-REQUESTS"},
                         *const wide_titles[] = {"STATUS",      "CPU-CAPACITY", "CPU-USED",        "MEMORY-CAPACITY",
                                                 "MEMORY-USED", "CPU-ORIGINAL", "MEMORY-ORIGINAL", "PODS",
                                                 "LAST-SAMPLE", "TAINTS"};
enum {
        NODE_COLUMNS = sizeof titles / sizeof titles[0],
        NODE_WIDE_COLUMNS = sizeof wide_titles / sizeof wide_titles[0]
};

static void nodes_row(struct table *t, const json_t *item, bool wide)
{
        table_add(t, nodes_text(json_object_get(item, "name")));
        table_add(t, nodes_percent(json_object_get(item, "pressurePercent")));
        table_add(t, nodes_percent(nodes_at(item, CPU, "meanPercent")));
        table_add(t, nodes_percent(nodes_at(item, MEMORY, "meanPercent")));
        table_add(t, nodes_hot(item));
        table_add(t, nodes_requested(item, CPU, "requested"));
        table_add(t, nodes_requested(item, MEMORY, "requested"));
        table_add(t, nodes_workloads(item));
        if (!wide)
                return;
        table_add(t, nodes_status(item));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                table_add(t, nodes_text(nodes_at(item, r, "capacity")));
                table_add(t, nodes_text(nodes_at(item, r, "used")));
        }
        table_add(t, nodes_requested(item, CPU, "original"));
        table_add(t, nodes_requested(item, MEMORY, "original"));
        table_add(t, mem_printf("%lld", (long long)json_integer_value(json_object_get(item, "pods"))));
        table_add(t, nodes_text(json_object_get(item, "lastSample")));
        table_add(t, nodes_taints(item));
}

static void nodes_print_table(const struct node_listing *n)
{
        bool wide = n->output == NODES_WIDE;
        const json_t *items = json_object_get(n->answer, "items");
        int64_t left = json_integer_value(json_object_get(n->answer, "left"));
        struct table t;
        table_init(&t, NODE_COLUMNS + (wide ? NODE_WIDE_COLUMNS : 0));
        for (int i = 0; i < NODE_COLUMNS; i++)
                table_add(&t, mem_string(titles[i]));
        for (int i = 0; wide && i < NODE_WIDE_COLUMNS; i++)
                table_add(&t, mem_string(wide_titles[i]));
        for (size_t i = 0; i < json_array_size(items); i++)
                nodes_row(&t, json_array_get(items, i), wide);
        if (json_array_size(items))
                table_print(stdout, &t);
        table_release(&t);
        fflush(stdout);
        if (!json_array_size(items))
                fprintf(stderr, "no nodes; may halflife watch nodes? halflife check\n");
        if (left)
                fprintf(stderr, "%s with less pressure: --limit shows more\n", NOUN_COUNT(left, "more node"));
}

/* --- the command --- */

static int nodes_check(void *state, const struct command_line *line, struct err *err)
{
        struct node_listing *n = state;
        if (line->words.count)
                return err_set(err, ERR_INVALID, "takes no argument, so not '%s'; -l selects nodes by their labels",
                               line->words.word[0]);
        return n->from.server ? api_client_check(n->from.server, err) : 0;
}

static int nodes_run(void *state, struct err *err)
{
        struct node_listing *n = state;
        int rc = nodes_ask(n, err);
        if (rc < 0)
                return rc;
        if (!json_is_array(json_object_get(n->answer, "items")))
                return err_set(err, ERR_INVALID, "the server's answer has no items: is it an older halflife?");
        if (n->output == NODES_JSON) {
                json_dumpf(n->answer, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
                printf("\n");
        } else {
                nodes_print_table(n);
        }
        return EXIT_DONE;
}

static void nodes_end(void *state)
{
        struct node_listing *n = state;
        json_decref(n->answer);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS,
         OPTION_IN(struct node_listing, labels),
         .help = "only nodes with these labels, as kubectl takes them"},
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE,
         OPTION_IN(struct node_listing, ns),
         .help = "name only workloads of this namespace; for users who may list recommendations only there"},
        {.name = "limit", .value = "N", OPTION_IN(struct node_listing, limit),
         .help = "show at most so many nodes (default 500)"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "table|wide|json",
         OPTION_IN(struct node_listing, output),
         .help = "table, wide or json (default table)"},
        REMOTE_ADDRESS_OPTIONS(struct node_listing, from),
        SESSION_OPTIONS(struct node_listing, where),
};
/* clang-format on */

const struct command command_nodes = {
        .name = "nodes",
        .help = "list nodes by pressure, their requests, and the workloads that use more than they request",
        .words = TAKES_NOTHING,
        .usage = {"[option]..."},
        .intro = "Lists the nodes, those under the greatest pressure first: the larger of CPU's and memory's mean "
                 "share of\n"
                 "the capacity in the last 15 minutes. Asks a running halflife. It shows nodes to users who\n"
                 "may list nodes, and names workloads to users who may list recommendations.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct node_listing),
        .check = nodes_check,
        .run = nodes_run,
        .release = nodes_end,
};
