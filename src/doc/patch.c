#include "doc/patch.h"

#include <assert.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/yaml.h"

enum { PATH_MAX_BYTES = 4096 };

/* A patch under way. Each operation is also done to the document, so that what it needs next is looked up there. */
struct builder {
        json_t *ops, *object, *template;
        const char *template_path;
        bool tests;
        struct buf path; /* of the place stood at */
        struct err *err;
};

/* --- operations --- */

/* value is taken over; NULL: the operation has none. */
static void add_op(struct builder *b, const char *op, const char *path, json_t *value)
{
        json_t *o = json_pack("{s:s, s:s}", "op", op, "path", path);
        if (value)
                json_object_set_new(o, "value", value);
        json_array_append_new(b->ops, o);
}

static void add_test(struct builder *b, const char *path, json_t *value)
{
        if (b->tests)
                add_op(b, "test", path, value);
        else
                json_decref(value);
}

/* Stand at a place: a printf pattern, its parts escaped by the caller. */
__attribute__((format(printf, 2, 3))) static void stand_at(struct builder *b, const char *fmt, ...)
{
        char path[PATH_MAX_BYTES];
        va_list ap;
        va_start(ap, fmt);
        int len = vsnprintf(path, sizeof path, fmt, ap);
        va_end(ap);
        assert(len > 0 && (size_t)len < sizeof path);
        buf_reset(&b->path);
        buf_add_text(&b->path, path);
}

/* One step down by a key, '~' and '/' escaped as JSON pointers want it. */
static void step_down(struct builder *b, const char *key)
{
        buf_add_text(&b->path, "/");
        for (; *key; key++)
                if (*key == '~')
                        buf_add_text(&b->path, "~0");
                else if (*key == '/')
                        buf_add_text(&b->path, "~1");
                else
                        buf_add(&b->path, key, 1);
}

static void step_up(struct builder *b, size_t len)
{
        b->path.len = len;
        b->path.data[len] = '\0';
}

/* Step down into an object, made where there is none. NULL with err: something else stands there. */
static json_t *enter(struct builder *b, json_t *parent, const char *key)
{
        json_t *child = json_object_get(parent, key);
        step_down(b, key);
        if (child && !json_is_null(child)) {
                if (!json_is_object(child))
                        err_set(b->err, ERR_INVALID, "'%s' is not an object", b->path.data);
                return json_is_object(child) ? child : NULL;
        }
        add_op(b, "add", b->path.data, json_object());
        json_object_set_new(parent, key, json_object());
        return json_object_get(parent, key);
}

/* Set a text, tested and replaced where one stands; NULL removes it. */
static void set_text(struct builder *b, json_t *parent, const char *key, const char *text)
{
        size_t len = b->path.len;
        json_t *old = json_object_get(parent, key);
        step_down(b, key);
        if (old)
                add_test(b, b->path.data, json_incref(old));
        if (text) {
                add_op(b, old ? "replace" : "add", b->path.data, json_string(text));
                json_object_set_new(parent, key, json_string(text));
        } else if (old) {
                add_op(b, "remove", b->path.data, NULL);
                json_object_del(parent, key);
        }
        step_up(b, len);
}

/* What a removal has emptied goes as well: nobody else would have left it there. The place stood at is the child's. */
static void drop_emptied(struct builder *b, json_t *parent, const char *key)
{
        if (json_object_size(json_object_get(parent, key)) > 0)
                return;
        add_op(b, "remove", b->path.data, NULL);
        json_object_del(parent, key);
}

/* --- requests --- */

/* The amount that stands in a map of quantities; one that cannot be read is no amount. */
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

static bool changes(const json_t *requests, const struct patch_container *c, enum resource r)
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

/* Where the container stands: its list and index; NULL: it is gone. Sidecars are init containers. */
static json_t *find_container(const struct builder *b, const char *name, const char **ret_list, size_t *ret_index)
{
        static const char *const lists[] = {"containers", "initContainers"};
        const json_t *spec = json_object_get(b->template, "spec");
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
        json_t *resources = enter(b, container, "resources");
        json_t *requests = resources ? enter(b, resources, "requests") : NULL;
        if (!requests)
                return ERR_INVALID;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (!changes(requests, c, r))
                        continue;
                set_text(b, requests, resource_name(r), c->to[r].set ? amount_print(r, c->to[r].value, text) : NULL);
        }
        drop_emptied(b, resources, "requests");
        step_up(b, b->path.len - strlen("/requests"));
        drop_emptied(b, container, "resources");
        return 0;
}

static int patch_one(struct builder *b, const struct patch_container *c)
{
        const char *list;
        size_t index;
        json_t *container = find_container(b, c->name, &list, &index);
        if (!container)
                return err_set(b->err, ERR_STALE, "container '%s' is not in the template any more", c->name);
        const json_t *resources = json_object_get(container, "resources");
        const json_t *requests = json_object_get(resources, "requests"), *limits = json_object_get(resources, "limits");
        if (!changes(requests, c, CPU) && !changes(requests, c, MEMORY))
                return 0;
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (changes(requests, c, r) && check_limit(b, limits, c, r) < 0)
                        return ERR_INVALID;
        stand_at(b, "%s/spec/%s/%zu/name", b->template_path, list, index);
        add_test(b, b->path.data, json_string(c->name));
        stand_at(b, "%s/spec/%s/%zu", b->template_path, list, index);
        return write_requests(b, container, c);
}

/* --- annotations --- */

static bool annotation_differs(const json_t *holder, const char *key, const char *want)
{
        const json_t *annotations = json_object_get(json_object_get(holder, "metadata"), "annotations");
        const json_t *old = json_object_get(annotations, key);
        const char *text = json_string_value(old);
        return want ? !text || strcmp(text, want) != 0 : old != NULL;
}

static int annotate(struct builder *b, json_t *holder, const char *path, const struct patch_resources *p)
{
        enum { NOTES = 3 };
        static const char basis[] = ANNOTATION_BASIS, *const key[NOTES] = {ANNOTATION_ORIGINAL, ANNOTATION_APPLIED,
                                                                           basis};
        const char *const text[NOTES] = {p->original, p->applied, p->basis};
        bool differs[NOTES], any = false;
        for (int i = 0; i < NOTES; i++)
                any |= differs[i] =
                        !(p->basis_stands && key[i] == basis) && annotation_differs(holder, key[i], text[i]);
        if (!any)
                return 0;
        buf_reset(&b->path);
        buf_add_text(&b->path, path);
        json_t *meta = enter(b, holder, "metadata");
        json_t *annotations = meta ? enter(b, meta, "annotations") : NULL;
        if (!annotations)
                return ERR_INVALID;
        for (int i = 0; i < NOTES; i++)
                if (differs[i])
                        set_text(b, annotations, key[i], text[i]);
        drop_emptied(b, meta, "annotations");
        step_up(b, b->path.len - strlen("/annotations"));
        drop_emptied(b, holder, "metadata");
        return 0;
}

/* --- the whole --- */

/* The value at a JSON pointer whose parts need no escapes; NULL: there is none. */
static json_t *at_pointer(json_t *from, const char *pointer)
{
        while (from && *pointer == '/') {
                size_t len = strcspn(++pointer, "/");
                from = json_object_getn(from, pointer, len);
                pointer += len;
        }
        return json_is_object(from) ? from : NULL;
}

static int build(struct builder *b, const struct patch_resources *p)
{
        json_error_t why;
        b->object = json_loadb(p->object.p, p->object.len, JSON_REJECT_DUPLICATES, &why);
        if (!b->object)
                return err_set(b->err, ERR_INVALID, "read the object to patch: %s", why.text);
        b->template = at_pointer(b->object, p->template_path);
        if (!b->template)
                return err_set(b->err, ERR_STALE, "there is no pod template at '%s'", p->template_path);
        if (p->version)
                add_test(b, "/metadata/resourceVersion", json_string(p->version));
        size_t nothing = json_array_size(b->ops);
        for (int i = 0; i < p->containers; i++) {
                int rc = patch_one(b, &p->container[i]);
                if (rc < 0)
                        return rc;
        }
        if (json_array_size(b->ops) == nothing && !p->deploys)
                return json_array_clear(b->ops);
        int rc = annotate(b, b->template, p->template_path, p);
        return rc < 0 || !*p->template_path ? rc : annotate(b, b->object, "", p);
}

json_t *patch_build(const struct patch_resources *p, struct err *err)
{
        struct err ignored;
        struct builder b = {.ops = json_array(),
                            .template_path = p->template_path,
                            .tests = p->version,
                            .err = err ? err : &ignored};
        AUTO(json_decref) json_t *ops = b.ops;
        buf_init(&b.path, PATH_MAX_BYTES);
        int rc = build(&b, p);
        buf_release(&b.path);
        json_decref(b.object);
        return rc < 0 ? NULL : STEAL(&ops);
}
