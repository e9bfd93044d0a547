#include "access_config.h"

#include <string.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"

static void free_list(char **list)
{
        for (int i = 0; list && list[i]; i++)
                mem_free(list[i]);
        mem_free(list);
}

static void access_text_release(struct access_text *t)
{
        mem_wipe(t->text);
        mem_free(t->path);
}

void access_config_release(struct access_config *c)
{
        char *plain[] = {c->source,           c->ns,       c->server, c->server_name, c->exec.command,
                         c->exec.api_version, c->exec.hint};
        for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
                mem_free(plain[i]);
        mem_wipe(c->proxy_url); /* may hold a password */
        access_text_release(&c->ca);
        access_text_release(&c->cert);
        access_text_release(&c->key);
        access_text_release(&c->token);
        free_list(c->exec.argument);
        free_list(c->exec.environment);
        json_decref(c->exec.cluster);
        *c = (struct access_config){0};
}

/* Check a token, which goes into a header line: refuse bytes that could end the line. White space around it is cut. */
static int check_token(char *text, struct err *err)
{
        size_t len = strlen(text), skip = strspn(text, " \t\r\n");
        while (len > skip && strchr(" \t\r\n", text[len - 1]))
                len--;
        if (len - skip > TOKEN_BYTES_MAX)
                return err_set(err, ERR_TOOBIG,
                               "the token has %zu bytes, and a request carries at most %d: get a shorter one, of "
                               "fewer groups",
                               len - skip, TOKEN_BYTES_MAX);
        memmove(text, text + skip, len - skip);
        text[len - skip] = '\0';
        if (text[0] == '\0')
                return err_set(err, ERR_INVALID, "the token is empty");
        for (const char *p = text; *p; p++)
                if (*p <= ' ' || *p >= 0x7f)
                        return err_set(err, ERR_INVALID, "the token holds bytes that are not allowed in a token");
        return 0;
}

/* Check for both ends of a PEM block; a file that is still being written may lack the second. */
static int check_pem(const char *text, struct err *err)
{
        const char *begin = strstr(text, "-----BEGIN ");
        if (begin && strstr(begin, "-----END "))
                return 0;
        return err_set(err, ERR_INVALID, "it holds no PEM block (-----BEGIN … to -----END …)");
}

static int base64_digit(char c)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = c ? strchr(digits, c) : NULL;
        return at ? (int)(at - digits) : -1;
}

char *credential_decode(const char *s)
{
        char *out = mem_new(strlen(s) / 4 * 3 + 4);
        size_t len = 0, digits = 0;
        unsigned bits = 0;
        for (; *s && *s != '='; s++) {
                if (*s == '\n' || *s == '\r' || *s == ' ')
                        continue;
                int digit = base64_digit(*s);
                if (digit < 0)
                        break;
                bits = bits << 6 | (unsigned)digit;
                if (digits++ % 4 != 0)
                        out[len++] = (char)(bits >> (6 - 2 * ((digits - 1) % 4)) & 0xff);
        }
        s += strspn(s, "=\r\n ");
        if (*s == '\0' && digits % 4 != 1)
                return out;
        mem_free(out);
        return NULL;
}

int credential_check(char *text, enum credential what, struct err *err)
{
        return what == CREDENTIAL_PEM ? check_pem(text, err) : check_token(text, err);
}

int access_text_read(struct access_text *t, enum credential what, struct err *err)
{
        size_t len;
        char *fresh = file_read(t->path, CREDENTIAL_BYTES_MAX, &len, err);
        if (!fresh)
                return err->code;
        int rc = credential_check(fresh, what, err);
        if (rc < 0)
                err_wrap(err, "'%s'", t->path);
        if (rc < 0 || (t->text && strcmp(fresh, t->text) == 0)) {
                mem_wipe(fresh);
                return rc;
        }
        mem_wipe(t->text);
        t->text = fresh;
        return 1;
}

static int read_namespace(const char *dir, char **ret, struct err *err)
{
        AUTO(mem_free) char *path = mem_printf("%s/namespace", dir);
        size_t len;
        AUTO(mem_free) char *text = file_read(path, 4096, &len, err);
        if (!text)
                return err->code;
        if (strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") > 0)
                *ret = mem_string_n(text, strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-"));
        return 0;
}

int pod_config_load(const char *dir, const char *host, const char *port, struct access_config *ret, struct err *err)
{
        bool v6 = strchr(host, ':') != NULL;
        struct access_config c = {.in_cluster = true};
        c.source = mem_string("the pod's service account");
        c.server = mem_printf("https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
        c.ca.path = mem_printf("%s/ca.crt", dir);
        c.token.path = mem_printf("%s/token", dir);
        int rc = access_text_read(&c.ca, CREDENTIAL_PEM, err);
        if (rc >= 0)
                rc = access_text_read(&c.token, CREDENTIAL_TOKEN, err);
        if (rc >= 0)
                rc = read_namespace(dir, &c.ns, err);
        if (rc < 0) {
                access_config_release(&c);
                return err_wrap(err, "the pod's service account (is automountServiceAccountToken off?)");
        }
        *ret = c;
        return 0;
}
