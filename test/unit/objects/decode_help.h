/* What the tests of the decoders share: a view as one line of text, so that a table says what is wanted. */
#ifndef HALFLIFE_TEST_UNIT_OBJECTS_DECODE_HELP_H
#define HALFLIFE_TEST_UNIT_OBJECTS_DECODE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "objects/decode.h"

static inline void say(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void say(struct buf *b, const char *fmt, ...)
{
        char text[1024];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        assert_int_equal(buf_add_text(b, text), 0);
}

static inline void say_amounts(struct buf *b, const char *name, const struct amount a[RESOURCES])
{
        for (int r = 0; r < RESOURCES; r++)
                if (a[r].set)
                        say(b, " %s.%s=%lld", name, resource_name((enum resource)r), (long long)a[r].value);
}

static inline void say_text(struct buf *b, const char *name, struct text t)
{
        if (t.len > 0)
                say(b, " %s=%.*s", name, TEXT_ARG(t));
}

static inline void say_time(struct buf *b, const char *name, struct wall t)
{
        char text[WALL_TEXT_MAX];
        if (t.ms)
                say(b, " %s=%s", name, wall_print(t, text));
}

static inline void say_annotations(struct buf *b, const char *where, const struct our_annotations *a)
{
        const struct {
                const char *name;
                struct text is;
        } row[] = {{"original", a->original}, {"applied", a->applied},
                   {"basis", a->basis},       {"raised", a->raised},
                   {"apply", a->apply},       {"hold", a->hold},
                   {"targets", a->targets},   {"targets-applied", a->targets_applied}};
        bool any = false;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (row[i].is.len > 0 && !any)
                        say(b, " %s:", where);
                any = any || row[i].is.len > 0;
                say_text(b, row[i].name, row[i].is);
        }
}

static inline void say_labels(struct buf *b, const char *name, const struct label *label, int count)
{
        for (int i = 0; i < count; i++)
                say(b, " %s:%.*s=%.*s", name, TEXT_ARG(label[i].key), TEXT_ARG(label[i].value));
}

static inline void say_meta(struct buf *b, const struct object_view *m)
{
        say(b, "%.*s/%.*s", (int)m->ns.len, m->ns.len ? m->ns.p : "", TEXT_ARG(m->name));
        say_text(b, "uid", m->uid);
        say_text(b, "version", m->version);
        if (m->generation)
                say(b, " generation=%lld", (long long)m->generation);
        say_time(b, "created", m->created);
        say_time(b, "deleted", m->deleted);
        if (m->owner.kind.len)
                say(b, " owner=%.*s/%.*s/%.*s/%.*s", TEXT_ARG(m->owner.api_version), TEXT_ARG(m->owner.kind),
                    TEXT_ARG(m->owner.name), TEXT_ARG(m->owner.uid));
        say_annotations(b, "annotations", &m->annotation);
        say_labels(b, "label", m->label, m->labels);
}

static inline void say_containers(struct buf *b, const struct container_view *c, int count)
{
        static const char *const role[] = {"main", "sidecar", "init", "injected"};
        for (int i = 0; i < count; i++) {
                say(b, " | %.*s %s", TEXT_ARG(c[i].name), role[c[i].role]);
                say_amounts(b, "request", c[i].request);
                say_amounts(b, "limit", c[i].limit);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (c[i].restarts[r])
                                say(b, " restarts.%s", resource_name(r));
                if (c[i].probed)
                        say(b, " probed");
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        char reader[REQUEST_READING_TEXT_MAX];
                        if (c[i].read[r].divisor)
                                say(b, " read.%s=%lld %s", resource_name(r), (long long)c[i].read[r].divisor,
                                    request_reading_print(&c[i].read[r], reader));
                }
                struct arena a = {0};
                struct runtime_heap heap;
                decode_runtime_heap(&c[i], &a, &heap);
                if (runtime_heap_given(&heap))
                        say(b, " heap=%lld..%lld%s", (long long)heap.start, (long long)heap.most,
                            heap.incomplete ? " incomplete" : "");
                arena_release(&a);
        }
}

/* want begins with '!': an error that must hold the rest. */
static inline void expect(const char *in, const char *want, int rc, const struct err *err, const struct buf *got)
{
        if (want[0] == '!') {
                if (rc == 0 || rc != err->code || !strstr(err->text, want + 1))
                        fail_msg("%.300s\nwanted the error '%s', got %d '%s'", in, want + 1, rc, rc ? err->text : "");
                return;
        }
        if (rc != 0 || strcmp(want, got->data) != 0)
                fail_msg("%.300s\nwanted %s\ngot    %s", in, want, rc ? err->text : got->data);
}

#endif
