/* What a kill -9 leaves: samples and kills are counted once, whatever was stored last. Each life opens the same
 * database; it ends without a last checkpoint, as after a kill. */
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"

static const char profile[] = "{\"resources\":{\"memory\":{\"enabled\":true,\"oomHold\":\"8760h\"}}}";
static const int64_t retention_ms = 336 * (int64_t)HOUR_MS;

static void life_begin(struct rig *c, const char *path)
{
        rig_begin(c);
        c->live.retention_ms = retention_ms;
        rig_open_database(c, path);
        assert_non_null(c->checkpointer->store);
        shop_profile(&c->cache, 1, profile);
        shop_deployment(&c->cache, "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}");
}

static void look(struct rig *c)
{
        cache_relink(&c->cache, loop_now(c->loop));
        oom_count(c->learner);
        pods_free_dropped(&c->cache);
}

/* What was handed to the store is written; what was not is lost. */
static void life_end(struct rig *c)
{
        rig_kill_database(c);
        rig_end(c);
}

static void fold(struct rig *c, int64_t at_ms)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = TEXT("web-1"), .at = {at_ms}, .containers = 1};
        m.container[0] = (struct pod_metrics_container_view){
                .name = TEXT("app"), .has = {true, true}, .cpu_nano = 250000000, .memory_bytes = 300 << 20};
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){at_ms});
}

static const struct usage *learned(struct rig *c)
{
        struct history *h = shop_target(&c->cache)->histories;
        assert_true(h && !h->next);
        return &h->usage;
}

static char *fresh_path(const char *name)
{
        char *path = tmp_path(name);
        unlink(path);
        return path;
}

/* A history stored with its kill tells which samples it holds, too. */
static void test_kill_with_its_doors(void **state)
{
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = fresh_path("doors.db");
        int64_t at = now_read().wall.ms - MINUTE_MS;
        life_begin(&c, path);
        shop_pod(&c.cache, 1, 0, 0);
        look(&c);
        fold(&c, at);
        shop_pod(&c.cache, 1, 1, at + SECOND_MS);
        look(&c);
        assert_int_equal(c.learner->count.kills, 1);
        life_end(&c);

        life_begin(&c, path);
        shop_pod(&c.cache, 1, 1, at + SECOND_MS);
        look(&c);
        fold(&c, at);
        assert_int_equal(c.learner->count.kills, 0);
        assert_int_equal(c.learner->count.samples[SAMPLE_DUPLICATE], 1);
        assert_int_equal(learned(&c)->samples, 1);
        assert_int_equal(learned(&c)->kills, 1);
        life_end(&c);
}

static const char marked[] =
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-000000000001\","
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":"
        "\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\"}]}"
        ","
        "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":1,\"state\":{"
        "\"running\":{}},\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":1,\"finishedAt\":\"%s\"}}"
        "}]}}";

static const char lone[] =
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"lone\",\"uid\":\"00000000-0000-4000-8002-000000000001\"},"
        "\"spec\":{\"containers\":[{\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{"
        "\"name\":\"app\",\"restartCount\":1,\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"reason\":"
        "\"OOMKilled\",\"exitCode\":1,\"finishedAt\":\"%s\"}}}]}}";

/* What was not believed is not judged again by the next start, which knows less of that time. */
static void test_disbelieved_once(void **state)
{
        (void)state;
        struct rig c;
        char at[WALL_TEXT_MAX];
        AUTO(mem_free) char *path = fresh_path("disbelieved.db");
        AUTO(mem_free) char *pod = mem_printf(marked, wall_print(now_read().wall, at));
        for (int life = 0; life < 2; life++) {
                life_begin(&c, path);
                assert_int_equal(pod_upsert(&c.cache, text_of(pod), 1, &(struct err){0}), 0);
                look(&c);
                assert_int_equal(c.learner->count.kills, 0);
                assert_int_equal(c.learner->count.kills_not_believed, life == 0);
                life_end(&c);
        }
}

/* The same of a pod that is a target of its own. */
static void test_disbelieved_once_of_a_pod(void **state)
{
        (void)state;
        static const char pods[] = "{\"metadata\":{\"name\":\"pods\",\"generation\":1},\"spec\":{\"dimension\":"
                                   "\"Pod\"}}";
        struct rig c;
        struct err err = {0};
        char at[WALL_TEXT_MAX];
        AUTO(mem_free) char *path = fresh_path("disbelieved-pod.db");
        AUTO(mem_free) char *pod = mem_printf(lone, wall_print(now_read().wall, at));
        for (int life = 0; life < 2; life++) {
                life_begin(&c, path);
                assert_int_equal(ns_upsert(&c.cache, TEXT("{\"metadata\":{\"name\":\"web\",\"uid\":\"n\"}}"), 1, &err),
                                 0);
                assert_int_equal(profile_upsert(&c.cache, true, text_of(pods), 1, &err), 0);
                assert_int_equal(pod_upsert(&c.cache, text_of(pod), 1, &err), 0);
                look(&c);
                assert_int_equal(c.learner->count.kills, 0);
                assert_int_equal(c.learner->count.kills_not_believed, life == 0);
                life_end(&c);
        }
}

/* A pod goes on telling of its last kill when the retention time has taken the kill's identity. */
static void test_old_kill_of_a_running_pod(void **state)
{
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = fresh_path("old.db");
        int64_t now = now_read().wall.ms, killed = now - retention_ms - HOUR_MS;
        life_begin(&c, path);
        shop_pod(&c.cache, 1, 1, killed);
        look(&c);
        assert_int_equal(c.learner->count.kills, 1);
        fold(&c, now - MINUTE_MS); /* since when it was seen alive */
        struct store_batch *b = store_batch_new();
        store_batch_forget_kills(b, (struct wall){now + HOUR_MS}); /* as a checkpoint does, the retention time later */
        store_submit(c.checkpointer->store, b);
        while (!checkpointer_pack(c.checkpointer))
                ;
        life_end(&c);

        life_begin(&c, path);
        shop_pod(&c.cache, 1, 1, killed);
        look(&c);
        fold(&c, now - SECOND_MS);
        assert_int_equal(c.learner->count.kills, 0);
        assert_int_equal(learned(&c)->kills, 1);
        shop_pod(&c.cache, 1, 2, now - SECOND_MS); /* the next one counts */
        look(&c);
        assert_int_equal(c.learner->count.kills, 1);
        life_end(&c);
}

/* Many that are seen at once are stored at once: their history is of all its pods, and is stored but one time. */
static void test_many_kills(void **state)
{
        enum { PODS = 50 };
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = fresh_path("many.db");
        int64_t at = now_read().wall.ms - MINUTE_MS;
        life_begin(&c, path);
        for (int pod = 1; pod <= PODS; pod++)
                shop_pod(&c.cache, pod, 1, at);
        uint64_t sent = c.checkpointer->batch_sent;
        look(&c);
        assert_int_equal(c.learner->count.kills, PODS);
        assert_int_equal(c.checkpointer->batch_sent - sent, 1);
        look(&c);
        assert_int_equal(c.checkpointer->batch_sent - sent, 1);
        life_end(&c);

        life_begin(&c, path);
        for (int pod = 1; pod <= PODS; pod++)
                shop_pod(&c.cache, pod, 1, at);
        look(&c);
        assert_int_equal(c.learner->count.kills, 0);
        assert_int_equal(learned(&c)->kills, PODS);
        shop_pod(&c.cache, 1, 2, at + SECOND_MS); /* none of the pass before is stored again, or missed */
        look(&c);
        assert_int_equal(c.learner->count.kills, 1);
        assert_int_equal(learned(&c)->kills, PODS + 1);
        life_end(&c);
}

static void run_sql(const char *path, const char *sql)
{
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
}

/* What the row of a kill says of it is not believed, so it counts again: in the life that finds it, and in no other. */
static void test_damaged_kill_row(void **state)
{
        (void)state;
        static const char *const harm[] = {"UPDATE kill SET at_ms = at_ms + 1", "UPDATE kill SET bytes = bytes + 1",
                                           "UPDATE kill SET crc = crc + 1"};
        int64_t at = now_read().wall.ms - MINUTE_MS;
        for (size_t i = 0; i < sizeof harm / sizeof harm[0]; i++) {
                AUTO(mem_free) char *path = fresh_path("kill-row.db");
                for (int life = 0; life < 4; life++) {
                        struct rig c;
                        if (life == 1)
                                run_sql(path, harm[i]);
                        life_begin(&c, path);
                        shop_pod(&c.cache, 1, 1, at);
                        look(&c);
                        assert_int_equal(c.learner->count.kills, life < 2);
                        assert_int_equal(learned(&c)->kills, life == 0 ? 1 : 2);
                        life_end(&c);
                }
        }
}

/* While nobody watched, and longer ago than the retention time: it counts all the same. */
static void test_old_kill_not_yet_seen(void **state)
{
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = fresh_path("unseen.db");
        life_begin(&c, path);
        shop_pod(&c.cache, 1, 1, now_read().wall.ms - retention_ms - HOUR_MS);
        look(&c);
        assert_int_equal(c.learner->count.kills, 1);
        life_end(&c);
}

/* Samples dated by a server whose clock ours is behind are not ahead of every clock, even when usage is away. */
static void test_no_recall_while_usage_is_away(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = fresh_path("behind.db");
        struct rig c;
        life_begin(&c, path);
        shop_pod(&c.cache, 1, 0, 0);
        look(&c);
        fold(&c, loop_now(c.loop).wall.ms + HOUR_MS);
        clock_skew_compare(c.skew, c.learner->date, 1);
        assert_int_equal(learned(&c)->samples, 1);
        c.learner->date.ms = 0; /* the next polls brought nothing */
        checkpointer_recall(c.checkpointer);
        checkpointer_recall(c.checkpointer);
        assert_int_equal(shop_target(&c.cache)->histories->jumped, 0);
        life_end(&c);
}

/* So many others are to be stored that a slice of a checkpoint ends with t, or behind it, and before the last of them;
 * wherever it is among them. */
static void crowd(struct cache *w, const struct target *t)
{
        enum { OTHERS = 2 * CHECKPOINT_SLICE };
        static const struct resource_policy none[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};
        struct target *other;
        size_t before = 0, n = 0;
        for (unsigned i = 0; i < OTHERS; i++) {
                char name[24];
                snprintf(name, sizeof name, "other-%u", i);
                other = target_get(w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), text_of(name));
                history_get(other, t->histories->container, none);
        }
        for (size_t at = 0; map_each(&w->targets, &at) != t;)
                before++;
        for (size_t at = 0; (other = map_each(&w->targets, &at)); n++)
                other->histories->dirty =
                        n == before || (before < CHECKPOINT_SLICE ? n > before : n + 1 < CHECKPOINT_SLICE);
}

/* A checkpoint of many goes in slices. What is stored at once between two of them is newer than what it holds. */
static void test_stored_within_a_checkpoint(void **state)
{
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = fresh_path("slices.db");
        int64_t now = now_read().wall.ms;
        life_begin(&c, path);
        shop_pod(&c.cache, 1, 0, 0);
        look(&c);
        fold(&c, now - MINUTE_MS);
        struct target *t = shop_target(&c.cache);
        crowd(&c.cache, t);
        t->apply_state.changed_ms = now - HOUR_MS;
        t->apply_state_dirty = true;
        assert_false(checkpointer_pack(c.checkpointer));
        assert_false(t->histories->dirty || t->apply_state_dirty);
        shop_pod(&c.cache, 1, 1, now);
        look(&c);
        assert_int_equal(c.learner->count.kills, 1);
        t->apply_state.changed_ms = now;
        checkpointer_apply_state(c.checkpointer, t);
        while (!checkpointer_pack(c.checkpointer))
                ;
        life_end(&c);

        life_begin(&c, path);
        shop_pod(&c.cache, 1, 1, now);
        look(&c);
        assert_int_equal(c.learner->count.kills, 0);
        assert_int_equal(learned(&c)->kills, 1);
        assert_int_equal(shop_target(&c.cache)->apply_state.changed_ms, now);
        life_end(&c);
}

/* What a database says is no reason to believe it: times that cannot be, and waits that nobody lives to see. */
static void test_numbers(void **state)
{
        (void)state;
        static const int64_t odd[] = {INT64_MAX, INT64_MIN, -2, INT64_MAX / 2};
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
                struct rig c;
                AUTO(mem_free) char *path = fresh_path("numbers.db");
                life_begin(&c, path);
                look(&c);
                struct target *t = shop_target(&c.cache);
                struct apply_state *d = &t->apply_state;
                d->changed_ms = d->reset_seen_ms = d->contested_ms = d->contest_step_ms = odd[i];
                d->passed_ms = d->followed_ms = odd[i];
                d->resets = odd[i] > 0 ? INT32_MAX : INT32_MIN;
                t->kill_ms = odd[i];
                struct guard_state *g = target_guard_state(t);
                g->cause = GUARD_EVICTED;
                g->change_ms = g->kill.at.ms = g->kill.since.ms = odd[i];
                g->by_limit = g->fired_ms = g->until_ms = g->step_ms = odd[i];
                checkpointer_apply_state(c.checkpointer, t);
                life_end(&c);

                life_begin(&c, path);
                look(&c);
                t = shop_target(&c.cache);
                d = &t->apply_state;
                clock_skew_clamp(c.skew, t);
                /* now: read after the clamp, so not before the clamped times */
                int64_t now = loop_now(c.loop).wall.ms, week = 7 * (int64_t)DAY_MS;
                const int64_t past[] = {d->changed_ms,  d->reset_seen_ms, d->passed_ms,
                                        d->followed_ms, t->kill_ms,       d->guard->fired_ms};
                for (size_t k = 0; k < sizeof past / sizeof past[0]; k++)
                        if (past[k] < -1 || (past[k] > now && k != 2))
                                fail_msg("%lld: time %zu is %lld", (long long)odd[i], k, (long long)past[k]);
                assert_in_range(d->contested_ms, 0, now + week);
                assert_in_range(d->guard->until_ms, 0, now + week);
                assert_in_range(d->contest_step_ms, 0, week);
                assert_in_range(d->resets, 0, 2);
                conflict_changed(c.safety, t, "changed to 500m by admission");
                assert_in_range(d->contest_step_ms, DAY_MS, week);
                life_end(&c);
        }
}

static void await_store(struct rig *c)
{
        while (c->checkpointer->batch_done != c->checkpointer->batch_sent)
                loop_turn(c->loop, 1000);
}

/* Every page but the first, which tells whose file it is. What lies in its log is not touched. */
static void damage(const char *path)
{
        enum { PAGE = 8192 };
        static const char garbage[] = "garbage garbage garbage";
        int fd = open(path, O_WRONLY);
        off_t len = lseek(fd, 0, SEEK_END);
        for (off_t at = PAGE; at < len; at += PAGE)
                assert_int_equal(pwrite(fd, garbage, sizeof garbage, at), sizeof garbage);
        close(fd);
}

/* Nothing can be carried over from a database that is damaged while it is open: what it said is known still, though
 * nothing of it has changed since. */
static void test_damaged_while_open(void **state)
{
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = fresh_path("damaged.db");
        int64_t at = now_read().wall.ms - MINUTE_MS;
        life_begin(&c, path);
        shop_pod(&c.cache, 1, 0, 0);
        look(&c);
        fold(&c, at);
        shop_target(&c.cache)->apply_state.changed_ms = at;
        checkpointer_apply_state(c.checkpointer, shop_target(&c.cache));
        while (!checkpointer_pack(c.checkpointer))
                ;
        life_end(&c);

        life_begin(&c, path);
        look(&c);
        c.safety->spent = MEM_NEW(struct spending);
        c.safety->spent[c.safety->spendings++] = (struct spending){
                .at_ms = at, .millicores = 7, .profile = mem_string("team"), .ns = mem_string("shop")};
        budget_store(c.safety); /* a write, after which no page is remembered */
        await_store(&c);
        damage(path);
        checkpointer_apply_state(c.checkpointer, shop_target(&c.cache));
        await_store(&c);
        assert_int_equal(checkpointer_state(c.checkpointer).errors, 1);
        while (!checkpointer_pack(c.checkpointer))
                ;
        await_store(&c);
        life_end(&c);

        life_begin(&c, path);
        look(&c);
        assert_int_equal(learned(&c)->samples, 1);
        assert_int_equal(shop_target(&c.cache)->apply_state.changed_ms, at);
        assert_int_equal(c.safety->spendings, 1);
        assert_int_equal(c.safety->spent[0].millicores, 7);
        life_end(&c);
}

/* Kills that are known when their rows are lost: of a pod that is there, or that has not come yet. */
static void test_kills_outlive_damage(void **state)
{
        (void)state;
        int64_t at = now_read().wall.ms - MINUTE_MS;
        for (int there = 0; there < 2; there++) {
                struct rig c;
                AUTO(mem_free) char *path = fresh_path(there ? "kills-there.db" : "kills-to-come.db");
                life_begin(&c, path);
                shop_pod(&c.cache, 1, 1, at);
                look(&c);
                assert_int_equal(c.learner->count.kills, 1);
                life_end(&c);

                life_begin(&c, path);
                if (there) {
                        shop_pod(&c.cache, 1, 1, at);
                        look(&c);
                }
                budget_store(c.safety); /* a write, after which no page is remembered */
                await_store(&c);
                damage(path);
                checkpointer_apply_state(c.checkpointer, shop_target(&c.cache));
                await_store(&c);
                assert_int_equal(checkpointer_state(c.checkpointer).errors, 1);
                life_end(&c);

                life_begin(&c, path);
                shop_pod(&c.cache, 1, 1, at);
                look(&c);
                assert_int_equal(c.learner->count.kills, 0);
                assert_int_equal(learned(&c)->kills, 1);
                life_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_stored_within_a_checkpoint),
                cmocka_unit_test(test_kill_with_its_doors),
                cmocka_unit_test(test_old_kill_of_a_running_pod),
                cmocka_unit_test(test_many_kills),
                cmocka_unit_test(test_damaged_kill_row),
                cmocka_unit_test(test_old_kill_not_yet_seen),
                cmocka_unit_test(test_no_recall_while_usage_is_away),
                cmocka_unit_test(test_damaged_while_open),
                cmocka_unit_test(test_kills_outlive_damage),
                cmocka_unit_test(test_disbelieved_once),
                cmocka_unit_test(test_disbelieved_once_of_a_pod),
        };
        return cmocka_run_group_tests_name("persist", tests, NULL, NULL);
}
