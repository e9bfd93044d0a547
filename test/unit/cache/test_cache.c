/*
 * The cache and its links under random events, in any order: owners before and after what they own, objects gone and
 * made again, lists that miss some, profiles that come and go. After each settle every link leads to something that is
 * there, and the whole is what a plain model says. (Dangling memory is for the address sanitizer to find.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/shop.h"
#include "cache/cache.h"

enum { ROUNDS = 60, EVENTS = 150, NAMES = 4, PODS = 8 };

/* The model: which exist, and of which life. */
struct model {
        int deployment[NAMES], set[NAMES], pod[PODS]; /* the number of its life; 0: it is not there */
        int set_owner[NAMES];                         /* the deployment's life that a set was made under */
        int pod_owner[PODS];
        bool profile[2]; /* "team" in its namespace, "all" for the cluster */
        int lives;
};

static uint64_t seed;

static int draw(int below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (int)(seed % (uint64_t)below);
}

static void uid_print(char out[static 40], char kind, int index, int life)
{
        snprintf(out, 40, "%08x-0000-4000-8000-%04x%08x", (unsigned)kind, (unsigned)index, (unsigned)life);
}

static struct watched_kind *kind_of(struct cache *w, const char *name)
{
        for (struct watched_kind *k = w->kinds; k; k = k->next)
                if (strcmp(k->kind, name) == 0 && strcmp(k->group, "apps") == 0)
                        return k;
        return NULL;
}

static const char *owner_json(char *out, size_t size, const char *kind, char letter, int index, int life)
{
        char uid[40];
        uid_print(uid, letter, index, life);
        out[0] = '\0';
        if (life)
                snprintf(out, size,
                         ",\"ownerReferences\":[{\"apiVersion\":\"apps/"
                         "v1\",\"kind\":\"%s\",\"name\":\"n%d\",\"uid\":\"%s\","
                         "\"controller\":true}]",
                         kind, index, uid);
        return out;
}

static const char template[] =
        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":"
        "\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}";

static void workload_json(char *out, size_t size, const char *kind, char letter, int index, int life, int owner_life)
{
        char uid[40], owner[400];
        uid_print(uid, letter, index, life);
        snprintf(out, size,
                 "{\"apiVersion\":\"apps/"
                 "v1\",\"kind\":\"%s\",\"metadata\":{\"namespace\":\"web\",\"name\":\"n%d\",\"uid\":\"%s\","
                 "\"generation\":1%s},\"spec\":{\"replicas\":2,%s}}",
                 kind, index, uid, owner_json(owner, sizeof owner, "Deployment", 'd', index, owner_life), template);
}

static void pod_json(char *out, size_t size, int index, int life, int owner_life)
{
        char uid[40], owner[400];
        uid_print(uid, 'p', index, life);
        snprintf(out, size,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"p%d\",\"uid\":\"%s\"%s},\"spec\":{\"containers\":[{"
                 "\"name\":"
                 "\"app\"}]},\"status\":{\"phase\":\"Running\"}}",
                 index, uid, owner_json(owner, sizeof owner, "ReplicaSet", 's', index % NAMES, owner_life));
}

static void upsert_workload(struct cache *w, struct model *m, bool set, int i, uint32_t epoch)
{
        char json[1500];
        struct err err = {0};
        const char *kind = set ? "ReplicaSet" : "Deployment";
        workload_json(json, sizeof json, kind, set ? 's' : 'd', i, set ? m->set[i] : m->deployment[i],
                      set ? m->set_owner[i] : 0);
        if (workload_upsert(w, kind_of(w, kind), text_of(json), epoch, &err) < 0)
                fail_msg("%s", err.text);
}

static void remove_workload(struct cache *w, struct model *m, bool set, int i)
{
        char json[1500];
        const char *kind = set ? "ReplicaSet" : "Deployment";
        int *life = set ? &m->set[i] : &m->deployment[i];
        workload_json(json, sizeof json, kind, set ? 's' : 'd', i, *life, 0);
        workload_remove(w, kind_of(w, kind), text_of(json));
        *life = 0;
}

static void upsert_pod(struct cache *w, const struct model *m, int i, uint32_t epoch)
{
        char json[1500];
        struct err err = {0};
        pod_json(json, sizeof json, i, m->pod[i], m->pod_owner[i]);
        if (pod_upsert(w, text_of(json), epoch, &err) < 0)
                fail_msg("%s", err.text);
}

static void change_profile(struct cache *w, struct model *m, bool cluster)
{
        struct err err = {0};
        char json[400];
        snprintf(json, sizeof json, "{\"metadata\":{%s\"name\":\"%s\",\"generation\":%d},\"spec\":{\"priority\":%d}}",
                 cluster ? "" : "\"namespace\":\"web\",", cluster ? "all" : "team", ++m->lives, draw(3));
        m->profile[cluster] = !m->profile[cluster];
        if (!m->profile[cluster])
                profile_remove(w, cluster, text_of(json));
        else if (profile_upsert(w, cluster, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

/* A list that is whole: what it does not name is gone. Some of what the model has vanishes with it. */
static void relist_pods(struct cache *w, struct model *m, uint32_t epoch)
{
        for (int i = 0; i < PODS; i++) {
                if (draw(5) == 0)
                        m->pod[i] = 0;
                if (m->pod[i])
                        upsert_pod(w, m, i, epoch);
        }
        pod_swept(w, epoch);
}

static void relist_workloads(struct cache *w, struct model *m, bool set, uint32_t epoch)
{
        for (int i = 0; i < NAMES; i++) {
                int *life = set ? &m->set[i] : &m->deployment[i];
                if (draw(5) == 0)
                        *life = 0;
                if (*life && draw(6) == 0) { /* made again meanwhile */
                        *life = ++m->lives;
                        m->set_owner[i] = set ? m->deployment[i] : m->set_owner[i];
                }
                if (*life)
                        upsert_workload(w, m, set, i, epoch);
        }
        workload_swept(w, kind_of(w, set ? "ReplicaSet" : "Deployment"), epoch);
}

static void one_event(struct cache *w, struct model *m, uint32_t epoch)
{
        char json[1500];
        int i = draw(NAMES), p = draw(PODS);
        bool set = draw(2);
        int *life = set ? &m->set[i] : &m->deployment[i];
        switch (draw(9)) {
        case 0:
        case 1:
                if (!*life || draw(4) == 0) { /* new, or deleted and made again between two events */
                        *life = ++m->lives;
                        if (set)
                                m->set_owner[i] = draw(3) ? m->deployment[i] : 0;
                }
                upsert_workload(w, m, set, i, epoch);
                break;
        case 2:
                if (*life)
                        remove_workload(w, m, set, i);
                break;
        case 3:
        case 4:
                if (!m->pod[p] || draw(4) == 0) {
                        m->pod[p] = ++m->lives;
                        m->pod_owner[p] = m->set[p % NAMES];
                }
                upsert_pod(w, m, p, epoch);
                break;
        case 5:
                pod_json(json, sizeof json, p, m->pod[p], m->pod_owner[p]);
                if (m->pod[p])
                        pod_remove(w, text_of(json));
                m->pod[p] = 0;
                break;
        case 6:
                change_profile(w, m, draw(2));
                break;
        case 7:
                relist_pods(w, m, epoch);
                break;
        default:
                relist_workloads(w, m, set, epoch);
        }
}

/* --- what must hold --- */

static bool any_profile(const struct model *m)
{
        return m->profile[0] || m->profile[1];
}

/* The highest owner that is there: the deployment of that very life, else a set without owner. */
static const char *expected_target(const struct model *m, int set, char out[static 64])
{
        bool owned = m->set_owner[set] && m->set_owner[set] == m->deployment[set];
        if (!any_profile(m) || !m->set[set] || (m->set_owner[set] && !owned))
                return NULL;
        snprintf(out, 64, "web/apps/%s/n%d", owned ? "Deployment" : "ReplicaSet", set);
        return out;
}

static void check_pods(struct cache *w, const struct model *m)
{
        struct pod *p;
        size_t count = 0;
        for (int i = 0; i < PODS; i++)
                count += m->pod[i] != 0;
        assert_int_equal(w->pods.count, count);
        assert_int_equal(w->ordered, count);
        for (size_t at = 0; (p = map_each(&w->pods, &at));) {
                int i = p->name[1] - '0', set = i % NAMES;
                char want[64];
                if (p->target)
                        assert_ptr_equal(map_get(&w->targets, text_of(p->target->key)), p->target);
                bool owned = m->pod_owner[i] && m->pod_owner[i] == m->set[set]; /* else a start could not link it */
                const char *target = owned ? expected_target(m, set, want) : NULL;
                if (!target != !p->target || (target && strcmp(target, p->target->key) != 0))
                        fail_msg("pod %s belongs to %s, not to %s", p->name, p->target ? p->target->key : "nothing",
                                 target ? target : "nothing");
        }
}

static void check_targets(struct cache *w)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));) {
                int64_t pods = 0;
                if (t->workload)
                        assert_ptr_equal(map_get(&w->workloads, text_of(t->workload->key)), t->workload);
                if (t->profile)
                        assert_ptr_equal(map_get(&w->profiles, text_of(t->profile->key)), t->profile);
                assert_true((t->gone_ms == 0) == (t->workload && t->profile));
                for (const struct pod *p = t->pods; p; p = p->next_of_target, pods++)
                        assert_ptr_equal(p->target, t);
                assert_int_equal(t->pod_count, pods);
        }
}

static void check_workloads(struct cache *w, const struct model *m)
{
        struct workload *wl;
        size_t count = 0;
        for (int i = 0; i < NAMES; i++)
                count += (size_t)(m->deployment[i] != 0) + (size_t)(m->set[i] != 0);
        assert_int_equal(w->workloads.count, count);
        assert_int_equal(w->uids.count, count);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));) {
                assert_false(wl->gone);
                if (wl->target)
                        assert_ptr_equal(wl->target->workload, wl);
        }
}

static void settle(struct cache *w, int64_t at_ms)
{
        cache_relink(w, (struct now){.wall = {at_ms}, .mono = {at_ms * 1000000}});
        pods_free_dropped(w);
        workloads_free_gone(w);
}

static void test_random_events(void **state)
{
        (void)state;
        for (int round = 1; round <= ROUNDS; round++) {
                struct cache w;
                struct model m = {0};
                seed = (uint64_t)round * UINT64_C(0x9e3779b97f4a7c15);
                cache_init(&w, "halflife", "halflife-system");
                for (int e = 1; e <= EVENTS; e++) {
                        one_event(&w, &m, (uint32_t)e);
                        if (draw(3) && e < EVENTS)
                                continue;
                        settle(&w, 1700000000000 + e);
                        check_workloads(&w, &m);
                        check_pods(&w, &m);
                        check_targets(&w);
                }
                cache_release(&w);
        }
}

static void test_namespaces_that_go(void **state)
{
        static const char lives[] = "{\"metadata\":{\"name\":\"web\"}}",
                          goes[] = "{\"metadata\":{\"name\":\"web\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}";
        struct cache w;
        struct err err;
        (void)state;
        cache_init(&w, "halflife", "halflife-system");
        assert_false(namespace_going(&w, "web"));
        assert_int_equal(ns_upsert(&w, text_of(lives), 1, &err), 0);
        assert_false(namespace_going(&w, "web"));
        assert_int_equal(ns_upsert(&w, text_of(goes), 1, &err), 0);
        assert_true(namespace_going(&w, "web"));
        assert_false(namespace_going(&w, "shop"));
        assert_true(ns_find(&w, "web")->going);
        assert_false(ns_find(&w, "shop")->known); /* looking makes none */
        assert_int_equal(w.namespaces.count, 1);
        ns_remove(&w, text_of(goes));
        assert_false(namespace_going(&w, "web"));
        cache_release(&w);
}

/* Until the next settle it is still among its target's pods: no resize is begun of it, and nothing is counted. */
static void gone_ones_do_not_run(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        shop_profile(&w, 1, "{}");
        shop_deployment(&w, "{}");
        shop_pod(&w, 1, 0, 0);
        cache_relink(&w, now_read());
        const struct target *t = shop_target(&w);
        assert_true(t->pods->running);
        pod_swept(&w, 2);
        assert_non_null(t->pods);
        assert_false(t->pods->running);
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_events),
                                           cmocka_unit_test(test_namespaces_that_go),
                                           cmocka_unit_test(gone_ones_do_not_run)};
        return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
