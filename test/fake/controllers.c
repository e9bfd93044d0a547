/*
 * The controllers of workloads, as small as they can be: each look at a workload makes at most one change to it or to
 * its pods, and puts it back in line when it did. What FAKE_CONTROLLERS_AUTO does in one go, FAKE_CONTROLLERS_STEP does
 * a step at a time.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct chore {
        struct kind *kind;
        char *ns, *name;
        struct chore *next;
};

/* --- the line --- */

static void chore_add(struct fake *f, struct kind *k, const char *ns, const char *name)
{
        struct chore **end = &f->chore;
        for (; *end; end = &(*end)->next)
                if ((*end)->kind == k && strcmp((*end)->ns, ns) == 0 && strcmp((*end)->name, name) == 0)
                        return;
        *end = MEM_NEW(struct chore);
        **end = (struct chore){k, mem_string(ns), mem_string(name), NULL};
}

static void chore_free(struct chore *c)
{
        mem_free(c->ns);
        mem_free(c->name);
        mem_free(c);
}

void controllers_release(struct fake *f)
{
        while (f->chore) {
                struct chore *first = f->chore;
                f->chore = first->next;
                chore_free(first);
        }
}

static bool is_ours(const struct kind *k)
{
        static const char *const ours[] = {"Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"};
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
                if (!k->custom && strcmp(k->name, ours[i]) == 0)
                        return true;
        return false;
}

static const json_t *controller_of(const json_t *object)
{
        size_t i;
        json_t *ref;
        json_array_foreach(json_at(object, "metadata.ownerReferences"), i,
                           ref) if (json_is_true(json_object_get(ref, "controller"))) return ref;
        return NULL;
}

void controllers_note(struct fake *f, const struct kind *k, const json_t *object)
{
        if (f->options.controllers == FAKE_CONTROLLERS_OFF || !is_ours(k))
                return;
        chore_add(f, fake_kind_find(f, k->group, k->version, k->plural), object_ns(object), object_name(object));
        const json_t *owner = controller_of(object);
        struct kind *of = owner ? kind_named(f, text_at(owner, "apiVersion"), text_at(owner, "kind")) : NULL;
        if (of && is_ours(of))
                chore_add(f, of, object_ns(object), text_at(owner, "name"));
}

/* --- helpers --- */

static void write_object(struct fake *f, struct kind *k, json_t *object)
{
        const struct version *v = store_write(f, k, object);
        controllers_note(f, k, v->object);
}

static json_int_t number_at(const json_t *o, const char *path, json_int_t otherwise)
{
        const json_t *v = json_at(o, path);
        return v ? json_integer_value(v) : otherwise;
}

static char *template_hash(const json_t *owner)
{
        static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
        AUTO(json_decref) json_t *template = json_deep_copy(json_at(owner, "spec.template"));
        json_object_del(json_at(template, "metadata.labels"), "pod-template-hash");
        char *text = json_dumps(template, JSON_COMPACT | JSON_SORT_KEYS), *hash = mem_new(11);
        uint64_t h = 0xcbf29ce484222325u;
        for (const char *p = text; *p; p++)
                h = (h ^ (unsigned char)*p) * 0x100000001b3u;
        for (size_t i = 0; i < 10; i++, h /= sizeof letters - 1)
                hash[i] = letters[h % (sizeof letters - 1)];
        free(text);
        return hash;
}

/* The first object at or after *at in the run of those whose names begin with "owner-" and that belong to the owner. */
static const json_t *next_owned(const struct kind *k, const json_t *owner, size_t *at)
{
        AUTO(mem_free) char *prefix = mem_printf("%s/%s-", object_ns(owner), object_name(owner));
        size_t low = store_lower(k, prefix);
        for (*at = *at < low ? low : *at; *at < k->count; (*at)++) {
                if (strncmp(k->object[*at].key, prefix, strlen(prefix)) != 0)
                        return NULL;
                const json_t *o = k->object[*at].version->object, *ref = controller_of(o);
                if (ref && strcmp(text_at(ref, "uid"), text_at(owner, "metadata.uid")) == 0) {
                        (*at)++;
                        return o;
                }
        }
        return NULL;
}

static const char *label(const json_t *object, const char *name)
{
        const char *s = json_string_value(json_object_get(json_at(object, "metadata.labels"), name));
        return s ? s : "";
}

static json_t *owner_references(const struct kind *k, const json_t *owner)
{
        struct buf av = {0};
        buf_init(&av, 512);
        json_t *refs = json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", kind_api_version(k, &av), "kind",
                                 k->name, "name", object_name(owner), "uid", text_at(owner, "metadata.uid"),
                                 "controller", true, "blockOwnerDeletion", true);
        buf_release(&av);
        return refs;
}

/* Write a status unless it is there already; true when it was written. */
static bool write_status(struct fake *f, struct kind *k, const json_t *object, json_t *status)
{
        json_object_set(status, "observedGeneration", json_at(object, "metadata.generation"));
        if (json_same(json_object_get(object, "status"), status)) {
                json_decref(status);
                return false;
        }
        json_t *copy = json_deep_copy(object);
        json_object_set_new(copy, "status", status);
        write_object(f, k, copy);
        return true;
}

/* A condition; the time moves only with the status. */
static json_t *condition(struct fake *f, const json_t *object, const char *type, bool holds, const char *reason)
{
        const char *status = holds ? "True" : "False";
        json_t *time = NULL, *old;
        size_t i;
        json_array_foreach(json_at(object, "status.conditions"), i,
                           old) if (strcmp(text_at(old, "type"), type) == 0 &&
                                    strcmp(text_at(old, "status"), status) == 0) time =
                json_incref(json_object_get(old, "lastTransitionTime"));
        return json_pack("{s:s, s:s, s:s, s:o}", "type", type, "status", status, "reason", reason, "lastTransitionTime",
                         time ? time : fake_time(f));
}

/* --- pods --- */

static json_t *container_statuses(struct fake *f, const json_t *pod, const json_t *containers)
{
        json_t *list = json_array(), *c;
        size_t i;
        json_array_foreach(containers, i, c)
        {
                AUTO(mem_free)
                char *id = mem_printf("containerd://%016" PRIx64, fake_random(f, object_ns(pod), object_name(pod)));
                json_array_append_new(list, json_pack("{s:s, s:b, s:b, s:i, s:s, s:s, s:{s:{s:o}}, s:{}}", "name",
                                                      text_at(c, "name"), "ready", true, "started", true,
                                                      "restartCount", 0, "image", text_at(c, "image"), "containerID",
                                                      id, "state", "running", "startedAt", fake_time(f), "lastState"));
        }
        return list;
}

static json_t *running(struct fake *f, const json_t *pod)
{
        json_t *status = json_pack("{s:s, s:s, s:o, s:[{s:s, s:s, s:o}], s:o}", "phase", "Running", "qosClass",
                                   "Burstable", "startTime", fake_time(f), "conditions", "type", "Ready", "status",
                                   "True", "lastTransitionTime", fake_time(f), "containerStatuses",
                                   container_statuses(f, pod, json_at(pod, "spec.containers")));
        if (json_at(pod, "spec.initContainers"))
                json_object_set_new(status, "initContainerStatuses",
                                    container_statuses(f, pod, json_at(pod, "spec.initContainers")));
        return status;
}

static void pod_create(struct fake *f, const struct kind *of, const json_t *owner, const char *name,
                       const char *hash_label, const char *hash)
{
        struct kind *pods = fake_kind_find(f, "", "v1", "pods");
        json_t *pod = json_deep_copy(json_at(owner, "spec.template")), *meta = json_object_get(pod, "metadata");
        if (!meta) {
                meta = json_object();
                json_object_set_new(pod, "metadata", meta);
        }
        if (!json_object_get(meta, "labels"))
                json_object_set_new(meta, "labels", json_object());
        json_object_set_new(json_object_get(meta, "labels"), hash_label, json_string(hash));
        json_object_del(meta, "creationTimestamp");
        json_object_set_new(meta, "name", json_string(name));
        json_object_set_new(meta, "namespace", json_string(object_ns(owner)));
        json_object_set_new(meta, "ownerReferences", owner_references(of, owner));
        object_begin(f, pod);
        defaults_set(pods, pod);
        json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string("node-0"));
        json_object_set_new(pod, "status", running(f, pod));
        write_object(f, pods, pod);
}

static void pod_create_random(struct fake *f, const struct kind *of, const json_t *owner, const char *hash_label,
                              const char *hash)
{
        static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
        char tail[6] = {0};
        for (size_t i = 0; i < 5; i++)
                tail[i] = letters[fake_random(f, object_ns(owner), object_name(owner)) % (sizeof letters - 1)];
        AUTO(mem_free) char *name = mem_printf("%s-%s", object_name(owner), tail);
        pod_create(f, of, owner, name, hash_label, hash);
}

static void pod_delete(struct fake *f, const json_t *pod)
{
        AUTO(mem_free) char *ns = mem_string(object_ns(pod)), *name = mem_string(object_name(pod));
        delete_cascade(f, fake_kind_find(f, "", "v1", "pods"), ns, name);
}

/* The kubelet: a pod that somebody made by hand comes to run. */
static bool look_at_pod(struct fake *f, struct kind *k, const json_t *pod)
{
        if (json_at(pod, "status.phase"))
                return false;
        json_t *copy = json_deep_copy(pod);
        json_object_set_new(json_object_get(copy, "spec"), "nodeName", json_string("node-0"));
        json_object_set_new(copy, "status", running(f, pod));
        write_object(f, k, copy);
        return true;
}

/* --- ReplicaSet --- */

static bool look_at_replicaset(struct fake *f, struct kind *k, const json_t *rs)
{
        const struct kind *pods = fake_kind_find(f, "", "v1", "pods");
        json_int_t want = number_at(rs, "spec.replicas", 1), have = 0;
        const json_t *pod, *last = NULL;
        for (size_t at = 0; (pod = next_owned(pods, rs, &at)); have++)
                last = pod;
        if (have < want) {
                const char *hash = label(rs, "pod-template-hash");
                pod_create_random(f, k, rs, "pod-template-hash", hash);
                return true;
        }
        if (have > want) {
                pod_delete(f, last);
                return true;
        }
        return write_status(f, k, rs,
                            json_pack("{s:I, s:I, s:I, s:I}", "replicas", have, "fullyLabeledReplicas", have,
                                      "readyReplicas", have, "availableReplicas", have));
}

/* --- Deployment --- */

static const char revision[] = "deployment.kubernetes.io/revision";

static json_int_t revision_of(const json_t *object)
{
        const char *s = json_string_value(json_object_get(json_at(object, "metadata.annotations"), revision));
        return s ? strtoll(s, NULL, 10) : 0;
}

static void set_revision(json_t *object, json_int_t number)
{
        json_t *meta = json_object_get(object, "metadata");
        AUTO(mem_free) char *text = mem_printf("%lld", (long long)number);
        if (!json_object_get(meta, "annotations"))
                json_object_set_new(meta, "annotations", json_object());
        json_object_set_new(json_object_get(meta, "annotations"), revision, json_string(text));
}

static void replicaset_create(struct fake *f, const struct kind *k, struct kind *sets, const json_t *d,
                              const char *hash, json_int_t number)
{
        AUTO(mem_free) char *name = mem_printf("%s-%s", object_name(d), hash);
        json_t *template = json_deep_copy(json_at(d, "spec.template")),
               *selector = json_deep_copy(json_at(d, "spec.selector"));
        json_t *labels = json_at(template, "metadata.labels");
        json_object_set_new(labels, "pod-template-hash", json_string(hash));
        json_object_set_new(json_object_get(selector, "matchLabels"), "pod-template-hash", json_string(hash));
        json_t *rs = json_pack("{s:{s:s, s:s, s:o*, s:o}, s:{s:i, s:o, s:o}, s:{s:i}}", "metadata", "name", name,
                               "namespace", object_ns(d), "labels", json_deep_copy(labels), "ownerReferences",
                               owner_references(k, d), "spec", "replicas", 0, "selector", selector, "template",
                               template, "status", "replicas", 0);
        assert(rs);
        object_begin(f, rs);
        set_revision(rs, number);
        write_object(f, sets, rs);
}

static void scale_set(struct fake *f, struct kind *sets, const json_t *rs, json_int_t replicas)
{
        json_t *copy = json_deep_copy(rs);
        json_object_set_new(json_object_get(copy, "spec"), "replicas", json_integer(replicas));
        json_object_set_new(json_object_get(copy, "metadata"), "generation",
                            json_integer(number_at(rs, "metadata.generation", 1) + 1));
        write_object(f, sets, copy);
}

struct rollout {
        const json_t *new, *old; /* old: one that still has replicas */
        const json_t *oldest;    /* of those without, kept as history */
        json_int_t total, highest, history;
};

static void count_history(struct rollout *r, const json_t *rs)
{
        r->history++;
        if (!r->oldest || revision_of(rs) < revision_of(r->oldest))
                r->oldest = rs;
}

static struct rollout rollout_of(const struct kind *sets, const json_t *d, const char *hash)
{
        struct rollout r = {0};
        const json_t *rs;
        for (size_t at = 0; (rs = next_owned(sets, d, &at));) {
                bool is_new = strcmp(label(rs, "pod-template-hash"), hash) == 0;
                if (revision_of(rs) > r.highest)
                        r.highest = revision_of(rs);
                r.total += number_at(rs, "spec.replicas", 0);
                if (is_new)
                        r.new = rs;
                else if (number_at(rs, "spec.replicas", 0) > 0)
                        r.old = rs;
                else if (number_at(rs, "status.replicas", 0) == 0)
                        count_history(&r, rs);
        }
        return r;
}

/* The revision in use is the highest, also when an older template has come back. */
static bool stamp_revision(struct fake *f, struct kind *k, struct kind *sets, const json_t *d, const struct rollout *r)
{
        if (revision_of(r->new) < r->highest) {
                json_t *copy = json_deep_copy(r->new);
                set_revision(copy, r->highest + 1);
                write_object(f, sets, copy);
                return true;
        }
        if (revision_of(d) == revision_of(r->new))
                return false;
        json_t *copy = json_deep_copy(d);
        set_revision(copy, revision_of(r->new));
        write_object(f, k, copy);
        return true;
}

static bool deployment_status(struct fake *f, struct kind *k, const json_t *d, const struct rollout *r, json_int_t want)
{
        json_int_t updated = r->new ? number_at(r->new, "status.replicas", 0) : 0, all = updated;
        if (r->old)
                all += number_at(r->old, "status.replicas", 0);
        bool done = updated == want && all == want;
        json_t *status = json_pack(
                "{s:I, s:I, s:I, s:I, s:[o,o]}", "replicas", all, "updatedReplicas", updated, "readyReplicas", all,
                "availableReplicas", all, "conditions", condition(f, d, "Available", true, "MinimumReplicasAvailable"),
                condition(f, d, "Progressing", true, done ? "NewReplicaSetAvailable" : "ReplicaSetUpdated"));
        if (all < want)
                json_object_set_new(status, "unavailableReplicas", json_integer(want - all));
        return write_status(f, k, d, status);
}

static void forget_set(struct fake *f, struct kind *sets, const json_t *rs)
{
        AUTO(mem_free) char *ns = mem_string(object_ns(rs)), *name = mem_string(object_name(rs));
        delete_cascade(f, sets, ns, name);
}

static bool look_at_deployment(struct fake *f, struct kind *k, const json_t *d)
{
        struct kind *sets = fake_kind_find(f, "apps", "v1", "replicasets");
        AUTO(mem_free) char *hash = template_hash(d);
        struct rollout r = rollout_of(sets, d, hash);
        json_int_t want = number_at(d, "spec.replicas", 1), new = r.new ? number_at(r.new, "spec.replicas", 0) : 0;
        bool paused = json_is_true(json_at(d, "spec.paused"));
        bool surge = strcmp(text_at(d, "spec.strategy.type"), "Recreate") != 0;
        if (paused)
                return deployment_status(f, k, d, &r, want);
        if (!r.new) {
                replicaset_create(f, k, sets, d, hash, r.highest + 1);
                return true;
        }
        if (stamp_revision(f, k, sets, d, &r) || deployment_status(f, k, d, &r, want))
                return true;
        if (new > want)
                scale_set(f, sets, r.new, want);
        else if (new < want && r.total <= want && (surge || !r.old))
                scale_set(f, sets, r.new, r.old ? new + 1 : want);
        else if (r.old)
                scale_set(f, sets, r.old, number_at(r.old, "spec.replicas", 0) - 1);
        else if (r.history > number_at(d, "spec.revisionHistoryLimit", 10))
                forget_set(f, sets, r.oldest);
        else
                return false;
        return true;
}

/* --- StatefulSet and DaemonSet --- */

static bool rolling(const json_t *object)
{
        return strcmp(text_at(object, "spec.updateStrategy.type"), "OnDelete") != 0;
}

static bool look_at_statefulset(struct fake *f, struct kind *k, const json_t *s)
{
        const struct kind *pods = fake_kind_find(f, "", "v1", "pods");
        AUTO(mem_free) char *hash = template_hash(s);
        AUTO(mem_free) char *current = mem_printf("%s-%s", object_name(s), hash);
        json_int_t want = number_at(s, "spec.replicas", 1),
                   partition = number_at(s, "spec.updateStrategy.rollingUpdate.partition", 0);
        json_int_t updated = 0, have = 0;
        const json_t *pod, *old = NULL;
        for (json_int_t i = 0; i < want; i++) {
                AUTO(mem_free) char *name = mem_printf("%s-%lld", object_name(s), (long long)i);
                const struct object *slot = store_find(pods, object_ns(s), name);
                if (!slot) {
                        pod_create(f, k, s, name, "controller-revision-hash", current);
                        return true;
                }
                have++;
                if (strcmp(label(slot->version->object, "controller-revision-hash"), current) == 0)
                        updated++;
                else if (i >= partition)
                        old = slot->version->object;
        }
        for (size_t at = 0; (pod = next_owned(pods, s, &at));) {
                const char *dash = strrchr(object_name(pod), '-');
                if (strtoll(dash + 1, NULL, 10) >= want)
                        old = pod;
        }
        if (old && (rolling(s) || strtoll(strrchr(object_name(old), '-') + 1, NULL, 10) >= want)) {
                pod_delete(f, old);
                return true;
        }
        return write_status(f, k, s,
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:s}", "replicas", have, "readyReplicas", have,
                                      "availableReplicas", have, "currentReplicas", updated, "updatedReplicas", updated,
                                      "currentRevision", current, "updateRevision", current));
}

static json_int_t node_count(const struct fake *f)
{
        size_t n = fake_kind_find(f, "", "v1", "nodes")->count;
        return n ? (json_int_t)n : 2;
}

static bool look_at_daemonset(struct fake *f, struct kind *k, const json_t *ds)
{
        const struct kind *pods = fake_kind_find(f, "", "v1", "pods");
        AUTO(mem_free) char *hash = template_hash(ds);
        json_int_t want = node_count(f), have = 0, updated = 0;
        const json_t *pod, *old = NULL, *last = NULL;
        for (size_t at = 0; (pod = next_owned(pods, ds, &at)); have++) {
                last = pod;
                if (strcmp(label(pod, "controller-revision-hash"), hash) == 0)
                        updated++;
                else
                        old = pod;
        }
        if (have < want) {
                pod_create_random(f, k, ds, "controller-revision-hash", hash);
                return true;
        }
        if (have > want || (old && rolling(ds))) {
                pod_delete(f, old ? old : last);
                return true;
        }
        return write_status(f, k, ds,
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:i}", "desiredNumberScheduled", want,
                                      "currentNumberScheduled", have, "numberReady", have, "numberAvailable", have,
                                      "updatedNumberScheduled", updated, "numberMisscheduled", 0));
}

/* --- running --- */

static bool look(struct fake *f, struct kind *k, const char *ns, const char *name)
{
        static const struct {
                const char *kind;
                bool (*look)(struct fake *f, struct kind *k, const json_t *object);
        } table[] = {{"Pod", look_at_pod},
                     {"ReplicaSet", look_at_replicaset},
                     {"Deployment", look_at_deployment},
                     {"StatefulSet", look_at_statefulset},
                     {"DaemonSet", look_at_daemonset}};
        const struct object *slot = store_find(k, ns, name);
        if (!slot || json_at(slot->version->object, "metadata.deletionTimestamp"))
                return false;
        struct version *v = version_take(slot->version);
        bool changed = false;
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (strcmp(table[i].kind, k->name) == 0)
                        changed = table[i].look(f, k, v->object);
        version_drop(v);
        return changed;
}

/* Look at workloads in line until something was changed; false: nothing was left to do. */
static bool controllers_step(struct fake *f)
{
        while (f->chore) {
                struct chore *first = f->chore;
                f->chore = first->next;
                bool changed = look(f, first->kind, first->ns, first->name);
                if (changed)
                        chore_add(f, first->kind, first->ns, first->name);
                chore_free(first);
                if (changed)
                        return true;
        }
        return false;
}

void controllers_run(struct fake *f)
{
        while (f->options.controllers == FAKE_CONTROLLERS_AUTO && controllers_step(f))
                continue;
}

void fake_step(struct fake *f)
{
        fake_lock(f);
        controllers_step(f);
        fake_unlock(f);
}

void fake_settle(struct fake *f)
{
        fake_lock(f);
        while (controllers_step(f))
                continue;
        fake_unlock(f);
}
