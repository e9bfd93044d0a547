/*
 * Prometheus' answer to a range query as it streams in: cut anywhere, the same points come out, and none that is not a
 * finite number at a time since 1970.
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "net/stream.h"
#include "prometheus/decode_series.h"
#include "prometheus/partial_answer.h"

enum { POINTS_MOST = 64 };

struct seen {
        struct arena arena;
        uint64_t series, points, refused, sum;
        bool nodes; /* the answer is about nodes */
};

static bool on_series(void *arg, const struct prometheus_series *s, struct text cgroup)
{
        struct seen *seen = arg;
        MUST(s->pod.len > 0 && (seen->nodes || (s->ns.len > 0 && s->container.len > 0)));
        seen->series++;
        seen->sum += cgroup.len;
        return s->pod.p[0] != 'x';
}

static int on_point(void *arg, struct wall at, double value)
{
        struct seen *seen = arg;
        uint64_t bits;
        MUST(at.ms >= 0 && isfinite(value));
        memcpy(&bits, &value, sizeof bits);
        seen->sum = seen->sum * 31 + bits + (uint64_t)at.ms;
        return ++seen->points > POINTS_MOST ? ERR_TOOBIG : 0;
}

static int each(void *arg, struct text item)
{
        struct seen *seen = arg;
        struct series_reader r = {on_series, on_point, seen, seen->nodes};
        struct err err = {0};
        arena_reset(&seen->arena);
        int rc = series_decode(item, &seen->arena, &r, &seen->refused, &err);
        MUST(rc == err.code && (rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG));
        return rc;
}

/* A part is told in printable words, and a whole answer is no part. */
static void judge(struct text envelope)
{
        struct err err = {0};
        bool partial = false;
        int rc = partial_answer_judge(envelope, &partial, &err);
        MUST(rc == err.code && (rc == 0 || rc == ERR_RETRY || rc == ERR_INVALID) && partial == (rc == ERR_RETRY));
        for (const char *s = err.text; *s; s++)
                MUST((unsigned char)*s >= ' ' && *s != 0x7f);
}

static int run(const char *p, size_t len, size_t chunk, bool nodes, struct seen *ret)
{
        struct stream s;
        char said[64];
        int rc = 0;
        *ret = (struct seen){.nodes = nodes};
        stream_init(&s, STREAM_QUERY, STREAM_ITEM_MAX, STREAM_LIST_MAX, each, ret);
        for (size_t at = 0; rc == 0 && at < len; at += chunk)
                rc = stream_feed(&s, p + at, len - at < chunk ? len - at : chunk, NULL);
        if (rc == 0)
                rc = stream_end(&s, NULL);
        judge(stream_envelope(&s));
        stream_release(&s);
        arena_release(&ret->arena);
        MUST(strlen(query_error((struct text){p, len}, said, sizeof said)) < sizeof said);
        return rc;
}

static void read_as(const char *p, size_t size, bool nodes)
{
        struct seen whole, cut;
        int rc = run(p, size, size ? size : 1, nodes, &whole);
        size_t chunk = size < 4096 ? 1 : 61;
        MUST(run(p, size, chunk, nodes, &cut) == rc);
        MUST(whole.series == cut.series && whole.points == cut.points && whole.refused == cut.refused &&
             whole.sum == cut.sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        read_as((const char *)data, size, false);
        read_as((const char *)data, size, true);
        return 0;
}
