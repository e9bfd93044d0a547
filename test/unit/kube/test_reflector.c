/*
 * List and watch without a wire: stories told answer by answer, one stream cut at every byte, and a model: whatever is
 * added, changed, deleted, compacted, cut and refused, the owner's map is the server's once things are quiet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kube/reflector.h"

enum { NAMES = 12 };

/* --- an owner whose objects are o0 … o11, each with a number ------------------------------------------------- */

struct kept {
        bool there;
        int number;
        uint32_t epoch;
};

struct cache {
        struct kept kept[NAMES];
        int sweeps, troubles, code; /* code of the failure reported last */
        char text[ERR_TEXT_MAX];
};

static bool read_object(struct text object, int *ret_name, int *ret_number)
{
        struct arena a = {0};
        struct object_view m;
        bool good = decode_object(object, &a, &m, NULL) == 0;
        if (good) {
                *ret_name = atoi(m.name.p + 1);
                *ret_number = (int)m.generation;
        }
        arena_release(&a);
        return good;
}

static int cache_upsert(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct cache *c = arg;
        int name, number;
        if (!read_object(object, &name, &number))
                return err_set(err, ERR_INVALID, "not readable");
        c->kept[name] = (struct kept){true, number, epoch};
        return 0;
}

static void cache_remove(void *arg, struct text object)
{
        struct cache *c = arg;
        int name, number;
        assert_true(read_object(object, &name, &number));
        c->kept[name].there = false;
}

static void cache_swept(void *arg, uint32_t epoch)
{
        struct cache *c = arg;
        c->sweeps++;
        for (int i = 0; i < NAMES; i++)
                if (c->kept[i].epoch < epoch)
                        c->kept[i].there = false;
}

static void cache_trouble(void *arg, const struct err *err)
{
        struct cache *c = arg;
        c->troubles += err->code != 0;
        c->code = err->code;
        memcpy(c->text, err->text, sizeof c->text);
}

static void start(struct reflector *r, struct cache *c)
{
        *c = (struct cache){.code = 0};
        const struct informer_owner owner = {cache_upsert, cache_remove, cache_swept, cache_trouble, c};
        reflector_init(r, "/api/v1/pods", "fieldSelector=x", &owner);
}

static const char *cache_text(const struct cache *c)
{
        static char out[256];
        size_t at = 0;
        out[0] = '\0';
        for (int i = 0; i < NAMES; i++)
                if (c->kept[i].there)
                        at += (size_t)snprintf(out + at, sizeof out - at, "%so%d=%d", at ? " " : "", i,
                                               c->kept[i].number);
        return out;
}

/* --- stories -------------------------------------------------------------------------------------------------- */

#define O(name, number, version)                                                                                       \
        "{\"metadata\":{\"name\":\"o" #name "\",\"generation\":" #number ",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object)             "{\"type\":\"" type "\",\"object\":" object "}\n"
#define ADDED(name, number, version)    EVENT("ADDED", O(name, number, version))
#define MODIFIED(name, number, version) EVENT("MODIFIED", O(name, number, version))
#define DELETED(name, number, version)  EVENT("DELETED", O(name, number, version))
#define BOOKMARK(version)               EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define INITIAL_END(version)                                                                                           \
        EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version                                              \
                          "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")
#define ERROR(code, text)                                                                                              \
        EVENT("ERROR", "{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"R\",\"message\":\"" text "\"}")
#define LIST(version, next, items)                                                                                     \
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next                 \
        "\"},\"items\":[" items "]}"

#define ASK_WATCH_LIST "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&fieldSelector=x"
#define ASK_PAGE       "limit=500&fieldSelector=x"
#define ASK_ALL        "resourceVersion=&fieldSelector=x"
#define ASK_NEXT(t)    "limit=500&continue=" t "&fieldSelector=x"
#define ASK_WATCH(v)   "&resourceVersion=" v "&fieldSelector=x"

enum { AT_ONCE, WAITS };
struct reply {
        const char *ask;  /* what the query must end with */
        int status;       /* 0: no answer */
        const char *body; /* of a 2xx */
        bool cut;         /* it does not end properly */
        int64_t lasted_ms;
        int wait;          /* before what comes next */
        const char *cache; /* after it; NULL: not looked at */
        int trouble;       /* the code reported last; 0: no failure */
};

static const struct {
        const char *name;
        struct reply reply[10];
} story[] = {
        {"watch-list, events, a clean end",
         {{ASK_WATCH_LIST, 200,
           ADDED(1, 1, "z9") ADDED(2, 1, "a1") INITIAL_END("m5") MODIFIED(1, 2, "m6") DELETED(2, 1, "m7"), false, 5000,
           AT_ONCE, "o1=2", 0},
          {ASK_WATCH("m7"), 200, BOOKMARK("p\\u002f1"), false, 5000, AT_ONCE, "o1=2", 0},
          {ASK_WATCH("p%2F1"), 200, "", false, 5000, AT_ONCE, "o1=2", 0},
          {ASK_WATCH("p%2F1"), 200, "", false, 5000, AT_ONCE, "o1=2", 0}}},
        {"no watch-list: pages, remembered",
         {{ASK_WATCH_LIST, 422, "", false, 0, AT_ONCE, "", 0},
          {ASK_PAGE, 200, LIST("v1", "t1", O(1, 1, "a") "," O(2, 1, "b")), false, 10, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_NEXT("t1"), 200, LIST("v1", "t2", ""), false, 10, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_NEXT("t2"), 200, LIST("v1", "", O(3, 1, "c")), false, 10, AT_ONCE, "o1=1 o2=1 o3=1", 0},
          {ASK_WATCH("v1"), 200, ERROR(410, "too old"), true, 10, AT_ONCE, NULL, 0},
          {ASK_PAGE, 200, LIST("v9", "", O(1, 1, "a") "," O(2, 1, "b")), false, 10, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_WATCH("v9"), 200, "", false, 5000, AT_ONCE, NULL, 0}}},
        {"400 is no watch-list either",
         {{ASK_WATCH_LIST, 400, "", false, 0, AT_ONCE, "", 0},
          {ASK_PAGE, 200, LIST("v1", "", ""), false, 10, AT_ONCE, "", 0}}},
        {"410 as HTTP; expired again at once waits",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 410, "", false, 0, AT_ONCE, "", 0},
          {ASK_WATCH_LIST, 200, INITIAL_END("v2"), true, 0, WAITS, "", 0},
          {ASK_WATCH("v2"), 410, "", false, 0, WAITS, "", ERR_GONE},
          {ASK_WATCH_LIST, 200, ADDED(1, 1, "x") INITIAL_END("v3"), false, 5000, AT_ONCE, "o1=1", 0}}},
        {"an expired page: from the start, then unpaged",
         {{ASK_WATCH_LIST, 422, "", false, 0, AT_ONCE, "", 0},
          {ASK_PAGE, 200, LIST("v1", "t1", O(1, 1, "a")), false, 10, AT_ONCE, "o1=1", 0},
          {ASK_NEXT("t1"), 410, "", false, 10, AT_ONCE, "o1=1", 0},
          {ASK_PAGE, 200, LIST("v2", "t2", O(2, 1, "a")), false, 10, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_NEXT("t2"), 410, "", false, 10, WAITS, NULL, 0},
          {ASK_ALL, 200, LIST("v3", "", O(2, 2, "a") "," O(3, 1, "a")), false, 10, AT_ONCE, "o2=2 o3=1", 0},
          {ASK_WATCH("v3"), 410, "", false, 70000, AT_ONCE, "o2=2 o3=1", 0},
          {ASK_PAGE, 200, LIST("v4", "", ""), false, 10, AT_ONCE, "", 0}}},
        {"busy and lost: the same again, later",
         {{ASK_WATCH_LIST, 429, "", false, 0, WAITS, "", 0},
          {ASK_WATCH_LIST, 500, "", false, 0, WAITS, "", ERR_RETRY},
          {ASK_WATCH_LIST, 200, ADDED(1, 1, "x") INITIAL_END("v1"), true, 20000, WAITS, "o1=1", 0},
          {ASK_WATCH("v1"), 0, "", false, 0, WAITS, "o1=1", ERR_RETRY},
          {ASK_WATCH("v1"), 503, "", false, 0, WAITS, "o1=1", ERR_RETRY},
          {ASK_WATCH("v1"), 200, ERROR(500, "etcd"), true, 0, WAITS, "o1=1", ERR_RETRY},
          {ASK_WATCH("v1"), 200, ADDED(2, 1, "v2") "{\"type\":\"ADD", true, 0, WAITS, "o1=1 o2=1", 0},
          {ASK_WATCH("v2"), 200, BOOKMARK("v3"), false, 0, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_WATCH("v3"), 200, "", false, 5000, AT_ONCE, NULL, 0}}},
        {"a watch that ends at once, without a word",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 200, "", false, 100, WAITS, "", 0},
          {ASK_WATCH("v1"), 200, "", false, 100, WAITS, "", ERR_RETRY},
          {ASK_WATCH("v1"), 200, BOOKMARK("v2"), false, 100, AT_ONCE, "", 0}}},
        {"watches that end at once, with a word each: the second waits, the third is told",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 200, ADDED(1, 1, "v2"), false, 100, AT_ONCE, "o1=1", 0},
          {ASK_WATCH("v2"), 200, BOOKMARK("v3"), false, 100, WAITS, "o1=1", 0},
          {ASK_WATCH("v3"), 200, BOOKMARK("v4"), false, 100, WAITS, "o1=1", ERR_RETRY},
          {ASK_WATCH("v4"), 200, MODIFIED(1, 2, "v5"), false, 100, WAITS, "o1=2", ERR_RETRY},
          {ASK_WATCH("v5"), 200, BOOKMARK("v6"), false, 5000, AT_ONCE, "o1=2", 0},
          {ASK_WATCH("v6"), 200, BOOKMARK("v7"), false, 100, AT_ONCE, "o1=2", 0}}},
        {"a version the server has not reached: list",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 504, "Timeout: Too large resource version: 9, current: 2", false, 3000, AT_ONCE, "", 0},
          {ASK_WATCH_LIST, 200, INITIAL_END("v2"), false, 70000, AT_ONCE, "", 0},
          {ASK_WATCH("v2"), 200, ERROR(504, "Timeout: Too large resource version: 9"), true, 3000, AT_ONCE, "", 0},
          {ASK_WATCH_LIST, 504, "gateway timeout", false, 3000, WAITS, "", 0},
          {ASK_WATCH_LIST, 200, INITIAL_END("v3"), false, 3000, AT_ONCE, "", 0}}},
        {"a watch-list cut before its end: by pages, this time",
         {{ASK_WATCH_LIST, 200, ADDED(1, 1, "x") ADDED(2, 1, "x"), true, 5000, WAITS, "o1=1 o2=1", 0},
          {ASK_PAGE, 200, LIST("v1", "", O(1, 2, "y")), false, 10, AT_ONCE, "o1=2", 0},
          {ASK_WATCH("v1"), 410, "", false, 5000, AT_ONCE, NULL, 0},
          {ASK_WATCH_LIST, 200, ADDED(1, 3, "x"), false, 5000, AT_ONCE, "o1=3", 0}, /* ended, but not said so */
          {ASK_PAGE, 200, LIST("v2", "", ""), false, 10, AT_ONCE, "", 0}}},
        {"a first page cut: what it gave may be gone by the next",
         {{ASK_WATCH_LIST, 422, "", false, 0, AT_ONCE, "", 0},
          {ASK_PAGE, 200, "{\"metadata\":{\"resourceVersion\":\"v1\"},\"items\":[" O(1, 1, "a") "," O(2, 1, "a") ",{",
           true, 10, WAITS, "o1=1 o2=1", 0},
          {ASK_PAGE, 200, LIST("v2", "t", O(2, 1, "a")), false, 10, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_NEXT("t"), 200, "{\"metadata\":{\"resourceVersion\":\"v2\"},\"items\":[" O(3, 1, "a") ",{\"x\":", false,
           10, WAITS, NULL, 0},
          {ASK_NEXT("t"), 200, LIST("v2", "", O(3, 1, "a") "," O(4, 1, "a")), false, 10, AT_ONCE, "o2=1 o3=1 o4=1",
           0}}},
        {"no such kind: said once, then well again",
         {{ASK_WATCH_LIST, 404, "", false, 0, WAITS, "", ERR_NOTFOUND},
          {ASK_WATCH_LIST, 404, "", false, 0, WAITS, "", ERR_NOTFOUND},
          {ASK_WATCH_LIST, 200, ADDED(1, 1, "x") INITIAL_END("v1"), false, 5000, AT_ONCE, "o1=1", 0},
          {ASK_WATCH("v1"), 404, "", false, 5000, WAITS, "o1=1", ERR_NOTFOUND},
          {ASK_WATCH_LIST, 200, INITIAL_END("v2"), false, 5000, AT_ONCE, "", 0}}},
        {"not allowed",
         {{ASK_WATCH_LIST, 403, "", false, 0, WAITS, "", ERR_DENIED},
          {ASK_WATCH_LIST, 401, "", false, 0, WAITS, "", ERR_DENIED},
          {ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 403, "", false, 5000, WAITS, "", ERR_DENIED},
          {ASK_WATCH("v1"), 200, BOOKMARK("v2"), false, 5000, AT_ONCE, "", 0}}},
        {"not an API server",
         {{ASK_WATCH_LIST, 200, "<html>", false, 5000, WAITS, "", ERR_INVALID},
          {ASK_PAGE, 200, "{\"items\":[]}", false, 10, WAITS, "", ERR_INVALID},
          {ASK_PAGE, 200, LIST("v1", "t", ""), false, 10, AT_ONCE, "", ERR_INVALID},
          {ASK_NEXT("t"), 200, LIST("v1", "t", ""), false, 10, WAITS, "", ERR_INVALID}, /* for ever */
          {ASK_PAGE, 418, "", false, 10, WAITS, "", ERR_INVALID},
          {ASK_PAGE, 200, LIST("v1", "", ""), false, 10, AT_ONCE, "", 0}}},
        {"an error in a list's place does not empty the cache",
         {{ASK_WATCH_LIST, 422, "", false, 0, AT_ONCE, "", 0},
          {ASK_PAGE, 200, LIST("v1", "", O(1, 1, "a")), false, 10, AT_ONCE, "o1=1", 0},
          {ASK_WATCH("v1"), 410, "", false, 70000, AT_ONCE, "o1=1", 0},
          {ASK_PAGE, 200, "{\"kind\":\"Status\",\"metadata\":{\"resourceVersion\":\"v2\"},\"code\":500}", false, 10,
           WAITS, "o1=1", ERR_INVALID},
          {ASK_PAGE, 200, LIST("v3", "", O(1, 2, "a")), false, 10, AT_ONCE, "o1=2", 0}}},
        {"a body that ends as it should, within an event",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 200, ADDED(1, 1, "v2") "{\"type\":", false, 5000, WAITS, "o1=1", 0},
          {ASK_WATCH("v2"), 200, BOOKMARK("v3"), false, 5000, AT_ONCE, "o1=1", 0}}},
        {"errors of other kinds within a watch",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 200, ERROR(403, "no more"), true, 5000, WAITS, "", ERR_DENIED},
          {ASK_WATCH("v1"), 200, ERROR(400, "what"), true, 5000, WAITS, "", ERR_INVALID},
          {ASK_WATCH_LIST, 200, ERROR(429, "later"), true, 5000, WAITS, "", ERR_INVALID},
          {ASK_WATCH_LIST, 200,
           EVENT("BOOKMARK", "{\"metadata\":{\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"), true, 5000,
           WAITS, "", ERR_INVALID},
          {ASK_PAGE, 200, LIST("v1", "", ""), false, 10, AT_ONCE, "", 0}}},
        {"an error that cannot be read ends the watch all the same",
         {{ASK_WATCH_LIST, 200, INITIAL_END("v1"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v1"), 200, EVENT("ERROR", "{\"code\":\"expired\"}") ADDED(1, 1, "v2"), true, 5000, WAITS, "",
           ERR_INVALID},
          {ASK_WATCH_LIST, 200, INITIAL_END("v3"), false, 5000, AT_ONCE, "", 0},
          {ASK_WATCH("v3"), 200, EVENT("ERROR", "null"), true, 5000, WAITS, "", ERR_INVALID},
          {ASK_WATCH_LIST, 200, INITIAL_END("v4"), false, 5000, AT_ONCE, "", 0}}},
        {"what cannot be read is counted and skipped",
         {{ASK_WATCH_LIST, 200,
           ADDED(1, 1, "x") "{\"type\":\"NEWS\",\"object\":{}}\n{\"a\":1}\n" EVENT("ADDED",
                                                                                   "{\"metadata\":{\"generation\":1}}")
                   ADDED(2, 1, "y") INITIAL_END("v1") EVENT("ADDED", "{\"metadata\":{\"resourceVersion\":\"v2\"}}"),
           false, 5000, AT_ONCE, "o1=1 o2=1", 0},
          {ASK_WATCH("v2"), 200, "", false, 5000, AT_ONCE, NULL, 0}}},
};

static int code_of_status(int status)
{
        return status == 0 || status == 429 || status >= 500 ? ERR_RETRY
               : status == 401 || status == 403              ? ERR_DENIED
               : status == 404                               ? ERR_NOTFOUND
               : status == 410                               ? ERR_GONE
               : status >= 300                               ? ERR_INVALID
                                                             : 0;
}

/* The end of an answer, as the client tells it. */
static int64_t finish(struct reflector *r, int status, const char *text, int rc, bool whole, struct mono now)
{
        struct client_answer a = {.status = status, .retry_after_ms = -1};
        int code = rc < 0 ? rc : code_of_status(status);
        if (code == 0 && !whole)
                code = ERR_RETRY;
        if (code)
                err_set(&a.err, code, "GET: HTTP %d: %s", status, text);
        return reflector_end(r, &a, whole && code == 0, now);
}

static bool ends_with(const char *text, const char *tail)
{
        size_t n = strlen(text), m = strlen(tail);
        return n >= m && strcmp(text + n - m, tail) == 0;
}

static void tell(const char *name, const struct reply *reply, struct reflector *r, struct cache *c, struct mono *now)
{
        struct buf query;
        buf_init(&query, 4096);
        bool watch = reflector_begin(r, *now, &query);
        if (!ends_with(query.data, reply->ask) || watch == (strncmp(query.data, "watch=1&", 8) != 0))
                fail_msg("%s: asked '%s', wanted '…%s'", name, query.data, reply->ask);
        int rc = reply->status == 200 ? reflector_data(r, reply->body, strlen(reply->body), *now) : 0;
        now->ns += reply->lasted_ms * 1000000;
        int64_t wait = finish(r, reply->status, reply->body, rc, !reply->cut, *now);
        if (reply->wait == AT_ONCE ? wait != 0 : wait < 800 || wait > 60000)
                fail_msg("%s: after %d to '%s': waits %lld ms", name, reply->status, query.data, (long long)wait);
        if (reply->cache && strcmp(cache_text(c), reply->cache) != 0)
                fail_msg("%s: after '%s': holds '%s', wanted '%s'", name, query.data, cache_text(c), reply->cache);
        if (c->code != reply->trouble)
                fail_msg("%s: after '%s': told %d '%s', wanted %d", name, query.data, c->code, c->text, reply->trouble);
        now->ns += wait * 1000000;
        buf_release(&query);
}

static void stories_end_as_told(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof story / sizeof *story; i++) {
                struct reflector r;
                struct cache c;
                struct mono now = {INT64_C(1000000000000)};
                start(&r, &c);
                for (const struct reply *reply = story[i].reply; reply->ask; reply++)
                        tell(story[i].name, reply, &r, &c, &now);
                reflector_release(&r);
        }
}

/* Answer pages of a list until the reflector waits. Returns the number of pages. Each page takes 20 ms. */
static int pages_until_it_waits(struct reflector *r, struct mono *now, const char *(*token)(int page), const char *rest,
                                int64_t *ret_wait)
{
        struct buf query, body;
        int pages = 0;
        buf_init(&query, 4096);
        buf_init(&body, 4096);
        for (*ret_wait = 0; *ret_wait == 0 && pages < 20000; pages++) {
                buf_reset(&query);
                buf_reset(&body);
                assert_false(reflector_begin(r, *now, &query));
                buf_printf(&body, "{\"metadata\":{\"resourceVersion\":\"v\",\"continue\":\"%s\"%s", token(pages), rest);
                now->ns += 20 * 1000000;
                *ret_wait = finish(r, 200, "", reflector_data(r, body.data, body.len, *now), true, *now);
        }
        buf_release(&query);
        buf_release(&body);
        return pages;
}

static const char *token_of_page(int page)
{
        static char token[16];
        snprintf(token, sizeof token, "t%d", page);
        return token;
}

static const char *one_of_two_tokens(int page)
{
        return page % 2 ? "a" : "b";
}

static const char *tokens_that_turn(int page)
{
        return token_of_page(page < 40 ? page : 40 + page % 7);
}

static void a_list_without_end_is_given_up(void **state)
{
        (void)state;
        static const struct {
                const char *name, *(*token)(int page), *rest, *says;
                int least, most;
        } row[] = {
                {"two tokens in turn", one_of_two_tokens, "},\"items\":[" O(1, 1, "a") "]}", "came twice", 3, 6},
                {"tokens turn later", tokens_that_turn, "},\"items\":[" O(1, 1, "a") "]}", "came twice", 47, 130},
                {"no objects", token_of_page, "},\"items\":[]}", "100 pages in a row have no object", 100, 100},
                {"more than told", token_of_page, ",\"remainingItemCount\":9},\"items\":[" O(1, 1, "a") "]}",
                 "101 objects came, 10 times what the first page told", 101, 101},
                {"ever on", token_of_page, "},\"items\":[" O(1, 1, "a") "]}", "after 4096 pages", 4096, 4096},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct reflector r;
                struct cache c;
                struct mono now = {INT64_C(1000000000000)};
                struct buf query;
                int64_t wait = 0;
                buf_init(&query, 4096);
                start(&r, &c);
                reflector_begin(&r, now, &query);
                finish(&r, 422, "", 0, true, now);
                buf_release(&query);
                for (int again = 0; again < 3; again++) {
                        int64_t begun = now.ns;
                        int pages = pages_until_it_waits(&r, &now, row[i].token, row[i].rest, &wait);
                        int64_t took = (now.ns - begun) / 1000000;
                        if (pages < row[i].least || pages > row[i].most || wait < took || !strstr(c.text, row[i].says))
                                fail_msg("%s: %d pages in %lld ms, then %lld ms of rest: '%s'", row[i].name, pages,
                                         (long long)took, (long long)wait, c.text);
                        now.ns += wait * 1000000;
                }
                assert_int_equal(c.sweeps, 0);
                reflector_release(&r);
        }
}

/* One byte a second keeps a connection alive for ever, and tells nothing. */
static void a_drip_is_cut(void **state)
{
        (void)state;
        static const struct {
                const char *each;
                int64_t lasts_s; /* before it is cut; 0: it is not */
        } row[] = {{"x", 121}, {" ", 121}, {BOOKMARK("v2"), 0}, {"{\"type\":\"NEWS\",\"object\":{}}", 0}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct reflector r;
                struct cache c;
                struct mono now = {INT64_C(1000000000000)};
                struct buf query;
                int64_t s = 0;
                int rc;
                buf_init(&query, 4096);
                start(&r, &c);
                reflector_begin(&r, now, &query);
                rc = reflector_data(&r, INITIAL_END("v1"), strlen(INITIAL_END("v1")), now);
                if (row[i].each[0] == 'x')
                        rc = reflector_data(&r, "{\"type\":\"", 9, now);
                for (; rc == 0 && s < 300; s++) {
                        now.ns += INT64_C(1000000000);
                        rc = reflector_data(&r, row[i].each, strlen(row[i].each), now);
                }
                if (s != (row[i].lasts_s ? row[i].lasts_s : 300) || rc != (row[i].lasts_s ? ERR_RETRY : 0))
                        fail_msg("'%s': %d after %lld s", row[i].each, rc, (long long)s);
                finish(&r, 200, "", rc, rc == 0, now);
                assert_int_equal(r.state, WATCHING); /* from where it was */
                buf_release(&query);
                reflector_release(&r);
        }
}

static void waits_grow_and_a_steady_watch_resets_them(void **state)
{
        (void)state;
        struct reflector r;
        struct cache c;
        struct mono now = {INT64_C(1000000000000)};
        struct buf query;
        buf_init(&query, 4096);
        start(&r, &c);
        int64_t least = 800, wait;
        for (int i = 0; i < 9; i++, least = least < 30000 ? least * 2 : 30000) {
                buf_reset(&query);
                reflector_begin(&r, now, &query);
                wait = finish(&r, 503, "", 0, true, now);
                assert_in_range(wait, least > 30000 ? 30000 : least, 60000);
                now.ns += wait * 1000000;
        }
        assert_int_equal(c.troubles, 1);
        assert_non_null(strstr(c.text, "list '/api/v1/pods': GET: HTTP 503"));
        buf_reset(&query);
        reflector_begin(&r, now, &query);
        assert_int_equal(reflector_data(&r, INITIAL_END("v1"), strlen(INITIAL_END("v1")), now), 0);
        assert_int_equal(c.code, 0);
        assert_true(r.stats.synced && !r.stats.in_trouble);
        now.ns += INT64_C(60000000000); /* a load balancer's idle limit */
        wait = finish(&r, 200, "", 0, false, now);
        assert_in_range(wait, 800, 1600);
        buf_release(&query);
        reflector_release(&r);
}

static void one_step(struct reflector *r, struct mono *now, const char *ask, int status, const char *body)
{
        struct buf query;
        buf_init(&query, 4096);
        reflector_begin(r, *now, &query);
        if (!ends_with(query.data, ask))
                fail_msg("asked '%s', wanted '…%s'", query.data, ask);
        int rc = *body ? reflector_data(r, body, strlen(body), *now) : 0;
        now->ns += INT64_C(5000000000);
        now->ns += finish(r, status, "", rc, status == 200, *now) * 1000000;
        buf_release(&query);
}

/* A server that was never reached is reported at once; one that was reached before, at the second failure. */
static void a_server_never_reached_is_told_at_once(void **state)
{
        (void)state;
        struct reflector r;
        struct cache c;
        struct mono now = {INT64_C(1000000000000)};
        start(&r, &c);
        one_step(&r, &now, ASK_WATCH_LIST, 0, "");
        assert_int_equal(c.code, ERR_RETRY);
        one_step(&r, &now, ASK_PAGE, 200, LIST("v1", "", O(1, 1, "a")));
        assert_int_equal(c.code, 0);
        one_step(&r, &now, ASK_WATCH("v1"), 0, "");
        assert_int_equal(c.code, 0);
        one_step(&r, &now, ASK_WATCH("v1"), 0, "");
        assert_int_equal(c.code, ERR_RETRY);
        assert_int_equal(c.troubles, 2);
        reflector_steady(&r); /* taken, without an event yet */
        assert_int_equal(c.code, 0);
        reflector_release(&r);
}

/* Read again from the start: what is known stays until the list is whole, and is not called synced meanwhile. */
static void all_is_read_again_when_asked(void **state)
{
        (void)state;
        struct reflector r;
        struct cache c;
        struct mono now = {INT64_C(1000000000000)};
        start(&r, &c);
        one_step(&r, &now, ASK_WATCH_LIST, 200, ADDED(1, 1, "a") ADDED(2, 1, "b") INITIAL_END("v1"));
        assert_true(r.stats.synced);
        reflector_relist(&r);
        assert_false(r.stats.synced);
        reflector_steady(&r); /* of a list it says nothing */
        one_step(&r, &now, ASK_WATCH_LIST, 429, "");
        assert_string_equal(cache_text(&c), "o1=1 o2=1");
        one_step(&r, &now, ASK_WATCH_LIST, 200, ADDED(2, 2, "c") INITIAL_END("v2"));
        assert_true(r.stats.synced);
        assert_string_equal(cache_text(&c), "o2=2");
        one_step(&r, &now, ASK_WATCH("v2"), 200, BOOKMARK("v3"));
        reflector_release(&r);
}

static void versions_and_tokens_have_bounds(void **state)
{
        (void)state;
        for (int what = 0; what < 3; what++) {
                struct reflector r;
                struct cache c;
                struct mono now = {INT64_C(1000000000000)};
                struct buf query, body;
                char longest[17 << 10];
                memset(longest, 'x', sizeof longest);
                longest[what == 2 ? sizeof longest - 1 : 1025] = '\0';
                buf_init(&query, 1 << 16);
                buf_init(&body, 1 << 16);
                start(&r, &c);
                r.no_watch_list = r.pages_this_time = what > 0;
                if (what > 0)
                        r.state = PAGING;
                bool watch = reflector_begin(&r, now, &query);
                if (watch)
                        buf_printf(&body,
                                   "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"%s\"}}}\n",
                                   longest);
                else
                        buf_printf(&body,
                                   "{\"items\":[],\"metadata\":{\"resourceVersion\":\"%s\",\"continue\":\"%s\"}}",
                                   what == 1 ? longest : "1", what == 2 ? longest : "");
                int rc = reflector_data(&r, body.data, body.len, now);
                assert_in_range(finish(&r, 200, "", rc, rc == 0, now), 800, 1600);
                assert_int_equal(c.code, ERR_INVALID);
                assert_int_equal(c.sweeps, 0);
                buf_release(&query);
                buf_release(&body);
                reflector_release(&r);
        }
}

static void an_object_over_the_bound_is_said_which(void **state)
{
        (void)state;
        struct reflector r;
        struct cache c;
        struct mono now = {INT64_C(1000000000000)};
        struct buf query;
        char *filler = mem_new(1 << 20);
        memset(filler, 'x', 1 << 20);
        buf_init(&query, 4096);
        start(&r, &c);
        reflector_begin(&r, now, &query);
        const char *head = ADDED(1, 1, "x") "{\"type\":\"ADDED\",\"object\":{\"a\":\"";
        assert_int_equal(reflector_data(&r, head, strlen(head), now), 0);
        int rc = 0, fed = 0;
        for (; rc == 0 && fed < 8; fed++)
                rc = reflector_data(&r, filler, 1 << 20, now);
        assert_int_equal(rc, ERR_TOOBIG);
        assert_in_range(fed, 4, 5);
        finish(&r, 200, "", rc, false, now);
        assert_int_equal(c.code, ERR_TOOBIG);
        assert_non_null(strstr(c.text, "list '/api/v1/pods': after 1 object: "));
        mem_free(filler);
        buf_release(&query);
        reflector_release(&r);
}

/* --- one stream, cut at every byte ------------------------------------------------------------------------------ */

static void a_stream_may_break_at_every_byte(void **state)
{
        (void)state;
        static const char initial[] = ADDED(1, 1, "b") ADDED(2, 1, "a") INITIAL_END("v3");
        static const char live[] = MODIFIED(1, 2, "v4") ADDED(3, 1, "v5") DELETED(2, 1, "v6") BOOKMARK("v7");
        static const struct {
                const char *version, *rest;
        } rest[] = {{"v3", live},
                    {"v4", ADDED(3, 1, "v5") DELETED(2, 1, "v6") BOOKMARK("v7")},
                    {"v5", DELETED(2, 1, "v6") BOOKMARK("v7")},
                    {"v6", BOOKMARK("v7")},
                    {"v7", ""}};
        char whole[sizeof initial + sizeof live];
        size_t len = (size_t)snprintf(whole, sizeof whole, "%s%s", initial, live);
        for (size_t cut = 0; cut <= len; cut++) {
                struct reflector r;
                struct cache c;
                struct mono now = {INT64_C(1000000000000)};
                struct buf query;
                buf_init(&query, 4096);
                start(&r, &c);
                reflector_begin(&r, now, &query);
                assert_int_equal(reflector_data(&r, whole, cut / 2, now), 0);
                assert_int_equal(reflector_data(&r, whole + cut / 2, cut - cut / 2, now), 0);
                now.ns += finish(&r, 200, "", 0, false, now) * 1000000;
                const char *answer = r.state == PAGING ? LIST("v3", "", O(1, 1, "b") "," O(2, 1, "a")) : "";
                for (int more = 0; more < 2; more++) {
                        buf_reset(&query);
                        reflector_begin(&r, now, &query);
                        for (size_t i = 0; r.state == WATCHING && i < sizeof rest / sizeof *rest; i++)
                                if (strcmp(r.version.data, rest[i].version) == 0)
                                        answer = rest[i].rest;
                        assert_int_equal(reflector_data(&r, answer, strlen(answer), now), 0);
                        now.ns += 5000000000;
                        finish(&r, 200, "", 0, true, now);
                }
                if (strcmp(cache_text(&c), "o1=2 o3=1") != 0 || strcmp(r.version.data, "v7") != 0)
                        fail_msg("cut after %zu bytes: holds '%s' at %s", cut, cache_text(&c), r.version.data);
                buf_release(&query);
                reflector_release(&r);
        }
}

/* --- the model -----------------------------------------------------------------------------------------------------
 */

struct change {
        int name, number; /* number 0: deleted */
        int last;         /* before it */
};

enum { CHANGES_MAX = 4000 };

/* A server that remembers everything, forgets on demand, and serves one request at a time. */
struct server {
        struct change history[CHANGES_MAX];
        int version, compacted;
        bool watch_list, calm;
        /* the answer under way */
        struct buf out;
        size_t sent;
        int status, at; /* at: changes up to here are in out */
        bool watch;
        uint64_t random;
};

static unsigned draw(struct server *s, unsigned below)
{
        s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(s->random >> 33) % below;
}

static int number_at(const struct server *s, int version, int name)
{
        for (int v = version; v > 0; v--)
                if (s->history[v].name == name)
                        return s->history[v].number;
        return 0;
}

static void change(struct server *s)
{
        if (s->version + 1 >= CHANGES_MAX)
                return;
        int name = (int)draw(s, NAMES), now = number_at(s, s->version, name);
        bool drop = now && draw(s, 2);
        s->version++;
        s->history[s->version] = (struct change){name, drop ? 0 : s->version, now};
}

/* Versions are opaque: not numbers, not in order. */
static void add_object(struct server *s, int name, int number, int version)
{
        assert_int_equal(buf_printf(&s->out,
                                    "{\"metadata\":{\"name\":\"o%d\",\"generation\":%d,\"resourceVersion\":\"%c-%x\"}}",
                                    name, number, 'a' + version % 26, version),
                         0);
}

static int version_of(const char *query)
{
        const char *p = strstr(query, "&resourceVersion=");
        return (int)strtol(p + 19, NULL, 16);
}

static void serve_initial(struct server *s)
{
        for (int i = 0, from = (int)draw(s, NAMES); i < NAMES; i++) {
                int name = (i + from) % NAMES, number = number_at(s, s->version, name);
                if (!number)
                        continue;
                buf_add_text(&s->out, "{\"type\":\"ADDED\",\"object\":");
                add_object(s, name, number, number);
                buf_add_text(&s->out, "}\n");
        }
        buf_printf(&s->out,
                   "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%c-%x\",\"annotations\":{"
                   "\"k8s.io/initial-events-end\":\"true\"}}}}\n",
                   'a' + s->version % 26, s->version);
        s->at = s->version;
}

/* Pages of any size; the token is the version of the list and where it goes on. */
static void serve_page(struct server *s, const char *query)
{
        const char *token = strstr(query, "continue=");
        bool all = strstr(query, "limit=") == NULL;
        int version = s->version, from = 0, more = all ? NAMES : (int)draw(s, 5);
        if (token && sscanf(token, "continue=%d.%d", &version, &from) == 2 && version < s->compacted) {
                s->status = 410;
                return;
        }
        int to = from + more < NAMES ? from + more : NAMES;
        bool first = true;
        buf_add_text(&s->out, "{\"items\":[");
        for (int name = from; name < to; name++) {
                int number = number_at(s, version, name);
                if (!number)
                        continue;
                if (!first)
                        buf_add_text(&s->out, ",");
                add_object(s, name, number, number);
                first = false;
        }
        buf_printf(&s->out, "],\"metadata\":{\"resourceVersion\":\"%c-%x\"", 'a' + version % 26, version);
        if (to < NAMES) /* two tokens in a row are never one, also after an empty page */
                buf_printf(&s->out, ",\"continue\":\"%d.%d.%u\"", version, to, draw(s, 1u << 30));
        buf_add_text(&s->out, "}}");
}

static void serve(struct server *s, const char *query, bool watch)
{
        static const int faults[] = {0, 429, 500, 503, 403, 404, 422, 410, 504};
        buf_reset(&s->out);
        s->sent = 0;
        s->watch = watch;
        s->status = 200;
        if (!s->calm && draw(s, 5) == 0)
                s->status = faults[draw(s, sizeof faults / sizeof *faults)];
        if (s->status != 200)
                return;
        if (!watch)
                serve_page(s, query);
        else if (strstr(query, "sendInitialEvents") && !s->watch_list)
                s->status = 422;
        else if (strstr(query, "sendInitialEvents"))
                serve_initial(s);
        else if ((s->at = version_of(query)) < s->compacted && draw(s, 2))
                s->status = 410;
        else if (s->at < s->compacted)
                buf_add_text(&s->out, ERROR(410, "too old"));
}

static void serve_changes(struct server *s)
{
        while (s->at < s->version) {
                const struct change *c = &s->history[++s->at];
                buf_printf(&s->out,
                           "{\"type\":\"%s\",\"object\":", c->number ? c->last ? "MODIFIED" : "ADDED" : "DELETED");
                add_object(s, c->name, c->number ? c->number : c->last, s->at);
                buf_add_text(&s->out, "}\n");
        }
        if (draw(s, 4) == 0)
                buf_printf(&s->out,
                           "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%c-%x\"}}}\n",
                           'a' + s->at % 26, s->at);
}

/* One answer, while the objects go on changing; its end tells how long to wait. */
static int64_t one_request(struct server *s, struct reflector *r, struct mono *now, const char *query, bool watch)
{
        serve(s, query, watch);
        int rc = 0;
        bool whole = true;
        while (s->status == 200 && rc == 0) {
                if (!s->calm && draw(s, 6) == 0)
                        change(s);
                if (!s->calm && draw(s, 40) == 0)
                        s->compacted = s->version;
                if (!s->calm && draw(s, 60) == 0) {
                        whole = false; /* cut */
                        break;
                }
                if (s->sent == s->out.len && !s->watch)
                        break;
                if (s->sent == s->out.len) {
                        buf_reset(&s->out);
                        s->sent = 0;
                        if (s->calm ? s->at == s->version : draw(s, 30) == 0)
                                break; /* a clean end */
                        serve_changes(s);
                        continue;
                }
                size_t n = 1 + draw(s, 80);
                n = n < s->out.len - s->sent ? n : s->out.len - s->sent;
                rc = reflector_data(r, s->out.data + s->sent, n, *now);
                s->sent += n;
                now->ns += (int64_t)draw(s, 2000) * 1000000;
        }
        return finish(r, s->status, s->status == 504 ? "Too large resource version" : "", rc, whole, *now);
}

static void assert_same(const struct server *s, const struct cache *c, unsigned seed)
{
        for (int i = 0; i < NAMES; i++) {
                int number = number_at(s, s->version, i);
                if (c->kept[i].there != (number != 0) || (number && c->kept[i].number != number))
                        fail_msg("seed %u: o%d is %d at the server, %d here (%s)", seed, i, number, c->kept[i].number,
                                 c->kept[i].there ? "there" : "gone");
        }
}

static void whatever_happens_the_cache_becomes_the_server_s(void **state)
{
        (void)state;
        struct server *s = mem_new(sizeof *s);
        for (unsigned seed = 1; seed <= 400; seed++) {
                struct reflector r;
                struct cache c;
                struct mono now = {INT64_C(1000000000000)};
                struct buf query;
                buf_release(&s->out);
                *s = (struct server){.random = seed, .watch_list = seed % 3 != 0};
                buf_init(&s->out, 1 << 20);
                buf_init(&query, 4096);
                start(&r, &c);
                for (int round = 0; round < 4; round++) {
                        for (int request = 0; request < 30 || (s->calm && request < 60); request++) {
                                s->calm = request >= 20; /* then at most so many until all is well */
                                buf_reset(&query);
                                bool watch = reflector_begin(&r, now, &query);
                                now.ns += one_request(s, &r, &now, query.data, watch) * 1000000;
                                if (s->calm && s->status == 200 && r.state == WATCHING && watch)
                                        break;
                        }
                        assert_same(s, &c, seed);
                }
                assert_true(c.sweeps > 0);
                buf_release(&query);
                reflector_release(&r);
        }
        buf_release(&s->out);
        mem_free(s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(stories_end_as_told),
                cmocka_unit_test(a_list_without_end_is_given_up),
                cmocka_unit_test(a_drip_is_cut),
                cmocka_unit_test(waits_grow_and_a_steady_watch_resets_them),
                cmocka_unit_test(a_server_never_reached_is_told_at_once),
                cmocka_unit_test(all_is_read_again_when_asked),
                cmocka_unit_test(versions_and_tokens_have_bounds),
                cmocka_unit_test(an_object_over_the_bound_is_said_which),
                cmocka_unit_test(a_stream_may_break_at_every_byte),
                cmocka_unit_test(whatever_happens_the_cache_becomes_the_server_s),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
