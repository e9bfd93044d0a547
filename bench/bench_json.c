/* base/json over a synthetic stream of PodMetrics items: skipping them, and decoding what the controller uses. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "line.h"

enum { PODS = 5000, LABELS = 5, RUNS = 20, STREAM_MAX = 64 << 20 };

struct sample {
        struct text pod, namespace, window;
        struct wall at;
        size_t containers, bytes;
};

static void add_item(struct buf *b, int pod)
{
        buf_printf(b,
                   "{\"metadata\":{\"name\":\"a-service-with-a-long-name-%05d-6d4cf56db6-x2zq9\",\"namespace\":\"shop-%"
                   "d\","
                   "\"creationTimestamp\":\"2026-11-21T11:54:10Z\",\"labels\":{",
                   pod, pod % 50);
        for (int i = 0; i < LABELS; i++)
                buf_printf(b, "%s\"app.kubernetes.io/label-%d\":\"value-%d\"", i ? "," : "", i, pod);
        buf_printf(b,
                   "}},\"timestamp\":\"2026-11-21T11:54:02Z\",\"window\":\"15.03s\",\"containers\":[{\"name\":\"app\","
                   "\"usage\":"
                   "{\"cpu\":\"%dn\",\"memory\":\"%dKi\"}}]}\n",
                   pod * 1237, 8000 + pod);
}

static void decode_metadata(struct json *j, struct sample *s)
{
        struct text key;
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key)) {
                if (text_is(key, "name"))
                        s->pod = json_text(j, NULL);
                else if (text_is(key, "namespace"))
                        s->namespace = json_text(j, NULL);
                else
                        json_skip(j);
        }
}

static void decode_container(struct json *j, struct sample *s)
{
        struct text key;
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key)) {
                if (!text_is(key, "usage") || !json_enter(j, '{')) {
                        json_skip(j);
                        continue;
                }
                while (json_key(j, &key))
                        s->bytes += json_scalar(j, NULL).len;
        }
        s->containers++;
}

static void decode_item(const char *p, size_t len, struct sample *s)
{
        struct json j;
        struct text key;
        json_init(&j, p, len);
        if (json_enter(&j, '{')) {
                while (json_key(&j, &key)) {
                        if (text_is(key, "metadata")) {
                                decode_metadata(&j, s);
                        } else if (text_is(key, "timestamp")) {
                                struct text t = json_text(&j, NULL);
                                wall_parse(t.p, t.len, &s->at);
                        } else if (text_is(key, "window")) {
                                s->window = json_text(&j, NULL);
                        } else if (text_is(key, "containers") && json_enter(&j, '[')) {
                                while (json_item(&j))
                                        decode_container(&j, s);
                        } else {
                                json_skip(&j);
                        }
                }
        }
        if (json_done(&j, NULL) < 0 || s->at.ms == 0)
                abort();
}

static void skip_item(const char *p, size_t len, struct sample *s)
{
        struct json j;
        json_init(&j, p, len);
        json_skip(&j);
        if (json_done(&j, NULL) < 0)
                abort();
        s->containers++;
}

/* MB/s, the best of several runs. */
static double best_rate(const struct buf *b, void item(const char *p, size_t len, struct sample *s))
{
        double best = 0;
        for (int run = 0; run < RUNS; run++) {
                struct sample s = {0};
                int64_t begin = mono_read().ns;
                for (const char *p = b->data, *end; p < b->data + b->len; p = end + 1) {
                        end = memchr(p, '\n', (size_t)(b->data + b->len - p));
                        item(p, (size_t)(end - p), &s);
                }
                double rate = (double)b->len * 1e3 / (double)(mono_read().ns - begin);
                if (s.containers != PODS)
                        abort();
                best = rate > best ? rate : best;
        }
        return best;
}

int main(void)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, STREAM_MAX);
        for (int pod = 0; pod < PODS; pod++)
                add_item(&b, pod);
        bench_line("JSON skipped, PodMetricsList", best_rate(&b, skip_item), "MB/s", ">= 300");
        bench_line("JSON read, PodMetricsList", best_rate(&b, decode_item), "MB/s", ">= 300");
        return 0;
}
