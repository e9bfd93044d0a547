#include "decode_help.h"

static void say_vpa(struct buf *b, const struct vpa_view *v)
{
        say_meta(b, &v->meta);
        say(b, " -> %.*s/%.*s/%.*s '%.*s'", TEXT_ARG(v->target.api_version), TEXT_ARG(v->target.kind),
            TEXT_ARG(v->target.name), TEXT_ARG(v->mode));
}

#define VPA(spec) "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"},\"spec\":{" spec "}}"
#define REF       "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"w\",\"x\":{}}"
#define TO        "n/v -> apps/v1/Deployment/w "

static const struct {
        const char *in, *want;
} row[] = {
        {VPA(REF ",\"updatePolicy\":{\"minReplicas\":2,\"updateMode\":\"Off\"}"), TO "'Off'"},
        {VPA("\"updatePolicy\":{\"updateMode\":\"InPlaceOrRecreate\"}," REF), TO "'InPlaceOrRecreate'"},
        {VPA(REF ",\"resourcePolicy\":{\"containerPolicies\":[{\"mode\":\"Off\"}]}"), TO "''"},
        {VPA(REF ",\"updatePolicy\":null"), TO "''"},
        {VPA(""), "n/v -> // ''"},
        {"[]", "!VerticalPodAutoscaler '': malformed JSON at byte 0: an object was expected"},
        {VPA("\"targetRef\":{\"kind\":7}"),
         "!VerticalPodAutoscaler 'n/v': malformed JSON at byte 69: a string was expected"},
};

static void vpas_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct vpa_view vpa;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_vpa(text_of(row[i].in), &a, &vpa, &err);
                if (rc == 0)
                        say_vpa(&got, &vpa);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(vpas_are_read_as_the_table_says)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
