/* WATCH: initial events, live events from the ring, bookmarks, and every way in which a watch ends. */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct watch {
        struct stream stream;
        struct kind *kind;
        char *api_version, *ns, *path;
        struct fake_selector *selector;
        struct version **initial; /* still to send */
        size_t at, end;
        size_t crowd_at; /* of a crowd's initial events */
        uint64_t next;   /* the ring's event to send next */
        bool bookmarks, marks_initial, crowd;
        bool gone; /* its version was forgotten before it began */
        uint64_t end_epoch, bookmark_epoch;
        int64_t deadline_ns, bookmark_ns; /* 0: none */
        bool over;
        struct watch *later;
};

enum { BATCH = 64 * 1024, LOOK_MS = 1000 };

static void send_event(struct buf *out, const char *type, const char *text, size_t len)
{
        buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
        buf_add(out, text, len);
        buf_add_text(out, "}\n");
}

static void send_error(struct watch *w, struct buf *out, int status, const char *reason, const char *message)
{
        AUTO(json_decref) json_t *j = status_json(status, reason, message);
        char *text = json_dumps(j, JSON_COMPACT);
        send_event(out, "ERROR", text, strlen(text));
        free(text);
        w->over = true;
}

static void send_version(const struct watch *w, struct buf *out, const char *type, const struct version *v)
{
        buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
        version_print(v, w->kind, w->api_version, out);
        buf_add_text(out, "}\n");
}

static void send_bookmark(struct fake *f, struct watch *w, struct buf *out, bool initial_end)
{
        AUTO(mem_free) char *rv = resource_version_text(f, f->number);
        AUTO(mem_free)
        char *text = mem_printf("{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\","
                                "\"creationTimestamp\":null%s}}",
                                w->kind->name, w->api_version, rv,
                                initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
        send_event(out, "BOOKMARK", text, strlen(text));
        w->bookmark_ns = mono_read().ns + f->options.bookmark_ms * 1000000;
}

static void send_crowd(struct fake *f, struct watch *w, struct buf *out)
{
        const struct crowd *c = w->kind->crowd;
        for (; w->crowd_at < c->count && out->len < BATCH; w->crowd_at++) {
                size_t start = out->len;
                if (*w->ns && strcmp(c->space(f, w->crowd_at), w->ns) != 0)
                        continue;
                buf_add_text(out, "{\"type\":\"ADDED\",\"object\":");
                size_t body = out->len;
                c->render(f, w->crowd_at, false, out);
                AUTO(json_decref) json_t *object = w->selector ? json_loads(out->data + body, 0, NULL) : NULL;
                if (w->selector && !fake_selector_matches(w->selector, object))
                        out->len = start;
                else
                        buf_add_text(out, "}\n");
        }
}

static bool within(const struct watch *w, const struct version *v)
{
        return v && (!*w->ns || strcmp(object_ns(v->object), w->ns) == 0) &&
               fake_selector_matches(w->selector, v->object);
}

/* What left the selector is DELETED to this watch, what entered it ADDED. */
static void send_change(struct watch *w, struct buf *out, const struct event *e)
{
        static const char *const name[] = {"ADDED", "MODIFIED", "DELETED"};
        bool was = within(w, e->before), is = within(w, e->now);
        if (e->change == DELETED ? !was && !is : !was && !is)
                return;
        enum change change = e->change == DELETED || !is ? DELETED : !was ? ADDED : MODIFIED;
        if (is || e->change == DELETED) {
                send_version(w, out, name[change], e->now);
                return;
        }
        AUTO(json_decref) json_t *last = json_deep_copy(e->before->object);
        json_object_set(json_object_get(last, "metadata"), "resourceVersion",
                        json_at(e->now->object, "metadata.resourceVersion"));
        json_object_set_new(last, "apiVersion", json_string(w->api_version));
        char *text = json_dumps(last, JSON_COMPACT);
        send_event(out, name[DELETED], text, strlen(text));
        free(text);
}

static void send_initial(struct fake *f, struct watch *w, struct buf *out)
{
        for (; w->at < w->end && out->len < BATCH; w->at++) {
                send_version(w, out, "ADDED", w->initial[w->at]);
                version_drop(w->initial[w->at]);
        }
        if (w->crowd)
                send_crowd(f, w, out);
        bool done = w->at == w->end && (!w->crowd || w->crowd_at >= w->kind->crowd->count);
        if (done && w->marks_initial) {
                send_bookmark(f, w, out, true);
                w->marks_initial = false;
        }
        if (done)
                w->crowd = false;
}

/* Append what is due; false: nothing is. */
static bool watch_turn(struct fake *f, struct watch *w, struct buf *out)
{
        struct kind *k = w->kind;
        int64_t now = mono_read().ns;
        size_t start = out->len;
        if (w->at < w->end || w->crowd || w->marks_initial) {
                send_initial(f, w, out);
                return true;
        }
        if (w->gone || w->next < k->next - k->kept) {
                send_error(w, out, 410, "Expired", "too old resource version");
                return true;
        }
        for (; w->next < k->next && out->len < BATCH; w->next++)
                send_change(w, out, &k->event[w->next % f->options.history]);
        if (w->bookmarks && (now >= w->bookmark_ns || w->bookmark_epoch < f->bookmark_epoch)) {
                send_bookmark(f, w, out, false);
                w->bookmark_epoch = f->bookmark_epoch;
        }
        return out->len > start;
}

static bool client_gone(int fd)
{
        struct pollfd p = {.fd = fd, .events = POLLRDHUP};
        return fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool watch_more(struct fake *f, struct stream *s, struct buf *out)
{
        struct watch *w = (struct watch *)s;
        fake_lock(f);
        for (;;) {
                int64_t now = mono_read().ns;
                bool ended =
                        w->end_epoch < f->end_epoch || (w->deadline_ns && now >= w->deadline_ns) || !w->kind->served;
                if (w->over || f->stopping || (!ended && client_gone(s->socket))) {
                        fake_unlock(f);
                        return false;
                }
                if (watch_turn(f, w, out))
                        break;
                w->over = ended;
                int64_t wait = LOOK_MS;
                if (w->deadline_ns && (w->deadline_ns - now) / 1000000 < wait)
                        wait = (w->deadline_ns - now) / 1000000 + 1;
                if (w->bookmarks && (w->bookmark_ns - now) / 1000000 < wait)
                        wait = (w->bookmark_ns - now) / 1000000 + 1;
                if (!ended)
                        fake_pause(f, wait);
        }
        fake_unlock(f);
        return true;
}

static void watch_free(struct fake *f, struct stream *s)
{
        struct watch *w = (struct watch *)s;
        fake_lock(f);
        for (struct watch **at = &f->watch; *at; at = &(*at)->later)
                if (*at == w) {
                        *at = w->later;
                        break;
                }
        for (; w->at < w->end; w->at++)
                version_drop(w->initial[w->at]);
        fake_notify(f);
        fake_unlock(f);
        fake_selector_free(w->selector);
        mem_free(w->initial);
        mem_free(w->api_version);
        mem_free(w->ns);
        mem_free(w->path);
        mem_free(w);
}

static void take_initial(struct watch *w)
{
        const struct kind *k = w->kind;
        w->initial = mem_new_array(k->count + 1, sizeof *w->initial);
        for (size_t i = 0; i < k->count; i++)
                if (within(w, k->object[i].version))
                        w->initial[w->end++] = version_take(k->object[i].version);
        w->next = k->next;
        w->crowd = k->crowd != NULL;
}

/* The first event after the version; false: it has been forgotten. */
static bool seek(struct fake *f, struct watch *w, uint64_t number)
{
        const struct kind *k = w->kind;
        if (number < k->forgotten)
                return false;
        w->next = k->next - k->kept;
        while (w->next < k->next && k->event[w->next % f->options.history].now->number <= number)
                w->next++;
        return true;
}

static bool watch_allowed(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp)
{
        const char *match = query_get(rq, "resourceVersionMatch");
        bool initial = *query_get(rq, "sendInitialEvents") != '\0';
        if (initial && f->options.watch_list_off)
                reply_refuse(rp, 422, "Invalid", t, NULL,
                             "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents "
                             "is forbidden for "
                             "watch unless the WatchList feature gate is enabled");
        else if (initial && strcmp(match, "NotOlderThan") != 0)
                reply_refuse(rp, 422, "Invalid", t, NULL,
                             "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                             "sendInitialEvents requires setting "
                             "resourceVersionMatch to NotOlderThan");
        else if (!initial && *match)
                reply_refuse(rp, 422, "Invalid", t, NULL,
                             "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                             "resourceVersionMatch is forbidden "
                             "for watch unless sendInitialEvents is provided");
        else if (*query_get(rq, "continue"))
                reply_error(rp, 400, "BadRequest", "continue is not supported on watch");
        else
                return true;
        return false;
}

static struct watch *watch_new(struct fake *f, const struct request *rq, const struct target *t,
                               struct fake_selector *selector)
{
        struct watch *w = MEM_NEW(struct watch);
        int64_t now = mono_read().ns;
        long seconds = strtol(query_get(rq, "timeoutSeconds"), NULL, 10);
        w->stream = (struct stream){watch_more, watch_free, -1};
        w->kind = t->kind;
        w->api_version = target_api_version(t);
        w->ns = mem_string(t->ns);
        w->path = mem_string(rq->path);
        w->selector = selector;
        w->bookmarks = query_true(rq, "allowWatchBookmarks");
        w->end_epoch = f->end_epoch;
        w->bookmark_epoch = f->bookmark_epoch;
        w->bookmark_ns = now + f->options.bookmark_ms * 1000000;
        w->deadline_ns = seconds > 0 ? now + seconds * 1000000000 : 0;
        w->later = f->watch;
        f->watch = w;
        return w;
}

static void watch_begin(struct fake *f, const struct request *rq, struct watch *w, uint64_t number, struct reply *rp)
{
        bool initial = query_true(rq, "sendInitialEvents");
        w->marks_initial = initial && w->bookmarks;
        if (initial || number == 0) {
                take_initial(w);
        } else if (number <= f->number && !seek(f, w, number)) {
                if (f->options.gone_as_http) {
                        reply_error(rp, 410, "Expired", "too old resource version: %" PRIu64 " (%" PRIu64 ")", number,
                                    w->kind->forgotten);
                        watch_free(f, &w->stream);
                        return;
                }
                w->gone = true;
        } else if (number > f->number) {
                w->next = w->kind->next; /* from the future: nothing until then */
        }
        rp->status = 200;
        rp->type = "application/json";
        rp->stream = &w->stream;
        fake_notify(f);
}

void watch_serve(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp)
{
        uint64_t number;
        char *error;
        if (!watch_allowed(f, rq, t, rp))
                return;
        if (!version_parse(f, query_get(rq, "resourceVersion"), &number)) {
                reply_error(rp, 400, "BadRequest", "invalid resource version: %s", query_get(rq, "resourceVersion"));
                return;
        }
        struct fake_selector *selector =
                fake_selector_parse(query_get(rq, "labelSelector"), query_get(rq, "fieldSelector"), &error);
        if (error) {
                reply_error(rp, 400, "BadRequest", "%s", error);
                mem_free(error);
                return;
        }
        if (*t->name) { /* a watch of one object is one of a collection with a field selector */
                AUTO(mem_free) char *fields = mem_printf("metadata.name=%s", t->name);
                fake_selector_free(selector);
                selector = fake_selector_parse(query_get(rq, "labelSelector"), fields, &error);
        }
        watch_begin(f, rq, watch_new(f, rq, t, selector), number, rp);
}

size_t fake_watches(struct fake *f, const char *path)
{
        size_t n = 0;
        fake_lock(f);
        for (const struct watch *w = f->watch; w; w = w->later)
                n += strncmp(w->path, path, strlen(path)) == 0;
        fake_unlock(f);
        return n;
}
