/*
 * The authority over years, in jumps of time: which step is due when, and that a client with the roots of an hour ago
 * trusts the certificate shown now.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include "base/mem.h"
#include "serving/certificate_authority.h"

#define DAY_MS (24 * (int64_t)HOUR_MS)

static const char *const names[] = {"halflife.halflife.svc", "halflife.halflife.svc.cluster.local"};
static const struct wall start = {1760000000000};

static enum certificate_authority_due step(struct certificate_authority *a, int64_t after_ms)
{
        enum certificate_authority_due due;
        struct err err = {0};
        if (certificate_authority_step(a, names, 2, (struct wall){start.ms + after_ms}, &due, &err) < 0)
                fail_msg("after %lld ms: %s", (long long)after_ms, err.text);
        return due;
}

/* As the API server does: a chain to one of the roots, the name, the time. */
static bool trusts(const char *roots_pem, const char *cert_pem, const char *name, int64_t after_ms)
{
        gnutls_x509_trust_list_t list;
        gnutls_x509_crt_t cert, root[4];
        unsigned roots = 4, verdict = 1;
        gnutls_datum_t r = {(unsigned char *)(uintptr_t)roots_pem, (unsigned)strlen(roots_pem)};
        gnutls_datum_t c = {(unsigned char *)(uintptr_t)cert_pem, (unsigned)strlen(cert_pem)};
        assert_int_equal(gnutls_x509_trust_list_init(&list, 0), 0);
        assert_true(gnutls_x509_crt_list_import(root, &roots, &r, GNUTLS_X509_FMT_PEM, 0) > 0);
        assert_int_equal(gnutls_x509_trust_list_add_cas(list, root, roots, 0), (int)roots);
        assert_int_equal(gnutls_x509_crt_init(&cert), 0);
        assert_int_equal(gnutls_x509_crt_import(cert, &c, GNUTLS_X509_FMT_PEM), 0);
        int rc = gnutls_x509_trust_list_verify_crt(list, &cert, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &verdict, NULL);
        time_t at = (time_t)((start.ms + after_ms) / SECOND_MS);
        bool good = rc == 0 && verdict == 0 && gnutls_x509_crt_check_hostname(cert, name) &&
                    gnutls_x509_crt_get_activation_time(cert) <= at && gnutls_x509_crt_get_expiration_time(cert) > at;
        for (unsigned i = 0; i < roots; i++)
                good &= gnutls_x509_crt_get_activation_time(root[i]) <= at;
        gnutls_x509_crt_deinit(cert);
        gnutls_x509_trust_list_deinit(list, 1);
        return good;
}

static bool has_two_roots(const struct certificate_authority *a)
{
        static const char begin[] = "BEGIN CERTIFICATE";
        const char *first = strstr(a->roots, begin);
        return strstr(first + 1, begin) != NULL;
}

static struct certificate_authority copy(const struct certificate_authority *a)
{
        return (struct certificate_authority){mem_string(a->roots), mem_string(a->key), mem_string(a->cert),
                                              mem_string(a->cert_key)};
}

static void test_the_first(void **state)
{
        (void)state;
        struct certificate_authority a = {0};
        assert_int_equal(step(&a, 0), AUTHORITY_NEW);
        assert_int_equal(step(&a, 0), AUTHORITY_STANDS);
        assert_true(trusts(a.roots, a.cert, names[0], 0));
        assert_true(trusts(a.roots, a.cert, names[1], 89 * DAY_MS));
        assert_false(trusts(a.roots, a.cert, names[0], 91 * DAY_MS));
        assert_false(trusts(a.roots, a.cert, "kubernetes.default.svc", 0));
        assert_int_equal(certificate_authority_expiry(a.cert).ms, start.ms + 90 * DAY_MS);
        assert_int_equal(certificate_authority_expiry(a.roots).ms, start.ms + 3650 * DAY_MS);
        assert_int_equal(certificate_authority_expiry("nonsense").ms, 0);
        certificate_authority_release(&a);
}

/* Over nineteen years, each hour where something may happen: who trusts the roots of the look before trusts what is
 * shown now, and who trusts those of now what was shown then. */
static void test_years(void **state)
{
        (void)state;
        struct certificate_authority a = {0}, before = {0};
        int count[5] = {0};
        int64_t hour = 0;
        assert_int_equal(step(&a, 0), AUTHORITY_NEW);
        while (hour < 19 * 365 * 24) {
                int64_t left = (certificate_authority_expiry(a.cert).ms - start.ms) / HOUR_MS - hour;
                hour += has_two_roots(&a) || left <= 31 * 24 ? 1 : left - 31 * 24;
                int64_t at = hour * HOUR_MS;
                certificate_authority_release(&before);
                before = copy(&a);
                enum certificate_authority_due due = step(&a, at);
                count[due]++;
                if (due == AUTHORITY_STANDS)
                        continue;
                if (due == AUTHORITY_NEW || !trusts(before.roots, a.cert, names[0], at) ||
                    !trusts(a.roots, before.cert, names[0], at))
                        fail_msg("hour %lld: %d", (long long)hour, due);
        }
        assert_in_range(count[AUTHORITY_SIGNS], 105, 120); /* each 60 days, and once for each new root */
        assert_int_equal(count[AUTHORITY_ADDS_ROOT], 2);
        assert_int_equal(count[AUTHORITY_DROPS_ROOT], 2);
        certificate_authority_release(&before);
        certificate_authority_release(&a);
}

static void test_a_root_in_its_order(void **state)
{
        (void)state;
        struct certificate_authority a = {0};
        int64_t at = 2434 * DAY_MS; /* two thirds of ten years */
        assert_int_equal(step(&a, 0), AUTHORITY_NEW);
        assert_int_equal(step(&a, at - 30 * DAY_MS), AUTHORITY_SIGNS);
        assert_int_equal(step(&a, at), AUTHORITY_ADDS_ROOT);
        struct certificate_authority added = copy(&a);
        assert_int_equal(step(&a, at), AUTHORITY_STANDS);
        assert_int_equal(step(&a, at + HOUR_MS - 1000), AUTHORITY_STANDS);
        assert_true(trusts(a.roots, a.cert, names[0], at));
        assert_int_equal(step(&a, at + HOUR_MS), AUTHORITY_SIGNS);
        assert_true(trusts(added.roots, a.cert, names[0], at + HOUR_MS));
        assert_int_equal(step(&a, at + HOUR_MS + 60000), AUTHORITY_STANDS);
        assert_int_equal(step(&a, at + 2 * HOUR_MS), AUTHORITY_DROPS_ROOT);
        assert_true(trusts(a.roots, a.cert, names[0], at + 2 * HOUR_MS));
        assert_false(trusts(a.roots, added.cert, names[0], at + 2 * HOUR_MS));
        assert_int_equal(step(&a, at + 3 * HOUR_MS), AUTHORITY_STANDS);
        certificate_authority_release(&added);
        certificate_authority_release(&a);
}

/* What was read may be anybody's. */
static void test_what_does_not_fit(void **state)
{
        (void)state;
        struct certificate_authority a = {0}, b = {0};
        assert_int_equal(step(&a, 0), AUTHORITY_NEW);
        assert_int_equal(step(&b, 0), AUTHORITY_NEW);
        AUTO(mem_free) char *three = mem_printf("%s%s%s", b.roots, b.roots, a.roots);
        AUTO(mem_free) char *both = mem_printf("%s%s", b.roots, a.roots);
        const struct {
                const char *what, *roots, *key, *cert, *cert_key;
                enum certificate_authority_due want;
        } row[] = {
                {"as it is", a.roots, a.key, a.cert, a.cert_key, AUTHORITY_STANDS},
                {"no roots", NULL, a.key, a.cert, a.cert_key, AUTHORITY_NEW},
                {"empty roots", "", a.key, a.cert, a.cert_key, AUTHORITY_NEW},
                {"no key", a.roots, NULL, a.cert, a.cert_key, AUTHORITY_NEW},
                {"broken key", a.roots, "x", a.cert, a.cert_key, AUTHORITY_NEW},
                {"broken certificate", a.roots, a.key, "x", a.cert_key, AUTHORITY_NEW},
                {"another's key", a.roots, b.key, a.cert, a.cert_key, AUTHORITY_NEW},
                {"another's certificate", a.roots, a.key, b.cert, b.cert_key, AUTHORITY_NEW},
                {"a certificate without its key", a.roots, a.key, a.cert, b.cert_key, AUTHORITY_NEW},
                {"too many roots", three, a.key, a.cert, a.cert_key, AUTHORITY_NEW},
                {"two roots, signed by the new one lately", both, a.key, a.cert, a.cert_key, AUTHORITY_STANDS},
                {"two roots, signed by the old one lately", both, a.key, b.cert, b.cert_key, AUTHORITY_STANDS},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct certificate_authority c = {mem_string(row[i].roots), mem_string(row[i].key),
                                                  mem_string(row[i].cert), mem_string(row[i].cert_key)};
                enum certificate_authority_due due = step(&c, 60000);
                if (due != row[i].want || !trusts(c.roots, c.cert, names[0], 60000))
                        fail_msg("%s: %d, not %d", row[i].what, due, row[i].want);
                certificate_authority_release(&c);
        }
        certificate_authority_release(&a);
        certificate_authority_release(&b);
}

/* A lost authority is made anew, beside the root that signed the certificate still shown. */
static void test_what_was_lost(void **state)
{
        (void)state;
        struct certificate_authority lost = {0}, a = {0}, other = {0};
        assert_int_equal(step(&lost, 0), AUTHORITY_NEW);
        assert_int_equal(step(&other, 0), AUTHORITY_NEW);
        assert_int_equal(step(&a, 0), AUTHORITY_NEW);
        assert_true(certificate_authority_verifies(lost.roots, lost.cert));
        assert_false(certificate_authority_verifies(a.roots, lost.cert));
        assert_false(certificate_authority_verifies("nonsense", lost.cert));
        assert_false(certificate_authority_verifies(a.roots, "nonsense"));
        certificate_authority_keep(&a, other.roots, lost.cert);
        assert_false(has_two_roots(&a));
        AUTO(mem_free) char *both = mem_printf("%s%s", other.roots, lost.roots);
        certificate_authority_keep(&a, both, lost.cert);
        assert_true(certificate_authority_verifies(a.roots, lost.cert));
        assert_false(certificate_authority_verifies(a.roots, other.cert));
        assert_true(trusts(a.roots, a.cert, names[0], 0));
        assert_int_equal(step(&a, 0), AUTHORITY_STANDS);
        assert_int_equal(step(&a, HOUR_MS - 1000), AUTHORITY_STANDS);
        assert_int_equal(step(&a, HOUR_MS), AUTHORITY_DROPS_ROOT);
        assert_false(certificate_authority_verifies(a.roots, lost.cert));
        certificate_authority_release(&lost);
        certificate_authority_release(&other);
        certificate_authority_release(&a);
}

static void test_other_names_and_clocks(void **state)
{
        (void)state;
        static const char *const more[] = {"halflife.halflife.svc", "halflife-serve.halflife.svc"};
        struct certificate_authority a = {0};
        struct err err = {0};
        enum certificate_authority_due due;
        assert_int_equal(step(&a, 0), AUTHORITY_NEW);
        assert_int_equal(certificate_authority_step(&a, more, 1, start, &due, &err), 0);
        assert_int_equal(due, AUTHORITY_STANDS); /* more names than asked for are fine */
        assert_int_equal(certificate_authority_step(&a, more, 2, start, &due, &err), 0);
        assert_int_equal(due, AUTHORITY_SIGNS);
        assert_true(trusts(a.roots, a.cert, more[1], 0));
        assert_int_equal(step(&a, 0), AUTHORITY_SIGNS);
        assert_int_equal(step(&a, -4 * MINUTE_MS), AUTHORITY_STANDS); /* another's clock is behind ours */
        assert_int_equal(step(&a, 4000 * DAY_MS), AUTHORITY_NEW);     /* nobody looked for eleven years */
        certificate_authority_release(&a);
}

/* A clock that was ten years ahead for a moment costs no hour of certificates that are not valid yet. */
static void test_a_clock_that_was_ahead(void **state)
{
        (void)state;
        struct certificate_authority a = {0};
        assert_int_equal(step(&a, 4000 * DAY_MS), AUTHORITY_NEW);
        assert_int_equal(step(&a, 0), AUTHORITY_ADDS_ROOT);
        assert_int_equal(step(&a, 0), AUTHORITY_SIGNS);
        assert_true(certificate_authority_expiry(a.cert).ms < start.ms + 91 * DAY_MS);
        assert_int_equal(step(&a, 60000), AUTHORITY_STANDS);
        assert_int_equal(step(&a, HOUR_MS), AUTHORITY_DROPS_ROOT);
        assert_true(trusts(a.roots, a.cert, names[0], HOUR_MS));
        assert_int_equal(step(&a, 2 * HOUR_MS), AUTHORITY_STANDS);
        certificate_authority_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_first),
                cmocka_unit_test(test_years),
                cmocka_unit_test(test_a_root_in_its_order),
                cmocka_unit_test(test_what_does_not_fit),
                cmocka_unit_test(test_what_was_lost),
                cmocka_unit_test(test_other_names_and_clocks),
                cmocka_unit_test(test_a_clock_that_was_ahead),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
