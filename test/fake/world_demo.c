/* The demo's cluster: a dozen workloads in three namespaces whose usage follows a day of its own length, with noise. */
#include <math.h>
#include <string.h>

#include "fake.h"

enum course { OFFICE, EVENING, FLAT, SPIKY };
static const struct workload {
        const char *kind, *ns, *name;
        int replicas;
        const char *cpu, *memory, *cpu_limit, *memory_limit; /* what its owner asked for */
        enum course course;
        double milli, mib; /* at its busiest */
        bool later;        /* deployed later, by somebody else */
} workloads[] = {
        {"Deployment", "shop", "storefront", 3, "2", "2Gi", "4", "4Gi", EVENING, 620, 700, false},
        {"Deployment", "shop", "checkout", 2, "1500m", "1Gi", "3", "2Gi", EVENING, 410, 420, false},
        {"Deployment", "shop", "search", 2, "2", "4Gi", "4", "8Gi", OFFICE, 900, 2100, false},
        {"Deployment", "shop", "recommender", 2, "4", "8Gi", "8", "16Gi", SPIKY, 1500, 5200, false},
        {"StatefulSet", "shop", "cart-store", 3, "1", "2Gi", "2", "4Gi", FLAT, 150, 900, false},
        {"Deployment", "billing", "invoices", 2, "1", "1Gi", "2", "2Gi", OFFICE, 240, 380, false},
        {"Deployment", "billing", "payments", 3, "800m", "512Mi", "1600m", "1Gi", OFFICE, 700, 300, false},
        {"StatefulSet", "billing", "ledger", 2, "2", "4Gi", "2", "4Gi", FLAT, 500, 1900, false},
        {"Deployment", "billing", "reports", 1, "3", "6Gi", "6", "12Gi", SPIKY, 1100, 2600, false},
        {"Deployment", "billing", "receipts", 2, "2", "1Gi", "4", "2Gi", FLAT, 466, 420, true},
        {"Deployment", "shop", "orders", 2, "1", "1Gi", "2", "2Gi", FLAT, 260, 400, true},
        {"DaemonSet", "platform", "log-agent", 2, "500m", "512Mi", "1", "1Gi", FLAT, 60, 140, false},
        {"Deployment", "platform", "ingress", 2, "1", "512Mi", "2", "1Gi", EVENING, 330, 210, false},
        {"Deployment", "platform", "queue", 2, "600m", "1Gi", "1200m", "2Gi", OFFICE, 520, 640, false},
};

/* How busy a shape is at a time of day, in [0, 1]. */
static double busy(enum course course, double day)
{
        const double turn = 6.283185307179586;
        switch (course) {
        case OFFICE:
                return day > 0.33 && day < 0.75 ? 0.35 + 0.55 * sin((day - 0.33) / 0.42 * turn / 2) : 0.3;
        case EVENING:
                return 0.3 + 0.6 * pow(0.5 - 0.5 * cos(turn * (day - 0.35)), 2);
        case FLAT:
                return 0.75;
        case SPIKY:
                return fmod(day * 6, 1) < 0.15 ? 0.9 : 0.25;
        }
        return 0;
}

/* The same for the same pod and time, in [-1, 1]. */
static double noise(const char *pod, int64_t at_ms, uint64_t salt)
{
        uint64_t h = 0xcbf29ce484222325u ^ salt ^ ((uint64_t)at_ms * 0x9e3779b97f4a7c15u);
        for (; *pod; pod++)
                h = (h ^ (unsigned char)*pod) * 0x100000001b3u;
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 31;
        return (double)(h % 2001) / 1000 - 1;
}

static bool demo_usage(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms,
                       int64_t *ret_nano, int64_t *ret_bytes)
{
        const struct fake *f = arg;
        (void)container;
        for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
                const struct workload *w = &workloads[i];
                size_t len = strlen(w->name);
                if (strcmp(ns, w->ns) != 0 || strncmp(pod, w->name, len) != 0 || pod[len] != '-')
                        continue;
                double level = busy(w->course, (double)(at_ms % f->day_ms) / (double)f->day_ms);
                double cpu = w->milli * level * (1 + 0.1 * noise(pod, at_ms, 1 + f->options.seed));
                double mib = w->mib * (0.7 + 0.28 * level + 0.02 * noise(pod, at_ms, 2 + f->options.seed));
                *ret_nano = (int64_t)(cpu * 1e6);
                *ret_bytes = (int64_t)(mib * 256) * 4096;
                return true;
        }
        return false;
}

void fake_world_demo(struct fake *f, int64_t day_ms)
{
        fake_lock(f);
        f->day_ms = day_ms;
        for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
                const struct workload *w = &workloads[i];
                if (w->later)
                        continue;
                AUTO(mem_free)
                char *replicas = strcmp(w->kind, "DaemonSet") == 0 ? mem_string("")
                                                                   : mem_printf("\"replicas\":%d,", w->replicas);
                AUTO(mem_free)
                char *body = mem_printf("{\"apiVersion\":\"apps/"
                                        "v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                                        "\"labels\":{\"app\":\"%s\"}},"
                                        "\"spec\":{%s\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},\"template\":{"
                                        "\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":"
                                        "{\"containers\":[{\"name\":\"app\",\"image\":\"registry.example/"
                                        "%s:1.0\",\"resources\":{\"requests\":{\"cpu\":\"%s\","
                                        "\"memory\":\"%s\"},\"limits\":{\"cpu\":\"%s\",\"memory\":\"%s\"}}}]}}}}",
                                        w->kind, w->name, w->ns, w->name, replicas, w->name, w->name, w->name, w->cpu,
                                        w->memory, w->cpu_limit, w->memory_limit);
                fake_put(f, "kubectl-client-side-apply", body);
        }
        fake_set_metrics(f, &(struct fake_metrics){.usage = demo_usage, .arg = f, .step_ms = 1000, .warmup_ms = 2000});
        fake_unlock(f);
}
