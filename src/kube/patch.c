#include "kube/patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

static struct client_call *send_patch(struct client *c, const char *path, const char *type, struct text body,
                                      const char *more, client_done *done, void *arg)
{
        AUTO(mem_free) char *manager = path_escape(client_field_manager(c));
        AUTO(mem_free) char *query = mem_printf("fieldManager=%s%s", manager, more);
        const struct call call = {
                .method = HTTP_PATCH, .path = path, .query = query, .content_type = type, .body = body};
        return client_start(c, &call, done, arg);
}

struct client_call *patch_send(struct client *c, const char *path, json_t *patch, bool dry_run, client_done *done,
                               void *arg)
{
        char *text = json_dumps(patch, JSON_COMPACT);
        struct client_call *started = send_patch(c, path, "application/json-patch+json", text_of(text),
                                                 dry_run ? "&dryRun=All" : "", done, arg);
        free(text); /* allocated by jansson */
        return started;
}

const char *patch_refused_by_policy(const struct err *err)
{
        static const char policy[] = "ValidatingAdmissionPolicy 'halflife'", before_reason[] = "denied request: ";
        const char *refusal = err->code == ERR_DENIED ? strstr(err->text, policy) : NULL;
        const char *reason = refusal ? strstr(refusal, before_reason) : NULL;
        return reason ? reason + strlen(before_reason) : refusal;
}

/* The API server's validation names the invalid fields, each with a reason; a policy or webhook that answers 422 does
 * not. */
static bool names_fields(const json_t *status)
{
        size_t i;
        json_t *cause;
        json_array_foreach(json_object_get(json_object_get(status, "details"), "causes"), i, cause)
        {
                const char *reason = json_string_value(json_object_get(cause, "reason"));
                if (reason && strncmp(reason, "FieldValue", strlen("FieldValue")) == 0)
                        return true;
        }
        return false;
}

bool patch_is_invalid(int status, struct text body)
{
        AUTO(json_decref) json_t *said = json_loadb(body.p, body.len, 0, NULL);
        const char *message = json_string_value(json_object_get(said, "message"));
        if (status == 422)
                return names_fields(said);
        return status == 403 && message && strstr(message, "pod update requires features");
}

struct client_call *apply_send(struct client *c, const char *path, json_t *body, client_done *done, void *arg)
{
        char *text = json_dumps(body, JSON_COMPACT);
        struct client_call *started = apply_send_text(c, path, text_of(text), done, arg);
        free(text); /* allocated by jansson */
        return started;
}

struct client_call *apply_send_text(struct client *c, const char *path, struct text body, client_done *done, void *arg)
{
        return send_patch(c, path, "application/apply-patch+yaml", body, "&force=true", done, arg);
}
