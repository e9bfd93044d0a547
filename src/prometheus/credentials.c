#include "credentials.h"

#include <string.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "request_headers.h"

enum { FILE_MOST = 1 << 20 };

static int read_pem(const char *path, char **ret, struct err *err)
{
        size_t len;
        if (!path)
                return 0;
        *ret = file_read(path, FILE_MOST, &len, err);
        return *ret ? 0 : err->code;
}

/* Read a token or password up to the first line end, because editors add one. */
static int read_secret(const char *path, char **ret, struct err *err)
{
        if (!path)
                return 0;
        int rc = read_pem(path, ret, err);
        if (rc < 0)
                return rc;
        (*ret)[strcspn(*ret, "\r\n")] = '\0';
        if (!**ret)
                return err_set(err, ERR_INVALID, "'%s' is empty", path);
        return 0;
}

static int credentials_read_all(struct credentials *fresh, const struct prometheus_options *o, struct err *err)
{
        char *password = NULL;
        int rc = read_pem(o->ca_file, &fresh->ca, err);
        if (rc == 0)
                rc = read_pem(o->cert_file, &fresh->cert, err);
        if (rc == 0)
                rc = read_pem(o->key_file, &fresh->key, err);
        if (rc == 0)
                rc = read_secret(o->bearer_file, &fresh->bearer, err);
        if (rc == 0)
                rc = read_secret(o->password_file, &password, err);
        if (rc == 0 && o->user)
                fresh->basic = mem_printf("%s:%s", o->user, password ? password : "");
        if (rc == 0 && o->headers_file)
                rc = request_headers_read(o->headers_file, fresh->bearer || fresh->basic || o->auth, &fresh->headers,
                                          err);
        mem_wipe(password);
        return rc;
}

static bool credentials_same(const char *a, const char *b)
{
        return a && b ? strcmp(a, b) == 0 : a == b;
}

int credentials_read(struct credentials *id, const struct prometheus_options *o, struct err *err)
{
        struct credentials fresh = {0};
        int rc = credentials_read_all(&fresh, o, err);
        if (rc < 0) {
                credentials_release(&fresh);
                return err_wrap(err, "credentials for Prometheus");
        }
        bool moved = !credentials_same(fresh.ca, id->ca) || !credentials_same(fresh.cert, id->cert) ||
                     !credentials_same(fresh.key, id->key);
        unsigned revision = id->peer.revision + moved;
        credentials_release(id);
        *id = fresh;
        id->peer = (struct http_peer){
                .base_url = o->url, .ca_pem = id->ca, .cert_pem = id->cert, .key_pem = id->key, .revision = revision};
        return 0;
}

void credentials_release(struct credentials *id)
{
        mem_wipe(id->bearer);
        mem_wipe(id->basic);
        mem_wipe(id->headers);
        mem_wipe(id->key);
        mem_free(id->cert);
        mem_free(id->ca);
        *id = (struct credentials){.peer.revision = id->peer.revision};
}
