#include "reflector.h"

#include <assert.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/noun.h"

enum {
        VERSION_MAX = 1 << 10, /* bytes of a resourceVersion */
        PAGE_MAX = 16 << 10,   /* bytes of a continue token */
        PAGE_SIZE = 500,
        WATCH_LEAST_S = 300,     /* a watch asks for 300 to 600 s */
        SHORT_MS = 1000,         /* a watch that ends sooner, without an event, has failed */
        STEADY_MS = 10000,       /* after a request that lasted this long the back-off starts again */
        OBJECT_MS = 120000,      /* bytes that make no complete object for so long are not from an API server */
        LIST_REST_MS = 600000,   /* the most to wait after a list that was given up */
        RELIST_APART_MS = 60000, /* if a version expires again within this time, wait before the list */
};

/* How a request ended. */
enum saw {
        SAW_END,     /* the server ended the request regularly */
        SAW_SHORT,   /* a watch ended within SHORT_MS without an event, or twice in a row with events */
        SAW_CUT,     /* no answer, silence, or an incomplete body */
        SAW_BUSY,    /* 429 or 5xx, or an ERROR event with such a code */
        SAW_EXPIRED, /* 410: the version or the continue token has expired */
        SAW_FUTURE,  /* 504: the server has not reached the version yet */
        SAW_REFUSED, /* 400 or 422: the server does not know the parameters */
        SAW_ABSENT,  /* 404: the server does not have the kind at present */
        SAW_DENIED,  /* 401 or 403: the server denies the request */
        SAW_BROKEN,  /* anything else: not a list, no version, a bound exceeded */
        SAW_COUNT
};

/* What to do after a request. */
enum step {
        STEP_ADVANCE,    /* get the next page; after the last one sweep, then watch */
        STEP_WATCH,      /* continue the watch from the last version at once */
        STEP_AGAIN,      /* wait, then repeat the request */
        STEP_LIST,       /* start a new list, at once unless the last one began just now */
        STEP_WAIT_LIST,  /* wait, then start a new list */
        STEP_PAGES,      /* start a new list at once, in pages until a list is complete */
        STEP_WAIT_PAGES, /* wait, then do the same as STEP_PAGES */
        STEP_ONLY_PAGES, /* remember that the server has no watch-list; start a new list at once */
        STEP_RESTART,    /* a page expired: list from the first page again; the next time without pages */
};

/* clang-format off */
static const enum step next[SAW_COUNT][REFLECTOR_STATES] = {
        /*                WATCH_LISTING    PAGING          WATCHING */
        [SAW_END]     = { STEP_PAGES,      STEP_ADVANCE,   STEP_WATCH },
        [SAW_SHORT]   = { STEP_WAIT_PAGES, STEP_ADVANCE,   STEP_AGAIN },
        [SAW_CUT]     = { STEP_WAIT_PAGES, STEP_AGAIN,     STEP_AGAIN },
        [SAW_BUSY]    = { STEP_AGAIN,      STEP_AGAIN,     STEP_AGAIN },
        [SAW_EXPIRED] = { STEP_WAIT_PAGES, STEP_RESTART,   STEP_LIST },
        [SAW_FUTURE]  = { STEP_AGAIN,      STEP_WAIT_LIST, STEP_LIST },
        [SAW_REFUSED] = { STEP_ONLY_PAGES, STEP_WAIT_LIST, STEP_WAIT_LIST },
        [SAW_ABSENT]  = { STEP_AGAIN,      STEP_WAIT_LIST, STEP_WAIT_LIST },
        [SAW_DENIED]  = { STEP_AGAIN,      STEP_AGAIN,     STEP_AGAIN },
        [SAW_BROKEN]  = { STEP_WAIT_PAGES, STEP_WAIT_LIST, STEP_WAIT_LIST },
};
/* clang-format on */

/* --- requests --- */

static void list_afresh(struct reflector *r)
{
        r->state = r->no_watch_list || r->pages_this_time ? PAGING : WATCH_LISTING;
        r->epoch++;
        buf_reset(&r->page);
        buf_reset(&r->listed);
        r->bound = (struct list_bound){0};
        r->listing.ns = 0;
        r->list_left = STREAM_LIST_MAX;
}

void reflector_init(struct reflector *r, const char *path, const char *selector, const struct informer_owner *owner)
{
        *r = (struct reflector){.path = path, .selector = selector, .owner = *owner, .retry = RETRY_REFLECTOR};
        buf_init(&r->version, VERSION_MAX);
        buf_init(&r->listed, VERSION_MAX);
        buf_init(&r->page, PAGE_MAX);
        list_afresh(r);
}

void reflector_relist(struct reflector *r)
{
        r->pages_this_time = false;
        r->expired_pages = 0;
        r->stats.synced = false;
        list_afresh(r);
}

void reflector_release(struct reflector *r)
{
        buf_release(&r->version);
        buf_release(&r->listed);
        buf_release(&r->page);
        stream_release(&r->stream);
        arena_release(&r->arena);
}

/* A random duration, so that watches which started together do not end together. */
static int watch_seconds(void)
{
        uint16_t bits = 0;
        if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
                bits = 0;
        return WATCH_LEAST_S + bits % (WATCH_LEAST_S + 1);
}

static void reflector_add_parameter(struct buf *query, const char *name, const struct buf *value)
{
        AUTO(mem_free) char *escaped = path_escape(value->data);
        int rc = buf_printf(query, "&%s=%s", name, escaped);
        assert(rc == 0);
}

static void write_query(const struct reflector *r, struct buf *query)
{
        int rc;
        if (r->state == PAGING && r->expired_pages >= 2)
                rc = buf_printf(query, "resourceVersion=");
        else if (r->state == PAGING)
                rc = buf_printf(query, "limit=%d", PAGE_SIZE);
        else
                rc = buf_printf(query, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%d%s", watch_seconds(),
                                r->state == WATCHING ? ""
                                                     : "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
        if (r->state == PAGING && r->page.len > 0)
                reflector_add_parameter(query, "continue", &r->page);
        if (r->state == WATCHING)
                reflector_add_parameter(query, "resourceVersion", &r->version);
        if (rc == 0 && r->selector)
                rc = buf_printf(query, "&%s", r->selector);
        assert(rc == 0);
}

static int take_item(void *arg, struct text item);
static int reflector_take_event(void *arg, struct text value);

bool reflector_begin(struct reflector *r, struct mono now, struct buf *ret_query)
{
        bool watch = r->state != PAGING;
        write_query(r, ret_query);
        stream_release(&r->stream);
        stream_init(&r->stream, watch ? STREAM_WATCH : STREAM_LIST, STREAM_ITEM_MAX, watch ? 0 : r->list_left,
                    watch ? reflector_take_event : take_item, r);
        r->begun = r->took = now;
        if (r->listing.ns == 0)
                r->listing = now;
        r->values = 0;
        r->saw = -1;
        r->why.code = 0;
        r->stats.watches += watch;
        return watch;
}

/* --- answers --- */

static void tell_well(struct reflector *r)
{
        static const struct err well = {0};
        r->failures = 0;
        r->stats.in_trouble = false;
        if (r->trouble && r->owner.trouble)
                r->owner.trouble(r->owner.arg, &well);
        r->trouble = 0;
}

static void list_is_whole(struct reflector *r, struct text version)
{
        buf_reset(&r->version);
        int rc = buf_add(&r->version, version.p, version.len);
        assert(rc == 0);
        r->state = WATCHING;
        r->pages_this_time = false;
        r->expired_pages = 0;
        r->stats.lists++;
        r->stats.synced = true;
        r->owner.swept(r->owner.arg, r->epoch);
        tell_well(r);
}

static void reflector_upsert(struct reflector *r, struct text object)
{
        if (r->owner.upsert(r->owner.arg, object, r->epoch, &r->stats.refusal) < 0)
                r->stats.refused++;
}

static int take_item(void *arg, struct text item)
{
        struct reflector *r = arg;
        r->values++;
        reflector_upsert(r, item);
        return 0;
}

static int reflector_broken(struct reflector *r, const char *why)
{
        r->saw = SAW_BROKEN;
        return err_set(&r->why, ERR_INVALID, "%s", why);
}

/* The Status in an ERROR event means the same as an HTTP status of that code. */
static int take_error(struct reflector *r, const struct watch_event *e)
{
        bool future = e->code == 504 && memmem(e->text.p, e->text.len, "Too large resource version", 26);
        r->saw = e->code == 410                     ? SAW_EXPIRED
                 : future                           ? SAW_FUTURE
                 : e->code == 429 || e->code >= 500 ? SAW_BUSY
                 : e->code == 401 || e->code == 403 ? SAW_DENIED
                                                    : SAW_BROKEN;
        int code = r->saw == SAW_EXPIRED  ? ERR_GONE
                   : r->saw == SAW_DENIED ? ERR_DENIED
                   : r->saw == SAW_BROKEN ? ERR_INVALID
                                          : ERR_RETRY;
        return err_set_http(&r->why, code, (int)e->code, "the watch ended with error %lld %.*s: %.*s",
                            (long long)e->code, (int)(e->reason.len < 64 ? e->reason.len : 64), e->reason.p,
                            (int)(e->text.len < 256 ? e->text.len : 256), e->text.p);
}

static int take_bookmark(struct reflector *r, const struct watch_event *e)
{
        if (r->state == WATCHING || !e->initial_end)
                return 0;
        if (e->version.len == 0)
                return reflector_broken(r, "the end of the initial events has no resourceVersion");
        list_is_whole(r, e->version);
        return 0;
}

static int reflector_take_event(void *arg, struct text value)
{
        struct reflector *r = arg;
        struct watch_event e;
        arena_reset(&r->arena);
        if (decode_watch_event(value, &r->arena, &e, &r->stats.refusal) < 0) {
                r->stats.refused++;
                return e.type == WATCH_ERROR ? reflector_broken(r, "the watch ended with an error that is no Status")
                                             : 0;
        }
        if (e.type == WATCH_ERROR)
                return take_error(r, &e);
        if (e.version.len > VERSION_MAX)
                return reflector_broken(r, "a resourceVersion is longer than 1 KiB");
        r->values++;
        r->stats.events += e.type != WATCH_BOOKMARK;
        if (r->state == WATCHING && !r->ended_early)
                tell_well(r);
        if (e.type == WATCH_BOOKMARK && take_bookmark(r, &e) < 0)
                return r->why.code;
        if (e.type == WATCH_ADDED || e.type == WATCH_MODIFIED)
                reflector_upsert(r, e.object);
        else if (e.type == WATCH_DELETED)
                r->owner.remove(r->owner.arg, e.object);
        /* Initial events are unordered, so only the bookmark at their end has a version to continue from. */
        if (r->state == WATCHING && e.version.len > 0) {
                buf_reset(&r->version);
                buf_add(&r->version, e.version.p, e.version.len);
        }
        return 0;
}

void reflector_steady(struct reflector *r)
{
        if (r->state == WATCHING)
                tell_well(r);
}

int reflector_data(struct reflector *r, const char *p, size_t len, struct mono now)
{
        struct err why = {0};
        uint64_t before = r->values + r->stats.refused;
        int rc = stream_feed(&r->stream, p, len, &why);
        if (rc < 0 && r->saw < 0) {
                r->saw = SAW_BROKEN;
                r->why = why;
                err_wrap(&r->why, "after %s", NOUN_COUNT(r->values, "object"));
        }
        if (r->values + r->stats.refused != before)
                r->took = now;
        else if (rc == 0 && (now.ns - r->took.ns) / 1000000 > OBJECT_MS) {
                r->saw = SAW_CUT;
                rc = err_set(&r->why, ERR_RETRY, "bytes arrive, but no complete object within %d s", OBJECT_MS / 1000);
        }
        return rc;
}

/* --- the end of a request --- */

/* How a request ended, by its answer; for requests that no event has ended. */
static enum saw saw_of_answer(const struct reflector *r, const struct client_answer *a, bool whole, struct mono now)
{
        bool at_once = (now.ns - r->begun.ns) / 1000000 < SHORT_MS;
        if (a->err.code == 0 && whole)
                return r->state == WATCHING && at_once && (r->values == 0 || r->ended_early) ? SAW_SHORT : SAW_END;
        if (a->err.code == 0 || a->status == 0 || (a->status >= 200 && a->status < 300))
                return SAW_CUT;
        if (a->status == 410)
                return SAW_EXPIRED;
        if (a->status == 404)
                return SAW_ABSENT;
        if (a->status == 400 || a->status == 422)
                return SAW_REFUSED;
        if (a->err.code == ERR_DENIED)
                return SAW_DENIED;
        if (a->status == 504 && strstr(a->err.text, "Too large resource version"))
                return SAW_FUTURE;
        return a->err.code == ERR_RETRY ? SAW_BUSY : SAW_BROKEN;
}

/* Take in the metadata of a complete page: the list's version and the continue token. */
static enum saw reflector_read_page(struct reflector *r)
{
        struct list_view list;
        arena_reset(&r->arena);
        int rc = stream_end(&r->stream, &r->why);
        if (rc < 0)
                return rc == ERR_INVALID ? SAW_BROKEN : SAW_CUT;
        r->list_left = r->stream.left > 0 ? r->stream.left : 1; /* 0 would mean unlimited */
        if (decode_list(stream_envelope(&r->stream), &r->arena, &list, &r->why) < 0)
                return SAW_BROKEN;
        if (r->listed.len == 0 &&
            (list.version.len == 0 || buf_add(&r->listed, list.version.p, list.version.len) < 0)) {
                reflector_broken(r, "the list has no resourceVersion to watch from");
                return SAW_BROKEN;
        }
        if (list_bound_page(&r->bound, list.next, list.remaining, (int64_t)r->values, &r->why) < 0)
                return SAW_BROKEN;
        buf_reset(&r->page);
        if (list.next.len > 0 && buf_add(&r->page, list.next.p, list.next.len) < 0) {
                reflector_broken(r, "a continue token is longer than 16 KiB");
                return SAW_BROKEN;
        }
        return SAW_END;
}

/* Whether a watch ended within SHORT_MS although it had events. A server that ends each watch so would else be asked
 * again without a pause. */
static bool reflector_ended_early(const struct reflector *r, enum saw saw, struct mono now)
{
        return (saw == SAW_END || saw == SAW_SHORT) && r->state != PAGING && r->values > 0 &&
               (now.ns - r->begun.ns) / 1000000 < SHORT_MS;
}

static enum saw reflector_judge(struct reflector *r, const struct client_answer *a, bool whole, struct mono now)
{
        if (r->saw >= 0)
                return (enum saw)r->saw;
        r->why = a->err;
        enum saw saw = saw_of_answer(r, a, whole, now);
        if (saw == SAW_END && r->state == PAGING)
                return reflector_read_page(r);
        if ((saw == SAW_END || saw == SAW_SHORT) && stream_end(&r->stream, &r->why) < 0)
                return SAW_CUT;
        return saw;
}

/* Report a failure to the informer's owner. A failure that may pass by itself is reported only the second time in a
 * row, and not if another is reported already; if the server was never reached, at once. Other failures are reported at
 * once, each kind once. */
static void reflector_tell_trouble(struct reflector *r, const struct client_answer *a, enum saw saw)
{
        static const char *const names[REFLECTOR_STATES] = {"list", "list", "watch"};
        r->failures++;
        r->stats.failures++;
        r->stats.in_trouble = true;
        if (r->why.code == 0)
                err_set(&r->why, ERR_RETRY, "%s", saw == SAW_SHORT ? "it ended at once" : "the answer broke off");
        bool passing = saw == SAW_SHORT || saw == SAW_CUT || saw == SAW_BUSY || saw == SAW_FUTURE || saw == SAW_EXPIRED;
        bool never_reached = a->status == 0 && !r->stats.synced;
        if (r->trouble == r->why.code || (passing && (r->trouble || (r->failures < 2 && !never_reached))))
                return;
        r->trouble = r->why.code;
        err_wrap(&r->why, "%s '%s'", names[r->state], r->path);
        if (r->owner.trouble)
                r->owner.trouble(r->owner.arg, &r->why);
}

/* The wait after a list that was given up: as long as the list took, so that a broken server gets half the rate. */
static int64_t list_rest_ms(const struct reflector *r, struct mono now)
{
        int64_t took = (now.ns - r->listing.ns) / 1000000;
        return took < LIST_REST_MS ? took : LIST_REST_MS;
}

static int64_t wait_of(struct reflector *r, const struct client_answer *a, enum saw saw, struct mono now)
{
        reflector_tell_trouble(r, a, saw);
        if ((now.ns - r->begun.ns) / 1000000 >= STEADY_MS)
                retry_reset(&r->retry);
        int64_t least = a->retry_after_ms > 0 ? a->retry_after_ms : 0;
        int64_t rest = saw == SAW_BROKEN && r->state == PAGING ? list_rest_ms(r, now) : 0;
        return retry_delay_ms(&r->retry, now, rest > least ? rest : least);
}

/* The wait before a new list. Expired versions are normal and need no wait, unless a new list expires as well. */
static int64_t wait_to_relist(struct reflector *r, const struct client_answer *a, enum saw saw, struct mono now)
{
        bool again = r->relisted.ns != 0 && (now.ns - r->relisted.ns) / 1000000 < RELIST_APART_MS;
        r->relisted = now;
        return again ? wait_of(r, a, saw, now) : 0;
}

int64_t reflector_end(struct reflector *r, const struct client_answer *a, bool whole, struct mono now)
{
        enum saw saw = reflector_judge(r, a, whole, now);
        enum step step = next[saw][r->state];
        int64_t wait = 0;
        r->ended_early = reflector_ended_early(r, saw, now);
        switch (step) {
        case STEP_ADVANCE:
                r->failures = 0;
                if (r->page.len == 0)
                        list_is_whole(r, buf_text(&r->listed));
                break;
        case STEP_WATCH:
                tell_well(r);
                break;
        case STEP_AGAIN:
                wait = wait_of(r, a, saw, now);
                /* A repeated request without a continue token makes another list: objects of the failed try may be gone
                 * by then. */
                if (r->state != WATCHING && r->page.len == 0)
                        list_afresh(r);
                break;
        case STEP_LIST:
        case STEP_RESTART:
                wait = wait_to_relist(r, a, saw, now);
                r->expired_pages += step == STEP_RESTART;
                list_afresh(r);
                break;
        case STEP_WAIT_LIST:
                wait = wait_of(r, a, saw, now);
                list_afresh(r);
                break;
        case STEP_WAIT_PAGES:
                wait = wait_of(r, a, saw, now);
                r->pages_this_time = true;
                list_afresh(r);
                break;
        case STEP_PAGES:
        case STEP_ONLY_PAGES:
                r->no_watch_list |= step == STEP_ONLY_PAGES;
                r->pages_this_time = true;
                list_afresh(r);
                break;
        }
        return wait;
}
