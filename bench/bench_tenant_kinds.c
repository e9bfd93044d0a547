/*
 * What one namespace costs whose profiles name 31 made-up kinds each, one of the profiles changed once a cycle: CPU of
 * the loop's thread from the end of one cycle to the end of the next, beside 10 000 containers; then, of a small
 * cluster, the longest answer of the program ($HALFLIFE_BUILD, as it was built) and its requests of discovery.
 * Arguments: how many profiles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../test/support/crowd.h"
#include "../test/support/story.h"
#include "../test/support/tmp.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/parts.h"
#include "kube/patch.h"
#include "line.h"

enum { KINDS = 31, SECONDS = 20, SECOND = 1000, CONTAINERS = 10000, WARM = 3, CYCLES = 21 };

/* Returns the profile as JSON, which the caller owns. Its kinds are Made<first>, Made<first + 1>, … */
static char *hostile_profile(int number, int first)
{
        AUTO(mem_free) char *targets = mem_string("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}");
        for (int k = 0; k < KINDS; k++) {
                char *longer =
                        mem_printf("%s,{\"apiVersion\":\"example.org/v1\",\"kind\":\"Made%d\"}", targets, first + k);
                mem_free(targets);
                targets = longer;
        }
        return mem_printf("{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"namespace\":"
                          "\"mallory\",\"name\":\"p%d\"},\"spec\":{\"targets\":[%s]}}",
                          number, targets);
}

static void put_profile(struct fake *f, int number, int first)
{
        AUTO(mem_free) char *profile = hostile_profile(number, first);
        fake_put(f, "kubectl", profile);
}

static bool never(struct fake *f, void *arg)
{
        (void)f, (void)arg;
        return false;
}

static void line_of(int profiles, const char *what, double value, const char *unit, const char *budget)
{
        AUTO(mem_free) char *name = mem_printf("tenant_kinds_%d_%s", profiles, what);
        bench_line(name, value, unit, budget);
}

/* --- CPU --- */

static void touched(void *arg, const struct client_answer *a)
{
        (void)arg;
        if (a->err.code)
                fprintf(stderr, "bench_tenant_kinds: %s\n", a->err.text);
}

/* Name another kind in place of the first. */
static void touch(struct crowd *crowd, int kind)
{
        AUTO(mem_free) char *name = mem_printf("Made%d", kind);
        AUTO(json_decref)
        json_t *patch = json_pack("[{s:s, s:s, s:s}]", "op", "replace", "path", "/spec/targets/1/kind", "value", name);
        (void)patch_send(controller_parts(crowd->controller)->client,
                         "/apis/halflife.dev/v1alpha1/namespaces/mallory/profiles/p0", patch, false, touched, NULL);
}

static char *profiles_file(int profiles)
{
        AUTO(buf_release) struct buf text;
        buf_init(&text, 64u << 20);
        for (int i = 0; i < profiles; i++) {
                AUTO(mem_free) char *profile = hostile_profile(i, KINDS * i);
                buf_printf(&text, "---\n%s\n", profile);
        }
        return tmp_file("hostile.yaml", text.data);
}

static void begin(struct crowd *crowd, const char *self, int profiles)
{
        AUTO(mem_free) char *more = profiles_file(profiles);
        crowd_begin(crowd, self, CONTAINERS, SECOND, more);
        (void)crowd_publish_all(crowd);
        for (int i = 0; i < WARM; i++)
                crowd_next_cycle(crowd);
}

static double cycle_ms(struct crowd *crowd, int kind)
{
        double before = bench_thread_seconds();
        touch(crowd, kind);
        crowd_next_cycle(crowd);
        return (bench_thread_seconds() - before) * 1e3;
}

/* The median of a cycle's CPU with so many profiles, beside that with one. Both clusters take turns, so that whatever
 * else the machine does slows both. */
static void measure_cpu(const char *self, int profiles)
{
        struct crowd one = {0}, many = {0};
        double with_one[CYCLES], with_many[CYCLES];
        begin(&one, self, 1);
        begin(&many, self, profiles);
        for (int i = 0; i < CYCLES; i++) {
                with_one[i] = cycle_ms(&one, KINDS + i);
                with_many[i] = cycle_ms(&many, KINDS * profiles + i);
        }
        crowd_end(&many);
        crowd_end(&one);
        qsort(with_one, CYCLES, sizeof with_one[0], bench_by_value);
        qsort(with_many, CYCLES, sizeof with_many[0], bench_by_value);
        line_of(1, "cpu_per_cycle", with_one[CYCLES / 2], "ms", "");
        line_of(profiles, "cpu_per_cycle", with_many[CYCLES / 2], "ms", "");
        line_of(profiles, "cpu_growth", (with_many[CYCLES / 2] / with_one[CYCLES / 2] - 1) * 100, "%", "<= 10");
}

/* --- answers --- */

static void measure_answers(int profiles)
{
        struct story cast = STORY("shop", TEAM("{apply: {minHistory: 2s}}"),
                                  WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"));
        struct fake *f = stories_server(&cast, 1);
        for (int i = 0; i < profiles; i++)
                put_profile(f, i, KINDS * i);
        struct halflife *h = halflife_start(f, "tenant-kinds.db", NULL);
        double longest_ms = 0;
        (void)stories_run(f, &cast, 1, 60 * SECOND);
        int refused = 0;
        for (int i = 0; i < SECONDS; i++) {
                if (profiles)
                        put_profile(f, 0, KINDS * (profiles + i));
                struct mono asked = mono_read();
                refused += halflife_get(h, "/readyz") != 200;
                double took_ms = (double)(mono_read().ns - asked.ns) / 1e6;
                longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
                (void)fake_wait(f, never, NULL, SECOND);
        }
        size_t asked = fake_count(f, "get", "/api") + fake_count(f, NULL, "/apis/example.org");
        halflife_stop(h);
        halflife_free(h);
        line_of(profiles, "longest_answer", longest_ms, "ms", "");
        line_of(profiles, "refused", refused, "of 20", "");
        line_of(profiles, "usage_polls", (double)fake_count(f, "list", "/apis/metrics.k8s.io/"), "requests", "");
        line_of(profiles, "discovery", (double)asked, "requests", "");
        fake_free(f);
}

int main(int argc, char **argv)
{
        static const int usual[] = {100, 1000};
        int given = argc > 1 ? atoi(argv[1]) : 0;
        log_setup(LOG_ERROR, false);
        for (size_t i = 0; i < (given ? 1 : sizeof usual / sizeof usual[0]); i++) {
                measure_cpu(argv[0], given ? given : usual[i]);
                measure_answers(given ? given : usual[i]);
        }
        return 0;
}
