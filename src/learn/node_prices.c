#include "node_prices.h"

#include <math.h>
#include <stdio.h>

#include "base/map.h"

enum { SERIES_MOST = 2 * NODES_MOST };

struct node_prices {
        struct learner *learner;
        struct prices prices;           /* the prices by the setting, or by the last answer of Prometheus */
        struct prometheus_fetch *fetch; /* the query for prices under way; NULL: none */
        struct mono asked;              /* when the last query for prices was sent */
        bool begun;                     /* at least one query for prices was sent */
        bool failed;                    /* the last query brought no price, and the log has reported that */
        bool odd_told;                  /* the log has reported that some values are no prices */
};

/* --- an answer --- */

/* Sums over the nodes of a pool, weighted by the CPU and memory that each node has for pods. */
struct pool_prices {
        char name[PRICE_POOL_MAX];
        unsigned __int128 cost[RESOURCES], weight[RESOURCES];
};

static struct pool_prices *pool_prices_get(struct map *pools, const char *name)
{
        struct pool_prices *p = map_get(pools, text_of(name));
        if (p)
                return p;
        p = MEM_NEW(struct pool_prices);
        snprintf(p->name, sizeof p->name, "%s", name);
        map_put(pools, text_of(p->name), p);
        return p;
}

/* The prices that a point has; false: it lacks one, or a value is too large for a price. The reader has left out values
 * that are negative or not a number. */
static bool node_prices_read(const struct prometheus_point *point, int64_t ret[static RESOURCES])
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (!point->has[r] || point->doubtful || point->value[r] > (double)PRICE_LIMIT)
                        return false;
                ret[r] = (int64_t)llround(point->value[r] * (double)PRICE_UNIT);
        }
        return true;
}

static void pool_prices_add(struct pool_prices *to, const struct node *node, const int64_t price[static RESOURCES])
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                uint64_t weight = node->allocatable[r].value > 0 ? (uint64_t)node->allocatable[r].value : 0;
                to->cost[r] += (unsigned __int128)weight * (uint64_t)price[r];
                to->weight[r] += weight;
        }
}

/* Add the prices of each point's node to the sums of the node's pool. Returns how many values are no prices. */
static int64_t node_prices_sum(const struct node_prices *n, const struct prometheus_answer *a, struct map *pools)
{
        const struct cache *cache = n->learner->cache;
        int64_t odd = (int64_t)a->refused;
        for (size_t i = 0; i < a->points; i++) {
                const struct node *node = map_get(&cache->nodes.by_name, a->series[a->point[i].series].pod);
                int64_t price[RESOURCES];
                if (!node_prices_read(&a->point[i], price))
                        odd++;
                else if (node && node->known)
                        pool_prices_add(pool_prices_get(pools, node_pool(node)), node, price);
        }
        return odd;
}

/* Make the pools' prices from the sums. Without the setting pool-label all nodes are one pool, whose price counts for
 * all. If no node has a price, the present prices stay. */
static void node_prices_make(struct node_prices *n, struct map *pools)
{
        struct prices fresh = {.asked = true};
        struct pool_prices *p;
        memcpy(fresh.currency, n->prices.currency, sizeof fresh.currency);
        fresh.price = mem_new_array(pools->count + 1, sizeof *fresh.price);
        for (size_t at = 0; (p = map_each(pools, &at)) && fresh.count < PRICES_MOST;) {
                struct price *to = &fresh.price[fresh.count];
                if (!p->weight[CPU] || !p->weight[MEMORY])
                        continue;
                snprintf(to->pool, sizeof to->pool, "%s", n->learner->cache->nodes.pool_label ? p->name : PRICE_OTHER);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to->of[r] = (int64_t)(p->cost[r] / p->weight[r]);
                fresh.count++;
        }
        if (fresh.count == 0) {
                prices_release(&fresh);
                return;
        }
        prices_release(&n->prices);
        n->prices = fresh;
}

void node_prices_take(struct node_prices *n, const struct prometheus_answer *a)
{
        struct map pools = {0};
        struct pool_prices *p;
        int64_t odd = node_prices_sum(n, a, &pools);
        size_t priced = pools.count;
        node_prices_make(n, &pools);
        for (size_t at = 0; (p = map_each(&pools, &at));)
                mem_free(p);
        map_release(&pools);
        if (odd > 0 && !n->odd_told)
                log_warn(
                        "values of node_cpu_hourly_cost and node_ram_hourly_cost that are no prices are left out: each "
                        "node has both, from 0 to 1000000",
                        KV_INT("values", odd));
        n->odd_told = odd > 0;
        if (priced == 0 && !n->failed)
                log_warn("Prometheus has no price of any node: is OpenCost scraped, with honor_labels, and are "
                         "--prometheus-matchers right? The last prices still count",
                         KV_INT("series", a->series_count));
        n->failed = priced == 0;
}

static void node_prices_done(void *arg, const struct prometheus_answer *a)
{
        struct node_prices *n = arg;
        n->fetch = NULL;
        if (a->err.code == 0) {
                node_prices_take(n, a);
                return;
        }
        if (!n->failed)
                log_warn("cannot ask Prometheus for prices, will try again; the last ones still count",
                         KV("error", a->err.text));
        n->failed = true;
}

/* --- asking --- */

static void node_prices_ask(struct node_prices *n, struct mono at)
{
        enum { DEADLINE_MS = 30 * SECOND_MS };
        struct wall now = {whole_second(loop_now(n->learner->loop).wall.ms)};
        const struct prometheus_slice slice = {.of = PROMETHEUS_PRICES,
                                               .from = now,
                                               .to = now,
                                               .step_ms = MINUTE_MS,
                                               .deadline_ms = DEADLINE_MS,
                                               .points_most = SERIES_MOST};
        n->asked = at;
        n->begun = true;
        n->fetch = prometheus_fetch(n->learner->prometheus, &slice, node_prices_done, n);
}

void node_prices_tick(struct node_prices *n, struct mono now)
{
        enum { AGAIN_MS = 5 * MINUTE_MS };
        int64_t age_ms = (now.ns - n->asked.ns) / 1000000, due_ms = n->failed ? AGAIN_MS : HOUR_MS;
        if (n->prices.asked && !n->fetch && (!n->begun || age_ms >= due_ms))
                node_prices_ask(n, now);
}

const struct prices *node_prices_now(const struct node_prices *n)
{
        return n->prices.count > 0 ? &n->prices : NULL;
}

/* --- from start to end --- */

int node_prices_new(struct learner *learner, const char *setting, struct node_prices **ret, struct err *err)
{
        struct prices prices;
        int rc = prices_parse(setting, &prices, err);
        if (rc < 0)
                return err_wrap(err, "setting 'prices'");
        if (prices.asked && !learner->prometheus) {
                prices_release(&prices);
                return err_set(
                        err, ERR_INVALID,
                        "setting 'prices' is '%s', but prometheus-url is not set: set it, or give prices by pool",
                        setting);
        }
        struct node_prices *n = MEM_NEW(struct node_prices);
        *n = (struct node_prices){.learner = learner, .prices = prices};
        *ret = n;
        return 0;
}

void node_prices_stop(struct node_prices *n)
{
        if (n && n->fetch) {
                prometheus_cancel(n->fetch);
                n->fetch = NULL;
        }
}

void node_prices_free(struct node_prices *n)
{
        if (!n)
                return;
        node_prices_stop(n);
        prices_release(&n->prices);
        mem_free(n);
}
