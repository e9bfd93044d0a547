/*
 * GET …/workloads/{kind}/{name}: the recommendation for one workload, and the requests to deploy the workload with.
 */
#include "handlers.h"

enum { LABELS_MOST = 64 };

/* --- the requests of the manifest --- */

/* Take the requests that the owner chose from the view: the originals, because halflife may have set the current
 * ones. */
static void workload_recall(const struct status_container *from, struct deploy_container *to)
{
        *to = (struct deploy_container){.name = text_of(from->name), .role = (enum container_role)from->role};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                to->request[r] = amount_of_status(from->of[r].original);
                if (from->of[r].limit > 0)
                        to->limit[r] = (struct amount){true, from->of[r].limit};
                to->read[r].divisor = from->of[r].read; /* only whether there is a divisor: the view has no more */
        }
        to->heap.start = amount_of_heap_start(from->of[MEMORY].heap_start).value;
}

struct deploy_subject subject_of(const struct ask *k)
{
        const struct snapshot_target *t = k->target;
        size_t known = t ? t->containers : 0;
        if (known > 0 && t->container[known - 1].role == ROLE_WHOLE)
                known--; /* the sum for the whole pod or namespace is not a container that is deployed */
        struct deploy_container *container = arena_new(k->a, (known + 1) * sizeof *container);
        struct label_pair *label = NULL;
        size_t labels = 0;
        for (size_t i = 0; i < known; i++)
                workload_recall(&t->container[i], &container[i]);
        if (t && !t->profile) { /* the workload is gone; if it comes back, profiles select it by these labels */
                label = arena_new(k->a, VIEW_LABELS_MAX * sizeof *label);
                labels = snapshot_unpack_labels(t->labels, t->labels_size, label, VIEW_LABELS_MAX);
        }
        return (struct deploy_subject){
                .ns = text_of(k->route->ns),
                .group = text_of(k->route->group),
                .kind = text_of(k->route->kind),
                .name = text_of(k->route->workload),
                .known = t,
                .pod_asks = {t && t->decision.pod_asks[CPU], t && t->decision.pod_asks[MEMORY]},
                .label = label,
                .labels = labels,
                .container = container,
                .containers = known,
        };
}

static int read_quantity(struct ask *k, struct text pair, struct amount ret[static RESOURCES])
{
        const char *colon = pair.len ? memchr(pair.p, ':', pair.len) : NULL;
        struct text name = {pair.p, colon ? (size_t)(colon - pair.p) : pair.len};
        enum resource r = CPU;
        while (r < RESOURCES && !text_is(name, resource_name(r)))
                r++;
        if (r == RESOURCES || !colon)
                return answer_bad_parameter(
                        k->ret, "original",
                        "'%.64s' in original is not cpu:QUANTITY or memory:QUANTITY, such as cpu:2,memory:4Gi", pair.p);
        if (ret[r].set)
                return answer_bad_parameter(k->ret, "original", "original names %s twice", resource_name(r));
        struct text value = {colon + 1, pair.len - name.len - 1};
        if (amount_parse(value, r, &ret[r]) < 0)
                return answer_bad_parameter(k->ret, "original",
                                            "'%.*s' in original is not a quantity of %s, such as %s", (int)value.len,
                                            value.p, resource_name(r), r == CPU ? "500m" : "4Gi");
        return 0;
}

static bool next_piece(struct text *left, struct text *ret)
{
        if (!left->p)
                return false;
        const char *comma = left->len ? memchr(left->p, ',', left->len) : NULL;
        *ret = (struct text){left->p, comma ? (size_t)(comma - left->p) : left->len};
        *left = comma ? (struct text){comma + 1, left->len - ret->len - 1} : (struct text){0};
        return true;
}

static int read_original(struct ask *k, struct amount ret[static RESOURCES])
{
        struct text left = k->query->value[PARAM_ORIGINAL], pair;
        while (next_piece(&left, &pair)) {
                int rc = read_quantity(k, pair, ret);
                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int workload_read_labels(struct ask *k, struct deploy_subject *s)
{
        struct text left = k->query->value[PARAM_LABELS], pair;
        struct label_pair *label = arena_new(k->a, LABELS_MOST * sizeof *label);
        size_t n = 0;
        while (next_piece(&left, &pair)) {
                const char *equals = pair.len ? memchr(pair.p, '=', pair.len) : NULL;
                if (!equals || equals == pair.p || n == LABELS_MOST)
                        return answer_bad_parameter(k->ret, "labels",
                                                    "labels is not a list of at most %d KEY=VALUE, such as "
                                                    "app=web,tier=front",
                                                    LABELS_MOST);
                struct text key = {pair.p, (size_t)(equals - pair.p)};
                label[n++] = (struct label_pair){key, {equals + 1, pair.len - key.len - 1}};
        }
        s->label = label;
        s->labels = n;
        s->known = NULL;
        return 0;
}

/* Set the requests given by ?original on the container that ?container names; an unknown container is added. */
static int put_original(struct ask *k, struct deploy_subject *s)
{
        struct deploy_container *container = (struct deploy_container *)(uintptr_t)s->container;
        struct amount asked[RESOURCES] = {0};
        int rc = read_original(k, asked), at = -1;
        if (rc < 0)
                return rc;
        struct text name = k->query->value[PARAM_CONTAINER];
        for (size_t i = 0; query_has(k->query, PARAM_CONTAINER) && i < s->containers; i++)
                if (text_equal(container[i].name, name))
                        at = (int)i;
        if (!query_has(k->query, PARAM_CONTAINER) && k->target && (at = container_asked(k)) < 0)
                return ERR_INVALID;
        if (at < 0) {
                at = (int)s->containers++;
                container[at].name = name.p ? name : (struct text){"", 0};
        }
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (asked[r].set)
                        container[at].request[r] = asked[r];
        return 0;
}

/* --- which container --- */

int container_asked(struct ask *k)
{
        const struct snapshot_target *t = k->target;
        int mains = 0, only = -1;
        for (int i = 0; i < t->containers; i++) {
                if (query_has(k->query, PARAM_CONTAINER) &&
                    text_is(k->query->value[PARAM_CONTAINER], t->container[i].name))
                        return i;
                if (t->container[i].role == ROLE_MAIN) {
                        mains++;
                        only = i;
                }
        }
        if (!query_has(k->query, PARAM_CONTAINER) && mains == 1)
                return only;
        if (query_has(k->query, PARAM_CONTAINER))
                answer_problem(k->ret, PROBLEM_NOT_FOUND, "%s '%s' has no container '%s'", t->kind, t->name,
                               k->query->value[PARAM_CONTAINER].p);
        else
                answer_bad_parameter(k->ret, "container", "%s '%s' has %d containers: name one by container=NAME",
                                     t->kind, t->name, mains);
        return ERR_INVALID;
}

/* --- the answer --- */

static void write_request(struct writer *w, const struct deploy_answer *d, size_t i, enum resource r)
{
        const struct deploy_advice *advice = &d->advice[i];
        writer_open(w, resource_name(r), '{');
        writer_amount(w, "request", r, deploy_request(d, i, r));
        writer_amount(w, "original", r, d->row[i].origin[r].effective);
        writer_amount(w, "target", r, advice->of[r].target);
        writer_bool(w, "changed", advice->ours[r]);
        if (advice->reason[r])
                writer_text(w, "reason", text_of(reason_name(advice->reason[r])));
        writer_close(w, '}');
}

static void write_deploy(struct writer *w, const struct ask *k, const struct deploy_subject *s,
                         const struct deploy_answer *d)
{
        struct text only = k->query->value[PARAM_CONTAINER];
        writer_open(w, "deploy", '{');
        writer_text(w, "state", text_of(state_name(d->state)));
        writer_open(w, "containers", '[');
        for (size_t i = 0; i < s->containers; i++) {
                if (only.p && !text_equal(only, s->container[i].name))
                        continue;
                writer_open(w, NULL, '{');
                if (s->container[i].name.len)
                        writer_text(w, "name", s->container[i].name);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        write_request(w, d, i, r);
                writer_close(w, '}');
        }
        writer_close(w, ']');
        writer_close(w, '}');
}

static void write_unknown(struct writer *w, const struct ask *k, const struct deploy_answer *d)
{
        write_metadata(w, k);
        write_profile(w, d->profile);
        writer_open(w, "status", '{');
        writer_text(w, "state", text_of(state_name(STATE_NO_DATA)));
        writer_open(w, "containers", '[');
        writer_close(w, ']');
        writer_close(w, '}');
}

static bool workload_refuse(struct ask *k)
{
        bool has_original = query_has(k->query, PARAM_ORIGINAL);
        if (!has_original && !k->target)
                answer_not_known(k);
        else if (!has_original && query_has(k->query, PARAM_CONTAINER))
                return container_asked(k) < 0;
        else
                return false;
        return true;
}

void answer_not_known(struct ask *k)
{
        const char *group = k->route->group;
        answer_problem(
                k->ret, PROBLEM_NOT_FOUND,
                "nothing is known of %s%s%s '%s' in namespace '%s': no profile selects it, it is newer than the last "
                "cycle or not deployed yet (then add original=cpu:2,memory:4Gi), or its kind needs its group, as in "
                "widgets.example.com",
                k->route->kind, *group ? "." : "", group, k->route->workload, k->route->ns);
}

void answer_workload(struct ask *k)
{
        if (workload_refuse(k))
                return;
        struct deploy_subject s = subject_of(k);
        if (query_has(k->query, PARAM_ORIGINAL) && put_original(k, &s) < 0)
                return;
        if (query_has(k->query, PARAM_LABELS) && workload_read_labels(k, &s) < 0)
                return;
        struct deploy_answer d;
        deploy_answer(k->v, &s, k->a, &d);
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        if (k->target)
                write_target(&w, k->target,
                             query_has(k->query, PARAM_CONTAINER) ? &k->query->value[PARAM_CONTAINER] : NULL);
        else
                write_unknown(&w, k, &d);
        if (!k->route->only_known)
                write_deploy(&w, k, &s, &d);
        writer_close(&w, '}');
}
