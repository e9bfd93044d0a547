/* Which workloads of a profile come first, what is seen of them, and which pods of one do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"
#include "cache/pod_canary.h"

enum { SERVICES = 4, YET = -1000 };

/* A Deployment of namespace shop; times are minutes ago, 0: never. Of a hundred, ranks are: log 1, front 22, search 24,
 * web 36, pay 51, api 61, stock 75. */
struct service {
        const char *name;
        int changed, passed; /* stood YET: not yet in force */
        bool rolling, due;
        int held; /* by a guard, for so many minutes yet */
        bool never, gone;
};

#define NEW(who)                                                                                                       \
        {                                                                                                              \
                .name = who                                                                                            \
        }
#define DONE(who, when, since)                                                                                         \
        {                                                                                                              \
                .name = who, .changed = when, .passed = since                                                          \
        }
#define IS(who, ...)                                                                                                   \
        {                                                                                                              \
                .name = who, __VA_ARGS__                                                                               \
        }

struct shop {
        struct rig c;
        struct profile_spec spec;
        struct profile profile;
        struct workload wl[SERVICES];
        struct guard_state guard[SERVICES];
        struct target *t[SERVICES];
};

static int64_t minutes_ago(const struct rig *c, int n)
{
        if (n == 0 || n == YET)
                return n ? -1 : 0;
        return loop_now(c->loop).wall.ms - n * (int64_t)MINUTE_MS;
}

static struct target *open_service(struct shop *s, int i, const struct service *from)
{
        struct target *t = mem_new(sizeof *t + 1);
        s->wl[i].apply_never = from->never;
        s->guard[i].until_ms = minutes_ago(&s->c, -from->held);
        *t = (struct target){.ns = "shop",
                             .kind = "Deployment",
                             .name = from->name,
                             .workload = from->gone ? NULL : &s->wl[i],
                             .profile = &s->profile,
                             .rolling = from->rolling,
                             .due = from->due,
                             .apply_state = {.changed_ms = minutes_ago(&s->c, from->changed),
                                             .passed_ms = minutes_ago(&s->c, from->passed),
                                             .guard = from->held ? &s->guard[i] : NULL}};
        map_put(&s->c.cache.targets, text_of(t->name), t);
        return t;
}

static void open_shop(struct shop *s, enum apply_mode mode, int percent, const struct service *with)
{
        *s = (struct shop){.profile = {.spec = &s->spec}};
        rig_begin(&s->c);
        s->spec.apply.mode = mode;
        s->spec.apply.canary.percent = percent;
        s->spec.apply.guard = (struct guard_policy){.enabled = true, .watch_ms = HOUR_MS};
        map_put(&s->c.cache.profiles, text_of("shop/team"), &s->profile);
        for (int i = 0; i < SERVICES && with[i].name; i++)
                s->t[i] = open_service(s, i, &with[i]);
}

static void close_shop(struct shop *s)
{
        map_drop(&s->c.cache.profiles, text_of("shop/team"));
        profile_canary_begin(&s->profile);
        for (int i = 0; i < SERVICES && s->t[i]; i++) {
                map_drop(&s->c.cache.targets, text_of(s->t[i]->name));
                mem_free(s->t[i]);
        }
        rig_end(&s->c);
}

/* The names of those that come first, or of those that wait, a space behind each. */
static const char *names_of(const struct shop *s, bool waiting, char out[static 64])
{
        size_t len = 0;
        for (int i = 0; i < SERVICES && s->t[i]; i++)
                if (waiting ? s->t[i]->waits : s->t[i]->canary)
                        len += (size_t)snprintf(out + len, 64 - len, "%s ", s->t[i]->name);
        out[len] = '\0';
        return out;
}

/* --- workloads: one row a sentence --- */

static const struct {
        const char *what;
        enum apply_mode mode;
        int percent;
        struct service with[SERVICES];
        const char *first, *wait;
        struct canary_tally want;
} rows[] = {
        {"nobody was changed",
         APPLY_ROLLOUT,
         50,
         {NEW("front"), NEW("web"), NEW("pay"), NEW("stock")},
         "front web ",
         "pay stock ",
         {2, 0, 0, 0, 0}},
        {"at deploys it is the same",
         APPLY_ON_DEPLOY,
         50,
         {NEW("front"), NEW("pay")},
         "front ",
         "pay ",
         {1, 0, 0, 0, 0}},
        {"pods are tried one by one, not workloads", APPLY_IN_PLACE, 50, {NEW("front"), NEW("pay")}, "", "", {0}},
        {"nothing is changed at all", APPLY_RECOMMEND, 50, {NEW("front"), NEW("pay")}, "", "", {0}},
        {"all at once", APPLY_ROLLOUT, 100, {NEW("front"), NEW("pay")}, "", "", {0}},

        {"each that was changed stood",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 90, 80), DONE("web", 70, 61), NEW("pay")},
         "front web ",
         "",
         {2, 2, 2, 0, 0}},
        {"one stood, another was never changed",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 90, 80), NEW("web"), NEW("pay")},
         "front web ",
         "",
         {2, 1, 1, 0, 0}},
        {"one stood, another not yet",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 90, 80), DONE("web", 70, 59), NEW("pay")},
         "front web ",
         "pay ",
         {2, 2, 1, 0, 0}},
        {"for the watch time exactly",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 61, 60), NEW("pay")},
         "front ",
         "",
         {1, 1, 1, 0, 0}},
        {"it is not in force",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 90, YET), NEW("pay")},
         "front ",
         "pay ",
         {1, 1, 0, 0, 0}},
        {"it is still rolling",
         APPLY_ROLLOUT,
         50,
         {IS("front", .changed = 90, .passed = 80, .rolling = true), NEW("pay")},
         "front ",
         "pay ",
         {1, 1, 0, 0, 0}},
        {"it rolls for the first time",
         APPLY_ROLLOUT,
         50,
         {IS("front", .changed = 9, .rolling = true), NEW("pay")},
         "front ",
         "pay ",
         {1, 1, 0, 0, 0}},
        {"it was changed again since",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 30, 80), NEW("pay")},
         "front ",
         "pay ",
         {1, 1, 0, 0, 0}},
        {"in force at the moment of its change",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 80, 80), NEW("pay")},
         "front ",
         "",
         {1, 1, 1, 0, 0}},
        {"by a clock that was ahead",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 90, -30), NEW("pay")},
         "front ",
         "pay ",
         {1, 1, 0, 0, 0}},

        {"one was taken back",
         APPLY_ROLLOUT,
         50,
         {IS("front", .changed = 90, .passed = 80, .held = 30), DONE("web", 90, 80), NEW("pay")},
         "front web ",
         "pay ",
         {2, 2, 2, 1, 0}},
        {"that was long ago",
         APPLY_ROLLOUT,
         50,
         {IS("front", .changed = 90, .passed = 80, .held = -30), NEW("pay")},
         "front ",
         "",
         {1, 1, 1, 0, 0}},
        {"one is to be lowered further",
         APPLY_ROLLOUT,
         50,
         {IS("front", .changed = 90, .passed = 80, .due = true), NEW("pay")},
         "front ",
         "pay ",
         {1, 1, 1, 0, 1}},
        {"what comes to the others does not count",
         APPLY_ROLLOUT,
         50,
         {DONE("front", 90, 80), IS("pay", .changed = 9, .passed = YET, .rolling = true, .due = true, .held = 30)},
         "front ",
         "",
         {1, 1, 1, 0, 0}},

        {"of few the lowest is first",
         APPLY_ROLLOUT,
         1,
         {NEW("stock"), NEW("pay"), NEW("api")},
         "pay ",
         "stock api ",
         {1, 0, 0, 0, 0}},
        {"the same, once it stood",
         APPLY_ROLLOUT,
         1,
         {NEW("stock"), DONE("pay", 90, 80), NEW("api")},
         "pay ",
         "",
         {1, 1, 1, 0, 0}},
        {"who opted out tries nothing",
         APPLY_ROLLOUT,
         50,
         {IS("front", .never = true), NEW("web"), NEW("pay")},
         "web ",
         "front pay ",
         {1, 0, 0, 0, 0}},
        {"nor as the lowest of few",
         APPLY_ROLLOUT,
         1,
         {IS("pay", .never = true), NEW("stock"), NEW("api")},
         "api ",
         "pay stock ",
         {1, 0, 0, 0, 0}},
        {"all opted out",
         APPLY_ROLLOUT,
         50,
         {IS("front", .never = true), IS("pay", .never = true)},
         "",
         "front pay ",
         {0}},
        {"who is gone neither tries nor waits",
         APPLY_ROLLOUT,
         50,
         {IS("front", .changed = 90, .passed = 80, .gone = true), IS("pay", .gone = true), NEW("stock")},
         "stock ",
         "",
         {1, 0, 0, 0, 0}},
};

static void test_who_comes_first_and_who_waits(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct shop s;
                char first[64], wait[64];
                open_shop(&s, rows[i].mode, rows[i].percent, rows[i].with);
                canary_settle(s.c.safety);
                names_of(&s, false, first);
                names_of(&s, true, wait);
                if (strcmp(first, rows[i].first) != 0 || strcmp(wait, rows[i].wait) != 0)
                        fail_msg("%s: '%s' first, '%s' wait", rows[i].what, first, wait);
                const struct canary_tally *is = &s.profile.canary, *want = &rows[i].want;
                if (memcmp(is, want, sizeof *is) != 0)
                        fail_msg("%s: of %d %d changed, %d stood, %d taken back, %d due", rows[i].what,
                                 (int)is->workloads, (int)is->changed, (int)is->passed, (int)is->reverted,
                                 (int)is->due);
                close_shop(&s);
        }
}

static void test_a_namespace_that_opted_out_tries_nothing(void **state)
{
        (void)state;
        struct shop s;
        char names[64];
        open_shop(&s, APPLY_ROLLOUT, 50, (const struct service[SERVICES]){NEW("front"), NEW("pay")});
        ns_get(&s.c.cache, text_of("shop"))->apply_never = true;
        canary_settle(s.c.safety);
        assert_string_equal(names_of(&s, false, names), "");
        assert_string_equal(names_of(&s, true, names), "front pay ");
        close_shop(&s);
}

/* Each namespace of a ClusterProfile has canaries of its own: one that takes harm keeps no other namespace waiting. */
static void test_a_namespace_waits_for_its_own(void **state)
{
        (void)state;
        struct shop s;
        char names[64];
        open_shop(&s, APPLY_ROLLOUT, 50,
                  (const struct service[SERVICES]){IS("front", .changed = 90, .passed = 80, .held = 60), NEW("pay"),
                                                   DONE("web", 90, 80), NEW("stock")});
        s.t[2]->ns = s.t[3]->ns = "mall"; /* where ranks are: web 20, stock 99 */
        canary_settle(s.c.safety);
        assert_string_equal(names_of(&s, false, names), "front web ");
        assert_string_equal(names_of(&s, true, names), "pay ");
        assert_true(s.profile.canary_closed);
        assert_int_equal(s.profile.canary.workloads, 2);
        assert_int_equal(s.profile.canary.passed, 2);
        assert_int_equal(s.profile.canary.reverted, 1);
        s.t[3]->ns = "kiosk"; /* its only workload: the first, whatever its rank */
        canary_settle(s.c.safety);
        assert_string_equal(names_of(&s, false, names), "front web stock ");
        close_shop(&s);
}

/* Others wait until there is a canary, and until each has passed. */
static void test_when_others_wait(void **state)
{
        (void)state;
        static const struct {
                struct service with[SERVICES];
                bool closed;
        } row[] = {{{{0}}, true},
                   {{NEW("front"), NEW("pay")}, true},
                   {{DONE("front", 90, 80), NEW("pay")}, false},
                   {{DONE("front", 90, 80), DONE("web", 90, 50), NEW("pay")}, true}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct shop s;
                open_shop(&s, APPLY_ROLLOUT, 50, row[i].with);
                canary_settle(s.c.safety);
                if (s.profile.canary_closed != row[i].closed)
                        fail_msg("row %zu: closed %d", i, s.profile.canary_closed);
                close_shop(&s);
        }
}

/* What was chosen is gone at the first settle after the share became all of them, or its profile no more. */
static void test_turned_off(void **state)
{
        (void)state;
        struct shop s;
        char names[64];
        open_shop(&s, APPLY_ROLLOUT, 50, (const struct service[SERVICES]){NEW("front"), NEW("pay")});
        canary_settle(s.c.safety);
        assert_true(s.profile.canary_closed);
        s.t[0]->profile = NULL;
        canary_settle(s.c.safety);
        assert_string_equal(names_of(&s, false, names), "pay ");
        s.spec.apply.canary.percent = 100;
        canary_settle(s.c.safety);
        assert_false(s.profile.canary_closed);
        assert_int_equal(s.profile.canary.workloads, 0);
        assert_string_equal(names_of(&s, false, names), "");
        assert_string_equal(names_of(&s, true, names), "");
        close_shop(&s);
}

/* --- what is seen of one --- */

enum { NOW_MIN = 10000 };

static const struct {
        const char *what;
        enum apply_mode mode;
        enum apply_at at;
        bool canary, carries, pod_canary, rolls;
        int behind;
        int64_t changed, passed, want; /* minutes; 0: never, YET: not yet */
} watched[] = {
        {"it is no canary", APPLY_ROLLOUT, AT_POD, false, true, false, false, 0, 9000, 0, 0},
        {"it is one no more", APPLY_ROLLOUT, AT_POD, false, true, false, false, 0, 9000, 9001, 0},
        {"nothing of ours stands", APPLY_ROLLOUT, AT_POD, true, false, false, false, 0, 9000, 9001, 0},
        {"the rollout is done", APPLY_ROLLOUT, AT_POD, true, true, false, false, 0, 9000, 0, NOW_MIN},
        {"of a change that nobody remembers", APPLY_ROLLOUT, AT_POD, true, true, false, false, 0, 0, 0, NOW_MIN},
        {"it is not", APPLY_ROLLOUT, AT_POD, true, true, false, true, 0, 9000, 0, YET},
        {"it was not", APPLY_ROLLOUT, AT_POD, true, true, false, false, 0, 9000, YET, NOW_MIN},
        {"known already", APPLY_ROLLOUT, AT_POD, true, true, false, true, 0, 9000, 9001, 9001},
        {"at the moment of the change", APPLY_ROLLOUT, AT_POD, true, true, false, true, 0, 9000, 9000, 9000},
        {"just now", APPLY_ROLLOUT, AT_POD, true, true, false, true, 0, 9000, NOW_MIN, NOW_MIN},
        {"changed again", APPLY_ROLLOUT, AT_POD, true, true, false, true, 0, 9002, 9001, YET},
        {"known by a clock that was ahead", APPLY_ROLLOUT, AT_POD, true, true, false, false, 0, 9000, 10001, NOW_MIN},
        {"set at the next pods", APPLY_ON_DEPLOY, AT_POD, true, true, false, true, 0, 9000, 0, NOW_MIN},
        {"written as it is deployed", APPLY_ON_DEPLOY, AT_WORKLOAD, true, true, false, true, 0, 9000, 0, YET},
        {"the same, done", APPLY_ON_DEPLOY, AT_WORKLOAD, true, true, false, false, 0, 9000, 0, NOW_MIN},
        {"the first pods have it", APPLY_IN_PLACE, AT_POD, false, true, true, true, 0, 9000, 0, NOW_MIN},
        {"one does not", APPLY_IN_PLACE, AT_POD, false, true, true, false, 1, 9000, 0, YET},
        {"no pods are tried", APPLY_IN_PLACE, AT_POD, false, true, false, false, 0, 9000, 9001, 0},
};

static int64_t at(int64_t minute)
{
        return minute == YET ? -1 : minute * MINUTE_MS;
}

static void test_since_when_it_stands(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        struct watched_kind kind = {.group = "apps", .kind = "Deployment"};
        for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
                struct profile_spec spec = {.apply = {.mode = watched[i].mode, .at = watched[i].at}};
                struct profile profile = {.spec = &spec};
                struct workload wl = {.kind = &kind, .generation = 2, .observed_generation = watched[i].rolls ? 1 : 2};
                struct pod_canary pod_canary = {0};
                struct target t = {.workload = &wl,
                                   .profile = &profile,
                                   .canary = watched[i].canary,
                                   .apply_state = {.changed_ms = at(watched[i].changed),
                                                   .passed_ms = at(watched[i].passed),
                                                   .pod_canary = watched[i].pod_canary ? &pod_canary : NULL}};
                struct plan plan = {.target = &t,
                                    .now = {at(NOW_MIN)},
                                    .carries = watched[i].carries,
                                    .resize.first_behind = watched[i].behind};
                canary_watch(c.safety, &t, &plan);
                if (t.apply_state.passed_ms != at(watched[i].want))
                        fail_msg("%s: %lld ms", watched[i].what, (long long)t.apply_state.passed_ms);
        }
        rig_end(&c);
}

static const struct {
        const char *what;
        enum apply_mode mode;
        bool canary;
        enum reason hold;
        int64_t current, target;
        bool want;
} lowered[] = {
        {"lower", APPLY_ROLLOUT, true, REASON_NONE, 100, 50, true},
        {"outside its window", APPLY_ROLLOUT, true, REASON_OUTSIDE_WINDOW, 100, 50, true},
        {"beyond its budget", APPLY_ROLLOUT, true, REASON_BUDGET, 100, 50, true},
        {"not by enough", APPLY_ROLLOUT, true, REASON_BELOW_MIN_CHANGE, 100, 99, false},
        {"held otherwise", APPLY_ROLLOUT, true, REASON_COOLDOWN, 100, 50, false},
        {"as it is", APPLY_ROLLOUT, true, REASON_NONE, 100, 100, false},
        {"higher", APPLY_ROLLOUT, true, REASON_NONE, 100, 150, false},
        {"by its owner's deploys", APPLY_ON_DEPLOY, true, REASON_NONE, 100, 50, false},
        {"no canary", APPLY_ROLLOUT, false, REASON_NONE, 100, 50, false},
};

static void test_who_is_to_be_lowered(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        struct watched_kind kind = {.group = "apps", .kind = "Deployment"};
        struct workload wl = {.kind = &kind};
        for (size_t i = 0; i < sizeof lowered / sizeof lowered[0]; i++)
                for (int place = 0; place < 2 * RESOURCES; place++) {
                        enum resource r = place % 2 ? MEMORY : CPU;
                        struct profile_spec spec = {.apply.mode = lowered[i].mode};
                        struct profile profile = {.spec = &spec};
                        struct target t = {.workload = &wl, .profile = &profile, .canary = lowered[i].canary};
                        struct plan_container of[2] = {0}, *one = &of[place / 2]; /* the other stays */
                        one->facts.current[r] = (struct amount){true, lowered[i].current};
                        one->advice.of[r].target = (struct amount){true, lowered[i].target};
                        one->advice.gate[r].hold = lowered[i].hold;
                        canary_watch(c.safety, &t, &(struct plan){.target = &t, .container = of, .containers = 2});
                        if (t.due != lowered[i].want)
                                fail_msg("%s: %s of container %d", lowered[i].what, resource_name(r), place / 2);
                }
        rig_end(&c);
}

/* --- pods --- */

enum { PODS = 4 };

struct floor {
        struct rig c;
        struct profile_spec spec;
        struct profile profile;
        struct pod pod[PODS];
        struct target t; /* the last: its key would follow */
};

static void open_floor(struct floor *f, int percent, int running)
{
        static const char *const names[PODS] = {"web-0", "web-1", "web-2", "web-3"};
        *f = (struct floor){.profile = {.spec = &f->spec},
                            .t = {.ns = "shop",
                                  .group = "apps",
                                  .version = "v1",
                                  .kind = "Deployment",
                                  .name = "web",
                                  .profile = &f->profile,
                                  .pods = f->pod}};
        rig_begin(&f->c);
        rig_follow(&f->c);
        f->spec.apply.mode = APPLY_IN_PLACE;
        f->spec.apply.canary.percent = percent;
        f->spec.apply.guard.watch_ms = HOUR_MS;
        for (int i = 0; i < PODS; i++)
                f->pod[i] = (struct pod){.ns = "shop",
                                         .name = names[i],
                                         .running = i < running,
                                         .next_of_target = i + 1 < PODS ? &f->pod[i + 1] : NULL};
}

static void close_floor(struct floor *f)
{
        pod_canary_end(&f->c.cache, &f->t);
        rig_end(&f->c);
}

static const struct {
        const char *what;
        enum apply_mode mode;
        int percent, passed; /* minutes ago */
        bool blown, unselected, over;
} followed[] = {
        {"not in force", APPLY_IN_PLACE, 50, YET, false, false, false},
        {"not for long enough", APPLY_IN_PLACE, 50, 59, false, false, false},
        {"the same, on all but one", APPLY_IN_PLACE, 99, 59, false, false, false},
        {"the watch time is over", APPLY_IN_PLACE, 50, 60, false, false, true},
        {"the fuse is blown", APPLY_IN_PLACE, 50, 60, true, false, false},
        {"all at once by now", APPLY_IN_PLACE, 100, YET, false, false, true},
        {"the same, with the fuse blown", APPLY_IN_PLACE, 100, YET, true, false, true},
        {"its pods are set no more", APPLY_ON_DEPLOY, 50, YET, false, false, true},
        {"nobody selects it", APPLY_IN_PLACE, 50, 60, false, true, false},
};

static void test_when_the_other_pods_follow(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof followed / sizeof followed[0]; i++) {
                struct floor f;
                open_floor(&f, followed[i].percent, PODS);
                f.spec.apply.mode = followed[i].mode;
                f.c.safety->fuse.blown = followed[i].blown ? mem_string("5 guards") : NULL;
                f.t.profile = followed[i].unselected ? NULL : &f.profile;
                f.t.apply_state.passed_ms = minutes_ago(&f.c, followed[i].passed);
                pod_canary_begin(&f.c.cache, &f.t, mem_string("[]"));
                canary_follow(f.c.safety, &f.t);
                int first = 0;
                for (int p = 0; p < PODS; p++)
                        first += f.pod[p].canary;
                bool over = !f.t.apply_state.pod_canary;
                if (over != followed[i].over || (over && f.t.apply_state.passed_ms != 0))
                        fail_msg("%s: %s", followed[i].what, over ? "over" : "not over");
                int share = (int)canary_share(PODS, followed[i].percent);
                if (first != (over || followed[i].unselected ? 0 : share))
                        fail_msg("%s: %d pods come first", followed[i].what, first);
                close_floor(&f);
        }
}

/* What is seen of a canary, and that the others follow, is stored at once. */
static void test_it_is_stored(void **state)
{
        (void)state;
        struct floor f;
        AUTO(mem_free) char *path = tmp_path("canary.db");
        open_floor(&f, 50, PODS);
        rig_open_database(&f.c, path);
        f.t.apply_state.passed_ms = minutes_ago(&f.c, 60);
        pod_canary_begin(&f.c.cache, &f.t, mem_string("[]"));
        f.t.apply_state_dirty = true;
        canary_follow(f.c.safety, &f.t);
        assert_null(f.t.apply_state.pod_canary);
        assert_false(f.t.apply_state_dirty);
        f.t.apply_state_dirty = true;
        f.t.apply_state.passed_ms = 1;
        canary_watch(f.c.safety, &f.t, &(struct plan){.target = &f.t});
        assert_int_equal(f.t.apply_state.passed_ms, 0);
        assert_false(f.t.apply_state_dirty);
        target_drop_guard_state(&f.t);
        close_floor(&f);
}

#define CPU_800 "[{\"cpu\":\"800m\",\"name\":\"app\"}]"
static const struct {
        const char *what;
        int percent, running;
        enum container_role role;
        int original, current, to; /* millicores; to 0: held */
        const char *rest;          /* of the trial under way; NULL: there is none */
        const char *want;
} lowering[] = {
        {"the first time: the others stay at what their template says", 50, 4, ROLE_MAIN, 1000, 1000, 600, NULL, "[]"},
        {"once more: at what stood", 50, 4, ROLE_MAIN, 1000, 800, 600, NULL, CPU_800},
        {"of two pods one", 50, 2, ROLE_MAIN, 1000, 800, 600, NULL, CPU_800},
        {"of one pod all", 50, 1, ROLE_MAIN, 1000, 800, 600, NULL, NULL},
        {"none runs", 50, 0, ROLE_MAIN, 1000, 800, 600, NULL, NULL},
        {"all at once", 100, 4, ROLE_MAIN, 1000, 800, 600, NULL, NULL},
        {"nothing changes", 50, 4, ROLE_MAIN, 1000, 800, 800, NULL, NULL},
        {"raised", 50, 4, ROLE_MAIN, 1000, 800, 900, NULL, NULL},
        {"held", 50, 4, ROLE_MAIN, 1000, 800, 0, NULL, NULL},
        {"of what only pods have", 50, 4, ROLE_INJECTED, 1000, 800, 600, NULL, NULL},
        {"another trial: what stood before the one under way", 50, 4, ROLE_MAIN, 1000, 600, 500, CPU_800, CPU_800},
        {"the same, held: it goes on", 50, 4, ROLE_MAIN, 1000, 600, 0, CPU_800, CPU_800},
        {"the same, back up: it is over", 50, 4, ROLE_MAIN, 1000, 600, 800, CPU_800, NULL},
        {"before that the template's", 50, 4, ROLE_MAIN, 1000, 600, 700, "[]", "[]"},
};

static void test_what_the_others_keep(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof lowering / sizeof lowering[0]; i++)
                for (enum resize_support s = RESIZE_UNASKED; s <= RESIZE_SERVED; s++) {
                        struct floor f;
                        open_floor(&f, lowering[i].percent, lowering[i].running);
                        f.c.cache.resize = s;
                        if (lowering[i].rest)
                                pod_canary_begin(&f.c.cache, &f.t, mem_string(lowering[i].rest));
                        struct plan_container of = {.name = intern_text(f.c.cache.names, text_of("app")),
                                                    .role = lowering[i].role};
                        of.facts.original[CPU] = (struct amount){true, lowering[i].original};
                        of.facts.current[CPU] = (struct amount){true, lowering[i].current};
                        of.advice.gate[CPU].value = lowering[i].to;
                        of.advice.gate[CPU].hold = lowering[i].to ? REASON_NONE : REASON_COOLDOWN;
                        of.advice.gate[MEMORY].hold = REASON_MEMORY_OFF;
                        AUTO(mem_free)
                        char *got = canary_rest(f.c.safety,
                                                &(struct plan){.target = &f.t, .container = &of, .containers = 1});
                        const char *want = s == RESIZE_ABSENT ? NULL : lowering[i].want;
                        if (!got != !want || (got && strcmp(got, want) != 0))
                                fail_msg("%s: %s", lowering[i].what, got ? got : "all get it");
                        intern_drop(f.c.cache.names, of.name);
                        close_floor(&f);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who_comes_first_and_who_waits),
                cmocka_unit_test(test_a_namespace_that_opted_out_tries_nothing),
                cmocka_unit_test(test_a_namespace_waits_for_its_own),
                cmocka_unit_test(test_when_others_wait),
                cmocka_unit_test(test_turned_off),
                cmocka_unit_test(test_since_when_it_stands),
                cmocka_unit_test(test_who_is_to_be_lowered),
                cmocka_unit_test(test_when_the_other_pods_follow),
                cmocka_unit_test(test_it_is_stored),
                cmocka_unit_test(test_what_the_others_keep),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
