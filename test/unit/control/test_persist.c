/* What a kill -9 leaves: samples and kills are counted once, whatever was stored last. Each life opens the same
 * database; it ends without a last checkpoint, as after a kill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../../src/control/controller_private.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"

static const char profile[] = "{\"resources\":{\"memory\":{\"enabled\":true,\"oomHold\":\"8760h\"}}}";
static const int64_t retention_ms = 336 * (int64_t)HOUR_MS;

static void life_begin(struct controller *c, const char *path)
{
        struct err err = {0};
        *c = (struct controller){.loop = loop_new(), .options = {.database = path, .retention_ms = retention_ms}};
        world_init(&c->world, "halflife", "halflife-system");
        persist_open(c, &err);
        assert_non_null(c->store);
        shop_profile(&c->world, 1, profile);
        shop_deployment(&c->world, "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}");
}

static void look(struct controller *c)
{
        world_settle(&c->world, loop_now(c->loop));
        oom_count(c);
        pods_free_dropped(&c->world);
}

/* What was handed to the store is written; what was not is lost. */
static void life_end(struct controller *c)
{
        assert_int_equal(store_close(c->store, &(struct err){0}), 0);
        loop_turn(c->loop, 0); /* what the store told */
        world_release(&c->world);
        loop_free(c->loop);
}

static void fold(struct controller *c, int64_t at_ms)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = TEXT("web-1"), .at = {at_ms}, .containers = 1};
        m.container[0] = (struct pod_metrics_container_view){
                .name = TEXT("app"), .has = {true, true}, .cpu_nano = 250000000, .memory_bytes = 300 << 20};
        c->cursor = 0;
        ingest_fold(c, &m, (struct wall){at_ms});
}

static const struct usage *learned(struct controller *c)
{
        struct history *h = shop_target(&c->world)->histories;
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
        struct controller c;
        AUTO(mem_free) char *path = fresh_path("doors.db");
        int64_t at = now_read().wall.ms - MINUTE_MS;
        life_begin(&c, path);
        shop_pod(&c.world, 1, 0, 0);
        look(&c);
        fold(&c, at);
        shop_pod(&c.world, 1, 1, at + SECOND_MS);
        look(&c);
        assert_int_equal(c.count.kills, 1);
        life_end(&c);

        life_begin(&c, path);
        shop_pod(&c.world, 1, 1, at + SECOND_MS);
        look(&c);
        fold(&c, at);
        assert_int_equal(c.count.kills, 0);
        assert_int_equal(c.count.samples[SAMPLE_DUPLICATE], 1);
        assert_int_equal(learned(&c)->samples, 1);
        assert_int_equal(learned(&c)->kills, 1);
        life_end(&c);
}

/* A pod goes on telling of its last kill when the retention time has taken the kill's identity. */
static void test_old_kill_of_a_running_pod(void **state)
{
        (void)state;
        struct controller c;
        AUTO(mem_free) char *path = fresh_path("old.db");
        int64_t now = now_read().wall.ms, killed = now - retention_ms - HOUR_MS;
        life_begin(&c, path);
        shop_pod(&c.world, 1, 1, killed);
        look(&c);
        assert_int_equal(c.count.kills, 1);
        fold(&c, now - MINUTE_MS); /* since when it was seen alive */
        struct store_batch *b = store_batch_new();
        store_batch_forget_kills(b, (struct wall){now + HOUR_MS}); /* as a checkpoint does, the retention time later */
        store_submit(c.store, b);
        while (!persist_pack(&c))
                ;
        life_end(&c);

        life_begin(&c, path);
        shop_pod(&c.world, 1, 1, killed);
        look(&c);
        fold(&c, now - SECOND_MS);
        assert_int_equal(c.count.kills, 0);
        assert_int_equal(learned(&c)->kills, 1);
        shop_pod(&c.world, 1, 2, now - SECOND_MS); /* the next one counts */
        look(&c);
        assert_int_equal(c.count.kills, 1);
        life_end(&c);
}

/* While nobody watched, and longer ago than the retention time: it counts all the same. */
static void test_old_kill_not_yet_seen(void **state)
{
        (void)state;
        struct controller c;
        AUTO(mem_free) char *path = fresh_path("unseen.db");
        life_begin(&c, path);
        shop_pod(&c.world, 1, 1, now_read().wall.ms - retention_ms - HOUR_MS);
        look(&c);
        assert_int_equal(c.count.kills, 1);
        life_end(&c);
}

/* Samples dated by a server whose clock ours is behind are not ahead of every clock, even when usage is away. */
static void test_no_recall_while_usage_is_away(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = fresh_path("behind.db");
        struct controller c;
        life_begin(&c, path);
        shop_pod(&c.world, 1, 0, 0);
        look(&c);
        fold(&c, loop_now(c.loop).wall.ms + HOUR_MS);
        clocks_compare(&c);
        assert_int_equal(learned(&c)->samples, 1);
        c.date.ms = 0; /* the next polls brought nothing */
        persist_recall(&c);
        persist_recall(&c);
        assert_int_equal(shop_target(&c.world)->histories->jumped, 0);
        life_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kill_with_its_doors),
                cmocka_unit_test(test_old_kill_of_a_running_pod),
                cmocka_unit_test(test_old_kill_not_yet_seen),
                cmocka_unit_test(test_no_recall_while_usage_is_away),
        };
        return cmocka_run_group_tests_name("persist", tests, NULL, NULL);
}
