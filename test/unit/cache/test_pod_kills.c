/* Which kills a pod's status tells of: each once by its restart count, an eviction for memory as one more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

#define AT(s)    "2026-07-01T10:00:0" s "Z"
#define DEAD(s)  "{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"" AT(s) "\"}}"
#define ENDED(s) "{\"terminated\":{\"reason\":\"Error\",\"finishedAt\":\"" AT(s) "\"}}"
#define RUNS     "{\"running\":{}}"
#define BACKOFF  "{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}}"
#define MADE     "{\"waiting\":{}}" /* its restart is counted already */
#define OF(name, restarts, now, last)                                                                                  \
        "{\"name\":\"" name "\",\"restartCount\":" restarts ",\"state\":" now ",\"lastState\":" last "}"
#define STATUS(list) "\"phase\":\"Running\",\"containerStatuses\":[" list "]"
#define EVICTED(said, list)                                                                                            \
        "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"" said                                              \
        "\",\"conditions\":[{\"type\":\"Ready\",\"lastTransitionTime\":\"" AT("7") "\"}],\"containerStatuses\":[" list \
                                                                                   "]"
#define CONDITION(said)                                                                                                \
        "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"TerminationByKubelet\","      \
        "\"message\":\"" said "\",\"lastTransitionTime\":\"" AT("7") "\"}]"
#define BY_CONDITION(phase, said, list) "\"phase\":\"" phase "\"," CONDITION(said) ",\"containerStatuses\":[" list "]"
#define LOST                                                                                                           \
        "{\"name\":\"app\",\"restartCount\":1,\"state\":{\"waiting\":{}},\"lastState\":{\"terminated\":{\"reason\":"   \
        "\"ContainerStatusUnknown\",\"exitCode\":137,\"finishedAt\":null}}}"
#define EVENT       "!" /* instead of a status: the Event Evicted comes */
#define LOW         "The node was low on resource: memory. "
#define USING(name) LOW "Container " name " was using 900Mi, request is 100Mi, has larger consumption of memory. "

static const struct {
        const char *what, *status, *want; /* "container:restarts@second", in order */
        bool counts;                      /* number of the newest reported end */
        bool again;                       /* the same pod as before; else a new one */
} row[] = {
        {"calm", STATUS(OF("app", "0", RUNS, "{}")), "", false, false},
        {"the process before", STATUS(OF("app", "1", RUNS, DEAD("1"))), "app:1@1", true, false},
        {"told again", STATUS(OF("app", "1", RUNS, DEAD("1"))), "", false, true},
        {"the present one", STATUS(OF("app", "1", DEAD("2"), DEAD("1"))), "app:2@2", true, true},
        {"that one is the one before by now", STATUS(OF("app", "2", RUNS, DEAD("2"))), "", false, true},
        {"a count that jumped", STATUS(OF("app", "9", RUNS, DEAD("3"))), "app:9@3", true, true},
        {"both, of which none was heard", STATUS(OF("app", "3", DEAD("2"), DEAD("1"))), "app:3@1 app:4@2", true, false},
        {"killed, and its back-off is all that was seen", STATUS(OF("app", "5", BACKOFF, DEAD("2"))), "app:6@2", true,
         false},
        {"its next process is made", STATUS(OF("app", "6", MADE, DEAD("2"))), "", false, true},
        {"and runs", STATUS(OF("app", "6", RUNS, DEAD("2"))), "", false, true},
        {"killed again, in a back-off at once", STATUS(OF("app", "6", BACKOFF, DEAD("4"))), "app:7@4", true, true},
        {"evicted meanwhile: nothing more ends", EVICTED(USING("app"), OF("app", "6", DEAD("4"), "{}")), "", false,
         true},
        {"of another end", STATUS(OF("app", "1", ENDED("2"), DEAD("1"))), "app:1@1", true, false},
        {"another container", STATUS(OF("app", "1", RUNS, ENDED("1")) "," OF("log", "2", RUNS, DEAD("3"))), "log:2@3",
         true, true},
        {"evicted, by the kubelet's words", EVICTED(USING("log"), OF("app", "0", ENDED("6"), "{}")), "log:1@7", true,
         false},
        {"told again", EVICTED(USING("log"), OF("app", "0", ENDED("6"), "{}")), "", false, true},
        {"evicted, whoever is furthest above", EVICTED(LOW, ""), "app:1@7", true, false},
        {"evicted, restarted before", EVICTED(USING("app"), OF("app", "4", ENDED("6"), ENDED("5"))), "app:5@7", true,
         false},
        {"evicted and killed is one", EVICTED(USING("app"), OF("app", "4", DEAD("6"), "{}")), "app:5@6", true, false},
        {"evicted, and killed before", EVICTED(USING("app"), OF("app", "4", ENDED("6"), DEAD("5"))), "app:4@5 app:5@7",
         true, false},
        {"killed", STATUS(OF("app", "3", RUNS, DEAD("1"))), "app:3@1", true, false},
        {"evicted since, by no status", EVICTED(USING("app"), ""), "app:4@7", true, true},
        {"told again, by no status", EVICTED(USING("app"), ""), "", false, true},
        {"evicted for its disk", EVICTED("The node was low on resource: ephemeral-storage. ", ""), "", false, false},
        {"not let in", EVICTED("The node had condition: [MemoryPressure]. ", ""), "", false, false},
        {"a name that it has not", EVICTED(USING("nobody"), ""), "app:1@7", true, false},
        {"what ran to its end is not to blame", EVICTED(USING("init"), ""), "app:1@7", true, false},
        /* an eviction has three witnesses: the status, a condition, an Event; it is one */
        {"its program ended with 0, by the condition alone",
         BY_CONDITION("Succeeded", USING("app"), OF("app", "0", ENDED("7"), "{}")), "app:1@7", true, false},
        {"told again", BY_CONDITION("Succeeded", USING("app"), OF("app", "0", ENDED("7"), "{}")), "", false, true},
        {"the Event comes as well", EVENT, "", false, true},
        {"evicted for its disk, by the condition",
         BY_CONDITION("Succeeded", "The node was low on resource: ephemeral-storage. ", ""), "", false, false},
        {"it runs", STATUS(OF("app", "3", RUNS, "{}")), "", false, false},
        {"an Event, which anybody may have written", EVENT, "", false, true},
        {"it is killed while it runs on", STATUS(OF("app", "4", RUNS, DEAD("5"))), "app:4@5", true, true},
        {"it ended, so the Event is believed", "\"phase\":\"Succeeded\"", "app:5@7", true, true},
        {"it runs", STATUS(OF("app", "3", RUNS, "{}")), "", false, false},
        {"by the condition, while it runs", BY_CONDITION("Running", USING("app"), OF("app", "3", RUNS, "{}")),
         "app:4@7", true, true},
        {"the Event as well", EVENT, "", false, true},
        {"and by the status", EVICTED(USING("app"), OF("app", "3", ENDED("6"), "{}")), "", false, true},
        {"it ended, never restarted",
         "\"phase\":\"Succeeded\","
         "\"containerStatuses\":[" OF("app", "0", ENDED("6"), "{}") "]",
         "", false, false},
        {"the Event comes later", EVENT, "app:1@7", true, true},
        {"and by a status that counts a restart that was none", EVICTED(USING("app"), LOST), "", false, true},
        {"that status alone", EVICTED(USING("app"), LOST), "app:1@7", true, false},
        {"it runs for the first time", STATUS(OF("app", "0", RUNS, "{}")), "", false, false},
        {"it is killed", STATUS(OF("app", "0", DEAD("6"), "{}")), "app:1@6", true, true},
        {"and then its pod is evicted: the same end", EVICTED(USING("app"), OF("app", "0", DEAD("6"), "{}")), "", false,
         true},
        {"an Event of before it was there",
         "\"startTime\":\"2026-07-01T11:00:00Z\"," STATUS(OF("app", "0", RUNS, "{}")), "", false, false},
        {"is of another pod", EVENT, "", false, true},
        {"though it ends", "\"phase\":\"Failed\",\"startTime\":\"2026-07-01T11:00:00Z\"", "", false, true},
        /* the kubelet's record of restarts is lost: kills go on from there */
        {"killed five times", STATUS(OF("app", "5", RUNS, DEAD("1"))), "app:5@1", true, false},
        {"the count fell", STATUS(OF("app", "0", RUNS, "{}")), "", false, true},
        {"killed after that", STATUS(OF("app", "1", RUNS, DEAD("2"))), "app:6@2", true, true},
        {"and again", STATUS(OF("app", "2", RUNS, DEAD("3"))), "app:7@3", true, true},
        {"told again", STATUS(OF("app", "2", RUNS, DEAD("3"))), "", false, true},
        {"killed, and the record is back", STATUS(OF("app", "8", RUNS, DEAD("4"))), "app:8@4", true, true},
        {"and once more", STATUS(OF("app", "9", RUNS, DEAD("5"))), "app:9@5", true, true},
        {"killed five times", STATUS(OF("app", "5", RUNS, DEAD("1"))), "app:5@1", true, false},
        {"the count fell, and rose again unseen", STATUS(OF("app", "3", RUNS, DEAD("4"))), "app:6@4", true, true},
        {"killed five times", STATUS(OF("app", "5", RUNS, DEAD("1"))), "app:5@1", true, false},
        {"the count fell, by the same end", STATUS(OF("app", "4", RUNS, DEAD("1"))), "", false, true},
        {"killed, the present process", STATUS(OF("app", "4", DEAD("2"), DEAD("1"))), "app:6@2", true, true},
        {"fallen to 0 in between", STATUS(OF("app", "0", RUNS, DEAD("2"))), "", false, true},
};

static void print_kills(struct pod *p, bool counted, char *out, size_t size)
{
        size_t at = 0;
        out[0] = '\0';
        for (int i = 0; i < p->containers; i++) {
                struct pod_container *c = &p->container[i];
                for (int k = 0; c->kills && k < c->kills->count; k++) {
                        const struct pod_kill *kill = &c->kills->kill[k];
                        if (kill->number <= pod_ended(c).kills_counted)
                                continue;
                        at += (size_t)snprintf(out + at, size - at, "%s%s:%lld@%lld", at ? " " : "", c->name,
                                               (long long)kill->number, (long long)(kill->at_ms / 1000 % 60));
                        if (counted)
                                pod_ends(c)->kills_counted = kill->number;
                }
                pod_kills_forget(c, POD_KILLS_MAX);
        }
}

static void take(struct cache *w, const char *what, const char *status, int number)
{
        struct err err = {0};
        AUTO(mem_free)
        char *uid = mem_printf("00000000-0000-4000-8000-%012d", number);
        AUTO(mem_free)
        char *json = strcmp(status, EVENT) == 0
                             ? mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"e\"},\"reason\":\"Evicted\","
                                          "\"message\":\"" USING("app") "\",\"lastTimestamp\":\"" AT(
                                                  "7") "\",\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"web\","
                                                       "\"name\":\"p%d\",\"uid\":\"%s\"}}",
                                          number, uid)
                             : mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"p%d\",\"uid\":\"%s\"},"
                                          "\"spec\":{\"initContainers\":[{\"name\":\"init\"}],\"containers\":[{"
                                          "\"name\":\"app\"},{\"name\":\"log\",\"resources\":{\"requests\":{"
                                          "\"memory\":\"1Gi\"}}}]},\"status\":{%s}}",
                                          number, uid, status);
        int rc = strcmp(status, EVENT) == 0 ? evicted_upsert(w, text_of(json), 1, &err)
                                            : pod_upsert(w, text_of(json), 1, &err);
        if (rc < 0)
                fail_msg("%s: %s", what, err.text);
}

static void each_kill_is_told_once(void **state)
{
        (void)state;
        struct cache w;
        int pods = 0;
        cache_init(&w, "halflife", "halflife");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char key[40], got[200];
                pods += !row[i].again;
                take(&w, row[i].what, row[i].status, pods);
                snprintf(key, sizeof key, "web/p%d", pods);
                struct pod *p = map_get(&w.pods, text_of(key));
                if ((w.killed == p) != row[i].counts)
                        fail_msg("%s: told of %s", row[i].what, w.killed ? "one" : "none");
                print_kills(p, true, got, sizeof got);
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("%s: '%s', not '%s'", row[i].what, got, row[i].want);
        }
        cache_release(&w);
}

/* An Event alone told of its eviction, and the watch had a gap: that it is gone is its end. */
static void one_that_vanished(void **state)
{
        (void)state;
        struct cache w;
        char got[200];
        cache_init(&w, "halflife", "halflife");
        take(&w, "it runs", STATUS(OF("app", "0", RUNS, "{}")), 1);
        take(&w, "an Event", EVENT, 1);
        assert_false(w.kills);
        pod_swept(&w, 2);
        assert_true(w.kills);
        assert_int_equal(w.dropped.count, 1);
        print_kills(w.dropped.of[0], true, got, sizeof got);
        assert_string_equal(got, "app:1@7");
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(each_kill_is_told_once),
                                           cmocka_unit_test(one_that_vanished)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
