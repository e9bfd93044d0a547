/*
 * A cluster of any size for benches: 5 replicas a Deployment, one container a pod, 45-byte pod names, 5 labels. Nothing
 * of it is stored; each Deployment, ReplicaSet and pod is written as it is read. Workload w lives in namespace w / 100.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { REPLICAS = 5, PER_NAMESPACE = 100, WORKLOADS_MAX = 10000000 };

/* "size-0000012" "checkout-service-0000345" + "-7c9bd5f6d4" + "-0abcd": 24 + 11 + 10 = 45 bytes a pod name. */
static void names(size_t workload, char ns[static 32], char name[static 32])
{
        snprintf(ns, 32, "size-%07u", (unsigned)(workload / PER_NAMESPACE % WORKLOADS_MAX));
        snprintf(name, 32, "checkout-service-%07u", (unsigned)(workload % WORKLOADS_MAX));
}

static const char hash[] = "7c9bd5f6d4";

static void uid(char out[static 37], unsigned kind, size_t i)
{
        snprintf(out, 37, "5eed%04x-0000-4000-8000-%012x", kind & 0xffff, (unsigned)i);
}

static const char *crowd_space(const struct fake *f, size_t workload)
{
        static _Thread_local char ns[32], name[32];
        (void)f;
        names(workload, ns, name);
        return ns;
}

static const char *pod_space(const struct fake *f, size_t i)
{
        return crowd_space(f, i / REPLICAS);
}

static const char *type_text(bool bare, const char *kind, const char *api)
{
        static _Thread_local char text[96];
        if (bare)
                return "";
        snprintf(text, sizeof text, "\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind, api);
        return text;
}

static void add_meta(const struct fake *f, struct buf *out, const char *name, const char *ns, const char *id,
                     bool hashed)
{
        (void)f;
        buf_printf(out,
                   "\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"900\","
                   "\"generation\":1,"
                   "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"checkout\",\"tier\":"
                   "\"backend\",\"team\":\"payments\","
                   "\"release\":\"stable\"%s%s%s}",
                   name, ns, id, hashed ? ",\"pod-template-hash\":\"" : ",\"track\":\"", hashed ? hash : "main", "\"");
}

static void add_owner(struct buf *out, const char *api, const char *kind, const char *name, const char *id)
{
        buf_printf(out,
                   ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\","
                   "\"controller\":true,"
                   "\"blockOwnerDeletion\":true}]",
                   api, kind, name, id);
}

static const char containers[] =
        "\"containers\":[{\"name\":\"app\",\"image\":\"registry.example/"
        "checkout:1.42.0\",\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":"
        "\"4Gi\"},\"requests\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}},\"terminationMessagePath\":\"/dev/termination-log\","
        "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\","
        "\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"securityContext\":{},\"schedulerName\":"
        "\"default-scheduler\"";

static void add_template(struct buf *out, bool hashed)
{
        buf_printf(out,
                   "\"spec\":{\"replicas\":5,\"selector\":{\"matchLabels\":{\"app\":\"checkout\"}},\"template\":{"
                   "\"metadata\":{\"labels\":{"
                   "\"app\":\"checkout\",\"tier\":\"backend\",\"team\":\"payments\",\"release\":\"stable\"%s}},"
                   "\"spec\":{%s}}",
                   hashed ? ",\"pod-template-hash\":\"7c9bd5f6d4\"" : "", containers);
}

static void render_deployment(const struct fake *f, size_t w, bool bare, struct buf *out)
{
        char ns[32], name[32], id[37];
        names(w, ns, name);
        uid(id, 1, w);
        buf_printf(out, "{%s", type_text(bare, "Deployment", "apps/v1"));
        add_meta(f, out, name, ns, id, false);
        buf_add_text(out, "},");
        add_template(out, false);
        buf_add_text(out, ",\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\","
                          "\"maxSurge\":\"25%\"}},"
                          "\"revisionHistoryLimit\":10,\"progressDeadlineSeconds\":600},\"status\":{"
                          "\"observedGeneration\":1,\"replicas\":5,"
                          "\"updatedReplicas\":5,\"readyReplicas\":5,\"availableReplicas\":5}}");
}

static void render_replicaset(const struct fake *f, size_t w, bool bare, struct buf *out)
{
        char ns[32], name[32], id[37], owner[37], full[64];
        names(w, ns, name);
        uid(id, 2, w);
        uid(owner, 1, w);
        snprintf(full, sizeof full, "%s-%s", name, hash);
        buf_printf(out, "{%s", type_text(bare, "ReplicaSet", "apps/v1"));
        add_meta(f, out, full, ns, id, true);
        add_owner(out, "apps/v1", "Deployment", name, owner);
        buf_add_text(out, "},");
        add_template(out, true);
        buf_add_text(
                out,
                "},\"status\":{\"observedGeneration\":1,\"replicas\":5,\"readyReplicas\":5,\"availableReplicas\":5}}");
}

static void pod_name(const char *name, size_t i, char out[static 64])
{
        snprintf(out, 64, "%s-%s-abcdefgh%zu", name, hash, i % REPLICAS);
}

static void render_pod(const struct fake *f, size_t i, bool bare, struct buf *out)
{
        char ns[32], name[32], id[37], owner[37], full[64], set[64];
        names(i / REPLICAS, ns, name);
        uid(id, 3, i);
        uid(owner, 2, i / REPLICAS);
        pod_name(name, i, full);
        snprintf(set, sizeof set, "%s-%s", name, hash);
        buf_printf(out, "{%s", type_text(bare, "Pod", "v1"));
        add_meta(f, out, full, ns, id, true);
        add_owner(out, "apps/v1", "ReplicaSet", set, owner);
        buf_printf(out, "},\"spec\":{\"nodeName\":\"node-%zu\",%s},", i % 5000, containers);
        buf_printf(out,
                   "\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\",\"startTime\":\"2026-01-01T00:00:"
                   "00Z\",\"conditions\":[{\"type\":"
                   "\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"}],"
                   "\"containerStatuses\":[{\"name\":\"app\","
                   "\"ready\":true,\"started\":true,\"restartCount\":0,\"image\":\"registry.example/"
                   "checkout:1.42.0\",\"containerID\":"
                   "\"containerd://"
                   "%064zx\",\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:04Z\"}},\"lastState\":{}}]}}",
                   i);
}

/* Usage: per workload between 50 and 850 millicores, the noise of a scrape beside it; always the same for the same
 * time. */
void crowd_metrics(const struct fake *f, size_t i, int64_t at_ms, struct buf *out)
{
        char ns[32], name[32], full[64], stamp[WALL_TEXT_MAX];
        size_t w = i / REPLICAS;
        uint64_t noise = (i * 0x9e3779b97f4a7c15u) ^ ((uint64_t)at_ms * 0x94d049bb133111ebu);
        noise = (noise ^ (noise >> 31)) * 0xbf58476d1ce4e5b9u;
        names(w, ns, name);
        pod_name(name, i, full);
        wall_print((struct wall){at_ms}, stamp);
        buf_printf(out,
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"creationTimestamp\":\"%s\",\"labels\":{"
                   "\"app\":\"checkout\",\"tier\":"
                   "\"backend\",\"team\":\"payments\",\"release\":\"stable\",\"pod-template-hash\":\"%s\"}},"
                   "\"timestamp\":\"%s\",\"window\":"
                   "\"%.3fs\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"%" PRIu64
                   "n\",\"memory\":\"%" PRIu64 "Ki\"}}]}",
                   full, ns, stamp, hash, stamp, (double)f->metrics.step_ms / 1000,
                   50000001 + w % 80 * 10000000 + (noise >> 20) % 10000000 * 2,
                   (uint64_t)524289 + w % 64 * 16384 + (noise >> 50));
}

/* --- finding one by name --- */

static bool find_workload(const struct fake *f, const char *ns, const char *name, size_t *ret_i)
{
        char have_ns[32], have[32], full[64];
        unsigned long long w;
        if (sscanf(name, "checkout-service-%7llu", &w) != 1 || w >= f->containers / REPLICAS)
                return false;
        names(w, have_ns, have);
        snprintf(full, sizeof full, "%s-%s", have, hash);
        *ret_i = w;
        return strcmp(have_ns, ns) == 0 && (strcmp(have, name) == 0 || strcmp(full, name) == 0);
}

static bool find_pod(const struct fake *f, const char *ns, const char *name, size_t *ret_i)
{
        char have_ns[32], have[32], full[64];
        unsigned long long w;
        size_t len = strlen(name), digit = len ? (size_t)(name[len - 1] - '0') : REPLICAS;
        if (sscanf(name, "checkout-service-%7llu", &w) != 1 || digit >= REPLICAS ||
            w * REPLICAS + digit >= f->containers)
                return false;
        *ret_i = w * REPLICAS + digit;
        names(w, have_ns, have);
        pod_name(have, *ret_i, full);
        return strcmp(have_ns, ns) == 0 && strcmp(full, name) == 0;
}

void fake_world_size(struct fake *f, size_t containers_wanted)
{
        size_t workloads = (containers_wanted + REPLICAS - 1) / REPLICAS;
        struct crowd *crowd = f->crowd;
        fake_lock(f);
        f->containers = containers_wanted;
        crowd[0] = (struct crowd){workloads, 900, render_deployment, find_workload, crowd_space};
        crowd[1] = (struct crowd){workloads, 900, render_replicaset, find_workload, crowd_space};
        crowd[2] = (struct crowd){containers_wanted, 900, render_pod, find_pod, pod_space};
        fake_kind_find(f, "apps", "v1", "deployments")->crowd = &crowd[0];
        fake_kind_find(f, "apps", "v1", "replicasets")->crowd = &crowd[1];
        fake_kind_find(f, "", "v1", "pods")->crowd = &crowd[2];
        for (size_t i = 0; i * PER_NAMESPACE < workloads; i++) {
                AUTO(mem_free)
                char *body = mem_printf(
                        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"size-%07zu\"}}", i);
                fake_put(f, "bench", body);
        }
        fake_unlock(f);
}
