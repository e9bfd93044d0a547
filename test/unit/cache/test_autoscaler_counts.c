/* Which workloads an autoscaler counts beside the one it scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/shop.h"
#include "objects/label_selector.h"

#define SELECTS(what)    "\"selector\":{" what "},"
#define APP(value)       SELECTS("\"matchLabels\":{\"app\":\"" value "\"}")
#define BY_EXPRESSION(e) SELECTS("\"matchExpressions\":[{" e "}]")
#define LABELS(labels)                                                                                                 \
        "\"template\":{\"metadata\":{\"labels\":{" labels "}},\"spec\":{\"containers\":[{\"name\":\"app\"}]}}"
#define WEB         LABELS("\"app\":\"web\"")
#define FOUR(n)     "\"a" n "\":\"\",\"b" n "\":\"\",\"c" n "\":\"\",\"d" n "\":\"\""
#define MANY_LABELS FOUR("1") "," FOUR("2") "," FOUR("3") "," FOUR("4") "," FOUR("5")
#define ONE         "\"replicas\":1,"
#define OWN(labels) ",\"labels\":{" labels "}"

static const struct now at = {.wall = {1763700000000}, .mono = {1}};

struct object {
        const char *kind; /* NULL: there is none */
        const char *name, *meta, *spec;
};

static const char *group_of(const char *kind)
{
        return strcmp(kind, "Rollout") == 0 ? "argoproj.io" : strstr(kind, "Job") != NULL ? "batch" : "apps";
}

static void put_status(struct cache *w, const char *ns, int uid, const struct object *o, const char *status)
{
        shop_workload(w,
                      &(struct shop_workload){group_of(o->kind), o->kind, ns, o->name, uid, o->meta, o->spec, status});
}

static void put(struct cache *w, const char *ns, int uid, const struct object *o)
{
        put_status(w, ns, uid, o, "");
}

#define HPA_META(name) "{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name "\"}"
static void put_hpa(struct cache *w, const char *kind, const char *of, const char *target)
{
        AUTO(mem_free)
        char *metric = mem_printf("{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{%s}}}", target);
        shop_hpa(w, &(struct shop_hpa){"hpa", NULL, group_of(kind), kind, of, metric});
}
#define BY_UTILIZATION "\"type\":\"Utilization\",\"averageUtilization\":60"

static const struct autoscaler *hpa_of(const struct cache *w)
{
        return map_get(&w->autoscalers, TEXT("web/hpa"));
}

static void expect(const char *what, const struct cache *w, const char *first, unsigned others)
{
        const struct autoscaler *s = hpa_of(w);
        if (s->others != others || strcmp(s->other ? s->other : "", first) != 0)
                fail_msg("%s: %u others, the first is '%s'", what, (unsigned)s->others, s->other ? s->other : "");
}

static const struct row {
        const char *what;
        const char *spec; /* of the Deployment that the HPA scales */
        struct object other[3];
        const char *first; /* wanted; "": the HPA counts no other */
        unsigned others;
} rows[] = {
        {"nobody else", APP("web") WEB, {{0}}, "", 0},
        {"the same label", APP("web") WEB, {{"Deployment", "canary", NULL, ONE WEB}}, "Deployment 'canary'", 1},
        {"more labels",
         APP("web") WEB,
         {{"Deployment", "canary", NULL, ONE LABELS("\"track\":\"canary\",\"app\":\"web\"")}},
         "Deployment 'canary'",
         1},
        {"another value", APP("web") WEB, {{"Deployment", "db", NULL, ONE LABELS("\"app\":\"db\"")}}, "", 0},
        {"one label of two",
         SELECTS("\"matchLabels\":{\"app\":\"web\",\"tier\":\"front\"}") LABELS("\"app\":\"web\",\"tier\":\"front\""),
         {{"Deployment", "canary", NULL, ONE WEB}},
         "",
         0},
        {"a label of the workload, not of its pods",
         APP("web") WEB,
         {{"Deployment", "canary", OWN("\"app\":\"web\""), ONE LABELS("\"app\":\"canary\"")},
          {"StatefulSet", "canary", OWN("\"app\":\"web\""), ONE LABELS("\"tier\":\"db\"")}},
         "",
         0},
        {"a label of its pods, not of the workload",
         APP("web") WEB,
         {{"Deployment", "canary", OWN("\"app\":\"canary\""), ONE WEB}},
         "Deployment 'canary'",
         1},
        {"the target has its label with another value itself",
         APP("web") WEB,
         {{"Deployment", "web", OWN("\"app\":\"umbrella\""), ONE APP("web") WEB},
          {"Deployment", "canary", NULL, ONE WEB}},
         "Deployment 'canary'",
         1},
        {"scaled to 0", APP("web") WEB, {{"Deployment", "canary", NULL, "\"replicas\":0," WEB}}, "", 0},
        {"its own ReplicaSet", APP("web") WEB, {{"ReplicaSet", "web-1", SHOP_OWNED, ONE WEB}}, "", 0},
        {"a ReplicaSet without owner",
         APP("web") WEB,
         {{"ReplicaSet", "web-1", NULL, ONE WEB}},
         "ReplicaSet 'web-1'",
         1},
        {"a Job is over soon", APP("web") WEB, {{"Job", "migrate", NULL, WEB}}, "", 0},
        {"a CronJob comes again",
         APP("web") WEB,
         {{"CronJob", "nightly", NULL, "\"jobTemplate\":{\"spec\":{" WEB "}}"}},
         "CronJob 'nightly'",
         1},
        {"a CronJob that is suspended",
         APP("web") WEB,
         {{"CronJob", "nightly", NULL, "\"suspend\":true,\"jobTemplate\":{\"spec\":{" WEB "}}"}},
         "",
         0},
        {"several: the first by key is named",
         APP("web") WEB,
         {{"StatefulSet", "a", NULL, ONE WEB}, {"Deployment", "z", NULL, ONE WEB}, {"Deployment", "y", NULL, ONE WEB}},
         "Deployment 'y'",
         3},
        {"In",
         BY_EXPRESSION("\"key\":\"app\",\"operator\":\"In\",\"values\":[\"web\",\"api\"]") WEB,
         {{"Deployment", "api", NULL, ONE LABELS("\"app\":\"api\"")},
          {"Deployment", "db", NULL, ONE LABELS("\"app\":\"db\"")}},
         "Deployment 'api'",
         1},
        {"NotIn",
         BY_EXPRESSION("\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"db\",\"api\"]") WEB,
         {{"Deployment", "api", NULL, ONE LABELS("\"app\":\"api\"")},
          {"Deployment", "q", NULL, ONE LABELS("\"tier\":\"db\"")}},
         "Deployment 'q'",
         1},
        {"Exists",
         BY_EXPRESSION("\"key\":\"app\",\"operator\":\"Exists\"") WEB,
         {{"Deployment", "api", NULL, ONE LABELS("\"app\":\"api\"")},
          {"Deployment", "q", NULL, ONE LABELS("\"tier\":\"db\"")}},
         "Deployment 'api'",
         1},
        {"DoesNotExist",
         BY_EXPRESSION("\"key\":\"track\",\"operator\":\"DoesNotExist\"") WEB,
         {{"Deployment", "api", NULL, ONE LABELS("\"app\":\"api\"")},
          {"Deployment", "q", NULL, ONE LABELS("\"track\":\"q\"")}},
         "Deployment 'api'",
         1},
        {"more labels than a profile's selector may have",
         SELECTS("\"matchLabels\":{" MANY_LABELS ",\"app\":\"web\"}") LABELS(MANY_LABELS ",\"app\":\"web\""),
         {{"Deployment", "canary", NULL, ONE LABELS(MANY_LABELS ",\"app\":\"web\"")},
          {"Deployment", "api", NULL, ONE LABELS(MANY_LABELS)}},
         "Deployment 'canary'",
         1},
        {"no selector", WEB, {{"Deployment", "canary", NULL, ONE WEB}}, "", 0},
        {"a selector that asks for nothing", SELECTS("") WEB, {{"Deployment", "canary", NULL, ONE WEB}}, "", 0},
        {"a selector that cannot be read",
         SELECTS("\"app\":\"web\"") WEB,
         {{"Deployment", "canary", NULL, ONE WEB}},
         "",
         0},
};

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const struct row *r = &rows[i];
                struct cache w;
                cache_init(&w, "halflife", "halflife");
                AUTO(mem_free) char *spec = mem_printf(ONE "%s", r->spec);
                put(&w, "web", 1, &(struct object){"Deployment", "web", NULL, spec});
                put(&w, "other", 2,
                    &(struct object){"Deployment", "web", NULL, ONE WEB}); /* other namespaces never count */
                for (int k = 0; k < 3 && r->other[k].kind; k++)
                        put(&w, "web", strcmp(r->other[k].name, "web") == 0 ? 1 : 3 + k, &r->other[k]);
                put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
                cache_relink(&w, at);
                expect(r->what, &w, r->first, r->others);
                cache_release(&w);
        }
}

/* Labels and selectors that have no bits are kept whole. */
static void test_many_labels(void **state)
{
        (void)state;
        enum { MANY = 60 };
        struct cache w;
        struct buf b;
        buf_init(&b, 10000);
        for (int i = 0; i < MANY; i++)
                buf_printf(&b, "%s\"l%d\":\"v\"", i ? "," : "", i);
        AUTO(mem_free) char *labels = buf_steal(&b);
        AUTO(mem_free) char *meta = mem_printf(",\"labels\":{%s}", labels);
        AUTO(mem_free)
        char *spec = mem_printf(ONE APP("web") "\"template\":{\"metadata\":{\"labels\":{%s,\"app\":\"web\"}}}", labels);
        cache_init(&w, "halflife", "halflife");
        put(&w, "web", 1, &(struct object){"Deployment", "web", meta, spec});
        put(&w, "web", 2, &(struct object){"Deployment", "canary", NULL, ONE WEB});
        put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
        cache_relink(&w, at);
        expect("many labels", &w, "Deployment 'canary'", 1);
        cache_release(&w);
}

/* "l0":"v", … */
static char *labels_from_0(int count, const char *then)
{
        struct buf b;
        buf_init(&b, 64 << 10);
        for (int i = 0; i < count; i++)
                buf_printf(&b, "%s\"l%d\":\"v\"", i ? "," : "", i);
        buf_add_text(&b, then);
        return buf_steal(&b);
}

/* Of pods with more labels than are read, any may be among the rest: only what is read can say that they do not match.
 */
static void test_labels_beyond_the_cut(void **state)
{
        (void)state;
        enum { CUT = VIEW_LABELS };
        static const struct {
                const char *what, *selector, *then; /* the labels after the first ones */
                int first;                          /* how many of these there are */
                bool own;                           /* they are the workload's, and not its pods' */
                const char *other;
                unsigned others;
                enum counting counting;
        } row[] = {
                {"all are read, the last matches", APP("web"), ",\"app\":\"web\"", CUT - 1, false,
                 "Deployment 'canary'", 1, COUNTS_SURELY},
                {"all are read, none matches", APP("web"), ",\"app\":\"db\"", CUT - 1, false, "", 0, COUNTS_SURELY},
                {"the label is beyond", APP("web"), ",\"app\":\"web\"", CUT, false, "Deployment 'canary'", 1,
                 COUNTS_PERHAPS},
                {"so is another value", APP("web"), ",\"app\":\"db\"", CUT, false, "Deployment 'canary'", 1,
                 COUNTS_PERHAPS},
                {"what is read contradicts", SELECTS("\"matchLabels\":{\"app\":\"web\",\"l3\":\"w\"}"),
                 ",\"app\":\"web\"", CUT, false, "", 0, COUNTS_SURELY},
                {"a label that must be absent is among those read",
                 SELECTS("\"matchExpressions\":[{\"key\":\"l3\",\"operator\":\"DoesNotExist\"}]"), ",\"app\":\"web\"",
                 CUT, false, "", 0, COUNTS_SURELY},
                {"it may be absent beyond",
                 SELECTS("\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"NotIn\",\"values\":[\"a\"]}]"),
                 ",\"app\":\"web\"", CUT, false, "Deployment 'canary'", 1, COUNTS_PERHAPS},
                {"only the workload's own are cut", APP("web"), ",\"app\":\"web\"", CUT, true, "", 0, COUNTS_SURELY},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                AUTO(mem_free) char *labels = labels_from_0(row[i].first, row[i].then);
                AUTO(mem_free) char *meta = row[i].own ? mem_printf(",\"labels\":{%s}", labels) : NULL;
                AUTO(mem_free)
                char *spec = mem_printf(ONE "\"template\":{\"metadata\":{\"labels\":{%s}}}",
                                        row[i].own ? "\"app\":\"db\"" : labels);
                AUTO(mem_free) char *web = mem_printf(ONE "%s" WEB, row[i].selector);
                cache_init(&w, "halflife", "halflife");
                put(&w, "web", 1, &(struct object){"Deployment", "web", NULL, web});
                put(&w, "web", 2, &(struct object){"Deployment", "canary", meta, spec});
                put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
                cache_relink(&w, at);
                expect(row[i].what, &w, row[i].other, row[i].others);
                assert_int_equal(hpa_of(&w)->counting, row[i].counting);
                const struct workload *canary = workload_find(&w, "apps", "Deployment", "web", "canary");
                assert_int_equal(workload_more(canary)->counted_by[CPU] != NULL, row[i].others);
                /* the last label beyond the cut goes, and comes again */
                put(&w, "web", 2, &(struct object){"Deployment", "canary", NULL, ONE LABELS("\"l3\":\"v\"")});
                cache_relink(&w, at);
                assert_int_equal(hpa_of(&w)->counting, COUNTS_SURELY);
                cache_release(&w);
        }
}

/* Of others that are counted surely and perhaps, the former are told. */
static void test_sure_before_perhaps(void **state)
{
        (void)state;
        struct cache w;
        AUTO(mem_free) char *labels = labels_from_0(VIEW_LABELS, ",\"app\":\"web\"");
        AUTO(mem_free) char *spec = mem_printf(ONE LABELS("%s"), labels);
        cache_init(&w, "halflife", "halflife");
        put(&w, "web", 1, &(struct object){"Deployment", "web", NULL, ONE APP("web") WEB});
        put(&w, "web", 2, &(struct object){"Deployment", "a", NULL, spec});
        put(&w, "web", 3, &(struct object){"Deployment", "b", NULL, spec});
        put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
        cache_relink(&w, at);
        expect("two perhaps", &w, "Deployment 'a'", 2);
        assert_int_equal(hpa_of(&w)->counting, COUNTS_PERHAPS);
        put(&w, "web", 4, &(struct object){"Deployment", "canary", NULL, ONE WEB});
        cache_relink(&w, at);
        expect("one surely", &w, "Deployment 'canary'", 1);
        assert_int_equal(hpa_of(&w)->counting, COUNTS_SURELY);
        cache_release(&w);
}

/* Words v1 to v(count - 1), and web, between quotes. */
static char *words_and_web(size_t count, const char *quote)
{
        struct buf b;
        buf_init(&b, 64 << 10);
        for (size_t i = 1; i < count; i++)
                buf_printf(&b, "%sv%zu%s,", quote, i, quote);
        buf_printf(&b, "%sweb%s", quote, quote);
        return buf_steal(&b);
}

/* A selector longer than is read may ask for any label: of the template's kind, and of the status' text. */
static void test_selector_longer_than_read(void **state)
{
        (void)state;
        for (int text = 0; text <= 1; text++)
                for (int more = 0; more <= 1; more++) {
                        struct cache w;
                        AUTO(mem_free)
                        char *words = words_and_web(selector_of_others.values + (size_t)more, text ? "" : "\"");
                        AUTO(mem_free)
                        char *spec = text ? mem_string(ONE WEB)
                                          : mem_printf(ONE BY_EXPRESSION("\"key\":\"app\",\"operator\":\"In\","
                                                                         "\"values\":[%s]") WEB,
                                                       words);
                        AUTO(mem_free)
                        char *status = text ? mem_printf("\"selector\":\"app in (%s)\"", words) : mem_string("");
                        const char *kind = text ? "Rollout" : "Deployment";
                        cache_init(&w, "halflife", "halflife");
                        put_status(&w, "web", 1, &(struct object){kind, "web", NULL, spec}, status);
                        put(&w, "web", 2, &(struct object){"Deployment", "canary", NULL, ONE WEB});
                        put(&w, "web", 3, &(struct object){"Deployment", "db", NULL, ONE LABELS("\"app\":\"db\"")});
                        put_hpa(&w, kind, "web", BY_UTILIZATION);
                        cache_relink(&w, at);
                        expect(more ? "longer" : "as long", &w, more ? "" : "Deployment 'canary'", 1);
                        assert_int_equal(hpa_of(&w)->counting, more ? COUNTS_UNREAD : COUNTS_SURELY);
                        const struct workload *db = workload_find(&w, "apps", "Deployment", "web", "db");
                        assert_int_equal(workload_more(db)->counted_by[CPU] != NULL, more);
                        cache_release(&w);
                }
}

/* Each change of what is counted counts anew; what changes nothing of it does not. */
/* The labels that an autoscaler counts by, for those who lack the cache. */
static void test_selector_for_others(void **state)
{
        (void)state;
        enum { MANY = 2000 };
        static const struct label_pair pods[] = {{TEXT("app"), TEXT("web")}};
        AUTO(mem_free) char *words = words_and_web(MANY, "\"");
        AUTO(mem_free)
        char *many = mem_printf(BY_EXPRESSION("\"key\":\"app\",\"operator\":\"In\",\"values\":[%s]") WEB, words);
        const struct {
                const char *spec; /* NULL: the workload is not there */
                bool matches, unread;
        } row[] = {
                {APP("web") WEB, true, false},
                {BY_EXPRESSION("\"key\":\"app\",\"operator\":\"Exists\"") WEB, true, false},
                {APP("db") LABELS("\"app\":\"db\""), false, false},
                {many, false, true},
                {NULL, false, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct arena a = {0};
                bool unread;
                cache_init(&w, "halflife", "halflife");
                put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
                if (row[i].spec)
                        put(&w, "web", 1, &(struct object){"Deployment", "web", NULL, row[i].spec});
                cache_relink(&w, at);
                const struct selector *asks = autoscaler_selector(&w, hpa_of(&w), &a, &unread);
                if ((asks && selector_match(asks, pods, 1)) != row[i].matches || unread != row[i].unread)
                        fail_msg("row %zu: %s, unread %d", i, asks ? "a selector" : "none", unread);
                arena_release(&a);
                cache_release(&w);
        }
}

static void test_follows_what_changes(void **state)
{
        (void)state;
        struct cache w;
        struct object web = {"Deployment", "web", NULL, ONE APP("web") WEB},
                      canary = {"Deployment", "canary", NULL, ONE WEB},
                      none = {"Deployment", "canary", NULL, "\"replicas\":0," WEB},
                      db = {"Deployment", "canary", NULL, ONE LABELS("\"app\":\"db\"")};
        cache_init(&w, "halflife", "halflife");
        put(&w, "web", 1, &web);
        put(&w, "web", 2, &canary);
        const struct workload *other = workload_find(&w, "apps", "Deployment", "web", "canary");
        cache_relink(&w, at);
        assert_null(workload_more(other)->counted_by[CPU]);
        put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
        cache_relink(&w, at);
        expect("an HPA comes", &w, "Deployment 'canary'", 1);
        assert_ptr_equal(workload_more(other)->counted_by[CPU], hpa_of(&w));
        assert_null(workload_more(other)->counted_by[MEMORY]);
        assert_false(ns_find(&w, "web")->recount);
        put_status(&w, "web", 2, &canary, "\"replicas\":1,\"updatedReplicas\":1");
        put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
        assert_false(ns_find(&w, "web")->recount);
        assert_ptr_equal(workload_more(other)->counted_by[CPU], hpa_of(&w));
        cache_relink(&w, at);
        expect("only a status", &w, "Deployment 'canary'", 1);
        put(&w, "web", 2, &none);
        cache_relink(&w, at);
        expect("scaled to 0", &w, "", 0);
        assert_null(workload_more(other)->counted_by[CPU]);
        put(&w, "web", 2, &canary);
        cache_relink(&w, at);
        expect("scaled up", &w, "Deployment 'canary'", 1);
        put(&w, "web", 2, &db);
        cache_relink(&w, at);
        expect("another label", &w, "", 0);
        put(&w, "web", 2, &canary);
        put_hpa(&w, "Deployment", "canary", BY_UTILIZATION);
        cache_relink(&w, at);
        expect("it scales one without a selector", &w, "", 0);
        put_hpa(&w, "Deployment", "web", "\"type\":\"AverageValue\",\"averageValue\":\"500m\"");
        cache_relink(&w, at);
        expect("not by utilization", &w, "", 0);
        put_hpa(&w, "Deployment", "web", "\"type\":\"Rate\",\"averageRate\":\"5\"");
        cache_relink(&w, at);
        expect("by a target that nobody knows", &w, "Deployment 'canary'", 1);
        assert_null(workload_more(other)->counted_by[MEMORY]);
        shop_hpa(&w, &(struct shop_hpa){"hpa", NULL, "apps", "Deployment", "web", "{\"type\":\"Rate\"}"});
        cache_relink(&w, at);
        expect("by a metric that nobody knows", &w, "Deployment 'canary'", 1);
        assert_ptr_equal(workload_more(other)->counted_by[MEMORY], hpa_of(&w));
        put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
        cache_relink(&w, at);
        assert_ptr_equal(workload_more(other)->counted_by[CPU], hpa_of(&w));
        hpa_remove(&w, TEXT(HPA_META("hpa") "}"));
        assert_null(workload_more(other)->counted_by[CPU]);
        put_hpa(&w, "Deployment", "web", BY_UTILIZATION);
        cache_relink(&w, at);
        workload_remove(&w, kind_watched(&w, TEXT("apps"), TEXT("Deployment")),
                        TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"canary\"}}"));
        cache_relink(&w, at);
        expect("it is deleted", &w, "", 0);
        cache_release(&w);
}

/* A custom kind tells the selector of its scale subresource as text; a Rollout without one has that of what it runs. */
static void test_custom_kinds(void **state)
{
        (void)state;
        static const struct {
                const char *spec, *status, *first;
        } row[] = {
                {ONE WEB, "\"selector\":\"app=web\"", "Deployment 'canary'"},
                {ONE WEB, "\"labelSelector\":\"app in (web,api)\"", "Deployment 'canary'"},
                {ONE APP("web") WEB, "\"selector\":\"app=web,rollouts-pod-template-hash=5\"", ""},
                {ONE APP("web") WEB, "\"selector\":{\"matchLabels\":{}}", "Deployment 'canary'"},
                {ONE WEB, "\"selector\":\"(\"", ""},
                {ONE "\"workloadRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}", "",
                 "Deployment 'canary'"},
                {ONE APP("none") "\"workloadRef\":{\"apiVersion\":\"apps/"
                                 "v1\",\"kind\":\"Deployment\",\"name\":\"web\"}",
                 "", ""},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                bool refers = strstr(row[i].spec, "workloadRef") != NULL;
                struct cache w;
                cache_init(&w, "halflife", "halflife");
                put_status(&w, "web", 1, &(struct object){"Rollout", "web", NULL, row[i].spec}, row[i].status);
                if (refers)
                        put(&w, "web", 2,
                            &(struct object){"Deployment", "web", NULL, "\"replicas\":0," APP("web") WEB});
                put(&w, "web", 3, &(struct object){"Deployment", "canary", NULL, ONE WEB});
                put_hpa(&w, "Rollout", "web", BY_UTILIZATION);
                cache_relink(&w, at);
                expect(row[i].status, &w, row[i].first, *row[i].first ? 1 : 0);
                cache_release(&w);
        }
}

/* Of several autoscalers that count its pods, a workload is told the first by key, for each resource. */
static void test_several_autoscalers(void **state)
{
        (void)state;
        static const char *const of[][3] = {{"b", "web", "cpu"}, {"a", "api", "cpu"}, {"c", "api", "memory"}};
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        put(&w, "web", 1, &(struct object){"Deployment", "web", NULL, ONE APP("web") WEB});
        put(&w, "web", 2, &(struct object){"Deployment", "api", NULL, ONE APP("web") LABELS("\"app\":\"api\"")});
        put(&w, "web", 3, &(struct object){"Deployment", "canary", NULL, ONE WEB});
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
                AUTO(mem_free)
                char *metric = mem_printf(
                        "{\"type\":\"Resource\",\"resource\":{\"name\":\"%s\",\"target\":{" BY_UTILIZATION "}}}",
                        of[i][2]);
                shop_hpa(&w, &(struct shop_hpa){of[i][0], NULL, "apps", "Deployment", of[i][1], metric});
        }
        cache_relink(&w, at);
        const struct workload_more *more = workload_more(workload_find(&w, "apps", "Deployment", "web", "canary"));
        assert_string_equal(more->counted_by[CPU]->name, "a");
        assert_string_equal(more->counted_by[MEMORY]->name, "c");
        hpa_swept(&w, 2);
        assert_null(more->counted_by[CPU]);
        assert_null(more->counted_by[MEMORY]);
        cache_release(&w);
}

static const struct autoscaler *counts(const struct cache *w, const char *name, enum resource r)
{
        return workload_more(workload_find(w, "apps", "Deployment", "web", name))->counted_by[r];
}

/* HPAs whose selector is long, beside workloads that are many: those that need too much, by their keys, are taken to
 * count any workload. Each needs 31 * 64 * 4096 comparisons at least, so that three are within 32 Mi. */
static void test_too_much_to_compare(void **state)
{
        (void)state;
        enum { WORKLOADS = 31, EXPRESSIONS = 64, VALUES = 4096, HPAS = 5, WITHIN = 3 };
        static const char *const resource[HPAS] = {"cpu", "cpu", "cpu", "cpu", "memory"};
        struct cache w;
        struct buf b, values;
        cache_init(&w, "halflife", "halflife");
        buf_init(&values, 1 << 20);
        for (int i = 0; i < VALUES; i++)
                buf_printf(&values, "%s\"x\"", i ? "," : "");
        buf_init(&b, 4 << 20);
        for (int i = 0; i < EXPRESSIONS; i++)
                buf_printf(&b, "%s{\"key\":\"none\",\"operator\":\"In\",\"values\":[%s]}", i ? "," : "",
                           buf_text(&values).p);
        AUTO(mem_free)
        char *spec = mem_printf(ONE SELECTS("\"matchExpressions\":[%s]") WEB, buf_text(&b).p);
        buf_release(&b);
        buf_release(&values);
        put(&w, "web", 1, &(struct object){"Deployment", "web", NULL, spec});
        for (int i = 0; i < WORKLOADS; i++) {
                AUTO(mem_free) char *name = mem_printf("w%d", i);
                put(&w, "web", 2 + i, &(struct object){"Deployment", name, NULL, ONE WEB});
        }
        for (int i = 0; i < HPAS; i++) {
                AUTO(mem_free) char *name = mem_printf("h%d", i);
                AUTO(mem_free)
                char *metric = mem_printf(
                        "{\"type\":\"Resource\",\"resource\":{\"name\":\"%s\",\"target\":{" BY_UTILIZATION "}}}",
                        resource[i]);
                shop_hpa(&w, &(struct shop_hpa){name, NULL, "apps", "Deployment", "web", metric});
        }
        cache_relink(&w, at);
        for (int i = 0; i < HPAS; i++) {
                AUTO(mem_free) char *key = mem_printf("web/h%d", i);
                const struct autoscaler *s = map_get(&w.autoscalers, text_of(key));
                if (s->others != (i >= WITHIN) || (s->counting == COUNTS_ANY) != (i >= WITHIN) || s->other)
                        fail_msg("%s: %u others", key, (unsigned)s->others);
        }
        static const char *const held[] = {"web", "w0", "w30"};
        for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
                assert_string_equal(counts(&w, held[i], CPU)->name, "h3");
                assert_string_equal(counts(&w, held[i], MEMORY)->name, "h4");
        }
        /* with one less, the next is within */
        hpa_remove(&w, TEXT(HPA_META("h0") "}"));
        cache_relink(&w, at);
        assert_null(counts(&w, "w0", CPU));
        assert_string_equal(counts(&w, "w0", MEMORY)->name, "h4");
        hpa_remove(&w, TEXT(HPA_META("h4") "}"));
        assert_null(counts(&w, "w0", MEMORY));
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_many_labels),
                cmocka_unit_test(test_labels_beyond_the_cut),
                cmocka_unit_test(test_sure_before_perhaps),
                cmocka_unit_test(test_selector_longer_than_read),
                cmocka_unit_test(test_selector_for_others),
                cmocka_unit_test(test_follows_what_changes),
                cmocka_unit_test(test_custom_kinds),
                cmocka_unit_test(test_several_autoscalers),
                cmocka_unit_test(test_too_much_to_compare),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
