/* Which kills a pod's status tells of: each once by its restart count, an eviction for memory as one more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../../src/control/world.h"

#define AT(s)    "2026-07-01T10:00:0" s "Z"
#define DEAD(s)  "{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"" AT(s) "\"}}"
#define ENDED(s) "{\"terminated\":{\"reason\":\"Error\",\"finishedAt\":\"" AT(s) "\"}}"
#define RUNS     "{\"running\":{}}"
#define OF(name, restarts, now, last)                                                                                  \
        "{\"name\":\"" name "\",\"restartCount\":" restarts ",\"state\":" now ",\"lastState\":" last "}"
#define STATUS(list) "\"phase\":\"Running\",\"containerStatuses\":[" list "]"
#define EVICTED(said, list)                                                                                            \
        "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"" said                                              \
        "\",\"conditions\":[{\"type\":\"Ready\",\"lastTransitionTime\":\"" AT("7") "\"}],\"containerStatuses\":[" list \
                                                                                   "]"
#define LOW         "The node was low on resource: memory. "
#define USING(name) LOW "Container " name " was using 900Mi, request is 100Mi, has larger consumption of memory. "

static const struct {
        const char *what, *status, *want; /* "container:restarts@second", in order */
        bool counts;                      /* what is told so far */
        bool again;                       /* the same pod as before; else a new one */
} row[] = {
        {"calm", STATUS(OF("app", "0", RUNS, "{}")), "", false, false},
        {"the process before", STATUS(OF("app", "1", RUNS, DEAD("1"))), "app:1@1", true, false},
        {"told again", STATUS(OF("app", "1", RUNS, DEAD("1"))), "", false, true},
        {"the present one", STATUS(OF("app", "1", DEAD("2"), DEAD("1"))), "app:2@2", true, true},
        {"that one is the one before by now", STATUS(OF("app", "2", RUNS, DEAD("2"))), "", false, true},
        {"a count that jumped", STATUS(OF("app", "9", RUNS, DEAD("3"))), "app:9@3", true, true},
        {"both, of which none was heard", STATUS(OF("app", "3", DEAD("2"), DEAD("1"))), "app:3@1 app:4@2", true, false},
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
};

static void print_kills(struct pod *p, bool counted, char *out, size_t size)
{
        size_t at = 0;
        out[0] = '\0';
        for (int i = 0; i < p->containers; i++) {
                struct pod_container *c = &p->container[i];
                for (int k = 0; k < 2; k++) {
                        if (!c->kills || !c->kills->at_ms[k] || c->kills->restarts + k <= c->kills_counted)
                                continue;
                        at += (size_t)snprintf(out + at, size - at, "%s%s:%lld@%lld", at ? " " : "", c->name,
                                               (long long)c->kills->restarts + k,
                                               (long long)(c->kills->at_ms[k] / 1000 % 60));
                        if (counted)
                                c->kills_counted = c->kills->restarts + k;
                }
                pod_kills_forget(c);
        }
}

static void each_kill_is_told_once(void **state)
{
        (void)state;
        struct world w;
        int pods = 0;
        world_init(&w, "halflife", "halflife");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char json[3000], key[40], got[200];
                struct err err = {0};
                pods += !row[i].again;
                snprintf(json, sizeof json,
                         "{\"metadata\":{\"namespace\":\"web\",\"name\":\"p%d\",\"uid\":\"00000000-0000-4000-8000-%"
                         "012d\"},"
                         "\"spec\":{\"initContainers\":[{\"name\":\"init\"}],\"containers\":[{\"name\":\"app\"},{"
                         "\"name\":"
                         "\"log\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}}]},\"status\":{%s}}",
                         pods, pods, row[i].status);
                if (pod_upsert(&w, text_of(json), 1, &err) < 0)
                        fail_msg("%s: %s", row[i].what, err.text);
                snprintf(key, sizeof key, "web/p%d", pods);
                struct pod *p = map_get(&w.pods, text_of(key));
                if ((w.killed == p) != row[i].counts)
                        fail_msg("%s: told of %s", row[i].what, w.killed ? "one" : "none");
                print_kills(p, true, got, sizeof got);
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("%s: '%s', not '%s'", row[i].what, got, row[i].want);
        }
        world_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(each_kill_is_told_once)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
