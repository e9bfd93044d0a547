#include "objects/patch.h"

#include <stdio.h>

#include "json_patch_builder.h"

/* --- requests --- */

/* The amount of a resource in a map of quantities; not set: absent or unreadable. */
static struct amount amount_in(const json_t *quantities, enum resource r)
{
        const json_t *q = json_object_get(quantities, resource_name(r));
        char number[32];
        const char *text = json_string_value(q);
        if (json_is_integer(q)) {
                snprintf(number, sizeof number, "%lld", (long long)json_integer_value(q));
                text = number;
        }
        struct amount a = {false, 0};
        (void)amount_parse(text_of(text), r, &a);
        return a;
}

static bool request_patch_changes(const json_t *requests, const struct patch_container *c, enum resource r)
{
        struct amount now = amount_in(requests, r);
        if (!c->write[r])
                return false;
        if (!c->to[r].set)
                return json_object_get(requests, resource_name(r)) != NULL;
        return !now.set || now.value != c->to[r].value;
}

static int check_limit(struct builder *b, const json_t *limits, const struct patch_container *c, enum resource r)
{
        struct amount limit = amount_in(limits, r);
        if (!c->to[r].set || !limit.set || c->to[r].value <= limit.value)
                return 0;
        return err_set(b->err, ERR_INVALID, "container '%s': a %s request of %lld would be above its limit of %lld",
                       c->name, resource_name(r), (long long)c->to[r].value, (long long)limit.value);
}

/* Finds a container of the template by name, with its list and index; NULL: the container is gone. Sidecars are in
 * initContainers. */
static json_t *find_container(const json_t *template, const char *name, const char **ret_list, size_t *ret_index)
{
        static const char *const lists[] = {"containers", "initContainers"};
        const json_t *spec = json_object_get(template, "spec");
        for (size_t l = 0; l < 2; l++) {
                size_t i;
                json_t *c;
                json_array_foreach(json_object_get(spec, lists[l]), i, c)
                {
                        const char *found = json_string_value(json_object_get(c, "name"));
                        if (!found || strcmp(found, name) != 0)
                                continue;
                        *ret_list = lists[l];
                        *ret_index = i;
                        return c;
                }
        }
        return NULL;
}

static int write_requests(struct builder *b, json_t *container, const struct patch_container *c)
{
        char text[QUANTITY_TEXT_MAX];
        json_t *resources = builder_enter(b, container, "resources");
        json_t *requests = resources ? builder_enter(b, resources, "requests") : NULL;
        if (!requests)
                return ERR_INVALID;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (!request_patch_changes(requests, c, r))
                        continue;
                builder_set(b, requests, resource_name(r),
                            c->to[r].set ? json_string(amount_print(r, c->to[r].value, text)) : NULL);
        }
        builder_leave(b, resources, "requests");
        builder_leave(b, container, "resources");
        return 0;
}

static int patch_one(struct builder *b, const json_t *template, const char *path, const struct patch_container *c)
{
        const char *list;
        size_t index;
        json_t *container = find_container(template, c->name, &list, &index);
        if (!container)
                return err_set(b->err, ERR_STALE, "container '%s' is not in the template any more", c->name);
        const json_t *resources = json_object_get(container, "resources");
        const json_t *requests = json_object_get(resources, "requests"), *limits = json_object_get(resources, "limits");
        if (!request_patch_changes(requests, c, CPU) && !request_patch_changes(requests, c, MEMORY))
                return 0;
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (request_patch_changes(requests, c, r) && check_limit(b, limits, c, r) < 0)
                        return ERR_INVALID;
        builder_stand_at(b, "%s/spec/%s/%zu/name", path, list, index);
        builder_test(b, b->path.data, json_string(c->name));
        builder_stand_at(b, "%s/spec/%s/%zu", path, list, index);
        return write_requests(b, container, c);
}

/* --- the whole --- */

static int request_patch_annotate(struct builder *b, json_t *holder, const char *path, const struct patch_resources *p)
{
        static const char *const key[] = {ANNOTATION_ORIGINAL, ANNOTATION_APPLIED, ANNOTATION_RAISED, ANNOTATION_BASIS};
        const char *const text[] = {p->original, p->applied, p->raised, p->basis};
        return builder_annotate(b, holder, path, key, text, p->basis_stands ? 3 : 4);
}

static int request_patch_build(struct builder *b, const struct patch_resources *p)
{
        json_t *template = builder_at(b->object, p->template_path);
        if (!template)
                return err_set(b->err, ERR_STALE, "there is no pod template at '%s'", p->template_path);
        size_t nothing = json_array_size(b->ops);
        for (int i = 0; i < p->containers; i++) {
                int rc = patch_one(b, template, p->template_path, &p->container[i]);
                if (rc < 0)
                        return rc;
        }
        if (json_array_size(b->ops) == nothing && !p->deploys)
                return json_array_clear(b->ops);
        int rc = request_patch_annotate(b, template, p->template_path, p);
        return rc < 0 || !*p->template_path ? rc : request_patch_annotate(b, b->object, "", p);
}

json_t *patch_build(const struct patch_resources *p, struct err *err)
{
        struct err ignored;
        struct builder b;
        int rc = builder_begin(&b, p->object, p->version, err ? err : &ignored);
        return builder_end(&b, rc < 0 ? rc : request_patch_build(&b, p));
}
