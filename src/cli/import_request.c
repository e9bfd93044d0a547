#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "import.h"
#include "kube/known_resource.h"
#include "list_client.h"
#include "objects/decode.h"
#include "recommendation_ask.h"
#include "terminal.h"

/* --- one Recommendation --- */

static void ask_free(struct import_ask *a)
{
        if (!a)
                return;
        buf_release(&a->lines);
        buf_release(&a->containers);
        mem_free(a->ns);
        mem_free(a->workload);
        mem_free(a->group);
        mem_free(a->kind);
        mem_free(a->name);
        mem_free(a);
}

static struct import_ask *ask_new(const struct store_key *k, const char *ns)
{
        struct import_ask *a = MEM_NEW(struct import_ask);
        a->ns = mem_string(ns);
        a->workload = mem_printf("%.*s/%.*s", TEXT_ARG(k->kind), TEXT_ARG(k->name));
        a->group = mem_string_n(k->group.p, k->group.len);
        a->kind = mem_string_n(k->kind.p, k->kind.len);
        a->name = mem_string_n(k->name.p, k->name.len);
        kind_recommendation_name(k->group, k->kind, k->name, a->recommendation);
        buf_init(&a->lines, IMPORT_BYTES);
        buf_init(&a->containers, IMPORT_BYTES);
        return a;
}

static bool import_ask_is_same(const struct import_ask *a, const struct import_ask *b)
{
        return strcmp(a->ns, b->ns) == 0 && strcmp(a->recommendation, b->recommendation) == 0;
}

static char *path_to(const struct import_ask *a)
{
        return known_resource_path(KNOWN_RECOMMENDATIONS, a->ns, a->recommendation, NULL);
}

static void import_ask_print_line(const char *ns, const char *workload, const char *container, const char *what)
{
        AUTO(mem_free) char *line = mem_printf("%s %s %s: %s", ns, workload, container, what);
        puts(terminal_tame(line));
}

static void import_ask_print(const struct import_ask *a, const char *container, const char *what)
{
        import_ask_print_line(a->ns, a->workload, container, what);
}

void import_leave(struct importing *im, const char *ns, const char *workload, const char *container, const char *why)
{
        AUTO(mem_free) char *what = mem_printf("left: %s", why);
        import_ask_print_line(ns, workload, container, what);
        im->left++;
}

static void print_each(const struct import_ask *a, const char *what)
{
        for (const char *at = a->containers.data; at && *at;) {
                size_t len = strcspn(at, "\n");
                AUTO(mem_free) char *name = mem_string_n(at, len);
                import_ask_print(a, name, what);
                at += len + 1;
        }
}

static void import_ask_leave(struct importing *im, const struct import_ask *a, const char *why)
{
        AUTO(mem_free) char *what = mem_printf("left: %s", why);
        print_each(a, what);
        im->left += (size_t)a->count;
}

/* --- asking the controller --- */

static const char *import_ask_note(const json_t *object, const char *key)
{
        return json_string_value(
                json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"), key));
}

static struct recommendation_ask import_ask_request(const struct import_ask *a)
{
        return (struct recommendation_ask){.ns = a->ns,
                                           .group = a->group,
                                           .kind = a->kind,
                                           .name = a->name,
                                           .recommendation = a->recommendation,
                                           .manager = "halflife-import",
                                           .asks = ANNOTATION_IMPORT,
                                           .value = a->lines.data,
                                           .answers = ANNOTATION_IMPORTED};
}

/* Send an import request, or in a dry run check whether it could be sent. Returns 1: it could; 0: no Recommendation can
 * take the histories, which is printed; negative: an error. */
static int import_ask_request_send(struct importing *im, struct import_ask *a, struct err *err)
{
        const struct recommendation_ask ask = import_ask_request(a);
        int rc = im->dry_run ? recommendation_ask_look(&im->session, &ask, err)
                             : recommendation_ask_send(&im->session, &ask, err);
        if (rc != ERR_NOTFOUND || session_no_kinds(err))
                return rc < 0 ? rc : 1;
        import_ask_leave(im, a, err->text);
        return 0;
}

static const json_t *answer_to(const struct import_ask *a, const json_t *answer)
{
        const char *request = json_string_value(json_object_get(answer, "request"));
        return request && strcmp(request, a->request) == 0 ? json_object_get(answer, "containers") : NULL;
}

static void import_ask_count(struct importing *im, const struct import_ask *a, const json_t *containers)
{
        const char *name;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)containers, name, value)
        {
                const char *what = json_string_value(value);
                bool joined = what && strcmp(what, "joined") == 0, known = what && strcmp(what, "known") == 0;
                im->joined += joined;
                im->known += known;
                im->refused += !joined && !known;
                import_ask_print(a, name, known ? "known: its samples were imported before" : what ? what : "refused");
        }
        fflush(stdout);
}

static int import_ask_no_answer(const struct importing *im, const struct import_ask *a, struct err *err)
{
        return err_set(err, ERR_NOTFOUND,
                       "%s/%s: no answer within %lld s: does a controller run, and hold the Lease? Once one does, it "
                       "carries out the request; run the same command again for its answer",
                       a->ns, a->recommendation, (long long)(im->timeout_ms / SECOND_MS));
}

/* Look for the controller's answer. Returns 1: found and printed; 0: not there yet; negative: an error. */
static int import_ask_look(struct importing *im, struct import_ask *a, struct err *err)
{
        AUTO(mem_free) char *path = path_to(a);
        AUTO(json_decref) json_t *object = listing_ask(im->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        if (!object && err->code == ERR_NOTFOUND) {
                import_ask_leave(im, a, "its Recommendation was deleted before the answer: does a profile select it?");
                return 1;
        }
        if (!object && err->code != ERR_RETRY)
                return err->code;
        const char *asks = import_ask_note(object, ANNOTATION_IMPORT),
                   *said = import_ask_note(object, ANNOTATION_IMPORTED);
        if (said && !asks && strncmp(said, "refused: ", 9) == 0) { /* the controller refuses the whole import request */
                print_each(a, said);
                im->refused += (size_t)a->count;
                return 1;
        }
        AUTO(json_decref) json_t *answer = said && !asks ? json_loads(said, 0, NULL) : NULL;
        const json_t *containers = answer_to(a, answer);
        if (containers) {
                import_ask_count(im, a, containers);
                return 1;
        }
        if (object && (answer || !asks || strcmp(asks, a->lines.data) != 0)) {
                import_ask_leave(im, a, "another import replaced this request: run the same command again");
                return 1;
        }
        if (mono_read().ns - a->since.ns < im->timeout_ms * 1000000)
                return 0;
        return object ? import_ask_no_answer(im, a, err) : err->code;
}

static void import_ask_fired(void *arg)
{
        *(bool *)arg = true;
}

void import_wait_a_little(struct importing *im)
{
        struct loop_timer timer = {0};
        bool over = false;
        loop_timer_set(im->session.loop, &timer, SECOND_MS / 2, import_ask_fired, &over);
        while (!over)
                loop_turn(im->session.loop, -1);
}

/* Wait a little, then look once for the answer to each import request. */
static int look_at_all(struct importing *im, struct err *err)
{
        import_wait_a_little(im);
        for (int i = im->asks; i-- > 0;) {
                int rc = import_ask_look(im, im->asked[i], err);
                if (rc < 0)
                        return rc;
                if (rc == 0)
                        continue;
                ask_free(im->asked[i]);
                im->asked[i] = im->asked[--im->asks];
        }
        return 0;
}

static bool must_wait(const struct importing *im, const struct import_ask *a)
{
        for (int i = 0; i < im->asks; i++)
                if (import_ask_is_same(im->asked[i], a))
                        return true;
        return im->asks == IMPORT_AT_ONCE;
}

/* Send an import request, once fewer than IMPORT_AT_ONCE wait for an answer, and none on the same Recommendation. Takes
 * over `a`, even on failure. */
static int import_ask_send(struct importing *im, struct import_ask *a, struct err *err)
{
        int rc = 0;
        while (rc == 0 && must_wait(im, a))
                rc = look_at_all(im, err);
        snprintf(a->request, sizeof a->request, "%016llx", (unsigned long long)transfer_source_named(a->lines.data));
        a->since = mono_read();
        if (rc == 0)
                rc = import_ask_request_send(im, a, err);
        if (rc > 0 && im->dry_run) {
                print_each(a, "would be joined");
                im->joined += (size_t)a->count;
        } else if (rc > 0) {
                im->asked[im->asks++] = a;
                return 0;
        }
        ask_free(a);
        return rc < 0 ? rc : 0;
}

int import_put(struct importing *im, const struct transfer_row *row, const char *ns, struct err *err)
{
        char line[TRANSFER_LINE_MAX];
        size_t len = transfer_print(row, line);
        struct import_ask *a = ask_new(&row->key, ns);
        int rc = 0;
        if (im->open && (!import_ask_is_same(im->open, a) || im->open->lines.len + len > IMPORT_BYTES))
                rc = import_ask_send(im, STEAL(&im->open), err);
        if (im->open || rc < 0)
                ask_free(a);
        else
                im->open = a;
        if (rc < 0)
                return rc;
        buf_add(&im->open->lines, line, len);
        buf_printf(&im->open->containers, "%.*s\n", TEXT_ARG(row->key.container));
        im->open->count++;
        return 0;
}

int import_finish(struct importing *im, struct err *err)
{
        int rc = im->open ? import_ask_send(im, STEAL(&im->open), err) : 0;
        while (rc == 0 && im->asks > 0)
                rc = look_at_all(im, err);
        return rc;
}

void import_release(struct importing *im)
{
        ask_free(im->open);
        while (im->asks > 0)
                ask_free(im->asked[--im->asks]);
        session_release(&im->session);
}

void import_sum(const struct importing *im)
{
        fflush(stdout); /* so that the results stand before the errors if both go to one file */
        if (im->dry_run)
                fprintf(stderr, "%zu would be joined, unless the controller has joined them before; %zu left\n",
                        im->joined, im->left);
        else
                fprintf(stderr, "%zu joined, %zu known already, %zu refused, %zu left\n", im->joined, im->known,
                        im->refused, im->left);
        if (im->refused || im->left)
                fprintf(stderr, "run the same command again to continue: no history counts twice\n");
}
