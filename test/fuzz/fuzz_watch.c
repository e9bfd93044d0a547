/*
 * The bytes of a watch-list, then of a watch. The owner gets the same calls wherever the bytes are cut.
 */
#include <string.h>

#include "fuzz.h"
#include "kube/reflector.h"

struct told {
        uint64_t upserts, removes, sweeps, hash;
};

static void mix(struct told *t, char what, struct text object)
{
        t->hash = t->hash * 1099511628211u + (uint64_t)what;
        for (size_t i = 0; i < object.len; i++)
                t->hash = (t->hash ^ (uint8_t)object.p[i]) * 1099511628211u;
}

static int upsert(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct told *t = arg;
        struct arena a = {0};
        struct object_view m;
        MUST(epoch == 1);
        mix(t, 'u', object);
        t->upserts++;
        int rc = decode_object(object, &a, &m, err);
        arena_release(&a);
        return rc;
}

static void removed(void *arg, struct text object)
{
        struct told *t = arg;
        mix(t, 'r', object);
        t->removes++;
}

static void swept(void *arg, uint32_t epoch)
{
        struct told *t = arg;
        MUST(epoch == 1);
        mix(t, 's', (struct text){"", 0});
        t->sweeps++;
}

static void trouble(void *arg, const struct err *err)
{
        (void)arg;
        MUST(err->code == 0 || err->text[0]);
}

static int run(const char *p, size_t len, size_t chunk, struct told *ret, struct informer_stats *ret_stats)
{
        const struct informer_owner owner = {upsert, removed, swept, trouble, ret};
        struct reflector r;
        struct buf query;
        int rc = 0;
        *ret = (struct told){0};
        reflector_init(&r, "/api/v1/pods", NULL, &owner);
        buf_init(&query, 1 << 16);
        MUST(reflector_begin(&r, (struct mono){0}, &query));
        for (size_t at = 0; rc == 0 && at < len; at += chunk)
                rc = reflector_data(&r, p + at, len - at < chunk ? len - at : chunk, (struct mono){0});
        struct client_answer a = {.status = 200, .retry_after_ms = -1};
        if (rc < 0)
                err_set(&a.err, rc, "ended by its reader");
        int64_t wait = reflector_end(&r, &a, rc == 0, (struct mono){INT64_C(5000000000)});
        MUST(wait >= 0 && wait <= 60000);
        buf_reset(&query);
        reflector_begin(&r, (struct mono){INT64_C(6000000000)}, &query); /* it goes on, whatever it was */
        MUST(r.state != WATCHING || r.version.len > 0);
        *ret_stats = r.stats;
        buf_release(&query);
        reflector_release(&r);
        return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct told whole, cut;
        struct informer_stats stats, stats_cut;
        const char *p = (const char *)data;
        int rc = run(p, size, size ? size : 1, &whole, &stats);
        MUST(run(p, size, size < 4096 ? 1 : 61, &cut, &stats_cut) == rc);
        MUST(memcmp(&whole, &cut, sizeof whole) == 0);
        MUST(stats.refused == stats_cut.refused && stats.events == stats_cut.events &&
             stats.synced == stats_cut.synced);
        return 0;
}
