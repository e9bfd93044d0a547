#include "database_source.h"

#include "base/mem.h"
#include "base/yaml.h"
#include "cache/usage_starts_json.h"
#include "rest/routes.h"
#include "store/store.h"

/* One workload in a snapshot that is made of its stored histories alone. */
struct database_source {
        const struct workload *wanted;
        const char *wanted_ns; /* NULL: any namespace */
        char *ns, *other;      /* the namespaces that have the workload: the first, and a second one if there is */
        char *group, *kind, *name;
        json_t *starts; /* what the containers need while they start, from the workload's record; NULL: none */
        struct learned_copy
                *copy; /* array of OFFLINE_CONTAINERS elements that are never moved, because each points into itself */
        size_t copies;
        char *refused; /* why a row of the workload could not be read; NULL: all could */
        struct arena arena;
        struct snapshot *view;
};

static void *database_source_take_target(void *arg, const struct store_key *key)
{
        struct database_source *o = arg;
        if (!workload_is(o->wanted, key->group, key->kind, key->name) ||
            (o->wanted_ns && !text_is(key->ns, o->wanted_ns)))
                return NULL;
        if (o->ns) {
                if (!o->other)
                        o->other = arena_text(&o->arena, key->ns);
                return NULL;
        }
        o->ns = arena_text(&o->arena, key->ns);
        o->group = arena_text(&o->arena, key->group);
        o->kind = arena_text(&o->arena, key->kind);
        o->name = arena_text(&o->arena, key->name);
        return o;
}

static void database_source_take_record(void *arg, void *target, struct text record, struct wall gone)
{
        struct database_source *o = arg;
        AUTO(json_decref) json_t *all = target ? json_loadb(record.p, record.len, 0, NULL) : NULL;
        (void)gone;
        if (all && !o->starts)
                o->starts = json_incref(json_object_get(all, "starts"));
}

static void database_source_take_usage(void *arg, void *target, struct text container, const struct usage *u,
                                       const struct store_watermark *watermarks, size_t count)
{
        struct database_source *o = arg;
        (void)watermarks, (void)count;
        if (!target || o->copies == OFFLINE_CONTAINERS)
                return;
        struct learned_copy *c = &o->copy[o->copies++];
        c->container = arena_text(&o->arena, container);
        c->usage = *u;
        if (dimension_is_sum(kind_dimension(text_of(o->group), text_of(o->kind))))
                usage_make_sum(&c->usage);
        for (enum resource r = CPU; r < RESOURCES; r++)
                histogram_lend(&c->usage.of[r], c->room + r * HISTOGRAM_SUM_BUCKETS, HISTOGRAM_SUM_BUCKETS);
        bool starts = usage_starts_read(json_object_get(o->starts, c->container), &c->starts);
        c->usage.starts = starts ? &c->starts : NULL;
}

static void database_source_pass_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        (void)arg, (void)target, (void)container, (void)kill;
}

static void database_source_pass_note(void *arg, struct text name, struct text value)
{
        (void)arg, (void)name, (void)value;
}

static void database_source_take_refused(void *arg, void *target, struct text container, const struct err *why)
{
        struct database_source *o = arg;
        if (target && !o->refused)
                o->refused = mem_printf("container '%.*s': %s", TEXT_ARG(container), why->text);
}

static int database_source_load(const char *path, struct database_source *o, struct err *err)
{
        const struct store_reader reader = {database_source_take_target,
                                            database_source_take_record,
                                            database_source_take_usage,
                                            database_source_pass_kill,
                                            database_source_pass_note,
                                            database_source_take_refused,
                                            o};
        struct store *s;
        int rc = store_open_reader(path, &s, err);
        if (rc < 0)
                return rc;
        rc = store_load(s, &reader, err);
        store_close(s, &(struct err){0});
        return rc;
}

/* Make the snapshot, at the time of the newest sample, so that the effects of kills count as they did then. */
static struct snapshot *snapshot_of(struct database_source *o)
{
        struct snapshot *v = snapshot_new();
        struct status_container *c = arena_new(&v->arena, (o->copies + 1) * sizeof *c);
        struct snapshot_target *t = arena_new(&v->arena, sizeof *t);
        char key[KIND_NAME_MAX];
        *t = (struct snapshot_target){
                .ns = o->ns,
                .group = o->group,
                .version = "",
                .kind = o->kind,
                .name = o->name,
                .labels = "",
                .recommendation = arena_text(
                        &v->arena,
                        text_of(kind_recommendation_name(text_of(o->group), text_of(o->kind), text_of(o->name), key))),
                .state = STATE_READY,
                .container = c,
                .containers = (uint8_t)o->copies,
        };
        for (size_t i = 0; i < o->copies; i++) {
                const struct status_numbers none = {-1, -1, -1, -1, -1, -1, .applied = -1};
                bool whole = o->copies > 1 && strcmp(o->copy[i].container, CONTAINER_WHOLE) == 0;
                c[i] = (struct status_container){.name = o->copy[i].container,
                                                 .role = whole ? ROLE_WHOLE : ROLE_MAIN,
                                                 .state = STATE_READY,
                                                 .of = {none, none}};
                if (o->copy[i].usage.newest_ms > v->at.ms)
                        v->at.ms = o->copy[i].usage.newest_ms;
        }
        snapshot_add_target(v, t);
        snapshot_finish(v);
        return v;
}

/* --- the REST API --- */

static json_t *take_answer(const struct answer *a, struct err *err)
{
        json_t *json = json_loadb(buf_text(&a->body).p, a->body.len, 0, NULL);
        const char *detail = json_string_value(json_object_get(json, "detail"));
        if (a->status == 200)
                return json;
        err_set(err, a->status == 404 ? ERR_NOTFOUND : ERR_INVALID, "%s", detail ? detail : "there is no answer");
        json_decref(json);
        return NULL;
}

json_t *database_source_get(struct database_source *o, const char *path_query, struct err *err)
{
        size_t path = strcspn(path_query, "?");
        const struct request r = {.method = TEXT("GET"),
                                  .path = {path_query, path},
                                  .query = text_of(path_query + path + (path_query[path] == '?'))};
        struct route route;
        struct answer a = {0};
        struct arena arena = {0};
        if (route_match(&r, o->view, &arena, &route, &a) == 0)
                route_answer(&route, &r, o->view, o->copy, o->copies, &arena, &a);
        json_t *answer = take_answer(&a, err);
        buf_release(&a.body);
        arena_release(&arena);
        return answer;
}

int database_source_open(const char *path, const char *ns, const struct workload *w, struct database_source **ret,
                         struct err *err)
{
        struct database_source *o = MEM_NEW(struct database_source);
        o->wanted = w;
        o->wanted_ns = ns;
        o->copy = mem_new_array(OFFLINE_CONTAINERS, sizeof *o->copy);
        int rc = database_source_load(path, o, err);
        if (rc == 0 && !o->ns)
                rc = err_set(err, ERR_NOTFOUND, "'%s' has no history of '%.*s/%s'%s%s", path, TEXT_ARG(w->word),
                             w->name, ns ? " in namespace " : "", ns ? ns : "");
        else if (rc == 0 && o->other)
                rc = err_set(err, ERR_INVALID,
                             "'%s' has this workload in the namespaces '%s' and '%s': choose one "
                             "with -n",
                             path, o->ns, o->other);
        if (rc < 0) {
                database_source_close(o);
                return rc;
        }
        o->view = snapshot_of(o);
        *ret = o;
        return 0;
}

const char *database_source_namespace(const struct database_source *o)
{
        return o->ns;
}

const char *database_source_refused(const struct database_source *o)
{
        return o->refused;
}

void database_source_close(struct database_source *o)
{
        snapshot_drop(o->view);
        json_decref(o->starts);
        mem_free(o->copy);
        mem_free(o->refused);
        arena_release(&o->arena);
        mem_free(o);
}
