/* ResourceQuotas of a namespace: taken in, changed, taken out, by event and by list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

#define QUOTA(name, spec) "{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name "\"},\"spec\":{" spec "}}"
#define PODS(n)           "\"hard\":{\"pods\":" n "}"

enum what { PUT, OUT, SWEEP };
static const struct {
        enum what what;
        uint32_t epoch;
        const char *json;
        const char *want; /* names and pods, in order */
} step[] = {
        {PUT, 1, QUOTA("b", PODS("2")), "b=2"},
        {PUT, 1, QUOTA("c", PODS("3")), "b=2 c=3"},
        {PUT, 1, QUOTA("a", PODS("1")), "a=1 b=2 c=3"},
        {PUT, 1,
         QUOTA("b", PODS("4") ",\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
                              "\"operator\":\"In\",\"values\":[\"x\",\"y\"]}]}"),
         "a=1 b=4:x,y c=3"},
        {PUT, 1, QUOTA("b", "\"hard\":\"much\""), "!"},
        {OUT, 0, QUOTA("bb", ""), "a=1 b=4:x,y c=3"},
        {OUT, 0, QUOTA("a", ""), "b=4:x,y c=3"},
        {PUT, 2, QUOTA("c", PODS("3")), "b=4:x,y c=3"},
        {SWEEP, 2, NULL, "c=3"},
        {SWEEP, 3, NULL, ""},
        {PUT, 3, QUOTA("z", PODS("9")), "z=9"},
};

static void print(struct cache *w, char *out, size_t size)
{
        size_t at = 0;
        out[0] = '\0';
        for (const struct quota *q = ns_get(w, TEXT("web"))->quotas; q; q = q->next) {
                at += (size_t)snprintf(out + at, size - at, "%s%s=%lld", at ? " " : "", q->name,
                                       (long long)q->says.hard[QUOTA_PODS].value);
                for (int i = 0; i < q->says.class_count; i++)
                        at += (size_t)snprintf(out + at, size - at, "%c%s", i ? ',' : ':', q->says.class[i]);
        }
}

static void quotas_are_those_of_the_namespace(void **state)
{
        (void)state;
        struct cache w;
        char got[256];
        cache_init(&w, "halflife", "halflife");
        for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
                struct err err = {0};
                int rc = 0;
                if (step[i].what == PUT)
                        rc = quota_upsert(&w, text_of(step[i].json), step[i].epoch, &err);
                else if (step[i].what == OUT)
                        quota_remove(&w, text_of(step[i].json));
                else
                        quota_swept(&w, step[i].epoch);
                print(&w, got, sizeof got);
                if (rc < 0 ? step[i].want[0] != '!' : strcmp(got, step[i].want) != 0)
                        fail_msg("step %zu: %s%s, not %s", i, got, err.text, step[i].want);
        }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(quotas_are_those_of_the_namespace)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
