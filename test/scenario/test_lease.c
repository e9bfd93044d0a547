/*
 * The Lease on a wire: two processes, one holder.
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
#include "kube/lease.h"

static const char path[] = "/apis/coordination.k8s.io/v1/namespaces/halflife/leases/leader";

struct contender {
        struct lease *lease;
        int gained, lost, troubles, released;
        struct mono lost_at;
        char text[ERR_TEXT_MAX];
};

struct both {
        struct api api;
        struct contender a, b;
};

static void on_gained(void *arg)
{
        struct contender *c = arg;
        c->gained++;
        assert_true(lease_holds(c->lease));
}

static void on_lost(void *arg, const struct err *why)
{
        struct contender *c = arg;
        c->lost++;
        c->lost_at = mono_read();
        memcpy(c->text, why->text, sizeof c->text);
        assert_false(lease_holds(c->lease));
}

static void on_trouble(void *arg, const struct err *err)
{
        struct contender *c = arg;
        c->troubles++;
        memcpy(c->text, err->text, sizeof c->text);
}

static void on_released(void *arg)
{
        struct contender *c = arg;
        c->released++;
}

static void contend(struct both *w, struct contender *c, const char *identity)
{
        const struct lease_options o = {"halflife", "leader", identity, on_gained, on_lost, on_trouble, c, NULL, NULL};
        c->lease = lease_new(w->api.client, &o);
}

static bool a_leads(void *arg)
{
        struct both *w = arg;
        return w->a.gained == 1;
}

static bool b_leads(void *arg)
{
        struct both *w = arg;
        assert_false(lease_holds(w->a.lease) && lease_holds(w->b.lease));
        return w->b.gained == 1;
}

static bool b_has_looked(void *arg)
{
        struct both *w = arg;
        return lease_holder(w->b.lease)[0] != '\0';
}

static bool a_is_out(void *arg)
{
        struct both *w = arg;
        return w->a.lost + w->a.released > 0;
}

static bool has_trouble(void *arg)
{
        struct both *w = arg;
        return w->a.troubles > 0;
}

static void begin(struct both *w)
{
        *w = (struct both){.a = {.gained = 0}};
        api_begin(&w->api, &(struct fake_options){.seed = 1});
        fake_put(w->api.fake, "owner",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife\"}}");
}

static void end(struct both *w)
{
        lease_free(w->a.lease);
        lease_free(w->b.lease);
        api_end(&w->api);
}

static void assert_holder(struct both *w, const char *holder)
{
        AUTO(mem_free) char *text = fake_get(w->api.fake, path);
        AUTO(json_decref) json_t *lease = json_loads(text, 0, NULL);
        assert_string_equal(pick_text(lease, "spec.holderIdentity"), holder);
}

static void given_up_the_other_takes_over(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        contend(&w, &w.a, "a");
        assert_true(api_until(&w.api, a_leads, &w));
        contend(&w, &w.b, "b");
        assert_true(api_until(&w.api, b_has_looked, &w));
        assert_string_equal(lease_holder(w.b.lease), "a");
        api_turn(&w.api, 2500); /* a renewal or two */
        assert_true(lease_holds(w.a.lease) && !lease_holds(w.b.lease));
        assert_holder(&w, "a");
        lease_release(w.a.lease, on_released, &w.a);
        assert_false(lease_holds(w.a.lease));
        assert_true(api_until(&w.api, a_is_out, &w));
        assert_holder(&w, "");
        assert_true(api_until(&w.api, b_leads, &w));
        assert_holder(&w, "b");
        assert_int_equal(w.a.lost, 0); /* given up is not lost */
        assert_int_equal(w.a.troubles + w.b.troubles, 0);
        end(&w);
}

static void a_server_that_is_away_ends_it_in_ten_seconds(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        contend(&w, &w.a, "a");
        assert_true(api_until(&w.api, a_leads, &w));
        fake_stop(w.api.fake);
        struct mono away = mono_read();
        assert_true(api_until(&w.api, a_is_out, &w));
        int64_t after_ms = (w.a.lost_at.ns - away.ns) / 1000000;
        assert_in_range(after_ms, 7000, 10500); /* from the last renewal, up to 2 s before */
        assert_int_equal(w.a.lost, 1);
        assert_int_equal(w.a.troubles, 1); /* said once */
        assert_non_null(strstr(w.a.text, "lease 'halflife/leader': not renewed for 10 s: "));
        assert_true(fake_start(w.api.fake));
        w.a.gained = 0; /* and it contends again */
        assert_true(api_until(&w.api, a_leads, &w));
        assert_true(lease_holds(w.a.lease));
        end(&w);
}

/* Somebody writes another holder into the record: seen at the next renewal, and given in to. */
static void another_in_the_record_ends_it(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        contend(&w, &w.a, "a");
        assert_true(api_until(&w.api, a_leads, &w));
        assert_int_equal(fake_merge(w.api.fake, path, "thief", "{\"spec\":{\"holderIdentity\":\"thief\"}}"), 200);
        assert_true(api_until(&w.api, a_is_out, &w));
        assert_string_equal(w.a.text, "lease 'halflife/leader': another process took it");
        assert_string_equal(lease_holder(w.a.lease), "thief");
        assert_int_equal(w.a.troubles, 0);
        end(&w);
}

/* Given up while a renewal is under way: after its answer, with the version that it tells. */
static void given_up_in_the_middle_of_a_renewal(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        contend(&w, &w.a, "a");
        assert_true(api_until(&w.api, a_leads, &w));
        fake_fault(w.api.fake, &(struct fake_fault){.verb = "update", .path = path, .delay_ms = 200});
        api_turn(&w.api, 2100);
        lease_release(w.a.lease, on_released, &w.a);
        assert_int_equal(w.a.released, 0);
        assert_true(api_until(&w.api, a_is_out, &w));
        assert_holder(&w, "");
        assert_int_equal(w.a.lost, 0);
        end(&w);
}

static void a_missing_permission_is_said(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        fake_deny(w.api.fake, &(struct fake_rule){.verb = "create", .resource = "leases"});
        contend(&w, &w.a, "a");
        assert_true(api_until(&w.api, has_trouble, &w));
        assert_non_null(strstr(w.a.text, "leases"));
        assert_false(lease_holds(w.a.lease));
        lease_release(w.a.lease, on_released, &w.a); /* nothing to give up */
        assert_true(api_until(&w.api, a_is_out, &w));
        end(&w);
}

static void a_missing_namespace_is_said_once(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        fake_fault(w.api.fake, &(struct fake_fault){.verb = "create", .times = 2, .status = 404});
        contend(&w, &w.a, "a");
        assert_true(api_until(&w.api, has_trouble, &w));
        assert_non_null(strstr(w.a.text, "POST"));
        assert_true(api_until(&w.api, a_leads, &w));
        assert_int_equal(w.a.troubles, 1);
        end(&w);
}

static void freed_at_any_time(void **state)
{
        (void)state;
        struct both w;
        begin(&w);
        for (int ms = 0; ms < 10; ms++) {
                contend(&w, &w.a, "a");
                api_turn(&w.api, ms);
                if (ms % 2)
                        lease_release(w.a.lease, on_released, &w.a);
                lease_free(w.a.lease);
        }
        w.a.lease = NULL;
        api_turn(&w.api, 50);
        assert_int_equal(w.a.lost, 0);
        end(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(given_up_the_other_takes_over),
                cmocka_unit_test(a_server_that_is_away_ends_it_in_ten_seconds),
                cmocka_unit_test(another_in_the_record_ends_it),
                cmocka_unit_test(given_up_in_the_middle_of_a_renewal),
                cmocka_unit_test(a_missing_permission_is_said),
                cmocka_unit_test(a_missing_namespace_is_said_once),
                cmocka_unit_test(freed_at_any_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
