/* doc over a stream of Deployments, of which each gets new requests and two annotations: read, edited and written; and
 * the whole of serve/render over the same: judged by a profile, with a report. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "deploy/render.h"
#include "line.h"
#include "manifest/document.h"

enum { RUNS = 5, STREAM_MAX = 64 << 20 };

#define TEMPLATE DOC_KEY("spec"), DOC_KEY("template")
#define REQUESTS                                                                                                       \
        TEMPLATE, DOC_KEY("spec"), DOC_KEY("containers"), DOC_ITEM(0), DOC_KEY("resources"), DOC_KEY("requests")
#define NOTES   TEMPLATE, DOC_KEY("metadata"), DOC_KEY("annotations")
#define PATH(p) .path = (p), .steps = sizeof(p) / sizeof *(p)

static const struct doc_step cpu[] = {REQUESTS, DOC_KEY("cpu")}, memory[] = {REQUESTS, DOC_KEY("memory")};
static const struct doc_step original[] = {NOTES, DOC_KEY("halflife.dev/original-resources")};
static const struct doc_step applied[] = {NOTES, DOC_KEY("halflife.dev/applied-resources")};
static const struct doc_change changes[] = {
        {PATH(cpu), DOC_QUANTITY, {"400m", 4}},
        {PATH(memory), DOC_QUANTITY, {"812Mi", 5}},
        {PATH(original), DOC_STRING, {"{\"app\":{\"requests\":{\"cpu\":\"2\"}}}", 33}},
        {PATH(applied), DOC_STRING, {"{\"app\":{\"requests\":{\"cpu\":\"400m\"}}}", 36}},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static void add_yaml(struct buf *b, int i)
{
        buf_printf(b,
                   "---\n# a service\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: service-%d\n"
                   "  namespace: shop-%d\n  labels: {app: service, tier: \"backend\"}\nspec:\n  replicas: 3\n"
                   "  selector:\n    matchLabels:\n      app: service-%d\n  template:\n    metadata:\n      labels:\n"
                   "        app: service-%d\n    spec:\n      containers:\n      - name: app # the service\n"
                   "        image: registry.example/shop/service-%d:1.2.3\n        args: [\"--port=8080\", '-v']\n"
                   "        env:\n        - name: DATABASE\n          value: postgres://db.shop.svc:5432/service\n"
                   "        - {name: LEVEL, value: info}\n        ports:\n        - containerPort: 8080\n"
                   "        resources:\n          limits:\n            cpu: 4\n            memory: 8Gi\n"
                   "          requests:\n            cpu: 2     # as measured once\n            memory: 4Gi\n"
                   "        readinessProbe:\n          httpGet: {path: /ready, port: 8080}\n",
                   i, i % 50, i, i, i);
}

static void add_json(struct buf *b, int i)
{
        buf_printf(b,
                   "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"service-%d\","
                   "\"namespace\":\"shop-%d\",\"labels\":{\"app\":\"service\",\"tier\":\"backend\"}},\"spec\":{"
                   "\"replicas\":3,\"selector\":{\"matchLabels\":{\"app\":\"service-%d\"}},\"template\":{\"metadata\":{"
                   "\"labels\":{\"app\":\"service-%d\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":"
                   "\"registry.example/shop/service-%d:1.2.3\",\"args\":[\"--port=8080\"],\"resources\":{\"requests\":"
                   "{\"cpu\":\"2\",\"memory\":\"4Gi\"}},\"ports\":[{\"containerPort\":8080}]}]}}}}\n",
                   i, i % 50, i, i, i);
}

/* MB/s, the best of several runs. */
static double best_rate(int documents, void add(struct buf *b, int i))
{
        struct buf in __attribute__((cleanup(buf_release_auto))), out __attribute__((cleanup(buf_release_auto)));
        double best = 0;
        buf_init(&in, STREAM_MAX);
        buf_init(&out, 2 * STREAM_MAX);
        for (int i = 0; i < documents; i++)
                add(&in, i);
        for (int run = 0; run < RUNS; run++) {
                struct err err = {0};
                int64_t begin = mono_read().ns;
                struct doc *d AUTO(doc_free) = doc_new(in.data, in.len, &err);
                if (!d || doc_count(d) != (size_t)documents)
                        abort();
                for (int i = 0; i < documents; i++)
                        if (doc_edit(d, (size_t)i, changes, CHANGES, &err) != CHANGES)
                                abort();
                buf_reset(&out);
                if (doc_write(d, &out, &err) < 0)
                        abort();
                double rate = (double)in.len * 1e3 / (double)(mono_read().ns - begin);
                best = rate > best ? rate : best;
        }
        return best;
}

/* --- the whole --- */

static struct snapshot *view_of_one_profile(void)
{
        static struct profile_spec spec;
        static struct snapshot_profile profile = {.name = "all", .spec = &spec};
        struct snapshot *v = snapshot_new();
        resource_policy_defaults(CPU, &spec.of[CPU]);
        resource_policy_defaults(MEMORY, &spec.of[MEMORY]);
        apply_policy_defaults(APPLY_ON_DEPLOY, &spec.apply);
        spec.apply.overcommit = OVERCOMMIT_STATIC_THEN_DYNAMIC;
        spec.of[CPU].static_factor = spec.of[MEMORY].static_factor = 500;
        spec.of[MEMORY].enabled = true;
        snapshot_add_profile(v, &profile);
        snapshot_finish(v);
        return v;
}

static void render_once(const struct snapshot *v, const struct buf *in, size_t documents, struct buf *out)
{
        struct err err = {0};
        AUTO(render_free) struct render *r = render_new(&(struct render_options){TEXT("shop"), false});
        if (render_add(r, buf_text(in), &err) < 0)
                abort();
        render_run(r, v);
        buf_reset(out);
        if (render_changed(r) != documents || render_write(r, 0, out, &err) < 0)
                abort();
}

static double best_whole(int documents, void add(struct buf *b, int i))
{
        struct buf in __attribute__((cleanup(buf_release_auto))), out __attribute__((cleanup(buf_release_auto)));
        struct snapshot *v = view_of_one_profile();
        double best = 0;
        buf_init(&in, STREAM_MAX);
        buf_init(&out, 4 * STREAM_MAX);
        for (int i = 0; i < documents; i++)
                add(&in, i);
        for (int run = 0; run < RUNS; run++) {
                int64_t begin = mono_read().ns;
                render_once(v, &in, (size_t)documents, &out);
                double rate = (double)in.len * 1e3 / (double)(mono_read().ns - begin);
                best = rate > best ? rate : best;
        }
        snapshot_drop(v);
        return best;
}

int main(void)
{
        bench_line("render whole, 2 000 documents of YAML", best_whole(2000, add_yaml), "MB/s", ">= 5");
        bench_line("render whole, 20 000 documents of YAML", best_whole(20000, add_yaml), "MB/s", ">= 5");
        bench_line("render whole, 2 000 documents of JSON", best_whole(2000, add_json), "MB/s", ">= 5");
        bench_line("render, 2 000 documents of YAML", best_rate(2000, add_yaml), "MB/s", ">= 5");
        bench_line("render, 20 000 documents of YAML", best_rate(20000, add_yaml), "MB/s", ">= 5");
        bench_line("render, 2 000 documents of JSON", best_rate(2000, add_json), "MB/s", ">= 5");
        return 0;
}
