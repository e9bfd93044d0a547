/*
 * A list of PodMetrics as it streams in: cut anywhere, the same items come out.
 */
#include <string.h>

#include "fuzz.h"
#include "net/stream.h"
#include "objects/decode.h"

struct seen {
        struct arena arena;
        uint64_t pods, refused, sum;
};

static int each(void *arg, struct text item)
{
        struct seen *s = arg;
        struct pod_metrics_view view;
        struct err err = {0};
        arena_reset(&s->arena);
        int rc = decode_pod_metrics(item, &s->arena, &view, &err);
        MUST(rc == 0 || ((rc == ERR_INVALID || rc == ERR_TOOBIG) && err.text[0]));
        if (rc < 0) {
                s->refused++;
                return 0;
        }
        s->pods++;
        MUST(view.name.len > 0 && view.containers <= VIEW_CONTAINERS);
        MUST(view.at.ms != 0 || (view.containers == 0 && view.lacks));
        for (int i = 0; i < view.containers; i++) {
                MUST(view.container[i].name.len > 0);
                if (view.container[i].has[CPU])
                        s->sum = s->sum * 31 + (uint64_t)view.container[i].cpu_nano;
                if (view.container[i].has[MEMORY])
                        s->sum = s->sum * 37 + (uint64_t)view.container[i].memory_bytes;
        }
        return 0;
}

static int run(const char *p, size_t len, size_t chunk, struct seen *ret)
{
        struct stream s;
        int rc = 0;
        *ret = (struct seen){.pods = 0};
        stream_init(&s, STREAM_LIST, STREAM_ITEM_MAX, STREAM_LIST_MAX, each, ret);
        for (size_t at = 0; rc == 0 && at < len; at += chunk)
                rc = stream_feed(&s, p + at, len - at < chunk ? len - at : chunk, NULL);
        if (rc == 0)
                rc = stream_end(&s, NULL);
        stream_release(&s);
        arena_release(&ret->arena);
        return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct seen whole, cut;
        const char *p = (const char *)data;
        int rc = run(p, size, size ? size : 1, &whole);
        size_t chunk = size < 4096 ? 1 : 61;
        MUST(run(p, size, chunk, &cut) == rc);
        MUST(whole.pods == cut.pods && whole.refused == cut.refused && whole.sum == cut.sum);
        return 0;
}
