#include "check_storage.h"

#include <string.h>

#include "base/mem.h"

static const char storage_way_out[] =
        "make a StorageClass the default, or name one in the claim; in the chart: persistence.storageClass, "
        "persistence.existingClaim, or persistence.enabled=false, and back-fill from Prometheus";

static bool is_default_class(const json_t *class)
{
        const json_t *notes = json_object_get(json_object_get(class, "metadata"), "annotations");
        const char *is = json_string_value(json_object_get(notes, "storageclass.kubernetes.io/is-default-class"));
        return is && strcmp(is, "true") == 0;
}

/* Whether the cluster has a default StorageClass. Returns 1 or 0, or -1: the classes cannot be listed. */
static int has_default_class(struct checking *c)
{
        struct err err = {0};
        AUTO(json_decref)
        json_t *list = check_ask(c, HTTP_GET, "/apis/storage.k8s.io/v1/storageclasses", NULL, &err);
        size_t i;
        json_t *class;
        if (!list)
                return -1;
        json_array_foreach(json_object_get(list, "items"), i, class)
        {
                if (is_default_class(class))
                        return 1;
        }
        return 0;
}

static void check_claim(struct checking *c, const json_t *claim)
{
        const char *phase = json_string_value(json_object_get(json_object_get(claim, "status"), "phase"));
        const char *class = json_string_value(json_object_get(json_object_get(claim, "spec"), "storageClassName"));
        bool bound = phase && strcmp(phase, "Bound") == 0;
        AUTO(mem_free)
        char *line = mem_printf("volume claim '%s/halflife' is %s", c->ns, phase ? phase : "without a phase");
        if (bound)
                check_tell(c, GOOD, line, NULL);
        else if (!class && has_default_class(c) == 0)
                check_tell(c, BAD, "volume claim 'halflife' waits, as there is no default StorageClass",
                           storage_way_out);
        else
                check_tell(c, DOUBTFUL, line, "kubectl describe pvc halflife says what it waits for");
}

void check_storage(struct checking *c)
{
        struct err err = {0};
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/persistentvolumeclaims/halflife", c->ns);
        AUTO(json_decref) json_t *claim = check_ask(c, HTTP_GET, path, NULL, &err);
        if (claim)
                check_claim(c, claim);
        else if (err.code == ERR_NOTFOUND && has_default_class(c) == 0)
                check_tell(c, DOUBTFUL, "there is no default StorageClass: a claim that names none gets no volume",
                           storage_way_out);
}
