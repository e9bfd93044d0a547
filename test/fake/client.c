/* A client as small as the demo needs: a kubeconfig as this server writes it, one request at a time. */
#include "client.h"
#include "base/file_read.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "net/tls_files.h"

struct client {
        CURL *curl;
        struct curl_slist *headers;
        json_t *config;
        struct tls_files files;
        struct buf answer;
};

static size_t collect(char *data, size_t size, size_t count, void *arg)
{
        return buf_add(arg, data, size * count) == 0 ? size * count : 0;
}

static char *unbase64(const char *text)
{
        size_t n = 0;
        char *out = mem_new(strlen(text) + 1);
        unsigned bits = 0, have = 0;
        for (; *text && *text != '='; text++) {
                static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                const char *at = strchr(digit, *text);
                if (!at)
                        continue;
                bits = bits << 6 | (unsigned)(at - digit);
                if ((have += 6) >= 8)
                        out[n++] = (char)(bits >> (have -= 8) & 255);
        }
        return out;
}

static const json_t *first(const json_t *config, const char *list, const char *what)
{
        return json_object_get(json_array_get(json_object_get(config, list), 0), what);
}

static bool client_open(struct client *c, const char *path)
{
        struct err err = {0};
        size_t len;
        AUTO(mem_free) char *text = file_read(path, 1u << 20, &len, &err);
        c->config = text ? yaml_read(text, len, &err) : NULL;
        if (!c->config) {
                fprintf(stderr, "%s: %s\n", path, err.text);
                return false;
        }
        buf_init(&c->answer, 1u << 30);
        c->curl = curl_easy_init();
        const char *token = text_at(first(c->config, "users", "user"), "token");
        const char *ca = text_at(first(c->config, "clusters", "cluster"), "certificate-authority-data");
        if (*token) {
                AUTO(mem_free) char *line = mem_printf("Authorization: Bearer %s", token);
                c->headers = curl_slist_append(c->headers, line);
        }
        if (*ca) {
                AUTO(mem_free) char *pem = unbase64(ca);
                if (tls_files_make(&c->files, &(struct http_peer){.ca_pem = pem}, &err) < 0) {
                        fprintf(stderr, "%s: %s\n", path, err.text);
                        return false;
                }
                curl_easy_setopt(c->curl, CURLOPT_CAINFO, c->files.ca.path);
        }
        curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, collect);
        curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->answer);
        curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "demo");
        return true;
}

static void client_close(struct client *c)
{
        curl_easy_cleanup(c->curl);
        curl_slist_free_all(c->headers);
        json_decref(c->config);
        tls_files_release(&c->files);
        buf_release(&c->answer);
}

/* The HTTP status, 0 with a line on stderr when there is no answer; the body is in c->answer. */
static long client_do(struct client *c, const char *method, const char *path, const char *type, const char *body)
{
        AUTO(mem_free) char *url = mem_printf("%s%s", text_at(first(c->config, "clusters", "cluster"), "server"), path);
        AUTO(mem_free) char *line = mem_printf("Content-Type: %s", type);
        struct curl_slist *headers = curl_slist_append(NULL, line);
        for (const struct curl_slist *h = c->headers; h; h = h->next)
                headers = curl_slist_append(headers, h->data);
        long status = 0;
        buf_reset(&c->answer);
        curl_easy_setopt(c->curl, CURLOPT_URL, url);
        curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
        curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
        if (!body)
                curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
        CURLcode rc = curl_easy_perform(c->curl);
        if (rc != CURLE_OK)
                fprintf(stderr, "%s: %s\n", url, curl_easy_strerror(rc));
        curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
        curl_slist_free_all(headers);
        return status;
}

static bool report(const struct client *c, long status, const char *what)
{
        if (status == 200 || status == 201)
                return true;
        fprintf(stderr, "%s: HTTP %ld %s\n", what, status, buf_text(&c->answer).p);
        return false;
}

/* The plural of a kind by discovery; NULL when it is not served. */
static char *path_of(struct client *c, const json_t *object)
{
        const char *api = text_at(object, "apiVersion"), *ns = object_ns(object);
        AUTO(mem_free) char *group = mem_printf("/%s/%s", strchr(api, '/') ? "apis" : "api", api);
        if (client_do(c, "GET", group, "application/json", NULL) != 200)
                return NULL;
        AUTO(json_decref) json_t *list = json_loads(buf_text(&c->answer).p, 0, NULL);
        size_t i;
        json_t *r;
        json_array_foreach(json_object_get(list, "resources"), i, r)
        {
                if (strcmp(text_at(r, "kind"), text_at(object, "kind")) != 0 || strchr(text_at(r, "name"), '/'))
                        continue;
                bool spaced = json_is_true(json_object_get(r, "namespaced"));
                return mem_printf("%s%s%s/%s/%s?fieldManager=kubectl&force=true", group, spaced ? "/namespaces/" : "",
                                  !spaced ? ""
                                  : *ns   ? ns
                                          : "default",
                                  text_at(r, "name"), object_name(object));
        }
        return NULL;
}

static bool apply_object(struct client *c, const json_t *object)
{
        AUTO(mem_free)
        char *path = path_of(c, object), *what = mem_printf("%s/%s", text_at(object, "kind"), object_name(object));
        if (!path) {
                fprintf(stderr, "%s: no such kind is served\n", what);
                return false;
        }
        char *body = json_dumps(object, JSON_COMPACT);
        long status = client_do(c, "PATCH", path, "application/apply-patch+yaml", body);
        free(body);
        if (report(c, status, what))
                printf("%s %s\n", what, status == 201 ? "created" : "configured");
        return status == 200 || status == 201;
}

static int apply_files(struct client *c, char **files)
{
        struct err err = {0};
        int bad = 0;
        for (; *files; files++) {
                size_t len, i;
                json_t *object;
                const char *path = strcmp(*files, "-") == 0 ? "/dev/stdin" : *files;
                AUTO(mem_free) char *text = file_read_input(path, 16u << 20, &len, &err);
                AUTO(json_decref) json_t *all = text ? yaml_read_all(text, len, &err) : NULL;
                if (!all) {
                        fprintf(stderr, "%s: %s\n", *files, err.text);
                        bad = 1;
                }
                json_array_foreach(all, i, object) bad |= !apply_object(c, object);
        }
        return bad;
}

/* "spec.template.spec.containers[0].resources" */
static const json_t *field_of(const json_t *j, const char *field)
{
        while (j && *field) {
                size_t len = strcspn(field, ".[");
                char *end;
                if (*field == '[') {
                        j = json_array_get(j, strtoul(field + 1, &end, 10));
                        field = *end ? end + 1 : end;
                } else {
                        j = json_object_getn(j, field, len);
                        field += len;
                }
                field += *field == '.';
        }
        return j;
}

static int show(struct client *c, const char *path, const char *field)
{
        long status = client_do(c, "GET", path, "application/json", NULL);
        if (!report(c, status, path))
                return 1;
        AUTO(json_decref) json_t *j = json_loads(buf_text(&c->answer).p, 0, NULL);
        const json_t *at = field_of(j, field ? field : "");
        if (json_is_string(at))
                puts(json_string_value(at));
        else if (at)
                json_dumpf(at, stdout, JSON_ENCODE_ANY | (field ? 0 : JSON_INDENT(2)));
        else if (!j)
                fputs(buf_text(&c->answer).p, stdout);
        if (!json_is_string(at))
                putchar('\n');
        return 0;
}

static int change(struct client *c, const char *method, const char *path, const char *body)
{
        return !report(c, client_do(c, method, path, "application/merge-patch+json", body), path);
}

int client_main(int argc, char **argv, const char *usage)
{
        struct client c = {0};
        const char *verb = argv[0];
        bool named = argc > 3 && strcmp(argv[1], "--kubeconfig") == 0;
        bool apply = strcmp(verb, "apply") == 0, get = strcmp(verb, "get") == 0 && argc <= 5,
             patch = strcmp(verb, "patch") == 0 && argc == 5, delete = strcmp(verb, "delete") == 0 && argc == 4;
        if (!named || (!apply && !get && !patch && !delete)) {
                fputs(usage, stderr);
                return 2;
        }
        if (!client_open(&c, argv[2]))
                return 1;
        int rc = apply   ? apply_files(&c, argv + 3)
                 : get   ? show(&c, argv[3], argv[4])
                 : patch ? change(&c, "PATCH", argv[3], argv[4])
                         : change(&c, "DELETE", argv[3], "{}");
        client_close(&c);
        return rc;
}
