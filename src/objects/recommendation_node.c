/*
 * What a status says of a node: status.node.
 */
#include "status_json.h"

static const struct {
        const char *key;
        size_t at;
} node_amounts[] = {
        {"capacity", offsetof(struct status_node, capacity)},
        {"allocatable", offsetof(struct status_node, allocatable)},
        {"original", offsetof(struct status_node, original)},
        {"requested", offsetof(struct status_node, requested)},
        {"peak", offsetof(struct status_node, peak)},
};
enum { NODE_AMOUNTS = sizeof node_amounts / sizeof node_amounts[0] };

static struct amount node_amount_at(const struct status_node *n, int i)
{
        status_amount value;
        memcpy(&value, (const char *)n + node_amounts[i].at, sizeof value);
        return amount_of_status(value);
}

static void node_amount_put(struct status_node *n, int i, struct amount a)
{
        status_amount value = status_amount_of(a);
        memcpy((char *)n + node_amounts[i].at, &value, sizeof value);
}

static void node_percent_write(struct writer *w, const char *key, int percent)
{
        if (percent >= 0)
                writer_int(w, key, percent);
}

void status_write_node(struct writer *w, const struct status_node node[static RESOURCES])
{
        writer_open(w, "node", '{');
        for (enum resource r = CPU; r < RESOURCES; r++) {
                writer_open(w, resource_name(r), '{');
                for (int i = 0; i < NODE_AMOUNTS; i++)
                        writer_amount(w, node_amounts[i].key, r, node_amount_at(&node[r], i));
                node_percent_write(w, "packingPercent", node[r].packing);
                node_percent_write(w, "utilizationPercent", node[r].utilization);
                writer_close(w, '}');
        }
        writer_close(w, '}');
}

static int16_t node_percent_read(const json_t *of, const char *key)
{
        const json_t *n = json_object_get(of, key);
        json_int_t percent = json_integer_value(n);
        return !json_is_integer(n) || percent < 0 ? -1 : percent > INT16_MAX ? INT16_MAX : (int16_t)percent;
}

struct status_node *status_node_read(const json_t *node, struct arena *a)
{
        struct status_node *ret = node ? arena_new(a, RESOURCES * sizeof *ret) : NULL;
        for (enum resource r = CPU; ret && r < RESOURCES; r++) {
                const json_t *of = json_object_get(node, resource_name(r));
                for (int i = 0; i < NODE_AMOUNTS; i++)
                        node_amount_put(&ret[r], i, status_amount_read(of, r, node_amounts[i].key));
                ret[r].packing = node_percent_read(of, "packingPercent");
                ret[r].utilization = node_percent_read(of, "utilizationPercent");
        }
        return ret;
}
