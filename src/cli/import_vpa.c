/*
 * Imports the checkpoints of a Vertical Pod Autoscaler. The command reads them with its user's permissions, so the
 * controller needs no permission to read them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/yaml.h"
#include "core/amount.h"
#include "core/vpa_checkpoint.h"
#include "import.h"
#include "kube/known_resource.h"
#include "list_client.h"
#include "recommendation_ask.h"
#include "terminal.h"

static const char *import_vpa_text_at(const json_t *object, const char *a, const char *b)
{
        const char *s = json_string_value(json_object_get(json_object_get(object, a), b));
        return s ? s : "";
}

/* --- a checkpoint --- */

static int import_vpa_read_time(const json_t *of, const char *key, struct wall *ret, struct err *err)
{
        const char *text = json_string_value(json_object_get(of, key));
        ret->ms = 0;
        if (!text || strncmp(text, "0001-01-01", 10) == 0) /* Go's zero time means that no time is known */
                return 0;
        if (wall_parse(text, strlen(text), ret) < 0 || ret->ms < 0)
                return err_set(err, ERR_INVALID, "%s '%.40s' is not a time since 1970", key, text);
        return 0;
}

static int read_bucket(const char *index, const json_t *value, uint16_t weight[static HISTOGRAM_BUCKETS],
                       struct err *err)
{
        char *end;
        long n = strtol(index, &end, 10);
        json_int_t w = json_integer_value(value);
        if (end == index || *end || n < 0 || n >= HISTOGRAM_BUCKETS)
                return err_set(err, ERR_INVALID, "bucket '%.20s' is not one of 0 to %d", index, HISTOGRAM_BUCKETS - 1);
        if (!json_is_integer(value) || w < 0 || w > VPA_WEIGHT_MOST)
                return err_set(err, ERR_INVALID, "the weight of bucket %ld is not a whole number from 0 to %d", n,
                               VPA_WEIGHT_MOST);
        weight[n] = (uint16_t)w;
        return 0;
}

static int read_histogram(const json_t *status, const char *name, struct vpa_histogram *ret, struct err *err)
{
        const json_t *of = json_object_get(status, name), *total = json_object_get(of, "totalWeight");
        const char *index;
        json_t *weight;
        int rc = import_vpa_read_time(of, "referenceTimestamp", &ret->reference, err);
        ret->total = json_number_value(total);
        if (rc == 0 && total && !json_is_number(total))
                rc = err_set(err, ERR_INVALID, "totalWeight is not a number");
        json_object_foreach(json_object_get(of, "bucketWeights"), index, weight)
        {
                if (rc == 0)
                        rc = read_bucket(index, weight, ret->weight, err);
        }
        return rc < 0 ? err_wrap(err, "%s", name) : 0;
}

int import_vpa_read(const json_t *status, struct vpa_checkpoint *ret, struct err *err)
{
        static const char *const name[RESOURCES] = {[CPU] = "cpuHistogram", [MEMORY] = "memoryHistogram"};
        const char *version = json_string_value(json_object_get(status, "version"));
        const json_t *samples = json_object_get(status, "totalSamplesCount");
        struct vpa_checkpoint v = {.samples = json_integer_value(samples)};
        if (!version || strcmp(version, "v3") != 0)
                return err_set(err, ERR_INVALID, "its version is '%.16s', but halflife reads only v3",
                               version ? version : "");
        if (samples && !json_is_integer(samples))
                return err_set(err, ERR_INVALID, "totalSamplesCount is not a whole number");
        int rc = import_vpa_read_time(status, "firstSampleStart", &v.first, err);
        if (rc == 0)
                rc = import_vpa_read_time(status, "lastSampleStart", &v.last, err);
        for (int r = 0; r < RESOURCES && rc == 0; r++)
                rc = read_histogram(status, name[r], &v.of[r], err);
        if (rc == 0)
                *ret = v;
        return rc;
}

/* --- the workload of a checkpoint --- */

struct vpa_target {
        char *ns, *api_version, *kind, *name;
        bool wanted; /* the workload has a checkpoint, and no Recommendation yet */
        char *why;   /* why the workload gets no Recommendation; NULL: it may get one */
        char key[];  /* namespace and name of the VPA: "ns/name" */
};

/* The CPU requests of a Recommendation's containers, by which CPU samples of VPA get the weight of halflife's own
 * samples. */
struct rec {
        json_t *cores; /* cores of each container that has a CPU request */
        char key[];    /* namespace and name of the Recommendation: "ns/name" */
};

struct reading {
        struct importing *im;
        const struct import_vpa_scope *scope;
        struct map vpas; /* struct vpa_target of each VPA, by its key */
        struct map recs; /* struct rec of each Recommendation with the wanted labels, by its key */
        size_t met;      /* number of checkpoints within the scope */
};

static int take_vpa(void *arg, json_t *item, struct err *err)
{
        struct reading *r = arg;
        const char *ns = import_vpa_text_at(item, "metadata", "namespace"),
                   *name = import_vpa_text_at(item, "metadata", "name");
        const json_t *ref = json_object_get(json_object_get(item, "spec"), "targetRef");
        const char *api = json_string_value(json_object_get(ref, "apiVersion"));
        const char *kind = json_string_value(json_object_get(ref, "kind"));
        const char *of = json_string_value(json_object_get(ref, "name"));
        (void)err;
        AUTO(mem_free) char *key = mem_printf("%s/%s", ns, name);
        if (!kind || !of || !*kind || !*of || map_get(&r->vpas, text_of(key)))
                return 0;
        struct vpa_target *v = mem_new(sizeof *v + strlen(key) + 1);
        *v = (struct vpa_target){.ns = mem_string(ns),
                                 .api_version = mem_string(api ? api : ""),
                                 .kind = mem_string(kind),
                                 .name = mem_string(of)};
        memcpy(v->key, key, strlen(key) + 1);
        map_put(&r->vpas, (struct text){v->key, strlen(key)}, v);
        return 0;
}

static json_t *cores_of(const json_t *recommendation)
{
        json_t *all = json_object(), *one;
        size_t i;
        json_array_foreach(json_object_get(json_object_get(recommendation, "status"), "containers"), i, one)
        {
                struct amount original = {0};
                const char *name = json_string_value(json_object_get(one, "name"));
                (void)amount_parse(text_of(import_vpa_text_at(one, "cpu", "original")), CPU, &original);
                if (name && original.set)
                        json_object_set_new(all, name, json_real((double)original.value / 1000));
        }
        return all;
}

static int take_rec(void *arg, json_t *item, struct err *err)
{
        struct reading *r = arg;
        AUTO(mem_free)
        char *key = mem_printf("%s/%s", import_vpa_text_at(item, "metadata", "namespace"),
                               import_vpa_text_at(item, "metadata", "name"));
        size_t len = strlen(key);
        (void)err;
        if (map_get(&r->recs, text_of(key)))
                return 0;
        struct rec *rec = mem_new(sizeof *rec + len + 1);
        rec->cores = cores_of(item);
        memcpy(rec->key, key, len + 1);
        map_put(&r->recs, (struct text){rec->key, len}, rec);
        return 0;
}

static bool import_vpa_is_named(const struct reading *r, const struct vpa_target *v)
{
        const struct import_vpa_scope *s = r->scope;
        struct text group = kind_group(text_of(v->api_version));
        for (int i = 0; i < s->words; i++)
                if (workload_is(&s->word[i], group, text_of(v->kind), text_of(v->name)))
                        return true;
        return s->words == 0;
}

static void vpa_target_recommendation(const struct vpa_target *v, char ret[static KIND_NAME_MAX])
{
        kind_recommendation_name(kind_group(text_of(v->api_version)), text_of(v->kind), text_of(v->name), ret);
}

static const struct rec *rec_of(const struct reading *r, const struct vpa_target *v)
{
        char name[KIND_NAME_MAX];
        vpa_target_recommendation(v, name);
        AUTO(mem_free) char *key = mem_printf("%s/%s", v->ns, name);
        return map_get(&r->recs, text_of(key));
}

static void import_vpa_refuse(struct importing *im, const json_t *item, const char *why)
{
        AUTO(mem_free)
        char *line = mem_printf("%s checkpoint/%s %s: refused: %s", import_vpa_text_at(item, "metadata", "namespace"),
                                import_vpa_text_at(item, "metadata", "name"),
                                import_vpa_text_at(item, "spec", "containerName"), why);
        puts(terminal_tame(line));
        im->refused++;
}

static int hand_over(struct reading *r, const json_t *item, const struct vpa_target *v, const struct rec *rec,
                     struct err *err)
{
        const char *ns = import_vpa_text_at(item, "metadata", "namespace"),
                   *container = import_vpa_text_at(item, "spec", "containerName");
        double room[2 * HISTOGRAM_BUCKETS], cores = json_real_value(json_object_get(rec->cores, container));
        struct vpa_checkpoint checkpoint;
        struct transfer_row row = {.key = {text_of(ns), kind_group(text_of(v->api_version)), text_of(v->kind),
                                           text_of(v->name), text_of(container)},
                                   .sources = 1};
        struct err why;
        const char *wrong = NULL;
        if (!transfer_key_fits(&row.key))
                wrong = "it names no container of a workload";
        else if (import_vpa_read(json_object_get(item, "status"), &checkpoint, &why) < 0)
                wrong = why.text;
        else
                (void)vpa_usage(&checkpoint, r->scope->half_life_ms, cores, &row.usage, room, &wrong);
        if (wrong) {
                import_vpa_refuse(r->im, item, wrong);
                return 0;
        }
        AUTO(mem_free) char *source = mem_printf("vpa/%s", import_vpa_text_at(item, "metadata", "uid"));
        row.source[0] = transfer_source_named(source);
        return import_put(r->im, &row, ns, err);
}

static struct vpa_target *vpa_target_of(const struct reading *r, const json_t *checkpoint)
{
        AUTO(mem_free)
        char *key = mem_printf("%s/%s", import_vpa_text_at(checkpoint, "metadata", "namespace"),
                               import_vpa_text_at(checkpoint, "spec", "vpaObjectName"));
        return map_get(&r->vpas, text_of(key));
}

static int take_checkpoint(void *arg, json_t *item, struct err *err)
{
        struct reading *r = arg;
        const struct vpa_target *v = vpa_target_of(r, item);
        if (!v && r->scope->words == 0 && !r->scope->labels) {
                import_vpa_refuse(r->im, item, "its VerticalPodAutoscaler is gone, so its workload is unknown");
                return 0;
        }
        if (!v || !import_vpa_is_named(r, v))
                return 0;
        const struct rec *rec = rec_of(r, v);
        if (!rec && r->scope->labels)
                return 0;
        r->met++;
        if (rec)
                return hand_over(r, item, v, rec, err);
        AUTO(mem_free) char *workload = mem_printf("%s/%s", v->kind, v->name);
        import_leave(r->im, v->ns, workload, import_vpa_text_at(item, "spec", "containerName"),
                     v->why ? v->why : "it has no Recommendation");
        return 0;
}

/* --- workloads that never had pods under halflife, and so have no Recommendation --- */

static int take_wanted(void *arg, json_t *item, struct err *err)
{
        struct reading *r = arg;
        struct vpa_target *v = vpa_target_of(r, item);
        (void)err;
        if (v && import_vpa_is_named(r, v))
                v->wanted = !rec_of(r, v);
        return 0;
}

static void import_vpa_take_empty(struct reading *r, const struct vpa_target *v, const char *name)
{
        AUTO(json_decref)
        json_t *object = json_pack("{s:{s:s, s:s}}", "metadata", "namespace", v->ns, "name", name);
        (void)take_rec(r, object, NULL);
}

/* Make a workload's Recommendation; in a dry run check whether that is possible, and go on as if it were there. */
static int import_vpa_make(struct reading *r, struct vpa_target *v, struct err *err)
{
        char name[KIND_NAME_MAX];
        struct text group = kind_group(text_of(v->api_version));
        AUTO(mem_free) char *group_text = mem_string_n(group.p, group.len);
        vpa_target_recommendation(v, name);
        const struct recommendation_ask ask = {.ns = v->ns,
                                               .group = group_text,
                                               .kind = v->kind,
                                               .name = v->name,
                                               .recommendation = name,
                                               .manager = "halflife-import"};
        int rc = r->im->dry_run ? recommendation_ask_look(&r->im->session, &ask, err)
                                : recommendation_ask_make(&r->im->session, &ask, err);
        if (rc == 0 && r->im->dry_run)
                import_vpa_take_empty(r, v, name);
        if (rc != ERR_NOTFOUND || session_no_kinds(err))
                return rc;
        v->why = mem_string(err->text);
        return 0;
}

/* Whether the controller has written the Recommendation's status, whose requests the import needs. Returns 1: yes, or
 * it never will; 0: not yet; negative: an error. */
static int import_vpa_see(struct reading *r, struct vpa_target *v, struct err *err)
{
        char name[KIND_NAME_MAX];
        vpa_target_recommendation(v, name);
        AUTO(mem_free) char *path = known_resource_path(KNOWN_RECOMMENDATIONS, v->ns, name, NULL);
        AUTO(json_decref)
        json_t *object = listing_ask(r->im->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        if (!object && err->code == ERR_NOTFOUND)
                v->why = mem_string("its Recommendation was deleted: does a profile select it?");
        if (!object)
                return v->why ? 1 : err->code == ERR_RETRY ? 0 : err->code;
        if (json_array_size(json_object_get(json_object_get(object, "status"), "containers")) == 0)
                return 0;
        (void)take_rec(r, object, err);
        return 1;
}

static int import_vpa_await(struct reading *r, struct err *err)
{
        struct mono began = mono_read();
        struct vpa_target *v;
        int rc = 0;
        for (size_t at = 0; rc >= 0 && (v = map_each(&r->vpas, &at));) {
                while (v->wanted && !v->why && !rec_of(r, v) && (rc = import_vpa_see(r, v, err)) == 0) {
                        if (mono_read().ns - began.ns >= r->im->timeout_ms * 1000000)
                                return err_set(err, ERR_NOTFOUND,
                                               "%s %s/%s: no status of its Recommendation within %lld s: does a "
                                               "controller run, and hold the Lease?",
                                               v->ns, v->kind, v->name, (long long)(r->im->timeout_ms / SECOND_MS));
                        import_wait_a_little(r->im);
                }
        }
        return rc < 0 ? rc : 0;
}

static int import_vpa_make_all(struct reading *r, struct err *err)
{
        struct vpa_target *v;
        int rc = 0;
        for (size_t at = 0; rc == 0 && (v = map_each(&r->vpas, &at));)
                if (v->wanted)
                        rc = import_vpa_make(r, v, err);
        return rc < 0 ? rc : import_vpa_await(r, err);
}

/* --- all VPAs --- */

static int import_vpa_read_all(struct reading *r, enum known_resource_id of, const char *labels,
                               int (*each)(void *arg, json_t *item, struct err *err), struct err *err)
{
        AUTO(mem_free) char *path = known_resource_path(of, r->scope->ns, NULL, NULL);
        const struct listing l = {.path = path, .labels = labels, .each = each, .arg = r};
        return listing_read(r->im->session.client, &l, err);
}

static void import_vpa_forget(struct reading *r)
{
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&r->vpas, &at, &key, &value);) {
                struct vpa_target *v = value;
                mem_free(v->ns);
                mem_free(v->why);
                mem_free(v->api_version);
                mem_free(v->kind);
                mem_free(v->name);
                mem_free(v);
        }
        for (size_t at = 0; map_next(&r->recs, &at, &key, &value);) {
                json_decref(((struct rec *)value)->cores);
                mem_free(value);
        }
        map_release(&r->vpas);
        map_release(&r->recs);
}

int import_vpa(struct importing *im, const struct import_vpa_scope *s, struct err *err)
{
        struct reading r = {.im = im, .scope = s};
        int rc = import_vpa_read_all(&r, KNOWN_RECOMMENDATIONS, s->labels, take_rec, err);
        bool ours = rc == 0;
        if (rc == 0)
                rc = import_vpa_read_all(&r, KNOWN_VPAS, NULL, take_vpa, err);
        if (rc == 0 && !s->labels) /* the labels select Recommendations, so with labels none are made for VPAs */
                rc = import_vpa_read_all(&r, KNOWN_VPA_CHECKPOINTS, NULL, take_wanted, err);
        if (rc == 0)
                rc = import_vpa_make_all(&r, err);
        if (rc == 0)
                rc = import_vpa_read_all(&r, KNOWN_VPA_CHECKPOINTS, NULL, take_checkpoint, err);
        if (ours && rc == ERR_NOTFOUND && session_no_kinds(err))
                rc = err_set(err, ERR_NOTFOUND,
                             "VerticalPodAutoscaler is not installed in this cluster: nothing to import");
        if (rc == 0)
                rc = import_finish(im, err);
        if (rc == 0 && r.met == 0 && im->refused == 0)
                rc = err_set(err, ERR_NOTFOUND, "the chosen VPAs have no VerticalPodAutoscalerCheckpoint");
        import_vpa_forget(&r);
        return rc;
}
