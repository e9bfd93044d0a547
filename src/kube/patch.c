#include "kube/patch.h"

#include <stdlib.h>

#include "base/yaml.h"

static struct client_call *send_patch(struct client *c, const char *path, const char *type, json_t *body,
                                      const char *more, client_done *done, void *arg)
{
        AUTO(mem_free) char *manager = path_escape(client_field_manager(c));
        AUTO(mem_free) char *query = mem_printf("fieldManager=%s%s", manager, more);
        char *text = json_dumps(body, JSON_COMPACT);
        const struct call call = {
                .method = HTTP_PATCH, .path = path, .query = query, .content_type = type, .body = text_of(text)};
        struct client_call *started = client_start(c, &call, done, arg);
        free(text); /* jansson's */
        return started;
}

struct client_call *patch_send(struct client *c, const char *path, json_t *patch, bool dry_run, client_done *done,
                               void *arg)
{
        return send_patch(c, path, "application/json-patch+json", patch, dry_run ? "&dryRun=All" : "", done, arg);
}

struct client_call *apply_send(struct client *c, const char *path, json_t *body, client_done *done, void *arg)
{
        return send_patch(c, path, "application/apply-patch+yaml", body, "&force=true", done, arg);
}
