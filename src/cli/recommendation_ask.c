#include "recommendation_ask.h"

#include <string.h>
#include <strings.h>

#include "base/yaml.h"
#include "kube/known_resource.h"
#include "list_client.h"

/* --- the workload --- */

/* What the API server's discovery tells of a kind. */
struct found_kind {
        char *kind, *plural, *version;
};

static void found_kind_release(struct found_kind *k)
{
        mem_free(k->kind);
        mem_free(k->plural);
        mem_free(k->version);
        *k = (struct found_kind){0};
}

static const char *recommendation_ask_text(const json_t *object, const char *key)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s ? s : "";
}

/* Look for the kind in one version of its API group. Returns 1: found; 0: it is not there; negative: an error. */
static int found_kind_in(struct session *s, const struct recommendation_ask *a, const char *version,
                         struct found_kind *ret, struct err *err)
{
        AUTO(mem_free)
        char *path = *a->group ? mem_printf("/apis/%s/%s", a->group, version) : mem_printf("/api/%s", version);
        AUTO(json_decref) json_t *list = listing_ask(s->client, path, NULL, LISTING_ITEM_BYTES, err);
        json_t *each;
        size_t i;
        if (!list)
                return err->code == ERR_NOTFOUND ? 0 : err->code;
        json_array_foreach(json_object_get(list, "resources"), i, each)
        {
                const char *plural = recommendation_ask_text(each, "name"),
                           *kind = recommendation_ask_text(each, "kind");
                if (strcasecmp(kind, a->kind) != 0 || strchr(plural, '/'))
                        continue;
                *ret = (struct found_kind){mem_string(kind), mem_string(plural), mem_string(version)};
                return 1;
        }
        return 0;
}

/* Find the kind in the versions of its group, in the server's order. */
static int found_kind_ask(struct session *s, const struct recommendation_ask *a, struct found_kind *ret,
                          struct err *err)
{
        AUTO(mem_free) char *path = mem_printf("/apis/%s", a->group);
        AUTO(json_decref)
        json_t *group = *a->group ? listing_ask(s->client, path, NULL, LISTING_ITEM_BYTES, err)
                                  : json_pack("{s:[{s:s}]}", "versions", "version", "v1");
        json_t *each;
        size_t i;
        if (!group && err->code != ERR_NOTFOUND)
                return err->code;
        json_array_foreach(json_object_get(group, "versions"), i, each)
        {
                int rc = found_kind_in(s, a, recommendation_ask_text(each, "version"), ret, err);
                if (rc != 0)
                        return rc < 0 ? rc : 0;
        }
        return err_set(err, ERR_NOTFOUND, "the server has no kind '%s'%s%s", a->kind, *a->group ? " of group " : "",
                       a->group);
}

/* Returns 0 if the workload exists, or if the user may not read it, and ERR_NOTFOUND if it does not exist. */
static int recommendation_ask_see(struct session *s, const struct recommendation_ask *a, const struct found_kind *k,
                                  struct err *err)
{
        AUTO(mem_free) char *path = path_of(a->group, k->version, a->ns, k->plural, a->name, NULL);
        AUTO(json_decref) json_t *object = listing_ask(s->client, path, NULL, LISTING_ITEM_BYTES, err);
        if (object || err->code == ERR_DENIED)
                return 0;
        if (err->code == ERR_NOTFOUND)
                return err_set(err, ERR_NOTFOUND, "there is no %s '%s' in namespace '%s'", k->kind, a->name, a->ns);
        return err->code;
}

/* --- the workload's Recommendation --- */

static char *recommendation_ask_path(const struct recommendation_ask *a, bool collection)
{
        return known_resource_path(KNOWN_RECOMMENDATIONS, a->ns, collection ? NULL : a->recommendation, NULL);
}

static int recommendation_ask_write(struct session *s, const struct recommendation_ask *a, enum http_method method,
                                    const json_t *body, struct err *err)
{
        bool makes = method == HTTP_POST;
        AUTO(mem_free) char *path = recommendation_ask_path(a, makes);
        AUTO(mem_free) char *query = mem_printf("fieldManager=%s", a->manager);
        char *text = json_dumps(body, JSON_COMPACT);
        const struct call call = {.method = method,
                                  .path = path,
                                  .query = query,
                                  .content_type = makes ? "application/json" : "application/merge-patch+json",
                                  .body = text_of(text),
                                  .deadline_ms = 10 * SECOND_MS};
        int rc = client_wait(s->client, &call, NULL, NULL, err);
        free(text);
        return rc;
}

static int recommendation_ask_patch(struct session *s, const struct recommendation_ask *a, struct err *err)
{
        AUTO(json_decref)
        json_t *body = json_pack("{s:{s:{s:s, s:n}}}", "metadata", "annotations", a->asks, a->value, a->answers);
        return recommendation_ask_write(s, a, HTTP_PATCH, body, err);
}

static int recommendation_ask_post(struct session *s, const struct recommendation_ask *a, const struct found_kind *k,
                                   struct err *err)
{
        AUTO(mem_free)
        char *version = *a->group ? mem_printf("%s/%s", a->group, k->version) : mem_string(k->version);
        AUTO(json_decref)
        json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s, s:s, s:s}}}", "apiVersion", OWN_API_VERSION,
                                 "kind", "Recommendation", "metadata", "name", a->recommendation, "namespace", a->ns,
                                 "spec", "targetRef", "apiVersion", version, "kind", k->kind, "name", a->name);
        if (a->asks)
                json_object_set_new(json_object_get(body, "metadata"), "annotations",
                                    json_pack("{s:s}", a->asks, a->value));
        int rc = recommendation_ask_write(s, a, HTTP_POST, body, err);
        if (rc < 0 && rc != ERR_CONFLICT)
                return err_wrap(err, "make the Recommendation of %s '%s'", k->kind, a->name);
        return rc;
}

/* Make the workload's Recommendation. ERR_CONFLICT: somebody else made it meanwhile. */
static int recommendation_ask_create(struct session *s, const struct recommendation_ask *a, struct err *err)
{
        struct found_kind k = {0};
        int rc = found_kind_ask(s, a, &k, err);
        if (rc == 0)
                rc = recommendation_ask_see(s, a, &k, err);
        if (rc == 0)
                rc = recommendation_ask_post(s, a, &k, err);
        found_kind_release(&k);
        return rc;
}

int recommendation_ask_send(struct session *s, const struct recommendation_ask *a, struct err *err)
{
        int rc = recommendation_ask_patch(s, a, err);
        if (rc != ERR_NOTFOUND || session_no_kinds(err))
                return rc;
        rc = recommendation_ask_create(s, a, err);
        return rc == ERR_CONFLICT ? recommendation_ask_patch(s, a, err) : rc;
}

int recommendation_ask_make(struct session *s, const struct recommendation_ask *a, struct err *err)
{
        int rc = recommendation_ask_create(s, a, err);
        return rc == ERR_CONFLICT ? 0 : rc;
}

int recommendation_ask_look(struct session *s, const struct recommendation_ask *a, struct err *err)
{
        struct found_kind k = {0};
        AUTO(mem_free) char *path = recommendation_ask_path(a, false);
        AUTO(json_decref) json_t *object = listing_ask(s->client, path, NULL, LISTING_ITEM_BYTES, err);
        if (object)
                return 0;
        if (err->code != ERR_NOTFOUND || session_no_kinds(err))
                return err->code;
        int rc = found_kind_ask(s, a, &k, err);
        if (rc == 0)
                rc = recommendation_ask_see(s, a, &k, err);
        found_kind_release(&k);
        return rc;
}
