/* Which answers are only a part, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "prometheus/partial_answer.h"

#define HUNDRED "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
#define DATA    "\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}"

static const struct {
        const char *envelope;
        int code;
        const char *says; /* a part of the message; NULL: the answer is whole */
} row[] = {
        {"{" DATA "}", 0, NULL},
        {"{" DATA ",\"isPartial\":false}", 0, NULL},
        {"{" DATA ",\"isPartial\":null,\"warnings\":null}", 0, NULL},
        {"{" DATA ",\"warnings\":[]}", 0, NULL},
        {"{" DATA ",\"warnings\":[ ]}", 0, NULL},
        /* remarks on the query; in later versions of Prometheus in a member of their own */
        {"{" DATA ",\"infos\":[\"PromQL info: metric might not be a counter\"]}", 0, NULL},
        {"{" DATA ",\"warnings\":[\"PromQL info: metric might not be a counter\"]}", 0, NULL},
        /* parts */
        {"{\"isPartial\":true," DATA "}", ERR_RETRY, "says 'isPartial: true'"},
        {"{" DATA ",\"isPartial\":true,\"stats\":{\"seriesFetched\":\"2\"}}", ERR_RETRY, "says 'isPartial: true'"},
        {"{" DATA ",\"warnings\":[\"store 10.0.0.7:10901 is away\"]}", ERR_RETRY, "'store 10.0.0.7:10901 is away'"},
        {"{" DATA ",\"warnings\":[\"PromQL info: x\",\"a is away\",\"b is away\"],\"isPartial\":true}", ERR_RETRY,
         "'a is away', and 2 more"},
        {"{" DATA ",\"warnings\":[\"PromQL warning: encountered a mix of histograms and floats\"]}", ERR_RETRY,
         "'PromQL warning: encountered a mix"},
        {"{" DATA ",\"warnings\":[{\"code\":7}]}", ERR_RETRY, "'{\"code\":7}'"},
        {"{" DATA ",\"warnings\":[\"\"]}", ERR_RETRY, "says ''"},
        /* in other shapes than those of the stores that are known */
        {"{" DATA ",\"isPartial\":\"true\"}", ERR_RETRY, "says 'isPartial: \"true\"'"},
        {"{" DATA ",\"isPartial\":1}", ERR_RETRY, "says 'isPartial: 1'"},
        {"{" DATA ",\"isPartial\":[\"shard 3\"]}", ERR_RETRY, "'isPartial: [\"shard 3\"]'"},
        {"{" DATA ",\"isPartial\":\"false\"}", 0, NULL},
        {"{" DATA ",\"isPartial\":\"\"}", 0, NULL},
        {"{" DATA ",\"isPartial\":0}", 0, NULL},
        {"{" DATA ",\"warnings\":\"a is away\"}", ERR_RETRY, "says 'a is away'"},
        {"{" DATA ",\"warnings\":{\"10.0.0.7\":\"is away\"}}", ERR_RETRY, "'{\"10.0.0.7\":\"is away\"}'"},
        {"{" DATA ",\"warnings\":true}", ERR_RETRY, "says 'true'"},
        {"{" DATA ",\"warnings\":2}", ERR_RETRY, "says '2'"},
        {"{" DATA ",\"warnings\":{ }}", 0, NULL},
        {"{" DATA ",\"warnings\":\"\"}", 0, NULL},
        {"{" DATA ",\"warnings\":false,\"isPartial\":[],\"infos\":{\"PromQL info\":[\"x\"]}}", 0, NULL},
        {"{\"status\":\"success\",\"data\":{\"result\":[],\"isPartial\":true}}", ERR_RETRY, "'isPartial: true'"},
        {"{\"status\":\"success\",\"data\":{\"warnings\":[\"b is away\"],\"result\":[]}}", ERR_RETRY, "'b is away'"},
        {"{\"status\":\"success\",\"data\":{\"result\":[],\"status\":\"x\",\"error\":\"y\"}}", 0, NULL},
        {"{\"status\":\"partial\",\"data\":{\"result\":[]}}", ERR_RETRY, "'status: partial'"},
        {"{\"status\":\"\",\"data\":{\"result\":[]}}", 0, NULL},
        {"{\"status\":\"error\",\"error\":\"shard 2 failed\",\"data\":{\"result\":[]}}", ERR_RETRY, "'shard 2 failed'"},
        {"{\"status\":\"error\",\"data\":{\"result\":[]}}", ERR_RETRY, "'status: error'"},
        /* another type of data: a part first, as it is over sooner */
        {"{\"status\":\"success\",\"data\":{\"result\":[],\"resultType\":\"vector\"}}", ERR_INVALID,
         "of type 'vector', where series over time"},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"ma\\u001btrix\",\"result\":[]}}", ERR_INVALID,
         "'ma trix'"},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"\",\"result\":[]}}", 0, NULL},
        {"{\"status\":\"success\",\"data\":{\"resultType\":null,\"result\":[]},\"resultType\":\"vector\"}", 0, NULL},
        {"{\"isPartial\":true,\"data\":{\"resultType\":\"vector\",\"result\":[]}}", ERR_RETRY, "'isPartial: true'"},
        /* the words of others: in one line, and cut */
        {"{\"warnings\":[\"a\\nb\\u001b[31mc\"]}", ERR_RETRY, "'a b [31mc'"},
        {"{\"warnings\":[\"" HUNDRED HUNDRED "cut\"]}", ERR_RETRY, HUNDRED HUNDRED "'"},
        {"{\"warnings\":[\"a\"", ERR_INVALID, "JSON"},
        {"[]", ERR_INVALID, "JSON"},
};

static void parts_are_known(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err = {0};
                bool partial = false;
                int rc = partial_answer_judge(text_of(row[i].envelope), &partial, &err);
                bool said = row[i].says ? strstr(err.text, row[i].says) != NULL : err.text[0] == '\0';
                if (rc != row[i].code || err.code != rc || partial != (rc == ERR_RETRY) || !said)
                        fail_msg("row %zu: %d, partial %d, '%s'", i, rc, partial, err.text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_known)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
