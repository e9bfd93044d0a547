#include "answer_status.h"

#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"

enum { MESSAGE_MAX = 320, CAUSES_MAX = 64 };

struct status {
        char message[MESSAGE_MAX];
        bool conflict_of_owners; /* another field manager owns a field, or the object exists already */
        bool of_object;          /* the Status names the object, or fields that the server refuses */
        int64_t retry_after_ms;  /* -1: none */
};

/* Copy a message as one line, cut to MESSAGE_MAX. */
static void copy_message(char out[static MESSAGE_MAX], const char *p, size_t len)
{
        size_t kept = 0;
        while (len > 0 && (unsigned char)p[len - 1] <= ' ')
                len--;
        for (size_t i = 0; i < len && kept < MESSAGE_MAX - 1; i++)
                out[kept++] = (unsigned char)p[i] < ' ' ? ' ' : p[i];
        out[kept] = '\0';
}

static bool has_cause(const json_t *details, const char *reason)
{
        const json_t *causes = json_object_get(details, "causes");
        for (size_t i = 0; i < json_array_size(causes) && i < CAUSES_MAX; i++) {
                const char *its = json_string_value(json_object_get(json_array_get(causes, i), "reason"));
                if (its && strcmp(its, reason) == 0)
                        return true;
        }
        return false;
}

static void status_read_status_object(const json_t *doc, struct status *ret)
{
        const json_t *details = json_object_get(doc, "details");
        const json_t *message = json_object_get(doc, "message"), *after = json_object_get(details, "retryAfterSeconds");
        const char *reason = json_string_value(json_object_get(doc, "reason"));
        if (json_is_string(message))
                copy_message(ret->message, json_string_value(message), json_string_length(message));
        ret->conflict_of_owners =
                (reason && strcmp(reason, "AlreadyExists") == 0) || has_cause(details, "FieldManagerConflict");
        ret->of_object = json_object_get(details, "name") || json_array_size(json_object_get(details, "causes")) > 0;
        if (json_is_integer(after) && json_integer_value(after) > 0)
                ret->retry_after_ms = json_integer_value(after) < HTTP_RETRY_AFTER_MOST_MS / SECOND_MS
                                              ? json_integer_value(after) * SECOND_MS
                                              : HTTP_RETRY_AFTER_MOST_MS;
}

static void status_read_status(struct text body, struct status *ret)
{
        *ret = (struct status){.retry_after_ms = -1};
        json_error_t why;
        AUTO(json_decref) json_t *doc = body.len && body.p[0] == '{' ? json_loadb(body.p, body.len, 0, &why) : NULL;
        if (json_is_object(doc))
                status_read_status_object(doc, ret);
        if (ret->message[0] == '\0' && !doc)
                copy_message(ret->message, body.p, body.len);
}

static int status_code_of(int http, const struct status *s, bool json_patch)
{
        switch (http) {
        case 401:
        case 403:
                return ERR_DENIED;
        case 404:
                return ERR_NOTFOUND;
        case 409:
                return s->conflict_of_owners ? ERR_CONFLICT : ERR_STALE;
        case 410:
                return ERR_GONE;
        case 413:
                return ERR_TOOBIG;
        case 422: /* if a JSON patch does not apply, the Status does not name the object */
                return json_patch && !s->of_object ? ERR_STALE : ERR_INVALID;
        case 408:
        case 429:
                return ERR_RETRY;
        default:
                return http >= 500 ? ERR_RETRY : ERR_INVALID;
        }
}

void answer_judge(struct client_answer *ret, const struct http_reply *reply, struct text body, const char *what,
                  bool json_patch)
{
        *ret = (struct client_answer){.status = reply->status,
                                      .date = reply->date,
                                      .retry_after_ms = reply->retry_after_ms,
                                      .unsent = reply->unsent,
                                      .body = body};
        if (reply->status == 0 || (reply->status >= 200 && reply->status < 300)) {
                if (reply->err.code) {
                        ret->err = reply->err;
                        err_wrap(&ret->err, "%s", what);
                }
                return;
        }
        struct status s;
        status_read_status(body, &s);
        if (ret->retry_after_ms < 0)
                ret->retry_after_ms = s.retry_after_ms;
        char later[48] = "";
        if (ret->retry_after_ms >= 0)
                snprintf(later, sizeof later, ", retry after %lld s", (long long)(ret->retry_after_ms + 999) / 1000);
        err_set_http(&ret->err, status_code_of(reply->status, &s, json_patch), reply->status, "%s: HTTP %d%s%s%s%s",
                     what, reply->status, later, s.message[0] ? ": " : "", s.message,
                     reply->status >= 300 && reply->status < 400 ? ": redirects are not followed" : "");
}
