/*
 * A cluster of 20 000 containers in 4 000 workloads with tenants who mean harm, beside the same cluster without them.
 * A thousand profiles of one namespace name 31 made-up kinds each, 5 000 profiles of another select nothing, and
 * strangers send reviews of made-up owners to the admission webhook. First the CPU of the loop's thread from the end of
 * one cycle to the end of the next; whether a change of another tenant is decided in the cycle after it; then real pods
 * at the webhook, a hundred a second, with strangers at 1 000 reviews a second and at full speed.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test/support/crowd.h"
#include "../test/support/strangers.h"
#include "../test/support/tmp.h"
#include "../test/support/wire.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/parts.h"
#include "kube/patch.h"
#include "line.h"

enum { CONTAINERS = 20000, HOSTILE = 1000, KINDS = 31, IDLE = 5000, CONNECTIONS = 24, STRANGE_RATE = 1000 };
enum { INTERVAL_MS = 1000, WARM = 3, CYCLES = 21, CHANGES = 6, WORKLOADS_OF_ONE_NAMESPACE = 100 };
enum { PODS = 7000, PODS_RATE = 100, ANSWER_MS = 2000, USUAL_INTERVAL_MS = 60000 };

#define TENANT   "size-0000001"
#define WORKLOAD "checkout-service-%07d"

/* --- profiles --- */

static void add_profile(struct buf *out, const char *ns, int number, const char *spec)
{
        buf_printf(out,
                   "---\n{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"namespace\":"
                   "\"%s\",\"name\":\"p%d\"},\"spec\":{%s}}\n",
                   ns, number, spec);
}

static void add_hostile(struct buf *out, int number)
{
        AUTO(buf_release) struct buf spec;
        buf_init(&spec, 1u << 20);
        buf_add_text(&spec, "\"targets\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}");
        for (int k = 0; k < KINDS; k++)
                buf_printf(&spec, ",{\"apiVersion\":\"example.org/v1\",\"kind\":\"Made%d\"}", number * KINDS + k);
        buf_add_text(&spec, "]");
        add_profile(out, "mallory", number, spec.data);
}

static void add_idle(struct buf *out, int number)
{
        AUTO(mem_free) char *spec = mem_printf("\"selector\":{\"matchLabels\":{\"app\":\"none-%d\"}}", number);
        add_profile(out, "idle", number, spec);
}

/* The file of the profiles: the tenant's, and those of tenants who mean harm. */
static char *profiles_file(bool harm)
{
        AUTO(buf_release) struct buf text;
        buf_init(&text, 64u << 20);
        add_profile(&text, TENANT, 0,
                    "\"overcommit\":\"Static\",\"static\":{\"cpu\":\"0.5\"},"
                    "\"apply\":{\"mode\":\"OnDeploy\",\"minHistory\":\"0s\"}");
        for (int i = 0; harm && i < HOSTILE; i++)
                add_hostile(&text, i);
        for (int i = 0; harm && i < IDLE; i++)
                add_idle(&text, i);
        return tmp_file(harm ? "harm.yaml" : "alone.yaml", text.data);
}

static void begin(struct crowd *crowd, const char *self, bool harm)
{
        AUTO(mem_free) char *more = profiles_file(harm);
        crowd_begin(crowd, self, CONTAINERS, INTERVAL_MS, more);
        (void)crowd_publish_all(crowd);
        for (int i = 0; i < WARM; i++)
                crowd_next_cycle(crowd);
}

/* --- CPU of a cycle --- */

static void patched(void *arg, const struct client_answer *a)
{
        (void)arg;
        if (a->err.code)
                bench_fail("%s", a->err.text);
}

static void set(struct crowd *crowd, const char *profile, const char *pointer, const char *value)
{
        AUTO(mem_free)
        char *path = mem_printf("/apis/halflife.dev/v1alpha1/namespaces/%s", profile);
        AUTO(json_decref)
        json_t *patch = json_pack("[{s:s, s:s, s:s}]", "op", "replace", "path", pointer, "value", value);
        (void)patch_send(controller_parts(crowd->controller)->client, path, patch, false, patched, NULL);
}

/* A change as any cluster has them; it is of the Recommendations of a hundred workloads. The last is to OnDeploy. */
static void change_mode(struct crowd *crowd, int number)
{
        set(crowd, TENANT "/profiles/p0", "/spec/apply/mode", number % 2 ? "Recommend" : "OnDeploy");
}

static double cycle_ms(struct crowd *crowd)
{
        double before = bench_thread_seconds();
        crowd_next_cycle(crowd);
        return (bench_thread_seconds() - before) * 1e3;
}

/* The medians of both clusters, which take turns, so that whatever else the machine does slows both. */
static double growth(struct crowd *alone, struct crowd *harmed, double *ret_alone_ms, double *ret_harmed_ms)
{
        double without[CYCLES], with[CYCLES];
        for (int i = 0; i < CYCLES; i++) {
                AUTO(mem_free) char *kind = mem_printf("Touched%d", i);
                change_mode(alone, i);
                without[i] = cycle_ms(alone);
                set(harmed, "mallory/profiles/p0", "/spec/targets/1/kind", kind);
                change_mode(harmed, i);
                with[i] = cycle_ms(harmed);
        }
        qsort(without, CYCLES, sizeof without[0], bench_by_value);
        qsort(with, CYCLES, sizeof with[0], bench_by_value);
        *ret_alone_ms = without[CYCLES / 2];
        *ret_harmed_ms = with[CYCLES / 2];
        return (*ret_harmed_ms / *ret_alone_ms - 1) * 100;
}

static void measure_cpu(struct crowd *alone, struct crowd *harmed, const char *what, const char *budget)
{
        double alone_ms, harmed_ms, per_cent = growth(alone, harmed, &alone_ms, &harmed_ms);
        AUTO(mem_free) char *name = mem_printf("tenants_cpu_%s", what);
        AUTO(mem_free) char *grown = mem_printf("tenants_cpu_growth_%s", what);
        bench_line("tenants_cpu_alone", alone_ms, "ms/cycle", "");
        bench_line(name, harmed_ms, "ms/cycle", "");
        bench_line(grown, per_cent, "%", budget);
}

/* --- decisions of another tenant --- */

/* How many Recommendations the cycle after a change of the tenant's profile writes, the fewest of some changes. */
static void measure_decisions(struct crowd *harmed)
{
        double fewest = DBL_MAX;
        for (int i = 0; i < CHANGES; i++) {
                uint64_t before = crowd_writes(harmed);
                change_mode(harmed, i + 1);
                crowd_next_cycle(harmed);
                crowd_next_cycle(harmed);
                fewest = fmin(fewest, (double)(crowd_writes(harmed) - before));
        }
        bench_line("tenants_decided_after_a_change", fewest, "of 100", ">= 100");
}

/* --- real pods --- */

struct pods {
        const char *address;
        int patched;
        double took_ms[PODS];
        atomic_bool done;
};

static bool pod_is_patched(int fd, int number)
{
        AUTO(mem_free) char *owner = mem_printf(WORKLOAD "-7c9bd5f6d4", 100 + number % WORKLOADS_OF_ONE_NAMESPACE);
        AUTO(mem_free) char *body = strangers_review(TENANT, owner, "app", 0);
        AUTO(mem_free)
        char *request = mem_printf("POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                   "Content-Length: %zu\r\n\r\n%s",
                                   strlen(body), body);
        bool ended;
        if (!wire_say(fd, request))
                return false;
        AUTO(mem_free) char *answer = wire_hear(fd, "}}", ANSWER_MS, &ended);
        return strstr(answer, "JSONPatch") != NULL;
}

static void *pods_run(void *arg)
{
        struct pods *p = arg;
        int fd = wire_open(p->address);
        int64_t began_ns = mono_read().ns;
        for (int i = 0; i < PODS; i++) {
                int64_t at_ns = began_ns + (int64_t)i * 1000000000 / PODS_RATE, now_ns = mono_read().ns;
                if (now_ns < at_ns)
                        usleep((useconds_t)((at_ns - now_ns) / 1000));
                now_ns = mono_read().ns;
                p->patched += pod_is_patched(fd, i);
                p->took_ms[i] = (double)(mono_read().ns - now_ns) / 1e6;
        }
        close(fd);
        atomic_store(&p->done, true);
        return NULL;
}

static void measure_pods(struct crowd *harmed, const char *what, const struct strangers *s, int before, double began)
{
        static struct pods p;
        pthread_t thread;
        memset(&p, 0, sizeof p);
        p.address = crowd_rest_address(harmed);
        if (pthread_create(&thread, NULL, pods_run, &p) != 0)
                bench_fail("no thread");
        while (!atomic_load(&p.done))
                loop_turn(harmed->loop, 10);
        pthread_join(thread, NULL);
        qsort(p.took_ms, PODS, sizeof p.took_ms[0], bench_by_value);
        AUTO(mem_free) char *count = mem_printf("tenants_pods_patched_%s", what);
        AUTO(mem_free) char *p99 = mem_printf("tenants_admission_p99_%s", what);
        AUTO(mem_free) char *rate = mem_printf("tenants_strange_answers_%s", what);
        bench_line(count, p.patched, "of 7000", ">= 7000");
        bench_line(p99, p.took_ms[PODS - 1 - PODS / 100], "ms", s && s->rate ? "< 5" : "");
        if (s)
                bench_line(rate, (atomic_load(&s->answers) - before) / ((double)mono_read().ns / 1e9 - began), "1/s",
                           "");
}

static void begin_strangers(struct strangers *s, struct crowd *harmed, int rate)
{
        memset(s, 0, sizeof *s);
        s->address = crowd_rest_address(harmed);
        s->ns = TENANT;
        s->owner = "made-up-";
        s->connections = CONNECTIONS;
        s->rate = rate;
        strangers_begin(s);
}

static void measure_with_strangers(struct crowd *harmed, const char *what, int rate)
{
        static struct strangers s;
        begin_strangers(&s, harmed, rate);
        crowd_next_cycle(harmed); /* what was saved up for bursts is used up */
        measure_pods(harmed, what, &s, atomic_load(&s.answers), (double)mono_read().ns / 1e9);
        strangers_end(&s);
}

int main(int argc, char **argv)
{
        static struct strangers s;
        struct crowd alone = {0}, harmed = {0};
        (void)argc;
        log_setup(LOG_ERROR, false);
        strangers_raise_files();
        begin(&alone, argv[0], false);
        begin(&harmed, argv[0], true);
        measure_cpu(&alone, &harmed, "profiles", "<= 10");
        begin_strangers(&s, &harmed, STRANGE_RATE);
        measure_cpu(&alone, &harmed, "profiles_and_strangers", "");
        measure_decisions(&harmed);
        strangers_end(&s);
        crowd_end(&alone);
        crowd_set_interval(&harmed, USUAL_INTERVAL_MS);
        measure_pods(&harmed, "no_strangers", NULL, 0, 0);
        measure_with_strangers(&harmed, "1000_a_second", STRANGE_RATE);
        measure_with_strangers(&harmed, "full_speed", 0);
        crowd_end(&harmed);
        return 0;
}
