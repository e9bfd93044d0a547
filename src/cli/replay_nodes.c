#include "replay_nodes.h"

#include <math.h>
#include <stdlib.h>

#include "base/file_read.h"
#include "core/amount.h"

enum { DRAWS = 5, OWNERS_BYTES_MAX = 64 << 20, NAME_MAX_BYTES = 512, OWNER_FIELDS = 3 };
#define OWNERS_HEADER "entity,cpu_cores,memory_bytes"

/* The largest size of a node, in millicores and bytes: 10 000 cores and 1 Pi, above any machine there is. */
static const int64_t size_max[RESOURCES] = {[CPU] = 10000000, [MEMORY] = INT64_C(1) << 50};
static const double units_of_one[RESOURCES] = {[CPU] = 1000, [MEMORY] = 1};
static const double gibibyte = 1024.0 * 1024 * 1024;

void replay_nodes_release(struct replay_nodes *n)
{
        void *owner;
        for (size_t at = 0; (owner = map_each(&n->owners, &at));)
                mem_free(owner);
        map_release(&n->owners);
        table_release(&n->table);
        *n = (struct replay_nodes){0};
}

/* --- options --- */

int replay_nodes_read(struct replay_nodes *n, const char *size, const char *draws, struct err *err)
{
        const char *comma = strchr(size, ',');
        const struct text part[RESOURCES] = {{size, comma ? (size_t)(comma - size) : 0},
                                             text_of(comma ? comma + 1 : "")};
        for (enum resource q = CPU; q < RESOURCES; q++) {
                struct amount a = {0};
                if (amount_parse(part[q], q, &a) < 0 || a.value <= 0 || a.value > size_max[q])
                        return err_set(err, ERR_INVALID,
                                       "nodes '%s' is not a node's cores and memory, above 0, such as 16,64Gi", size);
                n->size.of[q] = (double)a.value / units_of_one[q];
        }
        char *end = NULL;
        long count = draws ? strtol(draws, &end, 10) : DRAWS;
        if (count < 1 || count > NODE_DRAWS_MAX || (draws && *end))
                return err_set(err, ERR_INVALID, "draws '%s' is not a whole number from 1 to %d", draws,
                               NODE_DRAWS_MAX);
        n->draws = (int)count;
        return 0;
}

static bool owner_value(struct text t, double *ret)
{
        *ret = 0;
        return t.len == 0 || (trace_number(t, ret) && isfinite(*ret) && *ret >= 0);
}

/* Take a line of a file of owners' requests. An empty value means a request of 0. Returns NULL, or why it is wrong. */
static const char *owners_take(struct replay_nodes *n, struct text line)
{
        struct text field[OWNER_FIELDS];
        int fields = 0;
        for (const char *p = line.p, *end = line.p + line.len;; fields++) {
                const char *comma = memchr(p, ',', (size_t)(end - p));
                if (fields < OWNER_FIELDS)
                        field[fields] = (struct text){p, (size_t)((comma ? comma : end) - p)};
                if (!comma)
                        break;
                p = comma + 1;
        }
        struct replay_owner o = {0};
        if (fields != OWNER_FIELDS - 1)
                return "it does not have the three columns " OWNERS_HEADER;
        if (field[0].len == 0 || field[0].len > NAME_MAX_BYTES)
                return "entity is empty or longer than 512 bytes";
        if (!owner_value(field[1], &o.of[CPU]) || !owner_value(field[2], &o.of[MEMORY]))
                return "cpu_cores or memory_bytes is not a number of at least 0";
        struct replay_owner *kept = mem_new(sizeof *kept + field[0].len);
        *kept = o;
        memcpy(kept->name, field[0].p, field[0].len);
        struct text key = {kept->name, field[0].len};
        mem_free(map_drop(&n->owners, key)); /* the map's key lies in the value, so both go */
        map_put(&n->owners, key, kept);
        return NULL;
}

static int read_owners(struct replay_nodes *n, const char *path, struct err *err)
{
        size_t len;
        AUTO(mem_free) char *text = file_read_input(path, OWNERS_BYTES_MAX, &len, err);
        if (!text)
                return ERR_IO;
        int number = 1;
        for (const char *p = text, *end = text + len; p < end; number++) {
                const char *newline = memchr(p, '\n', (size_t)(end - p));
                struct text line = {p, (size_t)((newline ? newline : end) - p)};
                p += line.len + 1;
                line.len -= line.len > 0 && line.p[line.len - 1] == '\r';
                bool skipped = line.len == 0 || (number == 1 && text_is(line, OWNERS_HEADER));
                const char *why = skipped ? NULL : owners_take(n, line);
                if (why)
                        return err_set(err, ERR_INVALID, "line %d: %s", number, why);
        }
        return 0;
}

int replay_nodes_read_owners(struct replay_nodes *n, const struct option_given *files, struct err *err)
{
        for (int i = 0; i < files->count; i++) {
                int rc = read_owners(n, files->value[i], err);
                if (rc < 0) {
                        err_wrap(err, "owners '%s'", files->value[i]);
                        return rc;
                }
        }
        return 0;
}

/* --- packing --- */

/* The mean and the extremes of one figure over all draws. */
struct range {
        double mean, least, most;
};
struct node_ranges {
        struct range nodes, contended, exhaustions;
        bool packed; /* whether pods ran on any day */
};

static void range_add(struct range *range, double value, int nth)
{
        range->least = nth == 0 || value < range->least ? value : range->least;
        range->most = nth == 0 || value > range->most ? value : range->most;
        range->mean += (value - range->mean) / (nth + 1);
}

static void ask_draws(const struct replay_nodes *n, const struct replay *r, struct node_question q,
                      struct node_ranges *ret)
{
        *ret = (struct node_ranges){0};
        q.size = n->size;
        for (int i = 0; i < n->draws; i++) {
                struct node_score s;
                q.draw = i + 1;
                node_pack(r, &q, &s);
                ret->packed = ret->packed || s.days > 0;
                range_add(&ret->nodes, node_score_nodes(&s), i);
                range_add(&ret->contended, node_score_contended(&s), i);
                range_add(&ret->exhaustions, node_score_exhaustions(&s), i);
        }
}

static bool has_memory(const struct replay *r)
{
        for (size_t i = 0; i < r->entities; i++)
                if (r->entity[i]->samples[MEMORY] > 0)
                        return true;
        return false;
}

/* A source of requests to pack by. asked_nth gives them in the order in which they are printed; false: there is no nth.
 */
struct asked {
        const char *name;
        struct node_question question;
};
static bool asked_nth(const struct replay_nodes *n, const struct replay *r, int nth, struct asked *ret)
{
        int ways = r->raise.enabled ? REPLAY_WAYS : 1, of_policies = (r->policies + 1) * ways;
        bool owners = node_pack_has_owners(r, &n->size);
        *ret = (struct asked){.name = "clairvoyant", .question = {.asker = NODE_CLAIRVOYANT}};
        if (nth < of_policies) {
                int policy = nth / ways;
                *ret = (struct asked){
                        .name = policy < r->policies ? r->policy[policy].name : "peak",
                        .question = {.asker = NODE_BY_POLICY, .policy = policy, .way = (enum replay_way)(nth % ways)}};
        } else if (owners && nth == of_policies) {
                *ret = (struct asked){.name = "owner", .question = {.asker = NODE_BY_OWNER}};
        }
        return nth <= of_policies + owners;
}

/* --- printing --- */

static char *range_text(const struct range *range, double unit, const char *behind)
{
        return mem_printf("%.2f%s (%.2f-%.2f)", range->mean * unit, behind, range->least * unit, range->most * unit);
}

static void begin_table(struct table *t)
{
        static const char *const title[] = {"NODES OF",      "POLICY",          "PODS", "TOO LARGE", "NODES",
                                            "CPU CONTENDED", "MEMORY FULL/WEEK"};
        table_init(t, sizeof title / sizeof title[0]);
        for (size_t i = 0; i < sizeof title / sizeof title[0]; i++)
                table_add(t, mem_string(title[i]));
}

static void add_ranges(struct replay_nodes *n, const struct node_ranges *s, bool memory)
{
        struct table *t = &n->table;
        table_add(t, s->packed ? range_text(&s->nodes, 1, "") : mem_string("-"));
        table_add(t, s->packed ? range_text(&s->contended, 100, "%") : mem_string("-"));
        table_add(t, s->packed && memory ? range_text(&s->exhaustions, 1, "") : mem_string("-"));
}

void replay_nodes_add(struct replay_nodes *n, const struct replay *r, const char *trace)
{
        struct asked asked;
        struct node_pods pods = node_pack_pods(r, &n->size);
        if (!n->table.columns)
                begin_table(&n->table);
        for (int i = 0; asked_nth(n, r, i, &asked); i++) {
                struct node_ranges s;
                ask_draws(n, r, asked.question, &s);
                table_add(&n->table, mem_string(trace));
                table_add(&n->table, asked.question.way == REPLAY_RAISED ? mem_printf("%s, raised", asked.name)
                                                                         : mem_string(asked.name));
                table_add(&n->table, mem_printf("%zu", (pods.fit + 1) / 2));
                table_add(&n->table, mem_printf("%zu", pods.large));
                add_ranges(n, &s, has_memory(r));
        }
}

void replay_nodes_print(const struct replay_nodes *n)
{
        putchar('\n');
        table_print(stdout, &n->table);
        printf("\nnodes of %g cores and %.6g GiB; mean and range of %d draws, each half of the entities\n",
               n->size.of[CPU], n->size.of[MEMORY] / gibibyte, n->draws);
        puts("packed each day (UTC) by the requests at its first row, first fit decreasing; usage in slots of 5 "
             "minutes");
        puts("cpu contended: share of the nodes' time in which pods use more than their node has; memory full: times a "
             "week and node");
        puts("entities that use more than a node has are too large and left out");
}

/* --- JSON --- */

static json_t *range_json(const struct range *range)
{
        return json_pack("{s:f,s:f,s:f}", "mean", range->mean, "least", range->least, "most", range->most);
}

static json_t *asked_json(const struct replay_nodes *n, const struct replay *r, const struct asked *asked)
{
        struct node_ranges s;
        ask_draws(n, r, asked->question, &s);
        return json_pack("{s:s,s:b,s:o,s:o,s:o}", "name", asked->name, "raised", asked->question.way == REPLAY_RAISED,
                         "nodes", s.packed ? range_json(&s.nodes) : json_null(), "contended",
                         s.packed ? range_json(&s.contended) : json_null(), "exhaustions_per_node_week",
                         s.packed && has_memory(r) ? range_json(&s.exhaustions) : json_null());
}

json_t *replay_nodes_json(const struct replay_nodes *n, const struct replay *r)
{
        struct asked asked;
        struct node_pods pods = node_pack_pods(r, &n->size);
        json_t *json = json_pack("{s:f,s:f,s:i,s:I,s:I,s:[]}", "cores", n->size.of[CPU], "memory", n->size.of[MEMORY],
                                 "draws", n->draws, "pods", (json_int_t)((pods.fit + 1) / 2), "left_out",
                                 (json_int_t)pods.large, "policies");
        for (int i = 0; asked_nth(n, r, i, &asked); i++)
                json_array_append_new(json_object_get(json, "policies"), asked_json(n, r, &asked));
        return json;
}
