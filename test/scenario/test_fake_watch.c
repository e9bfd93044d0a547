/* The test API server's lists and watches, over HTTP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <arpa/inet.h>
#include <cmocka.h>
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fake/apiserver.h"
#include "../support/fetch.h"
#include "../support/pick.h"
#include "base/mem.h"
#include "base/yaml.h"

static int set_up(void **state)
{
        *state = fake_new(&(struct fake_options){.controllers = FAKE_CONTROLLERS_OFF});
        return *state ? 0 : -1;
}

static int set_up_old(void **state)
{
        *state = fake_new(&(struct fake_options){
                .watch_list_off = true, .gone_as_http = true, .opaque_versions = true, .history = 4});
        return *state ? 0 : -1;
}

static int tear_down(void **state)
{
        fake_free(*state);
        return 0;
}

static const char maps[] = "/api/v1/namespaces/default/configmaps";

static void put_map(struct fake *f, const char *name, const char *label)
{
        AUTO(mem_free)
        char *body = mem_printf(
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                "\"labels\":{\"l\":\"%s\"}}}",
                name, label);
        fake_put(f, "owner", body);
}

static void drop_map(struct fake *f, const char *name)
{
        AUTO(mem_free) char *path = mem_printf("%s/%s", maps, name);
        assert_int_equal(fake_delete(f, path), 200);
}

static struct got ask(struct fake *f, const char *path)
{
        AUTO(mem_free) char *url = mem_printf("%s%s", fake_url(f), path);
        return fetch(&(struct fetch){.url = url});
}

static struct got ask_with(struct fake *f, const char *query)
{
        AUTO(mem_free) char *path = mem_printf("%s?%s", maps, query);
        return ask(f, path);
}

/* Names of a list, joined by spaces; of a watch's events "ADDED a" joined by ", ". */
static char *names(const json_t *list)
{
        size_t i;
        json_t *item;
        char *all = mem_string("");
        json_array_foreach(pick(list, "items"), i, item)
        {
                char *more = mem_printf("%s%s%s", all, i ? " " : "", pick_text(item, "metadata.name"));
                mem_free(all);
                all = more;
        }
        return all;
}

static char *events(const char *body)
{
        char *all = mem_string(""), *copy = mem_string(body), *save = NULL;
        for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                AUTO(json_decref) json_t *e = json_loads(line, 0, NULL);
                const char *type = pick_text(e, "type"), *name = pick_text(e, "object.metadata.name");
                if (strcmp(type, "BOOKMARK") == 0)
                        name = pick(e, "object.metadata.annotations") ? "initial" : "-";
                if (strcmp(type, "ERROR") == 0)
                        name = pick_text(e, "object.code");
                char *more = mem_printf("%s%s%s %s", all, *all ? ", " : "", type, name);
                mem_free(all);
                all = more;
        }
        mem_free(copy);
        return all;
}

static void expect_list(struct fake *f, const char *query, const char *want)
{
        AUTO(got_release) struct got g = ask_with(f, query);
        AUTO(mem_free) char *have = names(g.json);
        if (g.status != 200 || strcmp(have, want) != 0)
                fail_msg("%s: %ld '%s', not '%s'", query, g.status, have, want);
}

static void expect_watch(struct fake *f, const char *query, const char *want)
{
        AUTO(mem_free) char *full = mem_printf("watch=1&timeoutSeconds=1&%s", query);
        AUTO(got_release) struct got g = ask_with(f, full);
        AUTO(mem_free) char *have = events(g.body);
        if (g.status != 200 || g.curl != 0 || strcmp(have, want) != 0)
                fail_msg("%s: %ld, curl %d, '%s', not '%s'", query, g.status, g.curl, have, want);
}

/* --- lists --- */

static void test_selectors(void **state)
{
        struct fake *f = *state;
        static const struct {
                const char *query, *want;
        } row[] = {
                {"", "a b c"},
                {"labelSelector=l%3Dx", "a c"},
                {"labelSelector=l%21%3Dx", "b"},
                {"labelSelector=l%20in%20(x,y)", "a b c"},
                {"labelSelector=l%20notin%20(x)", "b"},
                {"labelSelector=none", ""},
                {"labelSelector=%21none,l=x", "a c"},
                {"fieldSelector=metadata.name%3Db", "b"},
                {"fieldSelector=metadata.name%21%3Db&labelSelector=l", "a c"},
        };
        put_map(f, "c", "x");
        put_map(f, "a", "x");
        put_map(f, "b", "y");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                expect_list(f, row[i].query, row[i].want);
        AUTO(got_release) struct got bad = ask_with(f, "fieldSelector=spec.color%3Dred");
        assert_int_equal(bad.status, 400);
}

static void fill(struct fake *f)
{
        static const char *const name[] = {"a", "b", "c", "d", "e"};
        for (size_t i = 0; i < 5; i++)
                put_map(f, name[i], "x");
}

static void test_pages_are_one_state(void **state)
{
        struct fake *f = *state;
        fill(f);
        AUTO(got_release) struct got one = ask_with(f, "limit=2");
        assert_string_equal(pick_text(one.json, "metadata.remainingItemCount"), "3");
        put_map(f, "bb", "x"); /* none of this may show in the pages that follow */
        put_map(f, "d", "changed");
        drop_map(f, "e");
        AUTO(mem_free) char *next = mem_printf("limit=2&continue=%s", pick_text(one.json, "metadata.continue"));
        AUTO(got_release) struct got two = ask_with(f, next);
        AUTO(mem_free) char *names_two = names(two.json);
        assert_string_equal(names_two, "c d");
        assert_string_equal(pick_text(two.json, "items[1].metadata.labels.l"), "x");
        assert_string_equal(pick_text(two.json, "metadata.resourceVersion"),
                            pick_text(one.json, "metadata.resourceVersion"));
        AUTO(mem_free) char *last = mem_printf("limit=2&continue=%s", pick_text(two.json, "metadata.continue"));
        AUTO(got_release) struct got three = ask_with(f, last);
        AUTO(mem_free) char *names_three = names(three.json);
        assert_string_equal(names_three, "e");
        assert_string_equal(pick_text(three.json, "metadata.continue"), "-");
        expect_list(f, "", "a b bb c d");
}

static void test_expired_page_offers_another(void **state)
{
        struct fake *f = *state;
        fill(f);
        AUTO(got_release) struct got one = ask_with(f, "limit=2");
        AUTO(mem_free) char *next = mem_printf("limit=2&continue=%s", pick_text(one.json, "metadata.continue"));
        put_map(f, "cc", "x");
        fake_compact(f);
        AUTO(got_release) struct got gone = ask_with(f, next);
        assert_int_equal(gone.status, 410);
        assert_string_equal(pick_text(gone.json, "reason"), "Expired");
        AUTO(mem_free) char *fresh = mem_printf("continue=%s", pick_text(gone.json, "metadata.continue"));
        expect_list(f, fresh, "c cc d e");
        AUTO(got_release) struct got again = ask_with(f, "limit=2");
        AUTO(mem_free) char *token = mem_printf("limit=2&continue=%s", pick_text(again.json, "metadata.continue"));
        expect_list(f, token, "c cc");
        fake_expire_pages(f);
        AUTO(got_release) struct got expired = ask_with(f, token);
        assert_int_equal(expired.status, 410);
}

static void test_list_versions(void **state)
{
        struct fake *f = *state;
        put_map(f, "a", "x");
        unsigned long long then = fake_version(f);
        put_map(f, "b", "x");
        static const struct {
                const char *query; /* the version goes behind it */
                unsigned long long ahead;
                long status;
                const char *want;
        } row[] = {
                {"resourceVersionMatch=Exact&resourceVersion=", 0, 200, "a"},
                {"resourceVersionMatch=NotOlderThan&resourceVersion=", 0, 200, "a b"},
                {"limit=5&resourceVersion=", 0, 200, "a"}, /* what limit with a version has always meant */
                {"resourceVersion=", 0, 200, "a b"},
                {"resourceVersion=", 1000, 504, "ResourceVersionTooLarge"},
                {"resourceVersion=0&limit=1&x=", 0, 200, "a b"}, /* from the cache: whole */
                {"resourceVersionMatch=Exact&x=", 0, 422, ""},
                {"resourceVersion=abc&x=", 0, 400, ""},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                AUTO(mem_free) char *query = mem_printf("%s%llu", row[i].query, then + row[i].ahead);
                AUTO(got_release) struct got g = ask_with(f, query);
                AUTO(mem_free)
                char *have =
                        g.status == 200 ? names(g.json) : mem_string(pick_text(g.json, "details.causes[0].reason"));
                if (g.status != row[i].status || (*row[i].want && strcmp(have, row[i].want) != 0))
                        fail_msg("%s: %ld '%s'", query, g.status, have);
        }
        fake_compact(f);
        AUTO(mem_free) char *old = mem_printf("resourceVersionMatch=Exact&resourceVersion=%llu", then);
        AUTO(got_release) struct got gone = ask_with(f, old);
        assert_int_equal(gone.status, 410);
}

/* --- watches --- */

static void test_watch_from_a_version(void **state)
{
        struct fake *f = *state;
        put_map(f, "a", "x");
        AUTO(mem_free) char *from = mem_printf("resourceVersion=%llu", (unsigned long long)fake_version(f));
        put_map(f, "b", "x");
        put_map(f, "a", "y");
        put_map(f, "c", "z");
        drop_map(f, "b");
        expect_watch(f, from, "ADDED b, MODIFIED a, ADDED c, DELETED b");
        AUTO(mem_free) char *x_only = mem_printf("%s&labelSelector=l%%3Dx", from);
        expect_watch(f, x_only, "ADDED b, DELETED a, DELETED b"); /* a left the selector, and lives */
        AUTO(mem_free) char *y_only = mem_printf("%s&labelSelector=l%%3Dy", from);
        expect_watch(f, y_only, "ADDED a");
        expect_watch(f, "resourceVersion=0", "ADDED a, ADDED c");
        expect_watch(f, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                     "ADDED a, ADDED c, BOOKMARK initial");
        fake_compact(f);
        expect_watch(f, from, "ERROR 410");
}

static void test_old_server(void **state)
{
        struct fake *f = *state;
        put_map(f, "a", "x");
        AUTO(got_release) struct got list = ask_with(f, "");
        AUTO(mem_free) char *version = mem_string(pick_text(list.json, "metadata.resourceVersion"));
        assert_true(version[0] == 'v');
        AUTO(got_release)
        struct got no = ask_with(f, "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
        assert_int_equal(no.status, 422);
        assert_non_null(strstr(pick_text(no.json, "message"), "sendInitialEvents is forbidden"));
        put_map(f, "b", "x");
        AUTO(mem_free) char *from = mem_printf("resourceVersion=%s", version);
        expect_watch(f, from, "ADDED b");
        for (int i = 0; i < 5; i++) /* the ring holds four */
                put_map(f, "b", i % 2 ? "x" : "y");
        AUTO(mem_free) char *late = mem_printf("watch=1&%s", from);
        AUTO(got_release) struct got gone = ask_with(f, late);
        assert_int_equal(gone.status, 410);
}

struct writer {
        struct fake *f;
        size_t watches;
};

/* Changes things once the watch is there, as somebody else would meanwhile. */
static void *write_meanwhile(void *arg)
{
        struct writer *w = arg;
        if (!fake_wait_watches(w->f, maps, w->watches, 60000))
                return NULL;
        put_map(w->f, "live", "x");
        fake_bookmark(w->f);
        fake_end_watches(w->f);
        return w;
}

static bool unwatched(struct fake *f, void *arg)
{
        (void)arg;
        return fake_watches(f, maps) == 0;
}

static void test_live_watch(void **state)
{
        struct writer w = {*state, 1};
        pthread_t thread;
        void *done;
        assert_int_equal(pthread_create(&thread, NULL, write_meanwhile, &w), 0);
        AUTO(got_release) struct got g = ask_with(w.f, "watch=1&allowWatchBookmarks=true");
        pthread_join(thread, &done);
        AUTO(mem_free) char *have = events(g.body);
        assert_non_null(done);
        assert_int_equal(g.curl, 0); /* a clean end */
        assert_string_equal(have, "ADDED live, BOOKMARK -");
        assert_true(fake_wait(w.f, unwatched, NULL, 60000));
}

static void test_restart_cuts_watches(void **state)
{
        struct fake *f = *state;
        put_map(f, "a", "x");
        fake_stop(f);
        AUTO(got_release) struct got none = ask_with(f, "");
        assert_int_equal(none.status, 0);
        assert_true(fake_start(f));
        expect_list(f, "", "a");
}

/* A server that is away is refused by its own port, which nobody else gets meanwhile. */
static void test_a_port_stays_its_server_s(void **state)
{
        struct fake *f = *state;
        const char *number = strrchr(fake_url(f), ':') + 1;
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)atoi(number)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        fake_stop(f);
        assert_int_equal(bind(other, (struct sockaddr *)&at, sizeof at), -1);
        assert_int_equal(errno, EADDRINUSE);
        AUTO(got_release) struct got none = ask_with(f, "");
        assert_int_equal(none.curl, CURLE_COULDNT_CONNECT);
        assert_true(fake_start(f));
        close(other);
}

/* --- made-up crowds --- */

static void test_size_world(void **state)
{
        struct fake *f = *state;
        fake_world_size(f, 2503);
        AUTO(got_release) struct got page = ask(f, "/api/v1/pods?limit=500");
        assert_int_equal(json_array_size(pick(page.json, "items")), 500);
        assert_int_equal(strlen(pick_text(page.json, "items[499].metadata.name")), 45);
        assert_int_equal(json_object_size(pick(page.json, "items[0].metadata.labels")), 5);
        assert_string_equal(pick_text(page.json, "metadata.remainingItemCount"), "2003");
        AUTO(mem_free)
        char *next = mem_printf("/api/v1/pods?limit=5000&continue=%s", pick_text(page.json, "metadata.continue"));
        AUTO(got_release) struct got rest = ask(f, next);
        assert_int_equal(json_array_size(pick(rest.json, "items")), 2003);
        AUTO(got_release) struct got metrics = ask(f, "/apis/metrics.k8s.io/v1beta1/pods");
        assert_int_equal(json_array_size(pick(metrics.json, "items")), 2503);
        assert_string_equal(pick_text(metrics.json, "items[2502].metadata.name"),
                            pick_text(rest.json, "items[2002].metadata.name"));
        AUTO(got_release)
        struct got one = ask(f, "/apis/apps/v1/namespaces/size-0000001/deployments/checkout-service-0000100");
        assert_string_equal(pick_text(one.json, "spec.replicas"), "5");
        AUTO(got_release) struct got owner = ask(f, "/apis/apps/v1/namespaces/size-0000000/replicasets?limit=1");
        assert_string_equal(pick_text(page.json, "items[4].metadata.ownerReferences[0].uid"),
                            pick_text(owner.json, "items[0].metadata.uid"));
        AUTO(got_release)
        struct got watch =
                ask(f, "/apis/apps/v1/"
                       "replicasets?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                       "allowWatchBookmarks=true");
        size_t lines = 0;
        for (const char *p = watch.body; (p = strchr(p, '\n')); p++)
                lines++;
        assert_int_equal(lines, 501 + 1); /* 2503 / 5, rounded up, and the bookmark */
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                ROW(test_selectors),
                ROW(test_pages_are_one_state),
                ROW(test_expired_page_offers_another),
                ROW(test_list_versions),
                ROW(test_watch_from_a_version),
                cmocka_unit_test_setup_teardown(test_old_server, set_up_old, tear_down),
                ROW(test_live_watch),
                ROW(test_restart_cuts_watches),
                ROW(test_a_port_stays_its_server_s),
                ROW(test_size_world),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
