/*
 * Events: said once, then counted; in a time of our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/api.h"
#include "../support/pick.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "kube/event.h"

static const char events[] = "/apis/events.k8s.io/v1/namespaces/web/events";

struct told {
        struct api api;
        struct event_source *source;
        size_t wanted;
};

static const struct event held = {.api_version = "apps/v1",
                                  .kind = "Deployment",
                                  .ns = "web",
                                  .name = "shop",
                                  .uid = "5b1f0c1e-7a39-4b8e-9a54-2f5d5d0a7e11",
                                  .warning = true,
                                  .reason = "Contested",
                                  .action = "Apply",
                                  .note = "changed to 500m by admission"};

static void begin(struct told *t)
{
        *t = (struct told){.wanted = 0};
        api_begin(&t->api, &(struct fake_options){.seed = 1});
        fake_put(t->api.fake, "owner",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"web\"}}");
        fake_count_reset(t->api.fake);
        t->source = event_source_new(t->api.client, "halflife-0");
}

static void end(struct told *t)
{
        event_source_free(t->source);
        api_end(&t->api);
}

static struct now at(int64_t minutes)
{
        return (struct now){{(minutes + 1000) * INT64_C(60000000000)}, {INT64_C(1700000000000) + minutes * MINUTE_MS}};
}

static bool written(void *arg)
{
        struct told *t = arg;
        return fake_count(t->api.fake, "write", "/") >= t->wanted && !event_writing(t->source);
}

/* So many writes in all, their answers heard, and none more soon after. */
static void assert_writes(struct told *t, size_t count)
{
        t->wanted = count;
        assert_true(api_until(&t->api, written, t));
        api_turn(&t->api, 30);
        assert_int_equal(fake_count(t->api.fake, "write", "/"), count);
}

static json_t *only_event(struct told *t)
{
        AUTO(mem_free) char *text = fake_get(t->api.fake, events);
        AUTO(json_decref) json_t *list = json_loads(text, 0, NULL);
        assert_int_equal(json_array_size(json_object_get(list, "items")), 1);
        return json_incref(json_array_get(json_object_get(list, "items"), 0));
}

static void said_once_then_counted(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        event_emit(t.source, &held, at(0));
        assert_writes(&t, 1);
        json_t *e = only_event(&t);
        static const struct {
                const char *path, *want;
        } row[] = {{"regarding.kind", "Deployment"},
                   {"regarding.name", "shop"},
                   {"regarding.namespace", "web"},
                   {"regarding.apiVersion", "apps/v1"},
                   {"regarding.uid", "5b1f0c1e-7a39-4b8e-9a54-2f5d5d0a7e11"},
                   {"type", "Warning"},
                   {"reason", "Contested"},
                   {"action", "Apply"},
                   {"note", "changed to 500m by admission"},
                   {"reportingController", "halflife.dev/controller"},
                   {"reportingInstance", "halflife-0"},
                   {"eventTime", "2023-11-14T22:13:20.000000Z"},
                   {"metadata.name", "shop.17979cfe362a0000"},
                   {"series", "-"}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (strcmp(pick_text(e, row[i].path), row[i].want) != 0)
                        fail_msg("%s is '%s', wanted '%s'", row[i].path, pick_text(e, row[i].path), row[i].want);
        json_decref(e);

        event_emit(t.source, &held, at(1)); /* the second begins a series */
        assert_writes(&t, 2);
        e = only_event(&t);
        assert_string_equal(pick_text(e, "series.count"), "2");
        assert_string_equal(pick_text(e, "series.lastObservedTime"), "2023-11-14T22:14:20.000000Z");
        json_decref(e);
        for (int64_t minute = 2; minute <= 30; minute++) { /* the next only count */
                event_emit(t.source, &held, at(minute));
                event_tick(t.source, at(minute));
        }
        assert_writes(&t, 2);
        event_emit(t.source, &held, at(31));
        event_tick(t.source, at(31)); /* 30 min after the last write: refreshed */
        assert_writes(&t, 3);
        event_emit(t.source, &held, at(32));
        event_tick(t.source, at(39)); /* idle: its last count is written */
        assert_writes(&t, 4);
        e = only_event(&t);
        assert_string_equal(pick_text(e, "series.count"), "33");
        json_decref(e);
        event_tick(t.source, at(40));
        event_emit(t.source, &held, at(41)); /* a new one */
        assert_writes(&t, 5);
        assert_int_equal(fake_objects(t.api.fake, events), 2);
        assert_int_equal(event_dropped(t.source), 0);
        end(&t);
}

static void two_in_one_turn_are_a_series(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        for (int i = 0; i < 3; i++)
                event_emit(t.source, &held, at(0));
        struct event other = held;
        other.note = "another";
        event_emit(t.source, &other, at(0));
        assert_writes(&t, 3);
        assert_int_equal(fake_objects(t.api.fake, events), 2);
        end(&t);
}

static bool none_left(void *arg)
{
        struct told *t = arg;
        event_tick(t->source, at(20));
        return fake_count(t->api.fake, "write", "/") >= t->wanted;
}

/* Seven minutes later it is another one, whether or not anybody looked in between. */
static void after_a_pause_it_is_said_anew(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        event_emit(t.source, &held, at(0));
        assert_writes(&t, 1);
        event_emit(t.source, &held, at(7));
        assert_writes(&t, 2);
        assert_int_equal(fake_objects(t.api.fake, events), 2);
        /* a series whose last count is still to be written goes on */
        event_emit(t.source, &held, at(8));
        assert_writes(&t, 3);
        event_emit(t.source, &held, at(9));
        event_emit(t.source, &held, at(16));
        assert_writes(&t, 4);
        assert_int_equal(fake_objects(t.api.fake, events), 2);
        t.wanted = 4;
        assert_true(api_until(&t.api, none_left, &t));
        end(&t);
}

static void so_many_kinds_are_remembered(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        for (int i = 0; i < 1010; i++) {
                char name[24];
                struct event e = held;
                snprintf(name, sizeof name, "shop-%d", i);
                e.name = name;
                event_emit(t.source, &e, at(0));
                t.wanted = (size_t)i < 1000 ? (size_t)i + 1 : 1000;
                assert_true(api_until(&t.api, written, &t));
        }
        api_turn(&t.api, 30);
        assert_int_equal(event_dropped(t.source), 10);
        event_emit(t.source, &held, at(7)); /* by then the old ones are over */
        assert_int_equal(event_dropped(t.source), 10);
        t.wanted = 1001;
        assert_true(api_until(&t.api, written, &t));
        end(&t);
}

static void cluster_objects_and_long_texts(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        char note[2000], name[254];
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        for (size_t i = 0; i + 2 < sizeof note; i += 2)
                memcpy(note + i, "é", 3);
        struct event e = {.api_version = "halflife.dev/v1alpha1",
                          .kind = "ClusterProfile",
                          .name = name,
                          .reason = "Accepted",
                          .action = "Recommend",
                          .note = note};
        event_emit(t.source, &e, at(0));
        assert_writes(&t, 1);
        AUTO(mem_free) char *text = fake_get(t.api.fake, "/apis/events.k8s.io/v1/namespaces/default/events");
        AUTO(json_decref) json_t *list = json_loads(text, 0, NULL);
        assert_string_equal(pick_text(list, "items[0].type"), "Normal");
        assert_int_equal(strlen(pick_text(list, "items[0].note")), 1024);
        assert_int_equal(strlen(pick_text(list, "items[0].metadata.name")), 253);
        assert_string_equal(pick_text(list, "items[0].regarding.namespace"), "-");
        e.note = "\xff"; /* not a text at all */
        event_emit(t.source, &e, at(0));
        assert_int_equal(event_dropped(t.source), 1);
        end(&t);
}

static void bounded_and_never_for_ever(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        fake_fault(t.api.fake, &(struct fake_fault){.path = events, .status = 500});
        event_emit(t.source, &held, at(0));
        assert_writes(&t, 1);
        assert_int_equal(event_dropped(t.source), 1);
        assert_int_equal(fake_objects(t.api.fake, events), 0);
        event_emit(t.source, &held, at(0)); /* the next is a first one again */
        assert_writes(&t, 2);
        assert_int_equal(fake_objects(t.api.fake, events), 1);
        uint64_t before = event_dropped(t.source);
        for (int i = 0; i < 40; i++) { /* 25 at once */
                char name[24];
                struct event e = held;
                snprintf(name, sizeof name, "shop-%d", i);
                e.name = name;
                event_emit(t.source, &e, at(0));
        }
        assert_int_equal(event_dropped(t.source) - before, 15);
        assert_writes(&t, 27);
        end(&t);
}

static void freed_with_writes_under_way(void **state)
{
        (void)state;
        struct told t;
        begin(&t);
        event_emit(t.source, &held, at(0));
        end(&t);
        event_source_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(said_once_then_counted),         cmocka_unit_test(two_in_one_turn_are_a_series),
                cmocka_unit_test(after_a_pause_it_is_said_anew),  cmocka_unit_test(so_many_kinds_are_remembered),
                cmocka_unit_test(cluster_objects_and_long_texts), cmocka_unit_test(bounded_and_never_for_ever),
                cmocka_unit_test(freed_with_writes_under_way),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
