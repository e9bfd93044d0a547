/*
 * A PodMetricsList of 100 000 pods as it comes from the wire: cut into items (net/stream), and decoded item by item
 * (kube/decode) with the memory that takes. The chunks are libcurl's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "line.h"
#include "net/stream.h"
#include "objects/decode.h"

enum { PODS = 100000, LABELS = 5, RUNS = 5, LIST_MAX = 128 << 20, CHUNK = 16 << 10 };

struct reading {
        bool decode;
        struct arena arena;
        int64_t pods, cpu_nano, copied;
};

static void add_item(struct buf *b, int pod)
{
        buf_printf(b,
                   "%s{\"metadata\":{\"name\":\"a-service-with-a-long-name-%05d-6d4cf56db6-x2zq9\",\"namespace\":"
                   "\"shop-%d\",\"creationTimestamp\":\"2026-11-21T11:54:10Z\",\"labels\":{",
                   pod ? "," : "", pod, pod / 2000);
        for (int i = 0; i < LABELS; i++)
                buf_printf(b, "%s\"app.kubernetes.io/label-%d\":\"value-%d\"", i ? "," : "", i, pod);
        buf_printf(b,
                   "}},\"timestamp\":\"2026-11-21T11:54:02Z\",\"window\":\"15.03s\",\"containers\":[{\"name\":\"app\","
                   "\"usage\":{\"cpu\":\"%dn\",\"memory\":\"%dKi\"}}]}",
                   pod * 1237 + 1, 8000 + pod);
}

static int read_item(void *arg, struct text item)
{
        struct reading *r = arg;
        struct pod_metrics_view view;
        r->pods++;
        if (!r->decode)
                return 0;
        arena_reset(&r->arena);
        if (decode_pod_metrics(item, &r->arena, &view, NULL) < 0)
                abort();
        r->cpu_nano += view.container[0].cpu_nano;
        return 0;
}

static int64_t peak_kib(void)
{
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        return use.ru_maxrss;
}

/* MB/s, the best of several runs. */
static double best_rate(const struct buf *list, bool decode)
{
        double best = 0;
        for (int run = 0; run < RUNS; run++) {
                struct reading r = {.decode = decode};
                struct stream s;
                struct err err;
                int64_t begin = mono_read().ns;
                stream_init(&s, STREAM_LIST, STREAM_ITEM_MAX, STREAM_LIST_MAX, read_item, &r);
                for (size_t at = 0; at < list->len; at += CHUNK)
                        if (stream_feed(&s, list->data + at, list->len - at < CHUNK ? list->len - at : CHUNK, &err) < 0)
                                abort();
                if (stream_end(&s, &err) < 0 || r.pods != PODS)
                        abort();
                double rate = (double)list->len * 1e3 / (double)(mono_read().ns - begin);
                stream_release(&s);
                arena_release(&r.arena);
                best = rate > best ? rate : best;
        }
        return best;
}

int main(void)
{
        struct buf list __attribute__((cleanup(buf_release_auto)));
        buf_init(&list, LIST_MAX);
        buf_add_text(
                &list,
                "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{},\"items\":[");
        for (int pod = 0; pod < PODS; pod++)
                add_item(&list, pod);
        buf_add_text(&list, "]}\n");

        int64_t before = peak_kib();
        double cut = best_rate(&list, false), decoded = best_rate(&list, true);
        bench_line("stream cut, PodMetricsList", cut, "MB/s", ">= 1000");
        bench_line("stream cut and decoded, PodMetricsList", decoded, "MB/s", ">= 200");
        bench_line("stream size, 100000 pods", (double)list.len / 1e6, "MB", "");
        bench_line("stream peak memory above the text", (double)(peak_kib() - before), "KiB", "<= 1024");
        return 0;
}
