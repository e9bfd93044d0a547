/* The server as a whole: its life, its clock, and the calls that tests make on it. */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_read.h"
#include "fake.h"
#include "port.h"

static const char halflife_user[] = "system:serviceaccount:halflife:halflife";

/* --- life --- */

static void locks_init(struct fake *f)
{
        pthread_mutexattr_t recursive;
        pthread_condattr_t monotonic;
        pthread_mutexattr_init(&recursive);
        pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&f->lock, &recursive);
        pthread_mutexattr_destroy(&recursive);
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&f->changed, &monotonic);
        pthread_condattr_destroy(&monotonic);
}

static void first_namespaces(struct fake *f)
{
        static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                AUTO(mem_free)
                char *body = mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                                        names[i]);
                fake_put(f, "kube-apiserver", body);
        }
}

struct fake *fake_new(const struct fake_options *o)
{
        struct fake *f = MEM_NEW(struct fake);
        f->options = *o;
        if (f->options.history == 0)
                f->options.history = 4096;
        if (f->options.bookmark_ms == 0)
                f->options.bookmark_ms = MINUTE_MS;
        locks_init(f);
        f->number = 1000;
        f->drawn = json_object();
        f->token = mem_string(o->token);
        f->user = mem_string(o->user ? o->user : halflife_user);
        f->denied = json_array();
        f->people = json_object();
        f->grants = json_array();
        f->counts = json_object();
        f->port = o->port;
        f->held = port_hold(&f->port);
        f->metrics.step_ms = 15000;
        kinds_init(f);
        first_namespaces(f);
        if (o->tls)
                f->tls = tls_new();
        if (f->held < 0 || !fake_http_start(f)) {
                fprintf(stderr, "the test API server cannot listen on 127.0.0.1:%u\n", (unsigned)o->port);
                fake_free(f);
                return NULL;
        }
        f->url = mem_printf("%s://127.0.0.1:%u", o->tls ? "https" : "http", (unsigned)f->port);
        return f;
}

void fake_free(struct fake *f)
{
        if (!f)
                return;
        fake_http_stop(f);
        if (f->held >= 0)
                close(f->held);
        controllers_release(f);
        kinds_release(f);
        faults_release(f);
        log_release(f);
        tls_free(f->tls);
        json_decref(f->denied);
        json_decref(f->people);
        json_decref(f->grants);
        json_decref(f->counts);
        json_decref(f->drawn);
        mem_free(f->url);
        mem_free(f->token);
        mem_free(f->user);
        pthread_cond_destroy(&f->changed);
        pthread_mutex_destroy(&f->lock);
        mem_free(f);
}

void fake_stop(struct fake *f)
{
        fake_http_stop(f);
}

bool fake_start(struct fake *f)
{
        fake_lock(f);
        f->stopping = false;
        fake_unlock(f);
        return fake_http_start(f);
}

const char *fake_url(const struct fake *f)
{
        return f->url;
}

const char *fake_ca(const struct fake *f)
{
        return tls_ca(f->tls);
}

const char *fake_client_certificate(const struct fake *f)
{
        return tls_certificate(f->tls, false);
}

const char *fake_client_key(const struct fake *f)
{
        return tls_key(f->tls, false);
}

/* --- clock and chance --- */

int64_t fake_wall(const struct fake *f)
{
        int64_t set_ms = __atomic_load_n(&f->wall_ms, __ATOMIC_RELAXED);
        return set_ms ? set_ms : now_read().wall.ms;
}

void fake_set_wall(struct fake *f, int64_t ms)
{
        fake_lock(f);
        __atomic_store_n(&f->wall_ms, ms, __ATOMIC_RELAXED); /* answers are dated without the lock */
        fake_notify(f);
        fake_unlock(f);
}

json_t *fake_time(const struct fake *f)
{
        char text[WALL_TEXT_MAX];
        return json_string(wall_print((struct wall){fake_wall(f)}, text));
}

/* splitmix64 */
uint64_t fake_random(struct fake *f, const char *ns, const char *name)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s", ns, name);
        json_t *count = json_object_get(f->drawn, key);
        uint64_t z = 0xcbf29ce484222325u ^ (f->options.seed ? f->options.seed : 1);
        for (const char *p = key; *p; p++)
                z = (z ^ (unsigned char)*p) * 0x100000001b3u;
        if (!count)
                json_object_set_new(f->drawn, key, count = json_integer(0));
        json_integer_set(count, json_integer_value(count) + 1);
        z += (uint64_t)json_integer_value(count) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
}

void fake_uid(struct fake *f, const char *ns, const char *name, char out[static 37])
{
        uint64_t a = fake_random(f, ns, name), b = fake_random(f, ns, name);
        snprintf(out, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
                 (unsigned)(a & 0xfff), (unsigned)(b >> 48 & 0x3fff) | 0x8000u,
                 (unsigned long long)(b & 0xffffffffffffull));
}

/* --- versions and watches --- */

uint64_t fake_version(struct fake *f)
{
        fake_lock(f);
        uint64_t number = f->number;
        fake_unlock(f);
        return number;
}

void fake_compact(struct fake *f)
{
        fake_lock(f);
        f->number++;
        for (size_t i = 0; i < f->kinds; i++)
                store_forget(f, f->kind[i]);
        fake_notify(f);
        fake_unlock(f);
}

void fake_old(struct fake *f)
{
        fake_lock(f);
        f->old = true;
        fake_unlock(f);
}

void fake_expire_pages(struct fake *f)
{
        fake_lock(f);
        f->token_floor = ++f->number;
        fake_unlock(f);
}

void fake_end_watches(struct fake *f)
{
        fake_lock(f);
        f->end_epoch++;
        fake_notify(f);
        fake_unlock(f);
}

void fake_bookmark(struct fake *f)
{
        fake_lock(f);
        f->bookmark_epoch++;
        fake_notify(f);
        fake_unlock(f);
}

/* --- calls --- */

static int unhex(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

static char *unescape(const char *s, size_t len)
{
        char *out = mem_new(len + 1);
        size_t n = 0;
        for (size_t i = 0; i < len; i++) {
                bool hex = s[i] == '%' && i + 2 < len && unhex(s[i + 1]) >= 0 && unhex(s[i + 2]) >= 0;
                out[n++] = hex ? (char)(unhex(s[i + 1]) * 16 + unhex(s[i + 2])) : s[i];
                i += hex ? 2 : 0;
        }
        return out;
}

static json_t *query_parse(const char *text)
{
        json_t *query = json_object();
        while (*text) {
                size_t len = strcspn(text, "&"), name = strcspn(text, "=&");
                AUTO(mem_free) char *key = mem_string_n(text, name);
                AUTO(mem_free) char *value = name < len ? unescape(text + name + 1, len - name - 1) : mem_string("");
                json_object_set_new(query, key, json_string(value));
                text += len + (text[len] == '&');
        }
        return query;
}

static char *reply_text(struct fake *f, struct reply *rp)
{
        struct buf all = {0}, part = {0};
        if (!rp->stream)
                return mem_string_n(rp->text ? rp->text : "", rp->len);
        buf_init(&all, 1u << 31);
        buf_init(&part, 1u << 31);
        for (; rp->stream->more(f, rp->stream, &part); buf_reset(&part))
                buf_add(&all, part.data, part.len); /* a stream fills no more than a batch */
        buf_release(&part);
        return buf_steal(&all);
}

int fake_call(struct fake *f, const char *method, const char *path, const char *type, const char *manager,
              const char *body, char **ret_text)
{
        size_t len = strcspn(path, "?");
        AUTO(mem_free) char *bare = mem_string_n(path, len);
        AUTO(json_decref) json_t *query = query_parse(path[len] ? path + len + 1 : "");
        struct request rq = {.method = method,
                             .path = bare,
                             .type = type,
                             .manager = manager ? manager : "test",
                             .query = query,
                             .body = body ? body : "",
                             .len = body ? strlen(body) : 0,
                             .inside = true};
        struct reply rp = {0};
        route_verb(&rq);
        assert(strcmp(rq.verb, "watch") != 0);
        fake_lock(f);
        route(f, &rq, &rp);
        fake_unlock(f);
        int status = rp.status;
        if (ret_text)
                *ret_text = reply_text(f, &rp);
        reply_release(f, &rp);
        return status;
}

char *fake_get(struct fake *f, const char *path)
{
        char *text;
        if (fake_call(f, "GET", path, NULL, NULL, NULL, &text) == 200)
                return text;
        mem_free(text);
        return NULL;
}

int fake_apply(struct fake *f, const char *path, const char *manager, bool force, const char *body)
{
        AUTO(mem_free) char *full = mem_printf("%s?fieldManager=%s%s", path, manager, force ? "&force=true" : "");
        return fake_call(f, "PATCH", full, "application/apply-patch+yaml", manager, body, NULL);
}

int fake_patch(struct fake *f, const char *path, const char *manager, const char *json_patch)
{
        return fake_call(f, "PATCH", path, "application/json-patch+json", manager, json_patch, NULL);
}

int fake_merge(struct fake *f, const char *path, const char *manager, const char *merge_patch)
{
        return fake_call(f, "PATCH", path, "application/merge-patch+json", manager, merge_patch, NULL);
}

int fake_delete(struct fake *f, const char *path)
{
        return fake_call(f, "DELETE", path, NULL, NULL, NULL, NULL);
}

size_t fake_objects(struct fake *f, const char *collection)
{
        AUTO(mem_free) char *text = fake_get(f, collection);
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        return json_array_size(json_object_get(list, "items"));
}

/* --- whole objects --- */

static char *collection_of(struct fake *f, const json_t *object)
{
        const char *api = text_at(object, "apiVersion");
        fake_lock(f);
        const struct kind *k = kind_named(f, api, text_at(object, "kind"));
        const char *ns = object_ns(object);
        char *path = !k              ? NULL
                     : k->namespaced ? mem_printf("/%s/%s/namespaces/%s/%s", strchr(api, '/') ? "apis" : "api", api,
                                                  *ns ? ns : "default", k->plural)
                                     : mem_printf("/%s/%s/%s", strchr(api, '/') ? "apis" : "api", api, k->plural);
        fake_unlock(f);
        return path;
}

static void ensure_namespace(struct fake *f, const char *ns)
{
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s", ns);
        AUTO(mem_free) char *have = *ns ? fake_get(f, path) : mem_string("");
        if (have)
                return;
        AUTO(mem_free)
        char *body = mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", ns);
        fake_call(f, "POST", "/api/v1/namespaces", NULL, NULL, body, NULL);
}

static void must(int status, const char *what, const char *answer)
{
        if (status == 200 || status == 201)
                return;
        fprintf(stderr, "fake_put: %s: %d %s\n", what, status, answer);
        abort();
}

/* Status lives behind a path of its own for most kinds. */
static void put_status(struct fake *f, const char *manager, const char *path, const json_t *status)
{
        AUTO(mem_free) char *sub = mem_printf("%s/status", path);
        AUTO(json_decref) json_t *patch = json_pack("{s:O}", "status", status);
        char *body = json_dumps(patch, JSON_COMPACT);
        fake_call(f, "PATCH", sub, "application/merge-patch+json", manager, body, NULL);
        free(body);
}

static void put(struct fake *f, const char *manager, json_t *object)
{
        AUTO(mem_free) char *collection = collection_of(f, object);
        if (!collection)
                must(404, text_at(object, "kind"), "no such kind");
        ensure_namespace(f, object_ns(object));
        AUTO(mem_free) char *path = mem_printf("%s/%s", collection, object_name(object));
        AUTO(mem_free) char *have = fake_get(f, path);
        AUTO(json_decref) json_t *old = have ? json_loads(have, 0, NULL) : NULL;
        if (old)
                json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                                    json_string(text_at(old, "metadata.resourceVersion")));
        char *body = json_dumps(object, JSON_COMPACT), *answer;
        int status = fake_call(f, old ? "PUT" : "POST", old ? path : collection, NULL, manager, body, &answer);
        must(status, path, answer);
        mem_free(answer);
        free(body);
        if (json_object_get(object, "status"))
                put_status(f, manager, path, json_object_get(object, "status"));
}

void fake_put(struct fake *f, const char *manager, const char *body)
{
        json_error_t why;
        AUTO(json_decref) json_t *object = json_loads(body, 0, &why);
        if (!object)
                must(400, why.text, body);
        fake_lock(f);
        put(f, manager, object);
        fake_unlock(f);
}

static bool load_file(struct fake *f, const char *path)
{
        struct err err = {0};
        size_t len, i;
        AUTO(mem_free) char *text = file_read(path, 16u << 20, &len, &err);
        AUTO(json_decref) json_t *all = text ? yaml_read_all(text, len, &err) : NULL;
        json_t *object;
        if (!all) {
                fprintf(stderr, "%s: %s\n", path, err.text);
                return false;
        }
        fake_lock(f);
        json_array_foreach(all, i, object) put(f, "kubectl-create", object);
        fake_unlock(f);
        return true;
}

bool fake_load(struct fake *f, const char *path)
{
        struct dirent **entry;
        struct stat st;
        bool good = true;
        if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
                return load_file(f, path);
        int n = scandir(path, &entry, NULL, alphasort);
        if (n < 0) {
                perror(path);
                return false;
        }
        for (int i = 0; i < n; i++) {
                const char *dot = strrchr(entry[i]->d_name, '.');
                AUTO(mem_free) char *file = mem_printf("%s/%s", path, entry[i]->d_name);
                if (dot && strcmp(dot, ".yaml") == 0 && strcmp(entry[i]->d_name, "kustomization.yaml") != 0)
                        good = load_file(f, file) && good;
                free(entry[i]);
        }
        free(entry);
        return good;
}

/* --- kubeconfig --- */

static char *base64(const char *text)
{
        static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t len = strlen(text), n = 0;
        char *out = mem_new((len + 2) / 3 * 4 + 1);
        for (size_t i = 0; i < len; i += 3) {
                uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;
                if (i + 1 < len)
                        bits |= (uint32_t)(unsigned char)text[i + 1] << 8;
                if (i + 2 < len)
                        bits |= (unsigned char)text[i + 2];
                out[n++] = digit[bits >> 18];
                out[n++] = digit[bits >> 12 & 63];
                out[n++] = i + 1 < len ? digit[bits >> 6 & 63] : '=';
                out[n++] = i + 2 < len ? digit[bits & 63] : '=';
        }
        return out;
}

static void add_base64(struct buf *b, const char *name, const char *text)
{
        AUTO(mem_free) char *coded = text ? base64(text) : NULL;
        if (coded)
                buf_printf(b, "    %s: %s\n", name, coded);
}

bool fake_write_kubeconfig(struct fake *f, const char *path)
{
        struct buf b = {0};
        AUTO(mem_free) char *part = mem_printf("%s.part", path);
        buf_init(&b, 1 << 20);
        buf_printf(&b, "apiVersion: v1\nkind: Config\nclusters:\n- name: fake\n  cluster:\n    server: %s\n", f->url);
        add_base64(&b, "certificate-authority-data", fake_ca(f));
        buf_add_text(&b, "users:\n- name: fake\n  user:\n");
        fake_lock(f);
        if (f->token)
                buf_printf(&b, "    token: %s\n", f->token);
        else if (!f->options.client_certificate)
                buf_add_text(&b, "    {}\n");
        fake_unlock(f);
        if (f->options.client_certificate) {
                add_base64(&b, "client-certificate-data", fake_client_certificate(f));
                add_base64(&b, "client-key-data", fake_client_key(f));
        }
        buf_add_text(&b, "contexts:\n- name: fake\n  context: {cluster: fake, user: fake}\ncurrent-context: fake\n");
        FILE *out = fopen(part, "w");
        bool good = out && fwrite(b.data, 1, b.len, out) == b.len;
        good = out && fclose(out) == 0 && good && rename(part, path) == 0;
        if (!good)
                perror(path);
        buf_release(&b);
        return good;
}
