/* What each kind asks for by its environment, and what it takes from an answer; and the published vectors of AWS'
 * signatures, by which the servers of other tests judge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/sigv4.h"
#include "../../support/tmp.h"
#include "base/mem.h"
#include "prometheus/authorization.h"

#define DATE  "X-Amz-Date: 20150830T123600Z\r\n"
#define SCOPE "Credential=AKIDEXAMPLE/20150830/us-east-1/"
#define SIGNED(service, headers, signature)                                                                            \
        "Authorization: AWS4-HMAC-SHA256 " SCOPE service "/aws4_request, SignedHeaders=" headers                       \
        ", Signature=" signature "\r\n"

static void test_published_vectors(void **state)
{
        (void)state;
        static const struct {
                const char *name, *service, *request;
                bool good;
        } row[] = {
                {"get-vanilla", "service",
                 "GET / HTTP/1.1\r\nHost: example.amazonaws.com\r\n" DATE SIGNED(
                         "service", "host;x-amz-date",
                         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31") "\r\n",
                 true},
                {"post-vanilla", "service",
                 "POST / HTTP/1.1\r\nHost: example.amazonaws.com\r\n" DATE SIGNED(
                         "service", "host;x-amz-date",
                         "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b") "\r\n",
                 true},
                {"post-x-www-form-urlencoded", "service",
                 "POST / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nHost: "
                 "example.amazonaws.com\r\n" DATE SIGNED(
                         "service", "content-type;host;x-amz-date",
                         "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a") "\r\nParam1=value1",
                 true},
                {"the guide's ListUsers", "iam",
                 "GET /?Version=2010-05-08&Action=ListUsers HTTP/1.1\r\nHost: iam.amazonaws.com\r\nContent-Type: "
                 "application/x-www-form-urlencoded; charset=utf-8\r\n" DATE SIGNED(
                         "iam", "content-type;host;x-amz-date",
                         "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7") "\r\n",
                 true},
                {"another body", "service",
                 "POST / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nHost: "
                 "example.amazonaws.com\r\n" DATE SIGNED(
                         "service", "content-type;host;x-amz-date",
                         "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a") "\r\nParam1=value2",
                 false},
                {"another path", "service",
                 "GET /a HTTP/1.1\r\nHost: example.amazonaws.com\r\n" DATE SIGNED(
                         "service", "host;x-amz-date",
                         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31") "\r\n",
                 false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct sigv4_keys keys = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", NULL,
                                                "us-east-1", row[i].service};
                char why[SIGV4_WHY] = "";
                if (sigv4_verify(row[i].request, &keys, why) != row[i].good)
                        fail_msg("%s: %s", row[i].name, why);
        }
}

/* --- by the environment --- */

enum { VARIABLES = 6 };
struct variable {
        const char *name, *value;
};
static const struct variable *environment;
static const char *token_file;

static const char *variable(const char *name)
{
        for (int i = 0; i < VARIABLES && environment[i].name; i++)
                if (strcmp(environment[i].name, name) == 0)
                        return strcmp(environment[i].value, "$FILE") == 0 ? token_file : environment[i].value;
        return NULL;
}

/* One asking for credentials: what the environment asks for, what was granted, and why not. */
struct asking {
        struct authorization_facts facts;
        struct authorization_ask ask;
        struct grant grant;
        struct err err;
};

static int asking_begin(struct asking *a, const struct authorization_kind *kind, const struct variable *set)
{
        *a = (struct asking){.facts = {variable, NULL, "https://prom", {1000}}};
        environment = set;
        return kind->prepare(&a->facts, &a->grant, &a->ask, &a->err);
}

static void asking_end(struct asking *a)
{
        grant_release(&a->grant);
        authorization_ask_release(&a->ask);
}

#define KEYS                                                                                                           \
        {"AWS_ACCESS_KEY_ID", "AKID"},                                                                                 \
        {                                                                                                              \
                "AWS_SECRET_ACCESS_KEY", "se/cret"                                                                     \
        }
#define REGION                                                                                                         \
        {                                                                                                              \
                "AWS_REGION", "eu-west-1"                                                                              \
        }
#define ROLE                                                                                                           \
        {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},                                                                     \
        {                                                                                                              \
                "AWS_WEB_IDENTITY_TOKEN_FILE", "$FILE"                                                                 \
        }
#define POD_IDENTITY                                                                                                   \
        {                                                                                                              \
                "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"                           \
        }
#define FEDERATED                                                                                                      \
        {                                                                                                              \
                "AZURE_FEDERATED_TOKEN_FILE", "$FILE"                                                                  \
        }

static void test_what_is_asked(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                const struct authorization_kind *kind;
                struct variable environment[VARIABLES];
                const char *url, *holds; /* asked; in its headers or form. url NULL: granted at once, or an error */
                bool direct;
                const char *says; /* the error, or the granted keys */
        } row[] = {
                {"keys", &authorization_aws, {KEYS, REGION}, NULL, NULL, false, "AKID:se/cret"},
                {"keys come first", &authorization_aws, {KEYS, REGION, ROLE}, NULL, NULL, false, "AKID:se/cret"},
                {"the other region",
                 &authorization_aws,
                 {KEYS, {"AWS_DEFAULT_REGION", "us-east-1"}},
                 NULL,
                 NULL,
                 false,
                 "AKID:se/cret"},
                {"no region", &authorization_aws, {KEYS}, NULL, NULL, false, "no region"},
                {"no such region",
                 &authorization_aws,
                 {KEYS, {"AWS_REGION", "eu/1"}},
                 NULL,
                 NULL,
                 false,
                 "is no region"},
                {"half of the keys",
                 &authorization_aws,
                 {{"AWS_ACCESS_KEY_ID", "AKID"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "no credentials: the environment has neither"},
                {"a key with a line end",
                 &authorization_aws,
                 {{"AWS_ACCESS_KEY_ID", "AK\nX: y"}, {"AWS_SECRET_ACCESS_KEY", "s"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "holds a character that none has"},
                {"web identity",
                 &authorization_aws,
                 {ROLE, REGION},
                 "https://sts.eu-west-1.amazonaws.com/",
                 "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=halflife&RoleArn="
                 "arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&WebIdentityToken=to.k-en",
                 false,
                 NULL},
                {"web identity in China",
                 &authorization_aws,
                 {ROLE, {"AWS_REGION", "cn-north-1"}},
                 "https://sts.cn-north-1.amazonaws.com.cn/",
                 "RoleArn=",
                 false,
                 NULL},
                {"web identity at an endpoint, by name",
                 &authorization_aws,
                 {ROLE, REGION, {"AWS_ENDPOINT_URL_STS", "https://sts.internal/x"}, {"AWS_ROLE_SESSION_NAME", "me"}},
                 "https://sts.internal/x",
                 "RoleSessionName=me&",
                 false,
                 NULL},
                {"web identity at an endpoint in the clear",
                 &authorization_aws,
                 {ROLE, REGION, {"AWS_ENDPOINT_URL_STS", "http://sts.internal/"}},
                 NULL,
                 NULL,
                 false,
                 "AWS_ENDPOINT_URL_STS is neither https://"},
                {"no such token",
                 &authorization_aws,
                 {{"AWS_ROLE_ARN", "r"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "/nonexistent"},
                {"pod identity",
                 &authorization_aws,
                 {POD_IDENTITY, {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "$FILE"}, REGION},
                 "http://169.254.170.23/v1/credentials",
                 "Authorization: to.k-en\n",
                 true,
                 NULL},
                {"pod identity, its token given",
                 &authorization_aws,
                 {POD_IDENTITY, {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "given"}, REGION},
                 "http://169.254.170.23/v1/credentials",
                 "Authorization: given\n",
                 true,
                 NULL},
                {"keys over the network in the clear",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.2.evil.example/"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "neither https:// nor an address of the pod"},
                {"a name that begins like loopback",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.evil.example/"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "neither https:// nor an address of the pod"},
                {"a name of digits",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1.example:80/"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "neither https:// nor an address of the pod"},
                {"a user that looks like a host",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost:80@evil.example/"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "neither https:// nor an address of the pod"},
                {"a user that looks like an address",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://[::1]@evil.example/"}, REGION},
                 NULL,
                 NULL,
                 false,
                 "neither https:// nor an address of the pod"},
                {"loopback",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.2:8080/c"}, REGION},
                 "http://127.0.0.2:8080/c",
                 NULL,
                 true,
                 NULL},
                {"loopback of IPv6",
                 &authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://[::1]:8080/c"}, REGION},
                 "http://[::1]:8080/c",
                 NULL,
                 true,
                 NULL},
                {"Google",
                 &authorization_google,
                 {{NULL, NULL}},
                 "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
                 "Metadata-Flavor: Google\n",
                 true,
                 NULL},
                {"Google, elsewhere",
                 &authorization_google,
                 {{"GCE_METADATA_HOST", "127.0.0.1:80"}},
                 "http://127.0.0.1:80/computeMetadata/v1/instance/service-accounts/default/token",
                 "Google",
                 true,
                 NULL},
                {"Azure, of the node",
                 &authorization_azure,
                 {{NULL, NULL}},
                 "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource="
                 "https%3A%2F%2Fprom",
                 "Metadata: true\n",
                 true,
                 NULL},
                {"Azure, one of the node's",
                 &authorization_azure,
                 {{"AZURE_CLIENT_ID", "c"}},
                 "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource="
                 "https%3A%2F%2Fprom&client_id=c",
                 "Metadata: true\n",
                 true,
                 NULL},
                {"Azure, federated",
                 &authorization_azure,
                 {FEDERATED, {"AZURE_CLIENT_ID", "c"}, {"AZURE_TENANT_ID", "t"}},
                 "https://login.microsoftonline.com/t/oauth2/v2.0/token",
                 "&client_id=c&scope=https%3A%2F%2Fprom%2F.default&client_assertion=to.k-en",
                 false,
                 NULL},
                {"Azure, an empty token",
                 &authorization_azure,
                 {{"AZURE_FEDERATED_TOKEN_FILE", "/dev/null"}, {"AZURE_CLIENT_ID", "c"}, {"AZURE_TENANT_ID", "t"}},
                 NULL,
                 NULL,
                 false,
                 "it is a device, not a file"},
                {"Azure, an authority in the clear",
                 &authorization_azure,
                 {FEDERATED,
                  {"AZURE_CLIENT_ID", "c"},
                  {"AZURE_TENANT_ID", "t"},
                  {"AZURE_AUTHORITY_HOST", "http://login.internal/"}},
                 NULL,
                 NULL,
                 false,
                 "AZURE_AUTHORITY_HOST is neither https://"},
                {"Azure, an authority with a user",
                 &authorization_azure,
                 {FEDERATED,
                  {"AZURE_CLIENT_ID", "c"},
                  {"AZURE_TENANT_ID", "t"},
                  {"AZURE_AUTHORITY_HOST", "https://me:cret@login.internal/"}},
                 NULL,
                 NULL,
                 false,
                 "AZURE_AUTHORITY_HOST is neither https:// nor an address of the pod or its node, or it has a user"},
                {"Azure, federated, half",
                 &authorization_azure,
                 {FEDERATED, {"AZURE_CLIENT_ID", "c"}},
                 NULL,
                 NULL,
                 false,
                 "AZURE_TENANT_ID is not"},
        };
        AUTO(mem_free) char *file = tmp_file("federated", "to.k-en\n");
        token_file = file;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct asking a;
                int rc = asking_begin(&a, row[i].kind, row[i].environment);
                const struct authorization_ask *ask = &a.ask;
                const char *got = rc < 0 ? a.err.text : a.grant.basic;
                if (row[i].url ? rc < 0 || !ask->url || strcmp(ask->url, row[i].url) != 0 ||
                                         ask->direct != row[i].direct ||
                                         (row[i].holds && !strstr(ask->form ? ask->form : ask->headers, row[i].holds))
                               : ask->url || !got || !strstr(got, row[i].says))
                        fail_msg("%s: %s %s %s", row[i].name, ask->url ? ask->url : "-", ask->form ? ask->form : "-",
                                 got ? got : "-");
                asking_end(&a);
        }
}

/* What is too long is refused, and said to be: nothing is cut. */
static void test_what_is_too_long(void **state)
{
        (void)state;
        enum { LONG = 60 << 10 };
        char long_text[LONG + 1], *marks = memset(mem_new(LONG + 1), '!', LONG);
        memset(long_text, 'a', LONG);
        long_text[LONG] = '\0';
        const struct {
                const struct authorization_kind *kind;
                struct variable environment[VARIABLES];
                const char *says;
        } row[] = {
                {&authorization_aws,
                 {{"AWS_ACCESS_KEY_ID", long_text}, {"AWS_SECRET_ACCESS_KEY", "s"}, REGION},
                 "the access key has 61440 bytes, and a request carries at most 16384"},
                {&authorization_aws,
                 {KEYS, {"AWS_SESSION_TOKEN", long_text}, REGION},
                 "the session token has 61440 bytes"},
                {&authorization_aws,
                 {{"AWS_ACCESS_KEY_ID", "A B"}, {"AWS_SECRET_ACCESS_KEY", "s"}, REGION},
                 "the access key holds a character that none has"},
                {&authorization_aws,
                 {{"AWS_ROLE_ARN", marks}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "$FILE"}, REGION},
                 "what STS is asked has more than 262144 bytes: is the token in '"},
                {&authorization_aws,
                 {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
                  {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "$FILE"},
                  REGION},
                 "the token has 61440 bytes"},
                {&authorization_azure,
                 {FEDERATED, {"AZURE_CLIENT_ID", marks}, {"AZURE_TENANT_ID", "t"}},
                 "what Entra is asked has more than 262144 bytes: is the token in '"},
        };
        AUTO(mem_free) char *file = tmp_file("long", marks);
        token_file = file;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct asking a;
                int rc = asking_begin(&a, row[i].kind, row[i].environment);
                if (rc == 0 || !strstr(a.err.text, row[i].says) || a.ask.url || a.ask.form)
                        fail_msg("row %zu: %d, %s", i, rc, a.err.text);
                asking_end(&a);
        }
        mem_free(marks);
}

/* --- by the answer --- */

#define STS(key, until)                                                                                                \
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>" key           \
        "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t/=</SessionToken><Expiration>" until         \
        "</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
#define UNTIL                "1970-01-01T01:00:00Z"
#define CONTAINER(key, more) "{\"AccessKeyId\":\"" key "\",\"SecretAccessKey\":\"s\",\"Token\":\"t/=\"" more "}"

static void test_what_is_granted(void **state)
{
        (void)state;
        static const struct variable sts[VARIABLES] = {ROLE, REGION}, pod[VARIABLES] = {POD_IDENTITY, REGION},
                                     none[VARIABLES] = {{NULL, NULL}};
        static const struct {
                const char *name;
                const struct authorization_kind *kind;
                const struct variable *environment;
                const char *body, *secret, *headers; /* secret: basic or bearer; NULL: refused */
                int64_t expires_ms;
        } row[] = {
                {"STS", &authorization_aws, sts, STS("A", UNTIL), "A:s", "X-Amz-Security-Token: t/=\n", 3600000},
                {"STS without an end", &authorization_aws, sts, STS("A", "soon"), NULL, NULL, 0},
                {"STS, not a key", &authorization_aws, sts, STS("A: b", UNTIL), NULL, NULL, 0},
                {"STS, something else", &authorization_aws, sts, "<html>AccessKeyId</html>", NULL, NULL, 0},
                {"STS, nothing", &authorization_aws, sts, "", NULL, NULL, 0},
                {"pod identity", &authorization_aws, pod, CONTAINER("A", ",\"Expiration\":\"" UNTIL "\""), "A:s",
                 "X-Amz-Security-Token: t/=\n", 3600000},
                {"pod identity without an end", &authorization_aws, pod, CONTAINER("A", ""), NULL, NULL, 0},
                {"pod identity, a line more", &authorization_aws, pod,
                 CONTAINER("A\\nX", ",\"Expiration\":\"" UNTIL "\""), NULL, NULL, 0},
                {"Google", &authorization_google, none, "{\"access_token\":\"ya29\",\"expires_in\":60}", "ya29", NULL,
                 61000},
                {"Azure's number in quotes", &authorization_azure, none,
                 "{\"access_token\":\"ey\",\"expires_in\":\"60\"}", "ey", NULL, 61000},
                {"no life", &authorization_google, none, "{\"access_token\":\"ya29\"}", NULL, NULL, 0},
                {"a life of words", &authorization_google, none, "{\"access_token\":\"ya29\",\"expires_in\":\"6x\"}",
                 NULL, NULL, 0},
                {"too long a life", &authorization_google, none, "{\"access_token\":\"a\",\"expires_in\":99999999999}",
                 NULL, NULL, 0},
                {"a header in the token", &authorization_google, none,
                 "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":60}", NULL, NULL, 0},
                {"not JSON", &authorization_google, none, "<html>", NULL, NULL, 0},
        };
        AUTO(mem_free) char *file = tmp_file("web-identity", "to.k-en");
        token_file = file;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct asking a;
                const struct grant *grant = &a.grant;
                assert_int_equal(asking_begin(&a, row[i].kind, row[i].environment), 0);
                int rc = a.ask.read(&a.facts, text_of(row[i].body), &a.grant, &a.err);
                const char *secret = grant->basic ? grant->basic : grant->bearer;
                bool right = row[i].secret ? rc == 0 && secret && strcmp(secret, row[i].secret) == 0 &&
                                                     grant->expires.ms == row[i].expires_ms &&
                                                     strcmp(grant->headers ? grant->headers : "",
                                                            row[i].headers ? row[i].headers : "") == 0
                                           : rc == ERR_INVALID && a.err.text[0];
                if (!right)
                        fail_msg("%s: %d, %s, until %lld: %s", row[i].name, rc, secret ? secret : "-",
                                 (long long)grant->expires.ms, a.err.text);
                asking_end(&a);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_published_vectors),
                cmocka_unit_test(test_what_is_asked),
                cmocka_unit_test(test_what_is_too_long),
                cmocka_unit_test(test_what_is_granted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
