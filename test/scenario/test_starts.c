/* A start-up spike: with ignoreFirst the target stays where it was, without it moves; explain tells what starts need,
 * from a running halflife and from its database, and an export takes it along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/story.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/transfer.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '2', memory: 1Gi}, limits: {cpu: '4', memory: 2Gi}}}]}"
#define DB          WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD)
#define REC_OF_DB   "recommendations/statefulset-db"
#define TARGET      "status.containers[app].cpu.target"
#define LEARN(more) TEAM("{resources: {cpu: {enabled: true" more "}}, apply: {mode: Recommend, minHistory: 2s}}")

/* The kubelet says when the container's process began. */
static bool process_began(struct fake *f, struct story *s, const char *began, int restarts)
{
        AUTO(mem_free)
        char *text = mem_printf("{status: {startTime: '2025-01-01T00:00:00Z', containerStatuses: [{name: app, ready: "
                                "true, started: true, image: app, "
                                "imageID: '', restartCount: %d, state: {running: {startedAt: '%s'}}}]}}",
                                restarts, began);
        story_do(f, s, &(struct step){.what = STEP_MERGE, .path = "pods/db-0/status", .text = text});
        return true;
}

static bool began_long_ago(struct fake *f, struct story *s)
{
        return process_began(f, s, "2025-01-01T00:00:00Z", 0);
}

static bool restarts(struct fake *f, struct story *s)
{
        char now[WALL_TEXT_MAX];
        return process_began(f, s, wall_print((struct wall){now_read().wall.ms / SECOND_MS * SECOND_MS}, now), 1);
}

/* Steady samples, then a restart with four times the usage. */
#define SPIKE                                                                                                          \
        DB, EXPECT("pods/db-0", "status.phase", "Running"), CALL(began_long_ago),                                      \
                EXPECT(REC_OF_DB, "status.state", "Ready"), EXPECT(REC_OF_DB, TARGET, "285m"), CALL(restarts),         \
                CYCLES(2), USE(1000, 300), CYCLES(4)

static struct story stories[] = {
        STORY("ignored", LEARN(", ignoreFirst: 1h"), SPIKE, CHECK(REC_OF_DB, TARGET, "285m"),
              CHECK(REC_OF_DB, "status.state", "Ready")),
        STORY("counted", LEARN(""), SPIKE, EXPECT(REC_OF_DB, TARGET, "!285m")),
};
enum { STORIES = sizeof stories / sizeof *stories };

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *address, *database;
} stage;

static int set_up(void **state)
{
        (void)state;
        stage.fake = stories_server(stories, STORIES);
        if (!stage.fake)
                return -1;
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        stage.halflife =
                halflife_start(stage.fake, "starts.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(stage.halflife);
        stage.address = mem_printf("http://%s", address);
        stage.database = tmp_path("starts.db");
        return setenv("COLUMNS", "160", 1) | setenv("HALFLIFE_TOKEN", "auditor", 1) |
               setenv("HALFLIFE_KUBECONFIG", "/nonexistent", 1);
}

static int tear_down(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.address);
        mem_free(stage.database);
        return 0;
}

static void assert_says(const char *said, const char *words)
{
        if (strstr(said, words))
                return;
        fprintf(stderr, "%s\n", said);
        fail_msg("it does not say '%s'", words);
}

static int count_starts(void *arg, const struct transfer_row *row, struct err *err)
{
        double need;
        (void)err;
        *(int *)arg += row->usage.starts && usage_starts_need(row->usage.starts, CPU, 950, &need);
        return 0;
}

/* How many histories of an export have starts. What the command said on stderr stands around it. */
static int starts_exported(const char *text)
{
        int count = 0;
        int64_t rows;
        struct err err = {0};
        const char *head = strstr(text, "halflife-histories"), *end = strstr(text, "\nend\t");
        assert_true(head && end);
        FILE *from = fmemopen((void *)(uintptr_t)head, (size_t)(strchr(end + 1, '\n') + 1 - head), "r");
        if (transfer_read(from, &(struct transfer_reader){count_starts, &count}, &rows, &err) < 0)
                fail_msg("%s", err.text);
        fclose(from);
        return count;
}

static void test_spike(void **state)
{
        (void)state;
        for (int i = 0; i < STORIES; i++)
                story_play(stage.fake, stage.halflife, &stories[i], 60000);
        AUTO(mem_free)
        char *live = HALFLIFE_RUN(0, "explain", "statefulset/db", "-n", "ignored", "--server", stage.address);
        assert_says(live, "starts need 1");
        assert_says(live, "the target does not count them (ignoreFirst 1h)");
        AUTO(mem_free)
        char *counted = HALFLIFE_RUN(0, "explain", "statefulset/db", "-n", "counted", "--server", stage.address);
        assert_null(strstr(counted, "starts"));
        AUTO(mem_free) char *exported = HALFLIFE_RUN(0, "export", "-n", "ignored", "--server", stage.address);
        assert_int_equal(starts_exported(exported), 1);
        assert_int_equal(halflife_stop(stage.halflife), 0);
        AUTO(mem_free)
        char *stored = HALFLIFE_RUN(0, "explain", "statefulset/db", "-n", "ignored", "--database", stage.database);
        assert_says(stored, "starts need 1");
        assert_says(stored, "the target does not count them");
        AUTO(mem_free) char *taken = HALFLIFE_RUN(0, "export", "-n", "ignored", "--database", stage.database);
        assert_int_equal(starts_exported(taken), 1);
        AUTO(mem_free) char *plain = HALFLIFE_RUN(0, "export", "-n", "counted", "--database", stage.database);
        assert_int_equal(starts_exported(plain), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_spike)};
        return cmocka_run_group_tests_name("starts", tests, set_up, tear_down);
}
