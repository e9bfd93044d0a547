/*
 * Google and Azure: bearer tokens. Google's come from the metadata server of the node or of workload identity; Azure's
 * from Microsoft Entra by the pod's federated token, or from the node's instance metadata.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "authorization.h"
#include "base/buf.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "query.h"

enum { TOKEN_FILE_MOST = 64 << 10, FORM_MOST = 256 << 10, TOKEN_MOST = 32 << 10, LIFE_MOST_S = 30 * 24 * 3600 };

static const char *token_variable(const struct authorization_facts *f, const char *name, const char *otherwise)
{
        const char *value = f->variable(name);
        return value && *value ? value : otherwise;
}

static bool token_is_usable(const char *s)
{
        size_t len = s ? strlen(s) : 0;
        if (len == 0 || len > TOKEN_MOST)
                return false;
        for (const char *p = s; *p; p++)
                if (*p <= ' ' || *p > '~')
                        return false;
        return true;
}

/* A token's life in seconds: a number in JSON, or a text from Azure's metadata. 0: it cannot be read. */
static int64_t token_life_s(const json_t *value)
{
        if (json_is_string(value)) {
                char *end;
                long long s = strtoll(json_string_value(value), &end, 10);
                return *end == '\0' ? s : 0;
        }
        return (int64_t)json_integer_value(value);
}

/* Read a token from the answer {"access_token": …, "expires_in": seconds}. */
static int token_read(const struct authorization_facts *f, struct text body, struct grant *ret, struct err *err)
{
        AUTO(json_decref) json_t *o = json_loadb(body.p, body.len, 0, NULL);
        const char *token = json_string_value(json_object_get(o, "access_token"));
        int64_t life_s = token_life_s(json_object_get(o, "expires_in"));
        if (!token_is_usable(token))
                return err_set(err, ERR_INVALID, "the answer holds no usable access_token");
        if (life_s <= 0 || life_s > LIFE_MOST_S)
                return err_set(err, ERR_INVALID, "the answer's expires_in is not within 30 days");
        *ret = (struct grant){.bearer = mem_string(token), .expires = {f->now.ms + life_s * SECOND_MS}};
        return 0;
}

/* --- Google --- */

static int google_prepare(const struct authorization_facts *f, struct grant *ret, struct authorization_ask *ret_ask,
                          struct err *err)
{
        (void)ret, (void)err;
        *ret_ask = (struct authorization_ask){
                .url = mem_printf("http://%s/computeMetadata/v1/instance/service-accounts/default/token",
                                  token_variable(f, "GCE_METADATA_HOST", "metadata.google.internal")),
                .headers = mem_string("Metadata-Flavor: Google\n"),
                .direct = true,
                .read = token_read,
        };
        return 0;
}

const struct authorization_kind authorization_google = {PROMETHEUS_AUTH_GOOGLE, google_prepare};

/* --- Azure --- */

/* Ask the node's instance metadata for a token; AZURE_CLIENT_ID chooses among the node's identities. */
static int azure_ask_node(const struct authorization_facts *f, struct authorization_ask *ret, struct err *err)
{
        const char *client = token_variable(f, "AZURE_CLIENT_ID", NULL);
        AUTO(buf_release) struct buf url;
        buf_init(&url, FORM_MOST);
        bool whole =
                buf_printf(&url, "%s/metadata/identity/oauth2/token?api-version=2018-02-01&resource=",
                           token_variable(f, "AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://169.254.169.254")) == 0 &&
                query_add_escaped(&url, f->audience) == 0;
        if (client)
                whole = whole && buf_add_text(&url, "&client_id=") == 0 && query_add_escaped(&url, client) == 0;
        if (!whole)
                return err_set(err, ERR_TOOBIG, "Azure: the URL of the node's metadata has more than %d bytes",
                               FORM_MOST);
        *ret = (struct authorization_ask){
                .url = buf_steal(&url), .headers = mem_string("Metadata: true\n"), .direct = true, .read = token_read};
        return 0;
}

/* Ask Microsoft Entra for a token by the pod's federated token, a file that workload identity mounts. */
static int azure_ask_entra(const struct authorization_facts *f, const char *file, struct authorization_ask *ret,
                           struct err *err)
{
        const char *client = token_variable(f, "AZURE_CLIENT_ID", NULL),
                   *tenant = token_variable(f, "AZURE_TENANT_ID", NULL),
                   *host = token_variable(f, "AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/");
        size_t len, host_len = strlen(host);
        if (!client || !tenant)
                return err_set(
                        err, ERR_INVALID,
                        "Azure: AZURE_FEDERATED_TOKEN_FILE is set, but AZURE_CLIENT_ID or AZURE_TENANT_ID is not");
        int rc = authorization_check_url("AZURE_AUTHORITY_HOST", host, err);
        if (rc < 0)
                return rc;
        char *token = file_read(file, TOKEN_FILE_MOST, &len, err);
        if (!token)
                return err->code;
        token[strcspn(token, "\r\n")] = '\0';
        if (!*token) {
                mem_free(token);
                return err_set(err, ERR_INVALID, "'%s' is empty", file);
        }
        struct buf form, url;
        buf_init(&form, FORM_MOST);
        buf_init(&url, FORM_MOST);
        bool whole = buf_add_text(&form, "grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3A"
                                         "oauth%3Aclient-assertion-type%3Ajwt-bearer&client_id=") == 0 &&
                     query_add_escaped(&form, client) == 0 && buf_add_text(&form, "&scope=") == 0 &&
                     query_add_escaped(&form, f->audience) == 0 &&
                     buf_add_text(&form, "%2F.default&client_assertion=") == 0 &&
                     query_add_escaped(&form, token) == 0 &&
                     buf_printf(&url, "%s%s", host, host_len && host[host_len - 1] == '/' ? "" : "/") == 0 &&
                     query_add_escaped(&url, tenant) == 0 && buf_add_text(&url, "/oauth2/v2.0/token") == 0;
        mem_wipe_n(token, len);
        *ret = (struct authorization_ask){.url = buf_steal(&url), .form = buf_steal(&form), .read = token_read};
        if (whole)
                return 0;
        mem_free(ret->url);
        mem_wipe(ret->form);
        *ret = (struct authorization_ask){0};
        return err_set(err, ERR_TOOBIG, "Azure: what Entra is asked has more than %d bytes: is the token in '%s'?",
                       FORM_MOST, file);
}

static int azure_prepare(const struct authorization_facts *f, struct grant *ret, struct authorization_ask *ret_ask,
                         struct err *err)
{
        (void)ret;
        const char *file = token_variable(f, "AZURE_FEDERATED_TOKEN_FILE", NULL);
        return file ? azure_ask_entra(f, file, ret_ask, err) : azure_ask_node(f, ret_ask, err);
}

const struct authorization_kind authorization_azure = {PROMETHEUS_AUTH_AZURE, azure_prepare};
