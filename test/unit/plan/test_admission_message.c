/* The words about requests that admission changed, in an answer to a write and on a pod as it was created. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "base/mem.h"
#include "cache/pod.h"
#include "plan/admission_message.h"

enum { MI = 1 << 20 };

static struct amount cpu(int64_t milli)
{
        return (struct amount){milli >= 0, milli >= 0 ? milli : 0};
}

static void test_words(void **state)
{
        (void)state;
        static const struct {
                int64_t sent[2], got[2], limit; /* of containers app and side, in millicores; -1: none */
                const char *says;               /* "": nothing was changed */
        } row[] = {
                {{23, 40}, {23, 40}, -1, ""},
                {{23, 50},
                 {50, 50},
                 -1,
                 "cpu of 'app' changed to 50m by admission (23m was sent), which rounds up to multiples of 50m or has "
                 "a "
                 "minimum of 50m"},
                {{23, 68},
                 {50, 100},
                 -1,
                 "cpu of 'app' changed to 50m by admission (23m was sent), which rounds up to multiples of 50m"},
                {{23, 400},
                 {308, 400},
                 2000,
                 "cpu of 'app' changed to 308m by admission (23m was sent), which has a minimum of 308m or bounds "
                 "limits to 6.5 times requests"},
                {{400, 23},
                 {400, 77},
                 -1,
                 "cpu of 'side' changed to 77m by admission (23m was sent), which has a minimum of 77m"},
                {{23, 500}, {50, -1}, -1, "cpu of 'app' changed to 50m by admission (23m was sent)"},
                {{400, 400}, {200, 400}, -1, "cpu of 'app' changed to 200m by admission (400m was sent)"},
                {{400, 400}, {-1, 400}, -1, "cpu of 'app' removed by admission"},
                {{-1, 400}, {200, 400}, -1, "cpu of 'app' changed to 200m by admission"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct admission_answer answer[2] = {
                        {"app", {cpu(row[i].sent[0])}, {cpu(row[i].got[0])}, {cpu(row[i].limit)}},
                        {"side", {cpu(row[i].sent[1])}, {cpu(row[i].got[1])}, {cpu(row[i].limit)}}};
                char out[PLAN_WORDS] = "left over";
                bool changed = admission_message(answer, 2, out);
                if (changed != (*row[i].says != '\0') || strcmp(out, row[i].says) != 0)
                        fail_msg("row %zu: %d: %s", i, changed, out);
        }
}

/* The longest words that there are keep their end. */
static void test_words_fit(void **state)
{
        (void)state;
        static const char name[] = "a23456789012345678901234567890123456789012345678901234567890123";
        struct admission_answer answer = {name, .sent[MEMORY] = {true, 1023LL * MI}, .got[MEMORY] = {true, 1024LL * MI},
                                          .limit[MEMORY] = {true, 1048575LL * 10 * MI / 1024}};
        char out[PLAN_WORDS];
        assert_true(admission_message(&answer, 1, out));
        assert_non_null(strstr(out, " times requests"));
}

#define POD(request)                                                                                                   \
        "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"uid\":\"00000000-0000-0000-0000-000000000001\","   \
        "\"annotations\":{\"halflife.dev/"                                                                             \
        "applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"23m\\\"}}}\"}},"                        \
        "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"" request "\"}}}]},"       \
        "\"status\":{\"phase\":\"Running\"}}"

static void test_a_pod_as_it_was_created(void **state)
{
        (void)state;
        static const struct {
                const char *pod, *then; /* then: the pod as it is a moment later; NULL: no event came */
                enum apply_mode mode;
                bool contested, guarded;
                const char *says; /* NULL: no condition */
                bool recorded;    /* the template has the annotations itself */
        } row[] = {
                {POD("23m"), NULL, APPLY_ON_DEPLOY, false, false, NULL, false},
                {POD("50m"), NULL, APPLY_ON_DEPLOY, false, false,
                 "cpu of 'app' changed to 50m by admission (23m was sent)", false},
                {POD("50m"), NULL, APPLY_ROLLOUT, false, false, "changed to 50m", false},
                {POD("50m"), NULL, APPLY_ROLLOUT, false, false, NULL, true}, /* perhaps its owner put 50m back */
                {POD("50m"), POD("50m"), APPLY_ON_DEPLOY, false, false, "changed to 50m", false},
                {POD("23m"), POD("50m"), APPLY_ON_DEPLOY, false, false, NULL, false}, /* somebody resized it */
                {POD("50m"), POD("23m"), APPLY_ON_DEPLOY, false, false, NULL, false},
                {POD("50m"), NULL, APPLY_IN_PLACE, false, false, NULL, false},
                {POD("50m"), NULL, APPLY_ON_DEPLOY, true, false, NULL, false},
                {POD("50m"), NULL, APPLY_ON_DEPLOY, false, true, NULL, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache *w = MEM_NEW(struct cache);
                struct err err;
                cache_init(w, FIELD_MANAGER, "halflife");
                assert_int_equal(pod_upsert(w, text_of(row[i].pod), 1, &err), 0);
                if (row[i].then)
                        assert_int_equal(pod_upsert(w, text_of(row[i].then), 1, &err), 0);
                struct profile_spec spec = {.apply.mode = row[i].mode};
                struct profile profile = {.spec = &spec};
                struct pod *pod = map_get(&w->pods, text_of("shop/web-1"));
                assert_non_null(pod);
                struct workload wl = {.applied.present = row[i].recorded};
                struct target t = {.ns = "shop", .workload = &wl, .profile = &profile, .pods = pod};
                struct plan p = {.target = &t, .contested = row[i].contested, .guarded = row[i].guarded};
                char words[PLAN_WORDS];
                const char *says = admission_message_of_pods(&p, words) ? words : NULL;
                if (!says != !row[i].says || (says && !strstr(says, row[i].says)))
                        fail_msg("row %zu: %s", i, says ? says : "no condition");
                cache_release(w);
                mem_free(w);
        }
}

/* Pods by their age in minutes, 40 minutes after a deploy would first have got other requests; a negative one was
 * created with halflife's. */
static void test_admission_was_not_called(void **state)
{
        (void)state;
        enum { PODS = 3, NEVER = -1000 };
        static const struct {
                const char *what;
                int age[PODS];    /* 0: no more pods */
                int since_min;    /* NEVER: a deploy would get nothing */
                const char *says; /* NULL: no condition */
        } row[] = {
                {"no pod", {0}, 40, NULL},
                {"all from before", {50, 60, 70}, 40, NULL},
                {"just after, before the servers knew", {40}, 40, NULL},
                {"too young", {9, 5}, 40, NULL},
                {"for ten minutes", {10}, 40, "within 10 min 1 pod came with"},
                {"two", {20, 5}, 40, "within 20 min 2 pods came with"},
                {"one of many was asked about, later", {20, -5, 30}, 40, NULL},
                {"none since one was", {20, -30, 11}, 40, "within 20 min 2 pods came with"},
                {"in their namespace", {20}, 40, "--try-admission shop"},
                {"nothing would be changed", {20, 30}, NEVER, NULL},
        };
        const int64_t now_ms = 1763704800000;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct pod pod[PODS] = {0};
                struct target t = {.ns = "shop",
                                   .dimension = DIMENSION_WORKLOAD,
                                   .deploys_ms = row[i].since_min == NEVER ? 0 : now_ms - row[i].since_min * MINUTE_MS};
                struct plan p = {.target = &t, .now = {now_ms}};
                char words[PLAN_WORDS] = "";
                for (int k = 0; k < PODS && row[i].age[k]; k++) {
                        int age = row[i].age[k];
                        pod[k].ours = age < 0;
                        pod[k].created_ms = now_ms - (age < 0 ? -age : age) * MINUTE_MS;
                        pod[k].next_of_target = t.pods;
                        t.pods = &pod[k];
                }
                bool says = admission_message_unasked(&p, words);
                if (says != (row[i].says != NULL) || (says && !strstr(words, row[i].says)))
                        fail_msg("%s: %d: %s", row[i].what, says, words);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_words_fit),
                cmocka_unit_test(test_a_pod_as_it_was_created),
                cmocka_unit_test(test_admission_was_not_called),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
