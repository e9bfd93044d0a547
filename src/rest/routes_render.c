/* POST …/render: takes manifests, and returns them with the CPU and memory requests to deploy with. */
#include <stdio.h>
#include <strings.h>

#include "deploy/render.h"
#include "handlers.h"

enum { OUT_MAX = 128 << 20, REASONS_MAX = 16 };

/* The media type that `given` names, without its parameters; NULL: not accepted. A request without a type is read as
 * YAML, because JSON is YAML as well. */
static const char *render_type_of(struct text given)
{
        static const char *const types[] = {"application/yaml", "application/x-yaml", "text/yaml", "text/plain",
                                            "application/json"};
        size_t len = 0;
        while (len < given.len && given.p[len] != ';' && given.p[len] != ' ')
                len++;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (len == strlen(types[i]) && strncasecmp(given.p, types[i], len) == 0)
                        return types[i];
        return len == 0 ? types[0] : NULL;
}

static void count_header(struct answer *ret, const char *name, size_t count, struct arena *a)
{
        char text[24];
        snprintf(text, sizeof text, "%zu", count);
        answer_header(ret, name, arena_text(a, text_of(text)));
}

/* Add the header X-Halflife-Reason, which lists each reason once. */
static void reason_header(struct answer *ret, const struct render_row *row, size_t count, struct arena *a)
{
        const char *seen[REASONS_MAX];
        char text[REASONS_MAX * 20] = "";
        int reasons = 0, at = 0;
        for (size_t i = 0; i < count && reasons < REASONS_MAX; i++) {
                int k = 0;
                while (row[i].reason && k < reasons && strcmp(seen[k], row[i].reason) != 0)
                        k++;
                if (!row[i].reason || k < reasons || (size_t)at + strlen(row[i].reason) + 3 > sizeof text)
                        continue;
                seen[reasons++] = row[i].reason;
                at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", at ? ", " : "", row[i].reason);
        }
        if (at > 0)
                answer_header(ret, "X-Halflife-Reason", arena_text(a, text_of(text)));
}

static void render_refuse(struct answer *ret, const struct err *err)
{
        answer_problem(ret, err->code == ERR_TOOBIG ? PROBLEM_TOO_LARGE : PROBLEM_INVALID_BODY, "%s", err->text);
}

static int write_body(const struct render *r, bool report, const char *type, struct answer *ret, struct err *err)
{
        *ret = (struct answer){.status = 200, .type = report ? "application/json" : type};
        buf_init(&ret->body, report ? RENDER_REPORT_MAX : OUT_MAX);
        return report ? render_report(r, 0, &ret->body, err) : render_write(r, 0, &ret->body, err);
}

void route_render(const struct route *route, const struct request *r, const struct snapshot *v, struct arena *a,
                  struct answer *ret)
{
        struct err err = {0};
        size_t count;
        const char *type = render_type_of(r->content_type);
        if (!type) {
                answer_problem(ret, PROBLEM_UNSUPPORTED_TYPE,
                               "the Content-Type is not application/yaml, text/yaml, application/x-yaml, "
                               "application/json or text/plain: "
                               "curl --data-binary @FILE -H 'Content-Type: application/yaml'");
                return;
        }
        const struct render_options o = {.ns = text_of(route->ns), .one_ns = true};
        AUTO(render_free) struct render *done = render_new(&o);
        if (render_add(done, r->body, &err) < 0) {
                render_refuse(ret, &err);
                return;
        }
        render_run(done, v);
        if (write_body(done, route->dry_run, type, ret, &err) < 0) {
                render_refuse(ret, &err);
                return;
        }
        const struct render_row *row = render_rows(done, &count);
        count_header(ret, "X-Halflife-Changed", render_changed(done), a);
        count_header(ret, "X-Halflife-Left", count - render_changed(done), a);
        reason_header(ret, row, count, a);
        answer_age(v, r->at, a, ret);
}
