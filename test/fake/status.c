/* Answers: objects and Status objects, as the API server words them. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

const char *query_get(const struct request *rq, const char *name)
{
        const char *s = json_string_value(json_object_get(rq->query, name));
        return s ? s : "";
}

bool query_true(const struct request *rq, const char *name)
{
        const char *s = query_get(rq, name);
        return strcmp(s, "true") == 0 || strcmp(s, "1") == 0;
}

void reply_json(struct reply *rp, int status, json_t *body)
{
        free(rp->text);
        rp->status = status;
        rp->type = "application/json";
        rp->text = json_dumps(body, JSON_COMPACT);
        assert(rp->text);
        rp->len = strlen(rp->text);
        json_decref(body);
}

json_t *status_json(int status, const char *reason, const char *message)
{
        return json_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "metadata",
                         "status", status < 300 ? "Success" : "Failure", "message", message, "reason", reason, "code",
                         status);
}

void reply_error(struct reply *rp, int status, const char *reason, const char *fmt, ...)
{
        char message[4096];
        va_list args;
        va_start(args, fmt);
        vsnprintf(message, sizeof message, fmt, args);
        va_end(args);
        reply_json(rp, status, status_json(status, reason, message));
}

void reply_refuse(struct reply *rp, int status, const char *reason, const struct target *t, json_t *causes,
                  const char *fmt, ...)
{
        char message[8192];
        va_list args;
        va_start(args, fmt);
        vsnprintf(message, sizeof message, fmt, args);
        va_end(args);
        json_t *body = status_json(status, reason, message), *details = json_object();
        json_object_set_new(details, "name", json_string(t->name));
        json_object_set_new(details, "group", json_string(t->kind->group));
        json_object_set_new(details, "kind", json_string(status == 422 ? t->kind->name : t->kind->plural));
        if (causes)
                json_object_set_new(details, "causes", causes);
        json_object_set_new(body, "details", details);
        reply_json(rp, status, body);
}

void reply_release(struct fake *f, struct reply *rp)
{
        free(rp->text);
        if (rp->stream)
                rp->stream->free(f, rp->stream);
        *rp = (struct reply){0};
}
