/*
 * The write path, while each step fails in turn. The object is either unchanged or as intended, never between, and the
 * caller gets the error.
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
#include "kube/patch.h"

static const char path[] = "/apis/apps/v1/namespaces/web/deployments/shop";

struct sent {
        struct api api;
        bool done;
        int code, status;
        char text[ERR_TEXT_MAX];
        char *body;
};

static void on_done(void *arg, const struct client_answer *a)
{
        struct sent *s = arg;
        s->done = true;
        s->code = a->err.code;
        s->status = a->status;
        memcpy(s->text, a->err.text, sizeof s->text);
        s->body = mem_string_n(a->body.p, a->body.len);
}

static bool is_done(void *arg)
{
        struct sent *s = arg;
        return s->done;
}

static void begin(struct sent *s)
{
        *s = (struct sent){.done = false};
        api_begin(&s->api, &(struct fake_options){.controllers = FAKE_CONTROLLERS_OFF});
}

static void end(struct sent *s)
{
        mem_free(s->body);
        api_end(&s->api);
}

static void put_deployment(struct sent *s)
{
        fake_put(s->api.fake, "owner",
                 "{\"apiVersion\":\"apps/"
                 "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"shop\",\"namespace\":\"web\"},\"spec\":"
                 "{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"shop\"}},\"template\":{\"metadata\":{"
                 "\"labels\":{\"app\":"
                 "\"shop\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"i\",\"resources\":{\"requests\":{"
                 "\"cpu\":\"2\"},"
                 "\"limits\":{\"cpu\":\"4\",\"memory\":\"4Gi\"}}}]}}}}");
}

static json_t *read_deployment(struct sent *s)
{
        AUTO(mem_free) char *text = fake_get(s->api.fake, path);
        assert_non_null(text);
        return json_loads(text, 0, NULL);
}

/* Build from what stands there now, and send it. */
static void patch_cpu(struct sent *s, int64_t milli, bool dry_run)
{
        static const struct patch_container none;
        struct patch_container to = none;
        struct err err = {0};
        AUTO(mem_free) char *object = fake_get(s->api.fake, path);
        AUTO(json_decref) json_t *read = json_loads(object, 0, NULL);
        to.name = "app";
        to.write[CPU] = true;
        to.to[CPU] = (struct amount){true, milli};
        const struct patch_resources p = {.template_path = "/spec/template",
                                          .object = text_of(object),
                                          .version = pick_text(read, "metadata.resourceVersion"),
                                          .container = &to,
                                          .containers = 1,
                                          .original = "{\"app\":{\"requests\":{\"cpu\":\"2\"}}}",
                                          .applied = "{\"app\":{\"requests\":{\"cpu\":\"454m\"}}}",
                                          .basis = BASIS_REQUEST};
        AUTO(json_decref) json_t *patch = patch_build(&p, &err);
        assert_non_null(patch);
        mem_free(s->body);
        s->body = NULL;
        s->done = false;
        patch_send(s->api.client, path, patch, dry_run, on_done, s);
}

static void wait_done(struct sent *s)
{
        assert_true(api_until(&s->api, is_done, s));
}

static const char *cpu(const json_t *deployment)
{
        return pick_text(deployment, "spec.template.spec.containers[0].resources.requests.cpu");
}

/* Whole: requests and both pairs of annotations together; limits always as they were. Returns whether it was written.
 */
static bool assert_whole(struct sent *s)
{
        AUTO(json_decref) json_t *d = read_deployment(s);
        bool written = strcmp(cpu(d), "454m") == 0;
        assert_string_equal(cpu(d), written ? "454m" : "2");
        assert_string_equal(pick_text(d, "spec.template.spec.containers[0].resources.limits.cpu"), "4");
        const json_t *template = json_object_get(json_object_get(d, "spec"), "template");
        const json_t *holder[] = {d, template};
        for (int i = 0; i < 2; i++) {
                const json_t *notes = json_object_get(json_object_get(holder[i], "metadata"), "annotations");
                assert_int_equal(json_object_get(notes, ANNOTATION_ORIGINAL) != NULL, written);
                assert_int_equal(json_object_get(notes, ANNOTATION_APPLIED) != NULL, written);
        }
        return written;
}

static void the_answer_is_the_object(void **state)
{
        (void)state;
        struct sent s;
        begin(&s);
        put_deployment(&s);
        patch_cpu(&s, 454, true); /* a dry run changes nothing */
        wait_done(&s);
        assert_int_equal(s.code, 0);
        assert_false(assert_whole(&s));
        patch_cpu(&s, 454, false);
        wait_done(&s);
        assert_int_equal(s.code, 0);
        assert_true(assert_whole(&s));
        AUTO(json_decref) json_t *answer = json_loads(s.body, 0, NULL);
        assert_string_equal(cpu(answer), "454m");
        const struct fake_request *last = fake_last(s.api.fake, "patch", path);
        assert_string_equal(last->type, "application/json-patch+json");
        assert_string_equal(last->query, "fieldManager=halflife");
        end(&s);
}

static void somebody_was_faster(void **state)
{
        (void)state;
        struct sent s;
        begin(&s);
        put_deployment(&s);
        patch_cpu(&s, 454, false);
        assert_int_equal(fake_merge(s.api.fake, path, "owner", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
        wait_done(&s);
        if (s.code != 0) { /* else ours was first, on the wire */
                if (s.code != ERR_STALE)
                        fail_msg("%d %s", s.code, s.text);
                assert_int_equal(s.code, ERR_STALE);
                assert_false(assert_whole(&s));
        }
        end(&s);
}

static void each_fault_leaves_old_or_new(void **state)
{
        (void)state;
        static const struct {
                struct fake_fault fault;
                int code;
        } row[] = {
                {{.refuse = true}, ERR_RETRY},
                {{.garbage = "SSH-2.0-x\r\n"}, ERR_RETRY},
                {{.status = 500}, ERR_RETRY},
                {{.status = 503, .retry_after = 1}, ERR_RETRY},
                {{.status = 429, .retry_after = 1}, 0}, /* asked to come again: once more, and done */
                {{.status = 409}, ERR_STALE},
                {{.status = 422, .body = "{\"kind\":\"Status\",\"message\":\"testing value failed\"}"}, ERR_STALE},
                {{.status = 403}, ERR_DENIED},
                {{.status = 404}, ERR_NOTFOUND},
                {{.status = 400}, ERR_INVALID},
                {{.cut = true, .cut_after = 0}, ERR_RETRY},
                {{.cut = true, .cut_after = 1}, ERR_RETRY},
                {{.cut = true, .cut_after = 200}, ERR_RETRY},
                {{.split_every = 7}, 0},
                {{.delay_ms = 50}, 0},
                {{.huge = 6u << 20}, ERR_TOOBIG},
        };
        struct sent s;
        begin(&s);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct fake_fault fault = row[i].fault;
                put_deployment(&s);
                fault.verb = "patch";
                fake_fault(s.api.fake, &fault);
                patch_cpu(&s, 454, false);
                wait_done(&s);
                bool written = assert_whole(&s);
                if (s.code != row[i].code || (s.code == 0 && !written))
                        fail_msg("row %zu: %d '%s', wanted %d; %s", i, s.code, s.text, row[i].code,
                                 written ? "new" : "old");
                fake_faults_clear(s.api.fake);
                patch_cpu(&s, 454, false); /* read afresh and tried again it always arrives */
                wait_done(&s);
                assert_int_equal(s.code, 0);
                assert_true(assert_whole(&s));
                fake_delete(s.api.fake, path);
        }
        end(&s);
}

static void apply_makes_and_forces(void **state)
{
        (void)state;
        static const char map[] = "/api/v1/namespaces/default/configmaps/m";
        struct sent s;
        begin(&s);
        for (int i = 0; i < 2; i++) {
                AUTO(json_decref)
                json_t *body = json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                                         "metadata", "name", "m", "data", "v", i ? "two" : "one");
                mem_free(s.body);
                s.body = NULL;
                s.done = false;
                apply_send(s.api.client, map, body, on_done, &s);
                wait_done(&s);
                if (s.code)
                        fail_msg("%s", s.text);
                AUTO(mem_free) char *text = fake_get(s.api.fake, map);
                AUTO(json_decref) json_t *there = json_loads(text, 0, NULL);
                assert_string_equal(pick_text(there, "data.v"), i ? "two" : "one");
                /* somebody takes the field: ours by force again */
                assert_int_equal(fake_merge(s.api.fake, map, "thief", "{\"data\":{\"v\":\"stolen\"}}"), 200);
        }
        assert_string_equal(fake_last(s.api.fake, "patch", map)->query, "fieldManager=halflife&force=true");
        end(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_answer_is_the_object),
                cmocka_unit_test(somebody_was_faster),
                cmocka_unit_test(each_fault_leaves_old_or_new),
                cmocka_unit_test(apply_makes_and_forces),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
