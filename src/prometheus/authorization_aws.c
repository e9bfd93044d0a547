/*
 * AWS: requests are signed (Signature Version 4) with keys that come, as for AWS' own programs, from the environment,
 * from the pod's web identity by STS, or from the pod identity's endpoint; in this order.
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

enum { TOKEN_FILE_MOST = 64 << 10, FORM_MOST = 256 << 10, KEY_MOST = 16 << 10 };

#define SERVICE "aps" /* Amazon Managed Service for Prometheus */

static const char *aws_variable(const struct authorization_facts *f, const char *name)
{
        const char *value = f->variable(name);
        return value && *value ? value : NULL;
}

static const char *aws_region(const struct authorization_facts *f)
{
        const char *region = f->region ? f->region : aws_variable(f, "AWS_REGION");
        return region ? region : aws_variable(f, "AWS_DEFAULT_REGION");
}

/* Only lowercase letters, digits and '-' may be in a region, since it becomes part of host names and signatures. */
static bool aws_is_region(const char *region)
{
        return *region && strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(region);
}

/* Allow only visible ASCII in keys and tokens, since they become part of HTTP headers. */
static int aws_check_secret(const char *what, const char *s, struct err *err)
{
        size_t len = s ? strlen(s) : 0;
        if (len == 0)
                return err_set(err, ERR_INVALID, "AWS: %s is empty", what);
        if (len > KEY_MOST)
                return err_set(err, ERR_INVALID, "AWS: %s has %zu bytes, and a request carries at most %d", what, len,
                               KEY_MOST);
        for (const char *p = s; *p; p++)
                if (*p <= ' ' || *p > '~')
                        return err_set(err, ERR_INVALID, "AWS: %s holds a character that none has", what);
        return 0;
}

static int aws_grant(const struct authorization_facts *f, const char *key, const char *secret, const char *session,
                     struct wall expires, struct grant *ret, struct err *err)
{
        int rc = aws_check_secret("the access key", key, err);
        if (rc == 0 && strchr(key, ':'))
                rc = err_set(err, ERR_INVALID, "AWS: the access key holds a character that none has");
        if (rc == 0)
                rc = aws_check_secret("the secret of the access key", secret, err);
        if (rc == 0 && session)
                rc = aws_check_secret("the session token", session, err);
        if (rc < 0)
                return rc;
        *ret = (struct grant){
                .basic = mem_printf("%s:%s", key, secret),
                .headers = session ? mem_printf("X-Amz-Security-Token: %s\n", session) : NULL,
                .sign = mem_printf("aws:amz:%s:" SERVICE, aws_region(f)),
                .expires = expires,
        };
        return 0;
}

/* --- the pod's web identity --- */

/* The text of an XML element as it stands: keys and times hold nothing that XML escapes. NULL: no such element. */
static char *aws_element(struct text body, const char *name)
{
        AUTO(mem_free) char *open = mem_printf("<%s>", name), *close = mem_printf("</%s>", name);
        const char *from = memmem(body.p, body.len, open, strlen(open));
        const char *p = from ? from + strlen(open) : NULL;
        const char *end = p ? memmem(p, (size_t)(body.p + body.len - p), close, strlen(close)) : NULL;
        return end ? mem_string_n(p, (size_t)(end - p)) : NULL;
}

static int aws_read_expiry(const char *text, struct wall *ret, struct err *err)
{
        if (!text || wall_parse(text, strlen(text), ret) < 0)
                return err_set(err, ERR_INVALID, "AWS: the answer has no keys with the time when they expire");
        return 0;
}

static int aws_read_sts(const struct authorization_facts *f, struct text body, struct grant *ret, struct err *err)
{
        AUTO(mem_wipe)
        char *key = aws_element(body, "AccessKeyId"), *secret = aws_element(body, "SecretAccessKey"),
             *session = aws_element(body, "SessionToken"), *until = aws_element(body, "Expiration");
        struct wall expires;
        int rc = aws_read_expiry(until, &expires, err);
        return rc < 0 ? rc : aws_grant(f, key, secret, session ? session : "", expires, ret, err);
}

/* The form that asks STS for keys; NULL: it would be longer than FORM_MOST bytes. */
static char *aws_form(const char *name, const char *role, const char *token)
{
        struct buf form;
        buf_init(&form, FORM_MOST);
        bool whole = buf_add_text(&form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=") == 0 &&
                     query_add_escaped(&form, name) == 0 && buf_add_text(&form, "&RoleArn=") == 0 &&
                     query_add_escaped(&form, role) == 0 && buf_add_text(&form, "&WebIdentityToken=") == 0 &&
                     query_add_escaped(&form, token) == 0;
        AUTO(mem_wipe) char *text = buf_steal(&form);
        return whole ? STEAL(&text) : NULL;
}

static int aws_ask_sts(const struct authorization_facts *f, struct authorization_ask *ret, struct err *err)
{
        const char *file = aws_variable(f, "AWS_WEB_IDENTITY_TOKEN_FILE"), *role = aws_variable(f, "AWS_ROLE_ARN"),
                   *name = aws_variable(f, "AWS_ROLE_SESSION_NAME"), *url = aws_variable(f, "AWS_ENDPOINT_URL_STS");
        size_t len;
        int rc = url ? authorization_check_url("AWS_ENDPOINT_URL_STS", url, err) : 0;
        if (rc < 0)
                return rc;
        AUTO(mem_wipe) char *token = file_read(file, TOKEN_FILE_MOST, &len, err);
        if (!token)
                return err->code;
        token[strcspn(token, "\r\n")] = '\0';
        if (!*token)
                return err_set(err, ERR_INVALID, "'%s' is empty", file);
        AUTO(mem_wipe) char *form = aws_form(name ? name : "halflife", role, token);
        if (!form)
                return err_set(err, ERR_TOOBIG, "AWS: what STS is asked has more than %d bytes: is the token in '%s'?",
                               FORM_MOST, file);
        const char *region = aws_region(f), *china = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
        *ret = (struct authorization_ask){
                .url = url ? mem_string(url) : mem_printf("https://sts.%s.amazonaws.com%s/", region, china),
                .form = STEAL(&form),
                .read = aws_read_sts,
        };
        return 0;
}

/* --- the pod identity's endpoint --- */

static const char *aws_member(const json_t *o, const char *name)
{
        return json_string_value(json_object_get(o, name));
}

static int aws_read_container(const struct authorization_facts *f, struct text body, struct grant *ret, struct err *err)
{
        AUTO(json_decref) json_t *o = json_loadb(body.p, body.len, 0, NULL);
        struct wall expires;
        int rc = aws_read_expiry(aws_member(o, "Expiration"), &expires, err);
        if (rc < 0)
                return rc;
        return aws_grant(f, aws_member(o, "AccessKeyId"), aws_member(o, "SecretAccessKey"), aws_member(o, "Token"),
                         expires, ret, err);
}

static int aws_ask_container(const struct authorization_facts *f, struct authorization_ask *ret, struct err *err)
{
        const char *url = aws_variable(f, "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
                   *file = aws_variable(f, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
                   *given = aws_variable(f, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
        size_t len;
        int rc = authorization_check_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, err);
        if (rc < 0)
                return rc;
        AUTO(mem_wipe) char *token = file ? file_read(file, TOKEN_FILE_MOST, &len, err) : mem_string(given);
        if (file && !token)
                return err->code;
        if (token)
                token[strcspn(token, "\r\n")] = '\0';
        if (token && aws_check_secret("the token", token, err) < 0)
                return err_wrap(err, "'%s'", file ? file : "AWS_CONTAINER_AUTHORIZATION_TOKEN");
        *ret = (struct authorization_ask){
                .url = mem_string(url),
                .headers = token ? mem_printf("Authorization: %s\n", token) : NULL,
                .direct = true,
                .read = aws_read_container,
        };
        return 0;
}

/* --- the choice among the three --- */

static int aws_prepare(const struct authorization_facts *f, struct grant *ret, struct authorization_ask *ret_ask,
                       struct err *err)
{
        const char *key = aws_variable(f, "AWS_ACCESS_KEY_ID"), *secret = aws_variable(f, "AWS_SECRET_ACCESS_KEY"),
                   *region = aws_region(f);
        if (!region)
                return err_set(err, ERR_INVALID, "AWS: no region: set prometheus-region, or AWS_REGION");
        if (!aws_is_region(region))
                return err_set(err, ERR_INVALID, "AWS: '%s' is no region", region);
        if (key && secret)
                return aws_grant(f, key, secret, aws_variable(f, "AWS_SESSION_TOKEN"), (struct wall){0}, ret, err);
        if (aws_variable(f, "AWS_WEB_IDENTITY_TOKEN_FILE") && aws_variable(f, "AWS_ROLE_ARN"))
                return aws_ask_sts(f, ret_ask, err);
        if (aws_variable(f, "AWS_CONTAINER_CREDENTIALS_FULL_URI"))
                return aws_ask_container(f, ret_ask, err);
        return err_set(err, ERR_INVALID,
                       "AWS: no credentials: the environment has neither AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, "
                       "nor AWS_ROLE_ARN with AWS_WEB_IDENTITY_TOKEN_FILE, nor AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

const struct authorization_kind authorization_aws = {PROMETHEUS_AUTH_SIGV4, aws_prepare};
