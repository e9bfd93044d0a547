#include "decode_help.h"

static void say_vpa(struct buf *b, const struct vpa_view *v)
{
        say_meta(b, &v->meta);
        say(b, " -> %.*s/%.*s/%.*s '%.*s'", TEXT_ARG(v->target.api_version), TEXT_ARG(v->target.kind),
            TEXT_ARG(v->target.name), TEXT_ARG(v->mode));
        if (!v->sets)
                say(b, " sets nothing");
        if (!v->sets || !v->policy)
                return;
        say(b, " *:%d%d", v->policy->rest[CPU], v->policy->rest[MEMORY]);
        for (int i = 0; i < v->policy->rows; i++)
                say(b, " %.*s:%d%d", TEXT_ARG(v->policy->row[i].container), v->policy->row[i].sets[CPU],
                    v->policy->row[i].sets[MEMORY]);
}

#define VPA(spec)      "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"},\"spec\":{" spec "}}"
#define REF            "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"w\",\"x\":{}}"
#define POLICIES(list) ",\"resourcePolicy\":{\"containerPolicies\":[" list "]}"
#define TO             "n/v -> apps/v1/Deployment/w "

static const struct {
        const char *in, *want;
} row[] = {
        {VPA(REF ",\"updatePolicy\":{\"minReplicas\":2,\"updateMode\":\"Off\"}"), TO "'Off' sets nothing"},
        {VPA("\"updatePolicy\":{\"updateMode\":\"InPlaceOrRecreate\"}," REF), TO "'InPlaceOrRecreate'"},
        {VPA(REF POLICIES("{\"mode\":\"Off\"}")), TO "''"}, /* of no container */
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"mode\":\"Off\"}")), TO "'' sets nothing"},
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"controlledResources\":[]}")), TO "'' sets nothing"},
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"controlledResources\":null,\"mode\":\"Auto\"}")), TO "''"},
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"controlledResources\":[\"memory\",\"disk\"]}")), TO "'' *:01"},
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"controlledResources\":[\"cpu\"],\"mode\":\"Off\"}")),
         TO "'' sets nothing"},
        {VPA(REF POLICIES("{\"containerName\":\"log\",\"mode\":\"Off\"}")), TO "'' *:11 log:00"},
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":\"app\","
                          "\"controlledResources\":[\"cpu\"]}")),
         TO "'' *:00 app:10"},
        /* what bounds the values, or decides about limits, sets no less */
        {VPA(REF POLICIES("{\"containerName\":\"app\",\"minAllowed\":{\"cpu\":\"1\"},\"controlledValues\":"
                          "\"RequestsOnly\"}")),
         TO "''"},
        {VPA(REF POLICIES("{\"containerName\":\"*\",\"controlledResources\":[\"memory\"]}") ",\"updatePolicy\":{"
                                                                                            "\"updateMode\":\"Off\"}"),
         TO "'Off' sets nothing"},
        {VPA(REF ",\"resourcePolicy\":null"), TO "''"},
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

/* Policies beyond the bound may set anything, so a VPA that has them counts as one that sets everything. */
static void too_many_policies_set_everything(void **state)
{
        (void)state;
        for (int more = 0; more < 2; more++) {
                struct arena a = {0};
                struct vpa_view vpa;
                struct buf json;
                buf_init(&json, 1 << 20);
                say(&json, "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"},\"spec\":{" REF
                           ",\"resourcePolicy\":{\"containerPolicies\":[");
                for (int i = 0; i < VPA_POLICY_ROWS + more; i++)
                        say(&json, "%s{\"containerName\":\"c%d\",\"mode\":\"Off\"}", i ? "," : "", i);
                say(&json, "]}}}");
                struct err err = {0};
                assert_int_equal(decode_vpa(text_of(json.data), &a, &vpa, &err), 0);
                assert_true(vpa.sets);
                assert_int_equal(vpa.policy ? vpa.policy->rows : 0, more ? 0 : VPA_POLICY_ROWS);
                buf_release(&json);
                arena_release(&a);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(vpas_are_read_as_the_table_says),
                                           cmocka_unit_test(too_many_policies_set_everything)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
