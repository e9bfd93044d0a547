/*
 * Objects of the API server cut down to what is used: the pods and workloads of a start, the PodMetrics of a cycle as
 * they stream in, 45-byte pod names and 5 labels each. The budget of a cycle (0.3 s of CPU at 100 000 containers) is
 * for decoding, folding and deciding together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "line.h"
#include "net/stream.h"
#include "objects/decode.h"

enum { PODS = 100000, WORKLOADS = 20000, CHUNK = 16384, BEST_OF = 3 };

static char *read_sample(const char *path, size_t *ret_len)
{
        struct err err = {0};
        char *text = file_read(path, 1 << 20, ret_len, &err);
        if (!text)
                bench_fail("%s (run it from the top of the tree)", err.text);
        return text;
}

static void bench_pods(void)
{
        static struct pod_view view;
        struct arena a = {0};
        size_t len;
        char *text = read_sample("test/data/pod/running.json", &len);
        double begin = bench_cpu_seconds();
        for (int i = 0; i < PODS; i++) {
                arena_reset(&a);
                if (decode_pod((struct text){text, len}, &a, &view, NULL) < 0)
                        abort();
        }
        double took = bench_cpu_seconds() - begin;
        bench_line("decode a pod", took / PODS * 1e9, "ns", "");
        bench_line("decode pods", (double)len * PODS / took / 1e6, "MB/s", "");
        mem_free(text);
        arena_release(&a);
}

static void bench_workloads(void)
{
        static struct workload_view view;
        struct arena a = {0};
        size_t len;
        char *text = read_sample("test/data/workload/deployment.json", &len);
        double begin = bench_cpu_seconds();
        for (int i = 0; i < WORKLOADS; i++) {
                arena_reset(&a);
                if (decode_workload((struct text){text, len}, "/spec/template", "halflife", &a, &view, NULL) < 0)
                        abort();
        }
        bench_line("decode a workload", (bench_cpu_seconds() - begin) / WORKLOADS * 1e9, "ns", "");
        mem_free(text);
        arena_release(&a);
}

/* --- a cycle's PodMetrics -------------------------------------------------------------------------------------- */

static void make_list(struct buf *b)
{
        buf_init(b, 1u << 30);
        buf_add_text(
                b,
                "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{},\"items\":[");
        for (int i = 0; i < PODS; i++)
                buf_printf(
                        b,
                        "%s{\"metadata\":{\"name\":\"shop-frontend-of-the-web-6d8c9f7b5-x%05d-abcde\",\"namespace\":"
                        "\"namespace-%03d\",\"creationTimestamp\":\"2026-11-21T11:54:09Z\",\"labels\":{\"app\":"
                        "\"shop\","
                        "\"pod-template-hash\":\"6d8c9f7b5\",\"team\":\"blue\",\"tier\":\"web\",\"version\":\"v12\"}},"
                        "\"timestamp\":\"2026-11-21T11:54:02Z\",\"window\":\"15.03s\",\"containers\":[{\"name\":"
                        "\"app\","
                        "\"usage\":{\"cpu\":\"%dn\",\"memory\":\"%dKi\"}}]}\n",
                        i ? "," : "", i, i / 1000, 12345678 + i, 45678 + i);
        buf_add_text(b, "]}\n");
}

struct reading {
        struct arena arena;
        int64_t pods, sum;
};

static int read_item(void *arg, struct text item)
{
        struct reading *r = arg;
        struct pod_metrics_view view;
        arena_reset(&r->arena);
        if (decode_pod_metrics(item, &r->arena, &view, NULL) < 0)
                abort();
        r->pods++;
        r->sum += view.container[0].cpu_nano;
        return 0;
}

static double read_list(const struct buf *list)
{
        struct reading r = {.pods = 0};
        struct stream s;
        double begin = bench_cpu_seconds();
        stream_init(&s, STREAM_LIST, STREAM_ITEM_MAX, STREAM_LIST_MAX, read_item, &r);
        for (size_t at = 0; at < list->len; at += CHUNK)
                if (stream_feed(&s, list->data + at, list->len - at < CHUNK ? list->len - at : CHUNK, NULL) < 0)
                        abort();
        if (stream_end(&s, NULL) < 0 || r.pods != PODS)
                abort();
        double took = bench_cpu_seconds() - begin;
        stream_release(&s);
        arena_release(&r.arena);
        return took;
}

static double peak_mib(void)
{
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (double)u.ru_maxrss / 1024;
}

static void bench_metrics(void)
{
        struct buf list;
        make_list(&list);
        double before = peak_mib(), best = 1e9;
        for (int i = 0; i < BEST_OF; i++) {
                double took = read_list(&list);
                best = took < best ? took : best;
        }
        bench_line("decode PodMetricsList, 100000 pods", best * 1e3, "ms", "<= 300, part of the cycle");
        bench_line("decode PodMetricsList", (double)list.len / best / 1e6, "MB/s", "");
        bench_line("decode PodMetricsList, memory above the text", peak_mib() - before, "MiB", "");
        buf_release(&list);
}

int main(void)
{
        bench_pods();
        bench_workloads();
        bench_metrics();
        return EXIT_SUCCESS;
}
