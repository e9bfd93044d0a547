/* The namespaces in which halflife changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cache/cache.h"

static void test_exempt_namespaces(void **state)
{
        (void)state;
        static const struct {
                const char *list, *ns;
                bool want;
        } row[] = {
                {"kube-system,bank", "kube-system", true},
                {"kube-system,bank", "bank", true},
                {"kube-system,bank", "ban", false},
                {"kube-system,bank", "kube-system,bank", false},
                {"kube-system,bank", "kube", false},
                {",bank,", "bank", true},
                {",bank,", "", false},
                {"bank", "own", true},
                {NULL, "own", true},
                {NULL, "bank", false},
                /* by default, those that every cluster has and that its own components need */
                {NAMESPACES_EXEMPT, "kube-system", true},
                {NAMESPACES_EXEMPT, "kube-public", true},
                {NAMESPACES_EXEMPT, "kube-node-lease", true},
                {NAMESPACES_EXEMPT, "default", false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                cache_init(&w, "halflife", "own");
                w.exempt_namespaces = row[i].list;
                if (ns_get(&w, text_of(row[i].ns))->exempt != row[i].want)
                        fail_msg("'%s' in '%s'", row[i].ns, row[i].list ? row[i].list : "no list");
                cache_release(&w);
        }
}

/* An annotation forbids changes as well, and its removal allows none in an exempt namespace. */
static void test_exempt_without_annotation(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        static const char json[] = "{\"metadata\":{\"name\":\"bank\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}";
        cache_init(&w, "halflife", NULL);
        w.exempt_namespaces = "bank";
        assert_int_equal(ns_upsert(&w, text_of(json), 1, &err), 0);
        assert_true(ns_find(&w, "bank")->apply_never);
        cache_release(&w);
}

/* A selector judged by a cut list could choose a wrong profile, so nothing is applied while the list is cut. */
static void test_more_labels_than_are_kept_hold(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        struct buf in;
        buf_init(&in, 1 << 16);
        cache_init(&w, "halflife", NULL);
        for (int more = 1; more >= 0; more--) {
                buf_reset(&in);
                buf_add_text(&in, "{\"metadata\":{\"name\":\"web\",\"uid\":\"u\",\"labels\":{\"l\":\"\"");
                for (int i = 1; i < VIEW_LABELS + more; i++)
                        buf_printf(&in, ",\"l%d\":\"\"", i);
                buf_add_text(&in, "}}}");
                if (ns_upsert(&w, buf_text(&in), 1, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(ns_find(&w, "web")->apply_never, more);
                assert_int_equal(ns_find(&w, "web")->labels.count, VIEW_LABELS);
        }
        cache_release(&w);
        buf_release(&in);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_exempt_namespaces),
                                           cmocka_unit_test(test_exempt_without_annotation),
                                           cmocka_unit_test(test_more_labels_than_are_kept_hold)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
