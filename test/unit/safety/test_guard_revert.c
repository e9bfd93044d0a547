/* What is kept of a watched change, and what becomes of it with time, in one life and the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/guarded.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"
#include "base/yaml.h"
#include "cache/pod_canary.h"

static void begin(struct guarded *s, enum apply_mode mode)
{
        guarded_set(s, mode, GUARDED_PODS, changed_ms - DAY_MS);
}

static void change(struct guarded *s, int64_t at_ms)
{
        s->t.apply_state.changed_ms = at_ms;
        guard_changed(&s->t, guard_state_survey(&s->t), (struct wall){at_ms});
}

static bool look(struct guarded *s, int64_t at_ms)
{
        s->plan.now.ms = at_ms;
        s->plan.guarded = guard_holds(&s->t, s->plan.now);
        return guard_look(s->c.safety, &s->t, &s->plan);
}

static void killed(struct guarded *s, int64_t at_ms, enum kill_cause cause)
{
        const struct oom_kill k = {.container = "app", .at = {at_ms}, .cause = cause};
        guard_killed(s->c.safety, &s->t, &s->pod[0], &k);
}

/* --- restarts are those since the change --- */

static void test_restarts(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_IN_PLACE);
        s.pod[0].restarts = 40;
        change(&s, changed_ms);
        assert_false(look(&s, changed_ms + MINUTE_MS));
        s.pod[0].restarts = 41;
        assert_false(look(&s, changed_ms + 2 * MINUTE_MS));
        s.pod[2].restarts = 1; /* of all pods together */
        assert_true(look(&s, changed_ms + 3 * MINUTE_MS));
        assert_string_equal(s.t.apply_state.guard->why,
                            "its containers restarted 2 times within 3m0s of halflife's change");
        guarded_clear(&s);
}

/* A restart is heard of later than its process ended, by the node's clock in whole seconds. */
static void test_restarts_heard_of_late(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int64_t ended_s; /* after the change */
                int64_t counted;
        } row[] = {{"before", -1, 0}, {"within its second", 0, 1}, {"after", 1, 1}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct guarded s;
                begin(&s, APPLY_IN_PLACE);
                s.pod[0].restarts = 7;
                change(&s, changed_ms + 300);
                s.pod[0].restarts = 8;
                s.pod[0].ended_s = (uint32_t)(changed_ms / SECOND_MS + row[i].ended_s);
                guard_state_hear(&s.t);
                if (guard_state_restarts(&s.t) != row[i].counted)
                        fail_msg("ended %s: %d", row[i].what, (int)guard_state_restarts(&s.t));
                s.pod[0].restarts = 9; /* the next is after it in any case, and the one before stays where it was */
                s.pod[0].ended_s += 60;
                guard_state_hear(&s.t);
                assert_int_equal(guard_state_restarts(&s.t), row[i].counted + 1);
                guarded_clear(&s);
        }
}

/* What its status says of restarts while its kubelet is away is not looked at. */
static void test_restarts_on_a_node_that_is_away(void **state)
{
        (void)state;
        struct guarded s;
        struct node gone = {.away = true};
        begin(&s, APPLY_IN_PLACE);
        change(&s, changed_ms);
        s.pod[0].node = &gone;
        s.pod[0].restarts = 5;
        assert_int_equal(guard_state_restarts(&s.t), 0);
        gone.away = false;
        assert_int_equal(guard_state_restarts(&s.t), 5);
        guarded_clear(&s);
}

static void test_restarts_of_others(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_ROLLOUT);
        change(&s, changed_ms);
        s.pod[0].restarts = s.pod[1].restarts = s.pod[2].restarts = 1;
        s.pod[0].ours = false;    /* of the template before */
        s.pod[1].running = false; /* on its way out */
        assert_false(look(&s, changed_ms + MINUTE_MS));
        killed(&s, changed_ms + MINUTE_MS, KILL_LIMIT); /* not ours */
        s.pod[1].running = true;
        s.pod[0].ours = true;
        killed(&s, changed_ms + MINUTE_MS, KILL_LIMIT); /* at its limit */
        s.pod[2].restarts = 0;
        assert_false(look(&s, changed_ms + 2 * MINUTE_MS));
        s.pod[2].restarts = 1;
        assert_true(look(&s, changed_ms + 2 * MINUTE_MS));
        guarded_clear(&s);
}

/* More pods than are remembered had restarted before: what is not known is not held against the change. */
static void test_restarts_of_many(void **state)
{
        (void)state;
        enum { MANY = GUARD_PODS_MAX + 10 };
        struct guarded s;
        static struct pod pod[MANY];
        begin(&s, APPLY_IN_PLACE);
        s.t.pods = pod;
        for (int i = 0; i < MANY; i++)
                pod[i] = (struct pod){.uid = {(uint8_t)i, (uint8_t)(i >> 8), 7},
                                      .created_ms = changed_ms - DAY_MS,
                                      .running = true,
                                      .ours = true,
                                      .restarts = 5,
                                      .next_of_target = i + 1 < MANY ? &pod[i + 1] : NULL};
        change(&s, changed_ms);
        pod[MANY - 1].restarts = 9;
        assert_int_equal(guard_state_restarts(&s.t), 0);
        pod[0].restarts = 6;
        assert_int_equal(guard_state_restarts(&s.t), 1);
        AUTO(json_decref) json_t *stored = guard_state_print(s.t.apply_state.guard);
        guard_state_read(&s.t, stored);
        assert_int_equal(guard_state_restarts(&s.t), 1);
        pod[MANY - 1].created_ms = changed_ms + SECOND_MS; /* a new one had none */
        assert_int_equal(guard_state_restarts(&s.t), 10);
        guarded_clear(&s);
}

/* --- readiness --- */

static void test_readiness(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int64_t created_m, turned_m; /* of the one that is not ready, minutes after the change */
                int first_m, fires_m;        /* looked at once a minute from then on; 0: never within the hour */
        } row[] = {
                {"one that ran", -1000, 10, 10, 25},
                {"one that ran, seen late", -1000, 10, 20, 35},
                {"one that never was since it came", 5, 5, 6, 20},
                {"one that came and ceased to be", 5, 10, 10, 25},
                {"too late", -1000, 50, 50, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct guarded s;
                int fired = 0;
                begin(&s, APPLY_ROLLOUT);
                change(&s, changed_ms);
                s.pod[1].created_ms = changed_ms + row[i].created_m * MINUTE_MS;
                s.pod[1].ready = false;
                s.pod[1].ready_turned_s = (uint32_t)((changed_ms + row[i].turned_m * MINUTE_MS) / SECOND_MS);
                for (int m = row[i].first_m; m <= 61 && !fired; m++)
                        fired = look(&s, changed_ms + m * MINUTE_MS) ? m : 0;
                if (fired != row[i].fires_m)
                        fail_msg("%s: fired after %d minutes", row[i].what, fired);
                guarded_clear(&s);
        }
}

/* A kubelet that is away: its pods are called not ready, and nobody knows. Back, it has the patience that all have. */
static void test_a_kubelet_that_is_away(void **state)
{
        (void)state;
        struct guarded s;
        struct node node = {.name = "n-1"};
        begin(&s, APPLY_IN_PLACE);
        s.pod[1].node = s.pod[2].node = &node;
        change(&s, changed_ms);
        node.away = true;
        node.turned_ms = changed_ms + MINUTE_MS;
        s.pod[1].ready = s.pod[2].ready = false;
        s.pod[1].ready_turned_s = s.pod[2].ready_turned_s = (uint32_t)((changed_ms + MINUTE_MS) / SECOND_MS);
        for (int m = 1; m <= 30; m++)
                assert_false(look(&s, changed_ms + m * MINUTE_MS));
        node.away = false;
        node.turned_ms = changed_ms + 30 * MINUTE_MS;
        assert_false(look(&s, changed_ms + 31 * MINUTE_MS)); /* the pods are yet to be heard of */
        assert_false(look(&s, changed_ms + 44 * MINUTE_MS));
        assert_true(look(&s, changed_ms + 46 * MINUTE_MS)); /* they really are not */
        assert_string_equal(guard_cause_name(s.t.apply_state.guard->cause), "NotReady");
        guarded_clear(&s);
}

/* What was not known before the change is no measure of what comes after it. */
static void test_away_at_the_change(void **state)
{
        (void)state;
        struct guarded s;
        struct node node = {.name = "n-1", .away = true};
        begin(&s, APPLY_IN_PLACE);
        s.pod[0].node = &node;
        s.pod[0].restarts = 3;
        change(&s, changed_ms);
        assert_int_equal(s.t.apply_state.guard->before.count, 2);
        node.away = false;
        s.pod[0].restarts = 5; /* heard of once it is back: they are real */
        assert_true(look(&s, changed_ms + 10 * MINUTE_MS));
        assert_string_equal(guard_cause_name(s.t.apply_state.guard->cause), "Restarts");
        guarded_clear(&s);
}

static void test_ready_again(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_IN_PLACE);
        s.pod[2].ready = false; /* two of three were */
        change(&s, changed_ms);
        for (int m = 0; m < 60; m++) {
                s.pod[1].ready = m % 15 != 0; /* never for a quarter of the hour */
                s.pod[2].ready = !s.pod[1].ready;
                s.pod[0].ready = m % 15 != 0 || m == 0;
                assert_false(look(&s, changed_ms + m * MINUTE_MS));
        }
        guarded_clear(&s);
}

/* --- whose change it is --- */

static void test_owners(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                enum apply_mode mode;
                bool released, adopted; /* the template changed since; the change is one that we only saw */
                bool carries;
                bool restarts, evicted; /* what it fires for */
        } row[] = {
                {"ours", APPLY_ROLLOUT, false, false, true, true, true},
                {"ours, of pods", APPLY_IN_PLACE, false, false, true, true, true},
                {"a release since", APPLY_ROLLOUT, true, false, true, false, true},
                {"a release since, of pods", APPLY_IN_PLACE, true, false, true, false, true},
                {"seen", APPLY_ROLLOUT, false, true, true, false, true},
                {"deployed", APPLY_ON_DEPLOY, false, true, true, false, true},
                {"nothing of it is left", APPLY_ROLLOUT, false, false, false, false, false},
                {"only recommended", APPLY_RECOMMEND, false, false, true, false, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct guarded s;
                begin(&s, row[i].mode);
                s.spec.apply.at = AT_WORKLOAD;
                s.plan.carries = row[i].carries;
                change(&s, changed_ms);
                if (row[i].adopted)
                        guard_deployed(&s.t, (struct wall){changed_ms});
                s.wl.digest = row[i].released ? 2 : 1;
                s.pod[0].restarts = 5;
                bool restarts = look(&s, changed_ms + MINUTE_MS);
                target_drop_guard_state(&s.t);
                killed(&s, changed_ms + MINUTE_MS, KILL_EVICTION);
                bool evicted = look(&s, changed_ms + MINUTE_MS);
                if (restarts != row[i].restarts || evicted != row[i].evicted)
                        fail_msg("%s: restarts %d, evicted %d", row[i].what, restarts, evicted);
                guarded_clear(&s);
        }
}

/* At Pod each pod is watched from when it was admitted. */
static void test_at_pod(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_ON_DEPLOY);
        s.t.apply_state.changed_ms = 0;
        killed(&s, changed_ms, KILL_EVICTION); /* it runs for a day */
        assert_null(s.t.apply_state.guard);
        s.pod[0].created_ms = changed_ms;
        killed(&s, changed_ms + 59 * MINUTE_MS, KILL_EVICTION);
        assert_true(look(&s, changed_ms + 2 * (int64_t)HOUR_MS)); /* whenever it is heard of */
        guarded_clear(&s);
}

/* --- back-off --- */

static void test_steps(void **state)
{
        (void)state;
        static const int hours[] = {24, 48, 96, 168, 168};
        struct guarded s;
        int64_t now = changed_ms;
        begin(&s, APPLY_IN_PLACE);
        for (int i = 0; i < 5; i++) {
                change(&s, now);
                killed(&s, now + MINUTE_MS, KILL_EVICTION);
                assert_true(look(&s, now + 2 * MINUTE_MS));
                assert_int_equal(s.t.apply_state.guard->step_ms, hours[i] * (int64_t)HOUR_MS);
                change(&s, now + 3 * MINUTE_MS); /* the originals */
                assert_false(look(&s, now + 4 * MINUTE_MS));
                killed(&s, now + MINUTE_MS, KILL_EVICTION); /* the same once more */
                now += 2 * MINUTE_MS + hours[i] * (int64_t)HOUR_MS;
                assert_true(guard_holds(&s.t, (struct wall){now - 1}));
                assert_false(guard_holds(&s.t, (struct wall){now}));
                assert_false(look(&s, now));
        }
        change(&s, now); /* this one stands */
        assert_false(look(&s, now + HOUR_MS));
        assert_non_null(s.t.apply_state.guard);
        assert_false(look(&s, now + HOUR_MS + 1));
        assert_null(s.t.apply_state.guard);
        guarded_clear(&s);
}

static void test_turned_off(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_ROLLOUT);
        change(&s, changed_ms);
        killed(&s, changed_ms + MINUTE_MS, KILL_ROOM);
        assert_true(look(&s, changed_ms + MINUTE_MS));
        s.t.profile = NULL; /* it may come back */
        assert_false(look(&s, changed_ms + 2 * MINUTE_MS));
        assert_non_null(s.t.apply_state.guard);
        s.t.profile = &s.profile;
        s.spec.apply.guard.enabled = false;
        assert_false(guard_holds(&s.t, (struct wall){changed_ms + 2 * MINUTE_MS}));
        assert_false(look(&s, changed_ms + 2 * MINUTE_MS));
        assert_null(s.t.apply_state.guard);
        guarded_clear(&s);
}

/* --- stored --- */

static void life_begin(struct guarded *s, const char *path)
{
        begin(s, APPLY_IN_PLACE);
        s->c.live.retention_ms = DAY_MS;
        s->c.live.fuse_guards = 0;
        rig_open_database(&s->c, path);
        assert_non_null(s->c.checkpointer->store);
        struct target *t = target_get(&s->c.cache, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("shop"));
        s->t.apply_state.guard = STEAL(&t->apply_state.guard);
}

/* Only what was handed to the store is there: as after a kill -9. */
static void life_end(struct guarded *s)
{
        rig_kill_database(&s->c);
        guarded_clear(s);
}

static void test_lives(void **state)
{
        (void)state;
        struct guarded s;
        AUTO(mem_free) char *path = tmp_path("guard.db");
        unlink(path);
        life_begin(&s, path);
        s.pod[1].restarts = 3;
        change(&s, changed_ms);
        checkpointer_apply_state(s.c.checkpointer, &s.t); /* killed once it was made */
        life_end(&s);

        life_begin(&s, path);
        s.pod[1].restarts = 4;
        assert_false(look(&s, changed_ms + MINUTE_MS));
        killed(&s, changed_ms + MINUTE_MS, KILL_EVICTION);
        checkpointer_apply_state(s.c.checkpointer, &s.t); /* killed between the eviction and the guard */
        life_end(&s);

        life_begin(&s, path);
        s.pod[1].restarts = 4;
        assert_true(look(&s, changed_ms + 2 * MINUTE_MS));
        life_end(&s); /* killed before the originals were written */

        life_begin(&s, path);
        const struct guard_state *g = s.t.apply_state.guard;
        assert_true(guard_holds(&s.t, (struct wall){changed_ms + HOUR_MS}));
        assert_int_equal(g->cause, GUARD_EVICTED);
        assert_int_equal(g->step_ms, DAY_MS);
        assert_string_equal(
                g->why, "a pod was evicted for lack of memory at 2027-01-15T08:01:00Z, 1m0s after halflife's change");
        assert_false(look(&s, changed_ms + HOUR_MS));
        assert_false(look(&s, changed_ms + 2 * (int64_t)DAY_MS));
        life_end(&s);
}

/* A database that was lost, or a Lease that was another's meanwhile: the Recommendation tells. */
static void test_recommendation(void **state)
{
        (void)state;
        static const char object[] =
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"deployment-web\"},\"spec\":{\"targetRef\":{"
                "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"profileRef\":{\"kind\":"
                "\"Profile\",\"name\":\"team\"}},\"status\":{\"state\":\"Held\",\"guard\":{\"cause\":\"Restarts\","
                "\"message\":\"its containers restarted\",\"time\":\"2027-01-15T08:00:00Z\",\"until\":"
                "\"2027-01-17T08:00:00Z\"}}}";
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife-system");
        shop_profile(&w, 1, "{\"apply\":{\"mode\":\"Rollout\"}}");
        shop_deployment(&w, "{\"requests\":{\"cpu\":\"1\"}}");
        assert_int_equal(published_upsert(&w, text_of(object), 1, &err), 0);
        cache_relink(&w, (struct now){.wall = {changed_ms}});
        struct target *t = shop_target(&w);
        assert_non_null(t->apply_state.guard);
        assert_int_equal(t->apply_state.guard->cause, GUARD_RESTARTS);
        assert_int_equal(t->apply_state.guard->step_ms, 2 * (int64_t)DAY_MS);
        assert_string_equal(t->apply_state.guard->why, "its containers restarted");
        assert_true(guard_holds(t, (struct wall){changed_ms + 2 * (int64_t)DAY_MS - 1}));
        assert_false(guard_holds(t, (struct wall){changed_ms + 2 * (int64_t)DAY_MS}));
        assert_true(t->apply_state_dirty);
        t->apply_state.guard->until_ms += DAY_MS; /* what is known is later: it stands */
        w.changed = true;
        cache_relink(&w, (struct now){.wall = {changed_ms}});
        assert_int_equal(t->apply_state.guard->step_ms, 2 * (int64_t)DAY_MS);
        assert_true(guard_holds(t, (struct wall){changed_ms + 2 * (int64_t)DAY_MS}));
        cache_release(&w);
}

/* As another instance writes it while this one only reads. */
static void publish(struct cache *w, const char *status)
{
        struct err err = {0};
        AUTO(mem_free)
        char *object = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"deployment-web\"},\"spec\":{"
                                  "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                  "\"web\"}},\"status\":%s}",
                                  status);
        assert_int_equal(published_upsert(w, text_of(object), 1, &err), 0);
        cache_relink(w, (struct now){.wall = {changed_ms}});
}

/* A new leader has seen a kill while it did not lead. The kill does not count if the leader before took the change
 * back, or changed the workload again. */
static void test_takes_over(void **state)
{
        (void)state;
        static const struct {
                const char *what, *status[2]; /* after the kill at 08:10 */
                int64_t fires_h;              /* looked at so many hours after the change */
                bool fires;
        } row[] = {
                {"nobody took it back", {NULL, NULL}, 1, true},
                {"it was taken back",
                 {"{\"guard\":{\"cause\":\"Evicted\",\"time\":\"2027-01-15T08:10:00Z\",\"until\":"
                  "\"2027-01-16T08:10:00Z\"}}",
                  "{}"},
                 30,
                 false},
                {"it was changed again",
                 {"{\"applied\":{\"time\":\"2027-01-15T20:00:00Z\",\"mode\":\"Rollout\",\"containers\":[]}}", NULL},
                 13,
                 false},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct rig c;
                const struct pod pod = {.ours = true, .running = true};
                rig_begin(&c);
                rig_follow(&c);
                shop_profile(&c.cache, 1, "{\"apply\":{\"mode\":\"Rollout\"}}");
                shop_deployment(&c.cache, "{\"requests\":{\"cpu\":\"1\"}}");
                publish(&c.cache,
                        "{\"applied\":{\"time\":\"2027-01-15T08:00:00Z\",\"mode\":\"Rollout\",\"containers\":[]}}");
                struct target *t = shop_target(&c.cache);
                const struct oom_kill k = {.at = {changed_ms + 10 * MINUTE_MS}, .cause = KILL_EVICTION};
                guard_killed(c.safety, t, &pod, &k);
                assert_non_null(t->apply_state.guard);
                for (int n = 0; n < 2 && row[i].status[n]; n++)
                        publish(&c.cache, row[i].status[n]);
                struct plan plan = {.target = t, .carries = true, .now = {changed_ms + row[i].fires_h * HOUR_MS}};
                if (guard_look(c.safety, t, &plan) != row[i].fires)
                        fail_msg("%s: fires otherwise", row[i].what);
                rig_end(&c);
        }
}

/* --- what follows a trial --- */

static void trial_begin(struct guarded *s, int64_t at_ms)
{
        begin(s, APPLY_IN_PLACE);
        s->spec.apply.canary.percent = 50;
        for (int i = 0; i < GUARDED_PODS; i++) {
                s->pod[i].ns = s->t.ns;
                s->pod[i].name = s->t.name;
        }
        s->t.apply_state.in_place = true;
        change(s, at_ms);
        pod_canary_begin(&s->c.cache, &s->t, mem_string("[]"));
        s->t.apply_state.passed_ms = at_ms;
}

static void trial_end(struct guarded *s)
{
        pod_canary_end(&s->c.cache, &s->t);
        guarded_clear(s);
}

/* The others are changed as the first were, and watched as long. */
static void test_followed(void **state)
{
        (void)state;
        struct guarded s;
        int64_t now = now_read().wall.ms;
        trial_begin(&s, now - HOUR_MS);
        s.pod[0].restarts = 1;
        canary_follow(s.c.safety, &s.t);
        assert_null(s.t.apply_state.pod_canary);
        s.pod[0].restarts = 2; /* one of them since */
        assert_false(look(&s, now + MINUTE_MS));
        s.pod[1].restarts = 1;
        assert_true(look(&s, now + MINUTE_MS));
        trial_end(&s);

        trial_begin(&s, now - HOUR_MS);
        canary_follow(s.c.safety, &s.t);
        killed(&s, now + 30 * MINUTE_MS, KILL_ROOM);
        assert_true(look(&s, now + 2 * (int64_t)HOUR_MS));
        trial_end(&s);

        trial_begin(&s, now - HOUR_MS);
        canary_follow(s.c.safety, &s.t);
        assert_false(look(&s, now + 59 * MINUTE_MS));
        assert_non_null(s.t.apply_state.guard);
        assert_false(look(&s, now + 61 * MINUTE_MS));
        assert_null(s.t.apply_state.guard);
        trial_end(&s);
}

/* Nothing follows what did harm, however long nothing can be taken back. */
static void test_not_followed(void **state)
{
        (void)state;
        struct guarded s;
        int64_t now = now_read().wall.ms;
        trial_begin(&s, now - HOUR_MS);
        killed(&s, now - MINUTE_MS, KILL_EVICTION);
        canary_follow(s.c.safety, &s.t); /* before anybody looked */
        assert_non_null(s.t.apply_state.pod_canary);
        assert_true(look(&s, now));
        canary_follow(s.c.safety, &s.t);
        assert_non_null(s.t.apply_state.pod_canary);
        s.t.apply_state.guard->until_ms = now; /* it is over, and the originals never came back */
        canary_follow(s.c.safety, &s.t);
        assert_non_null(s.t.apply_state.pod_canary);
        trial_end(&s);
}

/* A clock that is set back a little, or another leader's clock, does not end the watch. */
static void test_set_back(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_IN_PLACE);
        change(&s, changed_ms);
        assert_false(look(&s, changed_ms - 20 * SECOND_MS));
        s.pod[0].restarts = 2;
        assert_true(look(&s, changed_ms + MINUTE_MS));
        guarded_clear(&s);
}

/* A stored hold that ends in the far future is shortened to a week from now. */
static void test_held_for_ever(void **state)
{
        (void)state;
        static const char *const status[] = {
                "{\"cause\":\"Restarts\",\"until\":\"9999-12-31T00:00:00Z\"}",
                "{\"cause\":\"Restarts\",\"until\":\"9999-12-31T00:00:00Z\",\"time\":\"0000-01-01T00:00:00Z\"}",
                "{\"cause\":\"Restarts\",\"until\":\"9999-12-31T00:00:00Z\",\"time\":\"9999-11-30T00:00:00Z\"}",
        };
        int64_t now = now_read().wall.ms, week = 7 * (int64_t)DAY_MS;
        for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
                struct rig c;
                struct err err = {0};
                AUTO(mem_free)
                char *object = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"deployment-web\"},\"spec\":{"
                                          "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                          "\"web\"}},\"status\":{\"guard\":%s}}",
                                          status[i]);
                rig_begin(&c);
                shop_profile(&c.cache, 1, "{\"apply\":{\"mode\":\"Rollout\"}}");
                shop_deployment(&c.cache, "{\"requests\":{\"cpu\":\"1\"}}");
                assert_int_equal(published_upsert(&c.cache, text_of(object), 1, &err), 0);
                cache_relink(&c.cache, (struct now){.wall = {now}});
                struct target *t = shop_target(&c.cache);
                assert_true(guard_holds(t, (struct wall){now}));
                clock_skew_clamp(c.skew, t);
                if (guard_holds(t, (struct wall){now + week + HOUR_MS}))
                        fail_msg("%s: until %lld", status[i], (long long)t->apply_state.guard->until_ms);
                rig_end(&c);
        }
}

/* Numbers as of a database that somebody wrote. */
static void test_numbers(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        struct target t = {0};
        AUTO(json_decref)
        json_t *j = json_loads("{\"cause\":\"Restarts\",\"byLimit\":-9223372036854775808,\"step\":9223372036854775807,"
                               "\"until\":9223372036854775807,\"change\":9223372036854775807,\"fired\":-1}",
                               0, NULL);
        guard_state_read(&t, j);
        assert_int_equal(guard_state_restarts(&t), 0);
        clock_skew_clamp(c.skew, &t);
        assert_true(t.apply_state.guard->until_ms - loop_now(c.loop).wall.ms <= 7 * (int64_t)DAY_MS);
        target_drop_guard_state(&t);
        rig_end(&c);
}

static void test_texts(void **state)
{
        (void)state;
        struct target t = {0};
        static const char *const broken[] = {"{}", "[]", "{\"cause\":\"Bored\",\"had\":7,\"hads\":-3}",
                                             "{\"had\":[[1],[],[-1,-1]],\"hads\":900,\"why\":3}"};
        for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
                AUTO(json_decref) json_t *j = json_loads(broken[i], 0, NULL);
                guard_state_read(&t, j);
                (void)guard_holds(&t, (struct wall){changed_ms});
                if (t.apply_state.guard && (t.apply_state.guard->cause != GUARD_NONE || t.apply_state.guard->hads > 3))
                        fail_msg("%s", broken[i]);
        }
        target_drop_guard_state(&t);
}

/* As many rows as are kept, and a count of any size beside them. */
static void test_count_of_a_full_list(void **state)
{
        static const struct {
                int64_t hads;
                int64_t restarts; /* of one that ran before, and is in no row */
        } row[] = {{-5, 4},  {INT64_MIN, 4}, {0, 4},        {GUARD_PODS_MAX, 4}, {GUARD_PODS_MAX + 1, 0},
                   {900, 0}, {INT32_MAX, 0}, {INT64_MAX, 0}};
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct guarded s;
                AUTO(json_decref) json_t *had = json_array();
                for (int k = 0; k < GUARD_PODS_MAX; k++)
                        json_array_append_new(had, json_pack("[i, i]", k + 1, 1));
                AUTO(json_decref)
                json_t *stored = json_pack("{s:I, s:O, s:I}", "change", (json_int_t)changed_ms, "had", had, "hads",
                                           (json_int_t)row[i].hads);
                begin(&s, APPLY_IN_PLACE);
                guard_state_read(&s.t, stored);
                s.pod[0].restarts = 4;
                if (guard_state_restarts(&s.t) != row[i].restarts)
                        fail_msg("hads %lld: %lld restarts", (long long)row[i].hads,
                                 (long long)guard_state_restarts(&s.t));
                s.pod[0].ended_s = 5; /* before the change: it is remembered */
                guard_state_hear(&s.t);
                assert_int_equal(guard_state_restarts(&s.t), 0);
                assert_true(s.t.apply_state.guard->hads >= GUARD_PODS_MAX);
                guarded_clear(&s);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_restarts),
                cmocka_unit_test(test_restarts_heard_of_late),
                cmocka_unit_test(test_restarts_on_a_node_that_is_away),
                cmocka_unit_test(test_restarts_of_others),
                cmocka_unit_test(test_restarts_of_many),
                cmocka_unit_test(test_readiness),
                cmocka_unit_test(test_a_kubelet_that_is_away),
                cmocka_unit_test(test_away_at_the_change),
                cmocka_unit_test(test_ready_again),
                cmocka_unit_test(test_owners),
                cmocka_unit_test(test_at_pod),
                cmocka_unit_test(test_steps),
                cmocka_unit_test(test_turned_off),
                cmocka_unit_test(test_lives),
                cmocka_unit_test(test_texts),
                cmocka_unit_test(test_count_of_a_full_list),
                cmocka_unit_test(test_held_for_ever),
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_recommendation),
                cmocka_unit_test(test_takes_over),
                cmocka_unit_test(test_set_back),
                cmocka_unit_test(test_followed),
                cmocka_unit_test(test_not_followed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
