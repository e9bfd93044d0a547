/*
 * The door under load: wrk with one thread and 32 connections reads single recommendations at random of 100 000
 * workloads, plain and over TLS, and posts pods to admission, while the view is made afresh and swapped each second.
 * Without wrk there is nothing to measure with, and a line says so.
 */
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../test/fake/apiserver.h"
#include "../test/support/stand.h"
#include "../test/support/tmp.h"
#include "base/mem.h"
#include "line.h"

enum { WORKLOADS = 100000, SECONDS = 10, OUTPUT_MAX = 16 << 10 };

static const char read_script[] =
        "wrk.headers['Authorization'] = 'Bearer good'\n"
        "function request() return wrk.format('GET', '/api/v1/namespaces/shop/workloads/Deployment/web-' .. "
        "math.random(0, 99999)) end\n";
static const char admission_script[] =
        "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n"
        "wrk.body = "
        "'{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\",\"kind\":{"
        "\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":\"shop\","
        "\"userInfo\":{"
        "\"username\":\"x\"},\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"web-0-"
        "\","
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-0-1\",\"uid\":\"r\","
        "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\"}"
        "}}]}}}}'\n";

static struct stand stand;
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

/* "1.23ms", "456.00us", "2.00s" */
static double milliseconds(const char *text)
{
        char *unit;
        double value = strtod(text, &unit);
        return strncmp(unit, "us", 2) == 0 ? value / 1e3 : *unit == 's' ? value * 1e3 : value;
}

static const char *after(const char *text, const char *mark)
{
        const char *at = strstr(text, mark);
        if (!at) {
                fprintf(stderr, "bench_serve: wrk did not say '%s':\n%s\n", mark, text);
                exit(1);
        }
        return at + strlen(mark);
}

static void measure(const char *what, const char *scheme, const char *path, const char *script, const char *rate_budget,
                    const char *p99_budget)
{
        static char output[OUTPUT_MAX];
        char name[64];
        AUTO(mem_free) char *file = tmp_file("wrk.lua", script);
        AUTO(mem_free)
        char *command = mem_printf("wrk -t1 -c32 -d%ds --latency -s %s %s://%s%s 2>&1", SECONDS, file, scheme,
                                   stand.address, path);
        FILE *f = popen(command, "re");
        size_t len = f ? fread(output, 1, sizeof output - 1, f) : 0;
        output[len] = '\0';
        if (!f || pclose(f) != 0 || strstr(output, "Non-2xx")) {
                fprintf(stderr, "bench_serve: %s:\n%s\n", command, output);
                exit(1);
        }
        char longest[32];
        const char *latency = after(output, "Latency ");
        sscanf(latency, "%*s %*s %31s", longest);
        snprintf(name, sizeof name, "%s", what);
        bench_line(name, strtod(after(output, "Requests/sec:"), NULL), "requests/s", rate_budget);
        snprintf(name, sizeof name, "%s, p99", what);
        bench_line(name, milliseconds(after(output, "99%") + strspn(after(output, "99%"), " ")), "ms", p99_budget);
        snprintf(name, sizeof name, "%s, the longest", what);
        bench_line(name, milliseconds(longest), "ms", "");
}

static void with_door(const struct door_options *o, void (*measures)(void))
{
        pthread_t swapper;
        stand_begin(&stand, o);
        atomic_store(&over, false);
        stand_publish(&stand, WORKLOADS, NULL);
        if (pthread_create(&swapper, NULL, swap, NULL) != 0)
                abort();
        measures();
        atomic_store(&over, true);
        pthread_join(swapper, NULL);
        stand_end(&stand);
}

static void plain(void)
{
        measure("REST reads, plain", "http", "/", read_script, ">= 50000", "< 2");
        measure("admission of a pod", "http", "/admission", admission_script, "", "< 5");
}

static void over_tls(void)
{
        struct err err = {0};
        struct fake *pki = fake_new(&(struct fake_options){.tls = true});
        if (server_set_certificate(stand.server, fake_client_certificate(pki), fake_client_key(pki), &err) < 0) {
                fprintf(stderr, "bench_serve: %s\n", err.text);
                exit(1);
        }
        fake_free(pki);
        measure("REST reads, TLS", "https", "/", read_script, "", "");
        measure("admission of a pod, TLS", "https", "/admission", admission_script, "", "< 5");
}

int main(void)
{
        if (system("wrk -v >/dev/null 2>&1; test $? -ne 127") != 0) {
                printf("%-46s wrk is not installed: not measured\n", "REST reads");
                return 0;
        }
        with_door(&(struct door_options){.admission = true}, plain);
        with_door(&(struct door_options){.tls = true, .admission = true}, over_tls);
        return 0;
}
