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
        free(text); /* jansson's */
        return started;
}

const char *patch_refused_by_policy(const struct err *err)
{
        static const char policy[] = "ValidatingAdmissionPolicy 'halflife'", before_reason[] = "denied request: ";
        const char *refusal = err->code == ERR_DENIED ? strstr(err->text, policy) : NULL;
        const char *reason = refusal ? strstr(refusal, before_reason) : NULL;
        return reason ? reason + strlen(before_reason) : refusal;
}

struct client_call *apply_send(struct client *c, const char *path, json_t *body, client_done *done, void *arg)
{
        char *text = json_dumps(body, JSON_COMPACT);
        struct client_call *started = apply_send_text(c, path, text_of(text), done, arg);
        free(text); /* jansson's */
        return started;
}

struct client_call *apply_send_text(struct client *c, const char *path, struct text body, client_done *done, void *arg)
{
        return send_patch(c, path, "application/apply-patch+yaml", body, "&force=true", done, arg);
}
