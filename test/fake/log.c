/* What was asked: counts for ever, the newest requests in full; and waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake.h"

enum { KEPT = 4096, BODY_MAX = 64 * 1024 };

static bool is_write(const char *verb)
{
        static const char *const writes[] = {"create", "update", "patch", "delete", "deletecollection"};
        for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
                if (strcmp(verb, writes[i]) == 0)
                        return true;
        return false;
}

bool verb_matches(const char *want, const char *method, const char *verb)
{
        return !want || strcmp(want, method) == 0 || strcmp(want, verb) == 0 ||
               (strcmp(want, "write") == 0 && is_write(verb));
}

static void request_release(struct fake_request *r)
{
        mem_free(r->method);
        mem_free(r->verb);
        mem_free(r->path);
        mem_free(r->query);
        mem_free(r->type);
        mem_free(r->agent);
        mem_free(r->encoding);
        mem_free(r->body);
        *r = (struct fake_request){0};
}

static char *copy_of(const char *s)
{
        return mem_string(s ? s : "");
}

static char *query_text(const struct request *rq)
{
        struct buf b = {0};
        const char *name;
        json_t *v;
        buf_init(&b, 1 << 16);
        buf_add_text(&b, "");
        json_object_foreach(rq->query, name, v) buf_printf(&b, "%s%s=%s", b.len ? "&" : "", name, json_string_value(v));
        return b.data ? buf_steal(&b) : mem_string("");
}

/* test/golden compares all requests. They go to a folder, one file for each process. */
static void keep_request(const struct fake_request *r)
{
        static FILE *out;
        const char *folder = getenv("FAKE_KEEP");
        char when[WALL_TEXT_MAX];
        if (!folder)
                return;
        if (!out) {
                AUTO(mem_free) char *path = mem_printf("%s/asked-%d", folder, (int)getpid());
                out = fopen(path, "we");
        }
        if (!out)
                return;
        fprintf(out, "%s %d %s %s%s%s %s %s\n", wall_print_milli(now_read().wall, when), r->status, r->verb, r->path,
                *r->query ? "?" : "", r->query, r->type, r->body);
        fflush(out);
}

void log_request(struct fake *f, const struct request *rq, int status)
{
        if (!f->log)
                f->log = mem_new_array(KEPT, sizeof *f->log);
        struct fake_request *r = &f->log[f->logged++ % KEPT];
        request_release(r);
        *r = (struct fake_request){
                .method = copy_of(rq->method),
                .verb = copy_of(rq->verb),
                .path = copy_of(rq->path),
                .query = query_text(rq),
                .type = copy_of(rq->type),
                .agent = copy_of(rq->agent),
                .encoding = copy_of(rq->encoding),
                .body = mem_string_n(rq->body ? rq->body : "", rq->len < BODY_MAX ? rq->len : BODY_MAX),
                .status = status,
        };
        keep_request(r);
        AUTO(mem_free) char *key = mem_printf("%s %s %s", rq->method, rq->verb, rq->path);
        json_t *count = json_object_get(f->counts, key);
        if (count)
                json_integer_set(count, json_integer_value(count) + 1);
        else
                json_object_set_new(f->counts, key, json_integer(1));
        fake_notify(f);
}

void log_release(struct fake *f)
{
        for (size_t i = 0; f->log && i < KEPT; i++)
                request_release(&f->log[i]);
        mem_free(f->log);
        f->log = NULL;
        f->logged = 0;
        json_object_clear(f->counts);
}

size_t fake_count(struct fake *f, const char *verb, const char *path)
{
        size_t sum = 0;
        const char *key;
        json_t *count;
        fake_lock(f);
        json_object_foreach(f->counts, key, count)
        {
                char method[16], word[32];
                int at = 0;
                sscanf(key, "%15s %31s %n", method, word, &at);
                if (verb_matches(verb, method, word) && strncmp(key + at, path, strlen(path)) == 0)
                        sum += (size_t)json_integer_value(count);
        }
        fake_unlock(f);
        return sum;
}

void fake_count_reset(struct fake *f)
{
        fake_lock(f);
        log_release(f);
        fake_unlock(f);
}

const struct fake_request *fake_last(struct fake *f, const char *verb, const char *path)
{
        const struct fake_request *found = NULL;
        fake_lock(f);
        for (size_t back = 1; back <= f->logged && back <= KEPT && !found; back++) {
                const struct fake_request *r = &f->log[(f->logged - back) % KEPT];
                if (verb_matches(verb, r->method, r->verb) && strncmp(r->path, path, strlen(path)) == 0)
                        found = r;
        }
        fake_unlock(f);
        return found;
}

/* --- waiting --- */

void fake_notify(struct fake *f)
{
        pthread_cond_broadcast(&f->changed);
}

bool fake_pause(struct fake *f, int64_t ms)
{
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += ms / 1000;
        until.tv_nsec += ms % 1000 * 1000000;
        if (until.tv_nsec >= 1000000000) {
                until.tv_sec++;
                until.tv_nsec -= 1000000000;
        }
        return pthread_cond_timedwait(&f->changed, &f->lock, &until) == 0;
}

bool fake_wait(struct fake *f, fake_predicate *holds, void *arg, int64_t timeout_ms)
{
        int64_t deadline = mono_read().ns + timeout_ms * 1000000;
        fake_lock(f);
        bool good = holds(f, arg);
        while (!good) {
                int64_t left = (deadline - mono_read().ns) / 1000000;
                if (left <= 0)
                        break;
                fake_pause(f, left);
                good = holds(f, arg);
        }
        fake_unlock(f);
        return good;
}

struct count_wanted {
        const char *verb, *path;
        size_t least;
};

static bool counted(struct fake *f, void *arg)
{
        const struct count_wanted *w = arg;
        return fake_count(f, w->verb, w->path) >= w->least;
}

bool fake_wait_count(struct fake *f, const char *verb, const char *path, size_t least, int64_t timeout_ms)
{
        return fake_wait(f, counted, &(struct count_wanted){verb, path, least}, timeout_ms);
}

static bool watched(struct fake *f, void *arg)
{
        const struct count_wanted *w = arg;
        return fake_watches(f, w->path) >= w->least;
}

static bool enough_delayed(struct fake *f, void *arg)
{
        return f->delayed >= *(const size_t *)arg;
}

bool fake_wait_delayed(struct fake *f, size_t least, int64_t timeout_ms)
{
        return fake_wait(f, enough_delayed, &least, timeout_ms);
}

bool fake_wait_watches(struct fake *f, const char *path, size_t least, int64_t timeout_ms)
{
        return fake_wait(f, watched, &(struct count_wanted){NULL, path, least}, timeout_ms);
}
