/*
 * Autoscalers in the rendered texts, which will be deployed together with the workloads that they scale; and the
 * cluster's autoscalers, since they will count pods of rendered workloads.
 */
#include "core/kind.h"
#include "render_private.h"

enum { METRICS_MAX = 64 };

static struct text render_autoscaler_key_of(struct text ns, struct text group, struct text kind, struct text name,
                                            struct arena *a)
{
        const struct text part[] = {ns, group, kind, name};
        size_t len = ns.len + group.len + kind.len + name.len + 4;
        char *key = arena_new(a, len), *at = key;
        for (int i = 0; i < 4; i++) {
                if (part[i].len)
                        memcpy(at, part[i].p, part[i].len);
                at += part[i].len;
                *at++ = '/';
        }
        return (struct text){key, len};
}

static enum resource render_autoscaler_resource_of(struct text name)
{
        return text_is(name, "cpu") ? CPU : text_is(name, "memory") ? MEMORY : RESOURCES;
}

static void render_autoscaler_mark(bool utilization[static RESOURCES], enum resource r)
{
        if (r < RESOURCES)
                utilization[r] = true;
}

static void mark_all(bool utilization[static RESOURCES])
{
        utilization[CPU] = utilization[MEMORY] = true;
}

/* --- HorizontalPodAutoscaler --- */

static bool render_autoscaler_knows(struct text type)
{
        static const char *const types[] = {"Resource", "ContainerResource", "Pods", "Object", "External"};
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
                if (text_is(type, types[i]))
                        return true;
        return false;
}

/* Read a metric of autoscaling/v2 or v2beta1. A metric of an unknown type may scale by any resource, so both count. */
static void render_autoscaler_read_metric(const struct doc *d, uint32_t metric, bool ret[static RESOURCES])
{
        static const char *const sources[] = {"resource", "containerResource"};
        if (!render_autoscaler_knows(render_text(d, metric, "type")))
                mark_all(ret);
        for (int i = 0; i < 2; i++) {
                uint32_t source = render_at(d, metric, sources[i]);
                if (text_is(render_text(d, render_at(d, source, "target"), "type"), "Utilization") ||
                    render_at(d, source, "targetAverageUtilization") != DOC_NONE)
                        render_autoscaler_mark(ret, render_autoscaler_resource_of(render_text(d, source, "name")));
        }
}

/* Read an HPA's metrics. Without metrics the API server assumes one for cpu. In v1 an annotation may hold further
 * metrics; it is not parsed, so both resources count. */
static void read_hpa(const struct doc *d, uint32_t root, uint32_t spec, bool ret[static RESOURCES])
{
        uint32_t metric[METRICS_MAX];
        uint32_t notes = render_at(d, render_at(d, root, "metadata"), "annotations");
        int n = doc_items(d, render_at(d, spec, "metrics"), METRICS_MAX, metric, NULL);
        if (n < 0 || render_at(d, notes, "autoscaling.alpha.kubernetes.io/metrics") != DOC_NONE)
                mark_all(ret);
        else if (n == 0)
                render_autoscaler_mark(ret, CPU);
        for (int i = 0; i < n; i++)
                render_autoscaler_read_metric(d, metric[i], ret);
}

/* --- KEDA --- */

static void read_scaled_object(const struct doc *d, uint32_t spec, bool ret[static RESOURCES])
{
        uint32_t trigger[METRICS_MAX];
        int n = doc_items(d, render_at(d, spec, "triggers"), METRICS_MAX, trigger, NULL);
        if (n < 0)
                mark_all(ret);
        for (int i = 0; i < n; i++) {
                struct text type = render_text(d, trigger[i], "metricType");
                if (type.len == 0) /* the field's place before KEDA 2.7 */
                        type = render_text(d, render_at(d, trigger[i], "metadata"), "type");
                if (text_is(type, "Utilization"))
                        render_autoscaler_mark(ret, render_autoscaler_resource_of(render_text(d, trigger[i], "type")));
        }
}

/* --- VerticalPodAutoscaler --- */

static void vpa_add_policy(const struct doc *d, uint32_t policy, struct vpa_policy *to)
{
        uint32_t controlled = render_at(d, policy, "controlledResources"), name[METRICS_MAX];
        bool sets[RESOURCES] = {true, true};
        int names = doc_items(d, controlled, METRICS_MAX, name, NULL);
        if (names >= 0 && doc_type(d, controlled) == DOC_SEQUENCE)
                sets[CPU] = sets[MEMORY] = false;
        for (int i = 0; i < names; i++)
                render_autoscaler_mark(sets, render_autoscaler_resource_of(doc_text(d, name[i])));
        if (text_is(render_text(d, policy, "mode"), "Off"))
                sets[CPU] = sets[MEMORY] = false;
        vpa_policy_add(to, render_text(d, policy, "containerName"), sets);
}

/* Read which requests a VPA sets, by the same rules as decode_vpa. */
static void read_vpa_policies(struct scalers *s, const struct doc *d, uint32_t spec, struct scaler *ret)
{
        uint32_t policy[VPA_POLICY_ROWS],
                list = render_at(d, render_at(d, spec, "resourcePolicy"), "containerPolicies");
        struct vpa_policy *left = arena_new(&s->arena, sizeof *left + VPA_POLICY_ROWS * sizeof left->row[0]);
        int n = doc_items(d, list, VPA_POLICY_ROWS, policy, NULL); /* < 0, too many: the VPA may set any request */
        vpa_policy_begin(left);
        for (int i = 0; i < n; i++)
                vpa_add_policy(d, policy[i], left);
        bool off = text_is(render_text(d, render_at(d, spec, "updatePolicy"), "updateMode"), "Off");
        ret->sets_requests = vpa_policy_settle(left) && !off;
        if (ret->sets_requests && !vpa_policy_sets_all(left)) /* the copy does not point into the document */
                ret->left = vpa_policy_copy(left, arena_new(&s->arena, vpa_policy_size(left)));
}

/* --- Rollouts that run another workload's template --- */

static void read_rollout(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text ns)
{
        uint32_t ref = render_at(d, render_at(d, o->root, "spec"), "workloadRef");
        struct text group = kind_group(render_text(d, ref, "apiVersion")), kind = render_text(d, ref, "kind");
        if (!kind_runs_by_reference(group, kind))
                return;
        struct text *by = arena_new(&s->arena, sizeof *by);
        *by = render_autoscaler_key_of(ns, kind_group(o->api_version), o->kind, o->name, &s->arena);
        map_put(&s->ran_by, render_autoscaler_key_of(ns, group, kind, render_text(d, ref, "name"), &s->arena), by);
}

/* --- all objects --- */

void scalers_add(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns)
{
        struct text group = kind_group(o->api_version);
        bool hpa = text_is(group, "autoscaling") && text_is(o->kind, "HorizontalPodAutoscaler");
        bool scaled_object = text_is(group, "keda.sh") && text_is(o->kind, "ScaledObject");
        bool vpa = text_is(group, "autoscaling.k8s.io") && text_is(o->kind, "VerticalPodAutoscaler");
        struct scaler found = {0};
        if (text_is(group, "argoproj.io") && text_is(o->kind, "Rollout"))
                read_rollout(s, d, o, o->namespace.len ? o->namespace : default_ns);
        if (!hpa && !scaled_object && !vpa)
                return;
        uint32_t spec = render_at(d, o->root, "spec"), ref = render_at(d, spec, vpa ? "targetRef" : "scaleTargetRef");
        if (vpa)
                read_vpa_policies(s, d, spec, &found);
        else if (hpa)
                read_hpa(d, o->root, spec, found.utilization);
        else
                read_scaled_object(d, spec, found.utilization);
        struct text version = render_text(d, ref, "apiVersion"), kind = render_text(d, ref, "kind");
        if (scaled_object && version.len == 0)
                version = TEXT("apps/v1");
        if (scaled_object && kind.len == 0)
                kind = TEXT("Deployment");
        struct text key = render_autoscaler_key_of(o->namespace.len ? o->namespace : default_ns, kind_group(version),
                                                   kind, render_text(d, ref, "name"), &s->arena);
        struct scaler *to = map_get(&s->of, key);
        if (!to) {
                to = arena_new(&s->arena, sizeof *to);
                map_put(&s->of, key, to);
        }
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->utilization[r] |= found.utilization[r];
        if (found.sets_requests) /* of two VPAs in the input, nobody knows which one wins */
                to->left = to->sets_requests ? NULL : found.left;
        to->sets_requests |= found.sets_requests;
        if (!vpa)
                counting_add(s, o->namespace.len ? o->namespace : default_ns, key, to->utilization, NULL);
}

void scalers_add_of_cluster(struct scalers *s, const struct snapshot *v, struct text ns)
{
        for (size_t i = 0; i < v->hpas; i++) {
                const struct snapshot_hpa *h = &v->hpa[i];
                struct text of = text_of(h->ns);
                if ((h->utilization[CPU] || h->utilization[MEMORY]) && (ns.len == 0 || text_equal(of, ns)))
                        counting_add(s, of,
                                     render_autoscaler_key_of(of, text_of(h->group), text_of(h->kind), text_of(h->name),
                                                              &s->arena),
                                     h->utilization, h);
        }
}

void scalers_add_selector(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns)
{
        if (s->counting.count)
                counting_add_selector(s, d, o,
                                      render_autoscaler_key_of(o->namespace.len ? o->namespace : default_ns,
                                                               kind_group(o->api_version), o->kind, o->name,
                                                               &s->arena));
}

void scalers_mark_counted(struct scalers *s, struct deploy_subject *of, const struct label_pair *label, size_t labels,
                          struct arena *scratch)
{
        if (s->counting.count == 0)
                return;
        struct text key = render_autoscaler_key_of(of->ns, of->group, of->kind, of->name, scratch);
        const struct text *by = map_get(&s->ran_by, key);
        counting_mark(s, (const struct text[2]){key, by ? *by : key}, label, labels, of);
}

const struct scaler *scalers_find(const struct scalers *s, struct text ns, struct text group, struct text kind,
                                  struct text name, struct arena *scratch)
{
        if (s->of.count == 0)
                return NULL;
        struct text key = render_autoscaler_key_of(ns, group, kind, name, scratch);
        const struct scaler *own = map_get(&s->of, key);
        const struct text *by = own || s->ran_by.count == 0 ? NULL : map_get(&s->ran_by, key);
        return by ? map_get(&s->of, *by) : own;
}

void scalers_release(struct scalers *s)
{
        map_release(&s->of);
        map_release(&s->ran_by);
        map_release(&s->counting);
        map_release(&s->selector);
        arena_release(&s->arena);
}
