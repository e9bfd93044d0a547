#include "fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/tls_files.h"
#include "wire.h"

struct taking {
        struct buf body, headers;
        size_t chunks, stop_after;
};

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
        struct taking *t = arg;
        t->chunks++;
        buf_add(&t->body, data, size * count);
        return t->stop_after && t->body.len >= t->stop_after ? 0 : size * count;
}

static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
        struct taking *t = arg;
        buf_add(&t->headers, data, size * count);
        return size * count;
}

static struct curl_slist *headers_of(const struct fetch *what)
{
        struct curl_slist *list = curl_slist_append(NULL, "Expect:");
        AUTO(mem_free) char *type = what->type ? mem_printf("Content-Type: %s", what->type) : NULL;
        AUTO(mem_free) char *token = what->token ? mem_printf("Authorization: Bearer %s", what->token) : NULL;
        if (type)
                list = curl_slist_append(list, type);
        if (what->header)
                list = curl_slist_append(list, what->header);
        return token ? curl_slist_append(list, token) : list;
}

/* From files, as net/http_call.c does it: not every TLS library of libcurl takes them from memory. */
static void set_tls(CURL *c, const struct tls_files *files)
{
        if (files->ca.path[0])
                curl_easy_setopt(c, CURLOPT_CAINFO, files->ca.path);
        if (files->cert.path[0]) {
                curl_easy_setopt(c, CURLOPT_SSLCERT, files->cert.path);
                curl_easy_setopt(c, CURLOPT_SSLKEY, files->key.path);
        }
}

struct got fetch(const struct fetch *what)
{
        struct taking t = {.stop_after = what->stop_after};
        struct got g = {0};
        CURL *c = curl_easy_init();
        struct curl_slist *headers = headers_of(what);
        buf_init(&t.body, 1u << 31);
        buf_init(&t.headers, 1 << 20);
        curl_easy_setopt(c, CURLOPT_URL, what->url);
        curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, what->timeout_ms ? what->timeout_ms : (long)WIRE_PATIENCE_MS);
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(c, CURLOPT_USERAGENT, what->agent ? what->agent : "fetch/1");
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
        curl_easy_setopt(c, CURLOPT_WRITEDATA, &t);
        curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
        curl_easy_setopt(c, CURLOPT_HEADERDATA, &t);
        struct tls_files files = {0};
        struct err err = {0};
        const struct http_peer peer = {.ca_pem = what->ca, .cert_pem = what->certificate, .key_pem = what->key};
        if (tls_files_make(&files, &peer, &err) < 0)
                fprintf(stderr, "fetch: %s\n", err.text); /* then it is not trusted, or not shown */
        set_tls(c, &files);
        if (what->body)
                curl_easy_setopt(c, CURLOPT_POSTFIELDS, what->body);
        if (what->head)
                curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
        if (what->method)
                curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, what->method);
        g.curl = (int)curl_easy_perform(c);
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &g.status);
        curl_easy_cleanup(c);
        tls_files_release(&files);
        curl_slist_free_all(headers);
        g.len = t.body.len;
        g.chunks = t.chunks;
        g.body = t.body.data ? buf_steal(&t.body) : mem_string("");
        g.headers = t.headers.data ? buf_steal(&t.headers) : mem_string("");
        g.json = json_loadb(g.body, g.len, JSON_DECODE_ANY, NULL);
        return g;
}

void got_release(struct got *g)
{
        mem_free(g->body);
        mem_free(g->headers);
        json_decref(g->json);
        *g = (struct got){0};
}
