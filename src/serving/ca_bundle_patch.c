#include "ca_bundle_patch.h"

#include <string.h>

#include "base/mem.h"
#include "certificate_secret.h"

enum { HOOKS_MAX = 32 };

static bool ca_bundle_is_of_service(const struct ca_bundle_facts *f, const json_t *service)
{
        const char *name = json_string_value(json_object_get(service, "name"));
        const char *ns = json_string_value(json_object_get(service, "namespace"));
        if (!name || !ns || strcmp(ns, f->ns) != 0)
                return false;
        size_t len = strlen(name);
        for (int i = 0; i < f->names; i++)
                if (strncmp(f->name[i], name, len) == 0 && f->name[i][len] == '.')
                        return true;
        return false;
}

/* The caBundle to write; NULL: the present one is right. If another program writes the Secret (f->given), the former
 * root stays beside the new one. */
static char *ca_bundle_for(const struct ca_bundle_facts *f, const char *has)
{
        static const char end[] = "-----END CERTIFICATE-----\n";
        const char *roots = f->roots, *last = has ? strstr(has, end) : NULL;
        if (has && (f->given ? strstr(has, roots) != NULL : strcmp(has, roots) == 0))
                return NULL;
        if (!f->given || !last)
                return mem_string(roots);
        size_t len = strlen(roots);
        return mem_printf("%s%s%.*s", roots, roots[len - 1] == '\n' ? "" : "\n",
                          (int)(last - has) + (int)sizeof end - 1, has);
}

/* Add to the patch the caBundle that `holder` needs, the object at the JSON pointer `at`; nothing where it has the
 * right one. */
static void ca_bundle_add(const struct ca_bundle_facts *f, json_t *patch, const json_t *holder, const char *at)
{
        AUTO(mem_free) char *has = certificate_secret_decode(holder, "caBundle");
        AUTO(mem_free) char *bundle = ca_bundle_for(f, has);
        AUTO(mem_free) char *path = mem_printf("%s/caBundle", at);
        if (bundle)
                json_array_append_new(patch, json_pack("{s:s, s:s, s:o}", "op", "add", "path", path, "value",
                                                       certificate_secret_encode(bundle)));
}

/* Add to the patch the path that the webhook must call. Where another program writes the Secret, replicas know only the
 * well-known path. */
static void ca_bundle_add_path(const struct ca_bundle_facts *f, json_t *patch, const json_t *service, const char *at)
{
        const char *has = json_string_value(json_object_get(service, "path"));
        const char *name = f->given ? has ? ADMISSION_WELL_KNOWN : NULL : f->path;
        if (!name || (has && has[0] == '/' && strcmp(has + 1, name) == 0))
                return;
        AUTO(mem_free) char *member = mem_printf("%s/service/path", at);
        AUTO(mem_free) char *path = mem_printf("/%s", name);
        json_array_append_new(patch, json_pack("{s:s, s:s, s:s}", "op", "add", "path", member, "value", path));
}

static void ca_bundle_add_to_webhook(const struct ca_bundle_facts *f, json_t *patch, const json_t *config, size_t i,
                                     char **in_force)
{
        const json_t *service = json_object_get(config, "service");
        const char *path = json_string_value(json_object_get(service, "path"));
        AUTO(mem_free) char *at = mem_printf("/webhooks/%zu/clientConfig", i);
        if (!ca_bundle_is_of_service(f, service))
                return;
        if (!*in_force)
                *in_force = mem_string(path ? path : "");
        ca_bundle_add(f, patch, config, at);
        ca_bundle_add_path(f, patch, service, at);
}

void ca_bundle_add_to_webhooks(const struct ca_bundle_facts *f, json_t *patch, const json_t *configuration,
                               char **in_force)
{
        json_t *hook;
        size_t i;
        json_array_foreach(json_object_get(configuration, "webhooks"), i, hook) if (i < HOOKS_MAX)
                ca_bundle_add_to_webhook(f, patch, json_object_get(hook, "clientConfig"), i, in_force);
}

void ca_bundle_add_to_api_service(const struct ca_bundle_facts *f, json_t *patch, const json_t *object)
{
        const json_t *spec = json_object_get(object, "spec");
        if (ca_bundle_is_of_service(f, json_object_get(spec, "service")) &&
            !json_is_true(json_object_get(spec, "insecureSkipTLSVerify")))
                ca_bundle_add(f, patch, spec, "/spec");
}
