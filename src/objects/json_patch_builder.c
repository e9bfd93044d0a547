#include "json_patch_builder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_MAX_BYTES = 4096, NOTES_MAX = 4 };

/* Takes over the reference to value; NULL: the operation has no value. */
static void add_op(struct builder *b, const char *op, const char *path, json_t *value)
{
        json_t *o = json_pack("{s:s, s:s}", "op", op, "path", path);
        if (value)
                json_object_set_new(o, "value", value);
        json_array_append_new(b->ops, o);
}

void builder_test(struct builder *b, const char *path, json_t *value)
{
        if (b->tests)
                add_op(b, "test", path, value);
        else
                json_decref(value);
}

int builder_begin(struct builder *b, struct text object, const char *version, struct err *err)
{
        json_error_t why;
        *b = (struct builder){.ops = json_array(), .tests = version, .err = err};
        buf_init(&b->path, PATH_MAX_BYTES);
        b->object = json_loadb(object.p, object.len, JSON_REJECT_DUPLICATES, &why);
        if (!b->object)
                return err_set(err, ERR_INVALID, "read the object to patch: %s", why.text);
        if (version)
                builder_test(b, "/metadata/resourceVersion", json_string(version));
        return 0;
}

json_t *builder_end(struct builder *b, int rc)
{
        AUTO(json_decref) json_t *ops = b->ops;
        buf_release(&b->path);
        json_decref(b->object);
        return rc < 0 ? NULL : STEAL(&ops);
}

void builder_stand_at(struct builder *b, const char *fmt, ...)
{
        char path[PATH_MAX_BYTES];
        va_list ap;
        va_start(ap, fmt);
        int len = vsnprintf(path, sizeof path, fmt, ap);
        va_end(ap);
        assert(len >= 0 && (size_t)len < sizeof path);
        buf_reset(&b->path);
        buf_add_text(&b->path, path);
}

/* Appends a key to the path, with '~' and '/' escaped as in a JSON pointer. */
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

static void builder_step_up(struct builder *b, size_t len)
{
        b->path.len = len;
        b->path.data[len] = '\0';
}

json_t *builder_enter(struct builder *b, json_t *parent, const char *key)
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

void builder_leave(struct builder *b, json_t *parent, const char *key)
{
        if (json_object_size(json_object_get(parent, key)) == 0) {
                add_op(b, "remove", b->path.data, NULL);
                json_object_del(parent, key);
        }
        /* No key that callers leave needs escapes, so the path holds it as it is. */
        builder_step_up(b, b->path.len - strlen("/") - strlen(key));
}

void builder_set(struct builder *b, json_t *parent, const char *key, json_t *value)
{
        size_t len = b->path.len;
        json_t *old = json_object_get(parent, key);
        step_down(b, key);
        if (old)
                builder_test(b, b->path.data, json_incref(old));
        if (value) {
                add_op(b, old ? "replace" : "add", b->path.data, json_incref(value));
                json_object_set_new(parent, key, value);
        } else if (old) {
                add_op(b, "remove", b->path.data, NULL);
                json_object_del(parent, key);
        }
        builder_step_up(b, len);
}

/* --- annotations --- */

static bool annotation_differs(const json_t *holder, const char *key, const char *want)
{
        const json_t *annotations = json_object_get(json_object_get(holder, "metadata"), "annotations");
        const json_t *old = json_object_get(annotations, key);
        const char *text = json_string_value(old);
        return want ? !text || strcmp(text, want) != 0 : old != NULL;
}

int builder_annotate(struct builder *b, json_t *holder, const char *path, const char *const key[],
                     const char *const text[], int count)
{
        bool differs[NOTES_MAX], any = false;
        assert(count <= NOTES_MAX);
        for (int i = 0; i < count; i++)
                any |= differs[i] = annotation_differs(holder, key[i], text[i]);
        if (!any)
                return 0;
        builder_stand_at(b, "%s", path);
        json_t *meta = builder_enter(b, holder, "metadata");
        json_t *annotations = meta ? builder_enter(b, meta, "annotations") : NULL;
        if (!annotations)
                return ERR_INVALID;
        for (int i = 0; i < count; i++)
                if (differs[i])
                        builder_set(b, annotations, key[i], text[i] ? json_string(text[i]) : NULL);
        builder_leave(b, meta, "annotations");
        builder_leave(b, holder, "metadata");
        return 0;
}

/* --- places --- */

json_t *builder_at(json_t *from, const char *pointer)
{
        while (from && *pointer == '/') {
                size_t len = strcspn(++pointer, "/");
                from = json_is_array(from) ? json_array_get(from, strtoul(pointer, NULL, 10))
                                           : json_object_getn(from, pointer, len);
                pointer += len;
        }
        return json_is_object(from) ? from : NULL;
}
