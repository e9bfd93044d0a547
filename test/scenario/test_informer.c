/*
 * List and watch over a real wire: whatever the server does, once things are quiet the owner's map is the server's,
 * version by version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/api.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "kube/informer.h"
#include "objects/decode.h"

enum { LONG_MS = 20000, NAMES = 20 };

static const char maps[] = "/api/v1/namespaces/default/configmaps";

/* --- the owner's map -----------------------------------------------------------------------------------------------
 */

struct kept {
        char *name, *version;
        uint32_t epoch;
};

struct watched {
        struct api api;
        struct map kept;
        struct informer *informer;
        int troubles, recoveries, code;
        char text[ERR_TEXT_MAX];
};

static void kept_free(struct watched *w, struct kept *k)
{
        map_drop(&w->kept, text_of(k->name));
        mem_free(k->name);
        mem_free(k->version);
        mem_free(k);
}

static int on_upsert(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watched *w = arg;
        struct arena a = {0};
        struct object_view m;
        int rc = decode_object(object, &a, &m, err);
        if (rc == 0) {
                struct kept *old = map_get(&w->kept, m.name), *k = MEM_NEW(struct kept);
                if (old)
                        kept_free(w, old);
                *k = (struct kept){mem_string_n(m.name.p, m.name.len), mem_string_n(m.version.p, m.version.len), epoch};
                map_put(&w->kept, text_of(k->name), k);
        }
        arena_release(&a);
        return rc;
}

static void on_remove(void *arg, struct text object)
{
        struct watched *w = arg;
        struct arena a = {0};
        struct object_view m;
        assert_int_equal(decode_object(object, &a, &m, NULL), 0);
        struct kept *old = map_get(&w->kept, m.name);
        if (old)
                kept_free(w, old);
        arena_release(&a);
}

static void on_swept(void *arg, uint32_t epoch)
{
        struct watched *w = arg;
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&w->kept, &at, &key, &value);) {
                struct kept *k = value;
                if (k->epoch < epoch)
                        kept_free(w, k);
        }
}

static void on_trouble(void *arg, const struct err *err)
{
        struct watched *w = arg;
        w->troubles += err->code != 0;
        w->recoveries += err->code == 0;
        w->code = err->code;
        memcpy(w->text, err->text, sizeof w->text);
}

static void watch(struct watched *w, const char *path)
{
        const struct informer_owner owner = {on_upsert, on_remove, on_swept, on_trouble, w};
        w->informer = informer_new(w->api.client, path, NULL, &owner);
        assert_string_equal(informer_path(w->informer), path);
}

static void begin(struct watched *w, const struct fake_options *o)
{
        *w = (struct watched){.code = 0};
        api_begin(&w->api, o);
}

static void end(struct watched *w)
{
        informer_free(w->informer);
        on_swept(w, UINT32_MAX);
        map_release(&w->kept);
        api_end(&w->api);
}

static json_t *server_items(struct watched *w, const char *path)
{
        AUTO(mem_free) char *text = fake_get(w->api.fake, path);
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        return json_incref(json_object_get(list, "items"));
}

static bool is_same(void *arg)
{
        struct watched *w = arg;
        AUTO(json_decref) json_t *items = server_items(w, informer_path(w->informer));
        size_t i;
        json_t *item;
        if (!informer_stats(w->informer)->synced || json_array_size(items) != w->kept.count)
                return false;
        json_array_foreach(items, i, item)
        {
                const json_t *meta = json_object_get(item, "metadata");
                struct kept *k = map_get(&w->kept, text_of(json_string_value(json_object_get(meta, "name"))));
                if (!k || strcmp(k->version, json_string_value(json_object_get(meta, "resourceVersion"))) != 0)
                        return false;
        }
        return true;
}

static void assert_becomes_same(struct watched *w)
{
        if (!api_until(&w->api, is_same, w))
                fail_msg("%zu objects here, %zu there; %s", w->kept.count,
                         fake_objects(w->api.fake, informer_path(w->informer)), w->text);
}

static bool in_trouble(void *arg)
{
        struct watched *w = arg;
        return w->code != 0;
}

static bool is_well(void *arg)
{
        struct watched *w = arg;
        return w->code == 0;
}

/* --- the server's objects --- */

static void put(struct watched *w, unsigned name, unsigned value)
{
        AUTO(mem_free)
        char *body =
                mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m%u\",\"namespace\":"
                           "\"default\"},\"data\":{\"v\":\"%u é \xf0\x9f\x98\x80\"}}",
                           name, value);
        fake_put(w->api.fake, "owner", body);
}

static void drop(struct watched *w, unsigned name)
{
        AUTO(mem_free) char *path = mem_printf("%s/m%u", maps, name);
        fake_delete(w->api.fake, path);
}

static unsigned draw(unsigned below)
{
        static uint64_t seed = 42;
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(seed >> 33) % below;
}

static void change_some(struct watched *w, unsigned times)
{
        for (unsigned i = 0; i < times; i++)
                if (draw(3))
                        put(w, draw(NAMES), draw(1000));
                else
                        drop(w, draw(NAMES));
}

/* --- stories
 * ------------------------------------------------------------------------------------------------------------ */

static void a_watch_list_then_events(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.opaque_versions = true});
        change_some(&w, 40);
        watch(&w, maps);
        assert_becomes_same(&w);
        for (int round = 0; round < 10; round++) {
                change_some(&w, 5);
                assert_becomes_same(&w);
        }
        assert_int_equal(informer_stats(w.informer)->lists, 1);
        assert_int_equal(fake_count(w.api.fake, "list", maps), 0);
        const struct fake_request *last = fake_last(w.api.fake, "watch", maps);
        assert_string_equal(last->encoding, ""); /* never gzip */
        assert_non_null(strstr(last->query, "sendInitialEvents=true"));
        assert_non_null(strstr(last->query, "allowWatchBookmarks=true"));
        assert_int_equal(w.troubles, 0);
        end(&w);
}

static void pages_where_there_is_no_watch_list(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.watch_list_off = true});
        for (unsigned i = 0; i < 1203; i++)
                put(&w, i, i);
        watch(&w, maps);
        assert_becomes_same(&w);
        assert_int_equal(w.kept.count, 1203);
        assert_int_equal(fake_count(w.api.fake, "list", maps), 3);
        change_some(&w, 10);
        assert_becomes_same(&w);
        fake_end_watches(w.api.fake); /* a clean end is no reason to list */
        change_some(&w, 10);
        assert_becomes_same(&w);
        assert_int_equal(fake_count(w.api.fake, "list", maps), 3);
        assert_int_equal(informer_stats(w.informer)->lists, 1);
        assert_int_equal(w.troubles, 0);
        end(&w);
}

static void gone_in_both_forms(void **state)
{
        (void)state;
        for (int as_http = 0; as_http < 2; as_http++) {
                struct watched w;
                begin(&w, &(struct fake_options){.gone_as_http = as_http});
                change_some(&w, 30);
                watch(&w, maps);
                assert_becomes_same(&w);
                fake_stop(w.api.fake);
                change_some(&w, 30);
                fake_compact(w.api.fake);
                assert_true(fake_start(w.api.fake));
                assert_becomes_same(&w);
                assert_int_equal(informer_stats(w.informer)->lists, 2);
                end(&w);
        }
}

static void expired_pages_end_in_one_whole_list(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.watch_list_off = true});
        for (unsigned i = 0; i < 700; i++)
                put(&w, i, i);
        for (unsigned nth = 0; nth < 2; nth++) /* the second page, each time */
                fake_fault(w.api.fake, &(struct fake_fault){.verb = "list", .path = maps, .nth = 1, .status = 410});
        watch(&w, maps);
        assert_becomes_same(&w);
        const struct fake_request *last = fake_last(w.api.fake, "list", maps);
        assert_null(strstr(last->query, "limit="));
        assert_int_equal(informer_stats(w.informer)->lists, 1);
        end(&w);
}

static void bytes_in_any_pieces(void **state)
{
        (void)state;
        for (int list = 0; list < 2; list++) {
                struct watched w;
                begin(&w, &(struct fake_options){.watch_list_off = list});
                fake_fault(w.api.fake, &(struct fake_fault){.path = maps, .times = FAKE_ALWAYS, .split_every = 3});
                change_some(&w, 30);
                watch(&w, maps);
                assert_becomes_same(&w);
                change_some(&w, 10);
                assert_becomes_same(&w);
                assert_int_equal(informer_stats(w.informer)->refused, 0);
                end(&w);
        }
}

/* Cut anywhere, forgotten anywhere: each round ends in peace, and then all is as it should be. */
static void cuts_anywhere(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.history = 64});
        change_some(&w, 20);
        watch(&w, maps);
        for (int round = 0; round < 4; round++) {
                fake_fault(w.api.fake, &(struct fake_fault){.path = maps,
                                                            .times = 1,
                                                            .cut = true,
                                                            .cut_after = draw(3000),
                                                            .split_every = 1 + draw(100)});
                change_some(&w, 15);
                if (draw(2))
                        fake_end_watches(w.api.fake);
                if (draw(3) == 0)
                        fake_compact(w.api.fake);
                api_turn(&w.api, 50);
                change_some(&w, 15);
                fake_faults_clear(w.api.fake);
                assert_becomes_same(&w);
        }
        end(&w);
}

static void a_kind_that_is_not_there_yet(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.seed = 1});
        watch(&w, "/apis/example.com/v1/things");
        assert_true(api_until(&w.api, in_trouble, &w));
        assert_int_equal(w.code, ERR_NOTFOUND);
        assert_false(informer_stats(w.informer)->synced);
        fake_put(w.api.fake, "owner",
                 "{\"apiVersion\":\"apiextensions.k8s.io/"
                 "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
                 "\"things.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{"
                 "\"plural\":"
                 "\"things\",\"singular\":\"thing\",\"kind\":\"Thing\",\"listKind\":\"ThingList\"},\"versions\":[{"
                 "\"name\":\"v1\","
                 "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
                 "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}");
        assert_becomes_same(&w);
        assert_int_equal(w.troubles, 1);
        assert_int_equal(w.recoveries, 1);
        end(&w);
}

static void what_is_not_allowed_is_said_once(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.seed = 1});
        put(&w, 1, 1);
        fake_deny(w.api.fake, &(struct fake_rule){.verb = "watch", .resource = "configmaps"});
        watch(&w, maps);
        assert_true(api_until(&w.api, in_trouble, &w));
        assert_int_equal(w.code, ERR_DENIED);
        assert_non_null(strstr(w.text, "configmaps"));
        assert_true(fake_wait_count(w.api.fake, "watch", maps, 1, LONG_MS));
        fake_allow_all(w.api.fake);
        assert_becomes_same(&w);
        assert_true(api_until(&w.api, is_well, &w));
        assert_int_equal(w.troubles, 1);
        end(&w);
}

/* A list of one sort of object ends with it: nothing is called after. */
static void freed_at_any_time(void **state)
{
        (void)state;
        struct watched w;
        begin(&w, &(struct fake_options){.seed = 1});
        change_some(&w, 20);
        for (int ms = 0; ms < 20; ms += 2) {
                watch(&w, maps);
                api_turn(&w.api, ms);
                informer_free(w.informer);
                w.informer = NULL;
        }
        fake_stop(w.api.fake);
        watch(&w, maps);
        api_turn(&w.api, 100); /* refused: it waits for its next try */
        end(&w);
        informer_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_watch_list_then_events),
                cmocka_unit_test(pages_where_there_is_no_watch_list),
                cmocka_unit_test(gone_in_both_forms),
                cmocka_unit_test(expired_pages_end_in_one_whole_list),
                cmocka_unit_test(bytes_in_any_pieces),
                cmocka_unit_test(cuts_anywhere),
                cmocka_unit_test(a_kind_that_is_not_there_yet),
                cmocka_unit_test(what_is_not_allowed_is_said_once),
                cmocka_unit_test(freed_at_any_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
