/*
 * The REST listener alone under load: single recommendations at random of 100 000 workloads, plain and over TLS, and
 * pods at admission, while the view is made afresh and swapped each second. (bench_door has a whole controller behind
 * it.)
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../test/fake/apiserver.h"
#include "../test/support/press.h"
#include "../test/support/stand.h"
#include "base/mem.h"
#include "line.h"

enum { WORKLOADS = 100000, SECONDS = 10 };

#define POD                                                                                                            \
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\",\"kind\":{"   \
        "\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":\"shop\","         \
        "\"userInfo\":{\"username\":\"x\"},\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"          \
        "\"generateName\":\"web-0-\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","        \
        "\"name\":\"web-0-1\",\"uid\":\"r\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\","       \
        "\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}"

static struct stand stand;

struct load {
        const char *name;
        struct press press;
        const char *p99_budget, *cpu_budget;
};
static const struct load reads = {
        .name = "REST reads",
        .press = {.token = "good",
                  .path = "/api/v1/namespaces/shop/workloads/Deployment/web-",
                  .most = WORKLOADS,
                  .digits = 1},
        .p99_budget = "",
        .cpu_budget = "<= 20",
};
static const struct load admission = {
        .name = "admission of a pod",
        .press = {.body = POD, .path = "/admission"},
        .p99_budget = "< 5",
        .cpu_budget = "",
};

/* --- what it costs, whoever else uses the machine --- */

static pthread_t swapper;

/* Of the listener alone: wrk is another process, and who makes the views is not counted. */
static double door_seconds(void)
{
        clockid_t of_swapper;
        if (pthread_getcpuclockid(swapper, &of_swapper) != 0)
                bench_fail("the thread that makes views has no clock");
        return bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - bench_seconds(of_swapper);
}

static void measure_load(const struct load *l, bool tls)
{
        struct press p = l->press;
        const char *how = tls ? "TLS" : "plain";
        char name[64];
        p.address = stand.address;
        p.tls = tls;
        p.seconds = SECONDS;
        double began = door_seconds();
        struct pressed got = press(&p);
        double used = door_seconds() - began;
        snprintf(name, sizeof name, "%s, %s", l->name, how);
        bench_line(name, got.rate, "requests/s", "");
        snprintf(name, sizeof name, "%s, %s, p99", l->name, how);
        bench_line(name, got.p99_ms, "ms", l->p99_budget);
        snprintf(name, sizeof name, "%s, %s, the longest", l->name, how);
        bench_line(name, got.longest_ms, "ms", "");
        if (press_has_wrk()) { /* else the one who asks is this process too */
                snprintf(name, sizeof name, "%s, %s, CPU of each", l->name, how);
                bench_line(name, used / got.count * 1e6, "us", tls ? "" : l->cpu_budget);
        }
}

/* --- both ways in --- */

static atomic_bool over;

static void *swap(void *arg)
{
        (void)arg;
        while (!atomic_load(&over)) {
                stand_publish(&stand, WORKLOADS, NULL);
                sleep(1);
        }
        return NULL;
}

static void show_certificate(void)
{
        struct err err = {0};
        struct fake *pki = fake_new(&(struct fake_options){.tls = true});
        if (server_set_certificate(stand.server, fake_client_certificate(pki), fake_client_key(pki), &err) < 0)
                bench_fail("certificate: %s", err.text);
        fake_free(pki);
}

static void measure(bool tls)
{
        stand_begin(&stand, &(struct rest_listener_options){.tls = tls, .admission = true});
        if (tls)
                show_certificate();
        atomic_store(&over, false);
        stand_publish(&stand, WORKLOADS, NULL);
        if (pthread_create(&swapper, NULL, swap, NULL) != 0)
                bench_fail("no thread");
        for (int i = 0; i < 2; i++)
                measure_load(i ? &admission : &reads, tls);
        atomic_store(&over, true);
        pthread_join(swapper, NULL);
        stand_end(&stand);
}

int main(void)
{
        measure(false);
        if (press_has_wrk())
                measure(true);
        else
                printf("%-46s not measured: wrk is not installed\n", "REST reads, TLS");
        return 0;
}
