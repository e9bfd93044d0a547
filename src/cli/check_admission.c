#include "check_admission.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "check_permissions.h"
#include "objects/decode.h"

enum { PROBE_WAIT_MS = 40 * SECOND_MS, WEBHOOK_TIMEOUT_MS = 2 * SECOND_MS };

/* A pod that every namespace accepts, even one with the restricted pod security standard or with a quota. */
static json_t *probe_pod(const char *ns)
{
        AUTO(mem_free) char *name = mem_printf("halflife-check-%ld", (long)getpid());
        json_t *of = json_pack("{s:s, s:s}", "cpu", "1m", "memory", "1Mi");
        json_t *secure = json_pack("{s:b, s:{s:[s]}}", "allowPrivilegeEscalation", 0, "capabilities", "drop", "ALL");
        json_t *container = json_pack("{s:s, s:s, s:{s:O, s:o}, s:o}", "name", "probe", "image", "halflife",
                                      "resources", "requests", of, "limits", of, "securityContext", secure);
        json_t *spec = json_pack("{s:s, s:b, s:{s:b, s:{s:s}}, s:[o]}", "restartPolicy", "Never",
                                 "automountServiceAccountToken", 0, "securityContext", "runAsNonRoot", 1,
                                 "seccompProfile", "type", "RuntimeDefault", "containers", container);
        return json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata",
                         "name", name, "namespace", ns, "annotations", ANNOTATION_PROBE, PROBE_ASKED, "spec", spec);
}

/* Create the probe pod by a dry run. Returns the pod as it would be stored (json_decref), or NULL with err. */
static json_t *probe_create(struct checking *c, const char *ns, struct err *err)
{
        AUTO(json_decref) json_t *pod = probe_pod(ns);
        char *text = json_dumps(pod, JSON_COMPACT);
        AUTO(mem_free) char *path = known_resource_path(KNOWN_PODS, ns, NULL, NULL), *answer = NULL;
        size_t len = 0;
        const struct call call = {.method = HTTP_POST,
                                  .path = path,
                                  .query = "dryRun=All",
                                  .body = text_of(text),
                                  .deadline_ms = PROBE_WAIT_MS};
        json_t *stored = NULL;
        if (client_wait(c->session.client, &call, &answer, &len, err) == 0) {
                stored = json_loadb(answer, len, 0, NULL);
                if (!stored)
                        err_set(err, ERR_RETRY, "'%s' did not answer JSON", path);
        }
        free(text); /* jansson has allocated it */
        return stored;
}

/* What to do if the API server did not ask halflife about the pod. took_ms: how long its answer took. */
static const char *probe_way_out(int64_t took_ms)
{
        if (took_ms >= WEBHOOK_TIMEOUT_MS)
                return "it waited as long as the webhook may take: its way to the Service's pods is closed. Open their "
                       "port (10250) to the control plane: a firewall rule, a security group or a NetworkPolicy";
        return "is there a MutatingWebhookConfiguration of halflife (kubectl apply -k manifests/overlays/admission), "
               "do its selectors match this namespace, does it have a caBundle, and do pods of halflife-serve run?";
}

static void probe_tell(struct checking *c, const char *ns, const json_t *pod, int64_t took_ms)
{
        const json_t *notes = json_object_get(json_object_get(pod, "metadata"), "annotations");
        const char *said = json_string_value(json_object_get(notes, ANNOTATION_PROBE));
        bool answered = said && strcmp(said, PROBE_ANSWERED) == 0;
        AUTO(mem_free)
        char *line = mem_printf("the API server %s halflife about a pod in namespace %s, by a dry run of %.1f s",
                                answered ? "asked" : "did not ask", ns, (double)took_ms / SECOND_MS);
        check_tell(c, answered ? GOOD : BAD, line, probe_way_out(took_ms));
}

void check_admission(struct checking *c, const char *ns)
{
        struct err err = {0};
        AUTO(mem_free) char *user = check_user(c), *own = mem_printf("system:serviceaccount:%s:halflife", c->ns);
        if (user && strncmp(user, own, strlen(own)) == 0) {
                check_tell(
                        c, DOUBTFUL,
                        "admission cannot be tried with halflife's own account: admission leaves its writes unchanged",
                        "run halflife check --try-admission where your own kubeconfig is");
                return;
        }
        struct mono began = loop_now(c->session.loop).mono;
        AUTO(json_decref) json_t *pod = probe_create(c, ns, &err);
        if (pod) {
                probe_tell(c, ns, pod, (loop_now(c->session.loop).mono.ns - began.ns) / 1000000);
                return;
        }
        AUTO(mem_free) char *line = mem_printf("admission was not tried in namespace %s: %s", ns, err.text);
        check_tell(c, BAD, line,
                   err.code == ERR_DENIED
                           ? "this needs permission to create pods there, and a namespace that accepts a pod of 1m CPU"
                           : "does the namespace exist?");
}
