/* DELETE: with preconditions and finalizers, and everything that belonged to what is gone. */
#include <string.h>

#include "fake.h"
#include "write.h"

void object_remove(struct fake *f, struct kind *k, const json_t *object)
{
        AUTO(mem_free) char *ns = mem_string(object_ns(object)), *name = mem_string(object_name(object));
        delete_cascade(f, k, ns, name);
}

static bool owned_by(const json_t *object, const char *uid)
{
        size_t i;
        json_t *ref;
        json_array_foreach(json_at(object, "metadata.ownerReferences"), i,
                           ref) if (strcmp(text_at(ref, "uid"), uid) == 0) return true;
        return false;
}

/* The first object that belongs to a deleted one. */
static const json_t *find_orphan(struct fake *f, const char *uid, const char *ns, bool all_of_ns,
                                 struct kind **ret_kind)
{
        for (size_t i = 0; i < f->kinds; i++) {
                struct kind *k = f->kind[i];
                for (size_t j = 0; j < k->count && (k->namespaced || !*ns); j++) {
                        const json_t *o = k->object[j].version->object;
                        if (*ns && strcmp(object_ns(o), ns) != 0)
                                continue;
                        *ret_kind = k;
                        if (all_of_ns ? *ns != '\0' : owned_by(o, uid))
                                return o;
                }
        }
        return NULL;
}

void delete_cascade(struct fake *f, struct kind *k, const char *ns, const char *name)
{
        const struct object *slot = store_find(k, ns, name);
        if (!slot)
                return;
        AUTO(json_decref) json_t *object = json_deep_copy(slot->version->object);
        const char *uid = text_at(object, "metadata.uid");
        bool space = strcmp(k->name, "Namespace") == 0, owns = strcmp(k->name, "Pod") != 0;
        struct kind *of;
        const json_t *orphan;
        if (space && !json_at(object, "metadata.deletionTimestamp")) {
                json_t *dying = json_deep_copy(object);
                json_object_set_new(json_object_get(dying, "metadata"), "deletionTimestamp", fake_time(f));
                json_object_set_new(json_object_get(dying, "status"), "phase", json_string("Terminating"));
                store_write(f, k, dying);
        }
        if (!space)
                store_remove(f, k, ns, name);
        if (strcmp(k->name, "CustomResourceDefinition") == 0)
                kind_remove(f, object);
        controllers_note(f, k, object);
        while (owns && (orphan = find_orphan(f, uid, space ? name : ns, space, &of)))
                object_remove(f, of, orphan);
        if (space)
                store_remove(f, k, ns, name);
}

static bool preconditions_hold(struct writing *w, const struct version *v)
{
        AUTO(json_decref) json_t *body = w->rq->len ? json_loadb(w->rq->body, w->rq->len, 0, NULL) : NULL;
        const char *uid = text_at(body, "preconditions.uid"), *rv = text_at(body, "preconditions.resourceVersion");
        if ((!*uid || strcmp(uid, text_at(v->object, "metadata.uid")) == 0) &&
            (!*rv || strcmp(rv, text_at(v->object, "metadata.resourceVersion")) == 0))
                return true;
        write_conflict(w);
        return false;
}

static void delete_one(struct writing *w, struct version *v)
{
        struct kind *k = w->t->kind;
        if (json_array_size(json_at(v->object, "metadata.finalizers")) > 0) {
                json_t *dying = json_deep_copy(v->object);
                if (!json_at(dying, "metadata.deletionTimestamp"))
                        json_object_set_new(json_object_get(dying, "metadata"), "deletionTimestamp", fake_time(w->f));
                write_reply(w->t, w->rp, 200, store_write(w->f, k, dying));
                return;
        }
        json_t *body = status_json(200, "", "");
        json_object_del(body, "message");
        json_object_del(body, "reason");
        json_object_set_new(body, "details",
                            json_pack("{s:s, s:s, s:s, s:s}", "name", object_name(v->object), "group", k->group, "kind",
                                      k->plural, "uid", text_at(v->object, "metadata.uid")));
        if (!w->dry)
                object_remove(w->f, k, v->object);
        reply_json(w->rp, 200, body);
        controllers_run(w->f);
}

void delete_serve(struct writing *w, struct version *before)
{
        if (before) {
                if (preconditions_hold(w, before))
                        delete_one(w, before);
                return;
        }
        char *error;
        struct kind *k = w->t->kind;
        struct fake_selector *s =
                fake_selector_parse(query_get(w->rq, "labelSelector"), query_get(w->rq, "fieldSelector"), &error);
        mem_free(error);
        for (size_t i = k->count; i-- > 0;) {
                if (i >= k->count)
                        continue;
                const json_t *o = k->object[i].version->object;
                if ((!*w->t->ns || strcmp(object_ns(o), w->t->ns) == 0) && fake_selector_matches(s, o))
                        object_remove(w->f, k, o);
        }
        fake_selector_free(s);
        reply_json(w->rp, 200, status_json(200, "", ""));
        controllers_run(w->f);
}
