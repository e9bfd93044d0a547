/*
 * LIST: the newest state, a state of before (Exact, or a later page of a paged list), or a made-up crowd; sent item by
 * item.
 *
 * A state of before is rebuilt from the ring of events: what an object was when the first event after that version
 * came.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct listing {
        struct stream stream;
        const struct kind *kind;
        struct fake_selector *selector;
        char *api_version, *head, *tail;
        struct version **version; /* what to send; of a crowd: NULL and the indexes below */
        size_t at, end;
        bool begun, any;
};

enum { BATCH = 64 * 1024 };

static void send_item(struct listing *l, struct buf *out, const struct version *v)
{
        if (l->any)
                buf_add_text(out, ",");
        l->any = true;
        if (l->kind->custom) {
                version_print(v, l->kind, l->api_version, out);
                return;
        }
        buf_add_text(out, "{");
        buf_add(out, v->text + v->bare, v->len - v->bare);
}

static void send_crowd_item(struct fake *f, struct listing *l, struct buf *out)
{
        size_t start = out->len;
        if (l->any)
                buf_add_text(out, ",");
        size_t body = out->len;
        l->kind->crowd->render(f, l->at, true, out);
        if (l->selector) {
                AUTO(json_decref) json_t *object = json_loads(out->data + body, 0, NULL);
                if (!fake_selector_matches(l->selector, object)) {
                        out->len = start;
                        return;
                }
        }
        l->any = true;
}

static bool listing_more(struct fake *f, struct stream *s, struct buf *out)
{
        struct listing *l = (struct listing *)s;
        if (l->begun && l->at >= l->end && !l->tail)
                return false;
        if (!l->begun)
                buf_add_text(out, l->head);
        l->begun = true;
        for (; l->at < l->end && out->len < BATCH; l->at++) {
                if (l->version)
                        send_item(l, out, l->version[l->at]);
                else
                        send_crowd_item(f, l, out);
        }
        if (l->at >= l->end) {
                buf_add_text(out, l->tail);
                mem_free(STEAL(&l->tail));
        }
        return true;
}

static void listing_free(struct fake *f, struct stream *s)
{
        struct listing *l = (struct listing *)s;
        fake_lock(f);
        for (size_t i = 0; l->version && i < l->end; i++)
                version_drop(l->version[i]);
        fake_unlock(f);
        fake_selector_free(l->selector);
        mem_free(l->version);
        mem_free(l->api_version);
        mem_free(l->head);
        mem_free(l->tail);
        mem_free(l);
}

/* --- what to list --- */

struct page {
        uint64_t number; /* of which version; 0: the newest */
        bool exact;
        char *start;  /* first key, or the crowd's index; "" from the beginning */
        size_t limit; /* 0: all */
};

/* {"v":"meta.k8s.io/v1","rv":N,"start":"key"} in hexadecimal: opaque to everybody else. rv -1: inconsistent. */
static char *token_make(int64_t number, const char *start)
{
        struct buf b = {0};
        buf_init(&b, 1 << 16);
        AUTO(json_decref)
        json_t *j = json_pack("{s:s, s:I, s:s}", "v", "meta.k8s.io/v1", "rv", (json_int_t)number, "start", start);
        char *text = json_dumps(j, JSON_COMPACT);
        for (const char *p = text; *p; p++)
                buf_printf(&b, "%02x", (unsigned)(unsigned char)*p);
        free(text);
        return buf_steal(&b);
}

static json_t *token_read(const char *token)
{
        size_t len = strlen(token) / 2;
        char *text = mem_new(len + 1);
        for (size_t i = 0; i < len; i++) {
                unsigned byte;
                if (sscanf(token + 2 * i, "%2x", &byte) != 1)
                        break;
                text[i] = (char)byte;
        }
        json_t *j = json_loads(text, 0, NULL);
        mem_free(text);
        return j;
}

static void reply_expired(struct reply *rp, const char *start)
{
        json_t *body = status_json(
                410, "Expired",
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter, or use the continue token in this response to retrieve the "
                "remainder of the results. Continuing with the provided token results in an inconsistent list - "
                "objects "
                "that were created, modified, or deleted between the time the first chunk was returned and now may "
                "show "
                "up in the list.");
        AUTO(mem_free) char *fresh = token_make(-1, start);
        json_object_set_new(json_object_get(body, "metadata"), "continue", json_string(fresh));
        reply_json(rp, 410, body);
}

static void reply_too_large(struct fake *f, struct reply *rp, uint64_t number)
{
        AUTO(mem_free)
        char *message = mem_printf("Too large resource version: %" PRIu64 ", current: %" PRIu64, number, f->number);
        json_t *body = status_json(504, "Timeout", message);
        json_object_set_new(body, "details",
                            json_pack("{s:[{s:s, s:s}], s:i}", "causes", "reason", "ResourceVersionTooLarge", "message",
                                      "Too large resource version", "retryAfterSeconds", 1));
        rp->retry_after = 1;
        reply_json(rp, 504, body);
}

static bool page_continue(struct fake *f, const struct kind *k, const char *token, struct page *p, struct reply *rp)
{
        AUTO(json_decref) json_t *j = token_read(token);
        json_int_t number = json_integer_value(json_object_get(j, "rv"));
        if (!j) {
                reply_error(rp, 400, "BadRequest", "continue key is not valid: unable to decode");
                return false;
        }
        p->start = mem_string(text_at(j, "start"));
        if (number >= 0 && !k->crowd && ((uint64_t)number < k->forgotten || (uint64_t)number < f->token_floor)) {
                reply_expired(rp, p->start);
                return false;
        }
        p->exact = number >= 0;
        p->number = number >= 0 ? (uint64_t)number : 0;
        return true;
}

static bool page_parse(struct fake *f, const struct request *rq, const struct target *t, struct page *p,
                       struct reply *rp)
{
        const char *match = query_get(rq, "resourceVersionMatch"), *rv = query_get(rq, "resourceVersion"),
                   *token = query_get(rq, "continue");
        p->limit = strtoul(query_get(rq, "limit"), NULL, 10);
        if (*match && (!*rv || *token || (strcmp(match, "Exact") == 0 && strcmp(rv, "0") == 0))) {
                reply_refuse(rp, 422, "Invalid", t, NULL,
                             "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden %s",
                             *token ? "when continue is provided" : "unless resourceVersion is provided");
                return false;
        }
        if (*token && *rv && strcmp(rv, "0") != 0) {
                reply_error(rp, 400, "BadRequest", "specifying resource version is not allowed when using continue");
                return false;
        }
        if (*token)
                return page_continue(f, t->kind, token, p, rp);
        if (!version_parse(f, rv, &p->number)) {
                reply_error(rp, 400, "BadRequest", "invalid resource version: %s", rv);
                return false;
        }
        if (p->number > f->number) {
                reply_too_large(f, rp, p->number);
                return false;
        }
        if (strcmp(rv, "0") == 0)
                p->limit = 0; /* the watch cache serves it whole */
        p->exact = strcmp(match, "Exact") == 0 || (!*match && p->limit > 0 && p->number > 0);
        if (p->exact && p->number < t->kind->forgotten) {
                reply_error(rp, 410, "Expired", "The resourceVersion for the provided list is too old.");
                return false;
        }
        if (!p->exact)
                p->number = 0;
        return true;
}

/* --- a state of before --- */

/* Keys that changed after the version, with what they were (NULL: nothing), as integers that hold the pointer. */
static json_t *state_before(struct fake *f, const struct kind *k, uint64_t number)
{
        json_t *was = json_object();
        for (uint64_t i = k->next - k->kept; i < k->next; i++) {
                const struct event *e = &k->event[i % f->options.history];
                AUTO(mem_free) char *key = object_key(object_ns(e->now->object), object_name(e->now->object));
                if (e->now->number > number && !json_object_get(was, key))
                        json_object_set_new(was, key, json_integer((json_int_t)(uintptr_t)e->before));
        }
        return was;
}

static int by_key(const void *a, const void *b)
{
        const struct object *x = a, *y = b;
        return strcmp(x->key, y->key);
}

/* A sorted array of borrowed keys and versions: the kind's objects as they were. The caller frees the array and was. */
static struct object *objects_at(struct fake *f, const struct kind *k, uint64_t number, json_t **ret_was,
                                 size_t *ret_count)
{
        json_t *was = state_before(f, k, number), *v;
        const char *key;
        struct object *all = mem_new_array(k->count + json_object_size(was) + 1, sizeof *all);
        size_t n = 0;
        for (size_t i = 0; i < k->count; i++)
                if (!json_object_get(was, k->object[i].key))
                        all[n++] = k->object[i];
        json_object_foreach(was, key, v) if (json_integer_value(v) != 0) all[n++] =
                (struct object){(char *)(uintptr_t)key, (struct version *)(uintptr_t)json_integer_value(v)};
        qsort(all, n, sizeof *all, by_key);
        *ret_was = was;
        *ret_count = n;
        return all;
}

/* --- the list --- */

static char *head_of(struct fake *f, const struct listing *l, uint64_t number, const char *token, int64_t remaining)
{
        struct buf b = {0};
        buf_init(&b, 1 << 17);
        AUTO(mem_free) char *rv = resource_version_text(f, number);
        buf_printf(&b, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\"",
                   l->kind->name, l->api_version, rv);
        if (token)
                buf_printf(&b, ",\"continue\":\"%s\"", token);
        if (token && remaining >= 0)
                buf_printf(&b, ",\"remainingItemCount\":%" PRId64, remaining);
        buf_add_text(&b, "},\"items\":[");
        return buf_steal(&b);
}

static void collect(struct fake *f, const struct target *t, const struct page *p, struct listing *l)
{
        const struct kind *k = t->kind;
        AUTO(json_decref) json_t *was = NULL;
        size_t count = k->count, n = 0, i = 0;
        struct object *all = p->exact ? objects_at(f, k, p->number, &was, &count) : NULL, *from = all ? all : k->object;
        AUTO(mem_free) char *prefix = mem_printf("%s/", t->ns), *token = NULL;
        int64_t remaining = 0;
        l->version = mem_new_array(count + 1, sizeof *l->version);
        for (; i < count; i++) {
                if (strcmp(from[i].key, p->start) < 0 ||
                    (*t->ns && strncmp(from[i].key, prefix, strlen(prefix)) != 0) ||
                    !fake_selector_matches(l->selector, from[i].version->object))
                        continue;
                if (p->limit == 0 || n < p->limit)
                        l->version[n++] = version_take(from[i].version);
                else if (remaining++ == 0)
                        token = token_make((int64_t)(p->exact ? p->number : f->number), from[i].key);
        }
        l->end = n;
        l->head = head_of(f, l, p->exact ? p->number : f->number, token, l->selector ? -1 : remaining);
        mem_free(all);
}

/* A crowd's items are ordered by namespace, so that a namespace's are a run. */
static void collect_crowd(struct fake *f, const struct target *t, const struct page *p, struct listing *l)
{
        const struct crowd *c = t->kind->crowd;
        size_t end = c->count;
        l->at = strtoul(p->start, NULL, 10);
        while (*t->ns && l->at < end && strcmp(c->space(f, l->at), t->ns) != 0)
                l->at++;
        for (size_t i = l->at; *t->ns && i <= end; i++)
                if (i == end || strcmp(c->space(f, i), t->ns) != 0) {
                        end = i;
                        break;
                }
        size_t page_end = p->limit && p->limit < end - l->at ? l->at + p->limit : end;
        AUTO(mem_free) char *next = mem_printf("%zu", page_end);
        AUTO(mem_free) char *token = page_end < end ? token_make((int64_t)c->number, next) : NULL;
        l->end = page_end;
        l->head = head_of(f, l, c->number, token, l->selector ? -1 : (int64_t)(end - page_end));
}

void list_serve(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp)
{
        struct page p = {0};
        char *error;
        struct fake_selector *selector =
                fake_selector_parse(query_get(rq, "labelSelector"), query_get(rq, "fieldSelector"), &error);
        if (error) {
                reply_error(rp, 400, "BadRequest", "%s", error);
                mem_free(error);
                return;
        }
        if (!page_parse(f, rq, t, &p, rp)) {
                fake_selector_free(selector);
                mem_free(p.start);
                return;
        }
        if (!p.start)
                p.start = mem_string("");
        struct listing *l = MEM_NEW(struct listing);
        l->stream = (struct stream){listing_more, listing_free, -1};
        l->kind = t->kind;
        l->api_version = target_api_version(t);
        l->selector = selector;
        l->tail = mem_string("]}\n");
        if (t->kind->crowd)
                collect_crowd(f, t, &p, l);
        else
                collect(f, t, &p, l);
        mem_free(p.start);
        rp->status = 200;
        rp->type = "application/json";
        rp->stream = &l->stream;
}
