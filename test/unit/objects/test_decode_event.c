#include "decode_help.h"

#define EVENT(more) "{\"metadata\":{\"name\":\"e\",\"namespace\":\"default\"},\"message\":\"m\"" more "}"
#define ON(kind)    ",\"involvedObject\":{\"kind\":\"" kind "\",\"name\":\"n-1\",\"uid\":\"n-1\"}"
#define OOM         ",\"reason\":\"SystemOOM\""

static const struct {
        const char *in, *want;
} row[] = {
        {EVENT(ON("Node") OOM
               ",\"firstTimestamp\":\"2026-07-01T10:00:00Z\",\"lastTimestamp\":\"2026-07-01T10:00:05Z\",\"count\":3"),
         "default/e SystemOOM 'm' of Node /n-1 n-1 at=2026-07-01T10:00:05Z"},
        {EVENT(ON("Node") OOM
               ",\"lastTimestamp\":null,\"eventTime\":\"2026-07-01T10:00:01.000000Z\",\"series\":{\"count\":2,"
               "\"lastObservedTime\":\"2026-07-01T10:00:09.000000Z\"}"),
         "default/e SystemOOM 'm' of Node /n-1 n-1 at=2026-07-01T10:00:09Z"},
        {EVENT(",\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"web\",\"name\":\"p\",\"uid\":\"u\"},\"reason\":"
               "\"Evicted\""),
         "default/e Evicted 'm' of Pod web/p u"},
        {EVENT(",\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"web\",\"name\":\"p\",\"uid\":\"u\",\"fieldPath\":"
               "\"spec.containers{app}\"},\"reason\":\"Killing\""),
         "default/e Killing 'm' of Pod web/p u field=spec.containers{app}"},
        {EVENT(""), "default/e  'm' of  / "},
        {EVENT(",\"lastTimestamp\":\"now\""), "!Event 'default/e': lastTimestamp 'now' is not a time"},
};

static void events_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct event_view e;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_event(text_of(row[i].in), &a, &e, &err);
                if (rc == 0) {
                        say_meta(&got, &e.meta);
                        say(&got, " %.*s '%.*s' of %.*s %.*s/%.*s %.*s", TEXT_ARG(e.reason), TEXT_ARG(e.message),
                            TEXT_ARG(e.kind), TEXT_ARG(e.ns), TEXT_ARG(e.name), TEXT_ARG(e.uid));
                        if (e.field.len)
                                say_text(&got, "field", e.field);
                        say_time(&got, "at", e.at);
                }
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(events_are_read_as_the_table_says)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
