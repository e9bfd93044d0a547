/*
 * The spec of a pod, which pods and the templates of workloads have alike.
 */
#include "decoder.h"

/* Reads [{"resourceName":"memory","restartPolicy":"RestartContainer"}]. */
static void pod_spec_resize_policy(struct decoder *d, bool ret_restarts[RESOURCES])
{
        if (!json_enter(&d->j, '['))
                return;
        while (json_item(&d->j)) {
                struct text key, name = {"", 0}, policy = {"", 0};
                DECODER_EACH (d, key)
                        if (text_is(key, "resourceName"))
                                name = json_text(&d->j, d->arena);
                        else if (text_is(key, "restartPolicy"))
                                policy = json_text(&d->j, d->arena);
                        else
                                json_skip(&d->j);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (text_is(name, resource_name(r)))
                                ret_restarts[r] = text_is(policy, "RestartContainer");
        }
}

/* Skips a value; true: it is not null. */
static bool pod_spec_present(struct decoder *d)
{
        bool present = json_peek(&d->j) != 'n';
        json_skip(&d->j);
        return present;
}

static bool has_start_hook(struct decoder *d)
{
        bool has = false;
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "postStart"))
                        has = pod_spec_present(d);
                else
                        json_skip(&d->j);
        return has;
}

static void pod_spec_container(struct decoder *d, bool init, struct container_view *ret)
{
        bool always = false;
        struct text key;
        *ret = (struct container_view){.name = {"", 0}};
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        ret->name = json_text(&d->j, d->arena);
                else if (text_is(key, "resources"))
                        decoder_resources(d, ret->request, ret->limit);
                else if (text_is(key, "env"))
                        ret->env = json_raw(&d->j);
                else if (text_is(key, "command"))
                        ret->command = json_raw(&d->j);
                else if (text_is(key, "args"))
                        ret->args = json_raw(&d->j);
                else if (text_is(key, "restartPolicy"))
                        always = text_is(json_text(&d->j, d->arena), "Always");
                else if (text_is(key, "resizePolicy"))
                        pod_spec_resize_policy(d, ret->restarts);
                else if (text_is(key, "livenessProbe") || text_is(key, "startupProbe"))
                        ret->probed |= pod_spec_present(d);
                else if (text_is(key, "lifecycle"))
                        ret->probed |= has_start_hook(d);
                else
                        json_skip(&d->j);
        ret->role = !init ? ROLE_MAIN : always ? ROLE_SIDECAR : ROLE_INIT;
        if (ret->name.len == 0)
                decoder_refuse(d, ERR_INVALID, "name is missing");
}

/* The pod-level request. The API server uses the pod-level limit in its place where no container asks for the
 * resource. */
static struct amount pod_spec_asks(const struct amount request, const struct amount limit, enum resource r,
                                   const struct container_view *c, int count)
{
        if (request.set)
                return request;
        for (int i = 0; i < count; i++)
                if (c[i].request[r].set || c[i].limit[r].set)
                        return (struct amount){0};
        return limit;
}

void decoder_pod_spec(struct decoder *d, struct container_view ret[VIEW_CONTAINERS], int *ret_count, bool *ret_cut,
                      struct amount ret_pod_asks[RESOURCES], struct pod_place *ret_place)
{
        bool seen[2] = {false, false};
        struct text volumes = {"", 0};
        struct amount request[RESOURCES] = {0}, limit[RESOURCES] = {0};
        struct text key;
        DECODER_EACH (d, key) {
                if (text_is(key, "resources")) {
                        decoder_resources(d, request, limit);
                        continue;
                }
                if (text_is(key, "overhead")) {
                        decoder_amounts(d, "overhead", ret_place->overhead);
                        continue;
                }
                if (text_is(key, "volumes")) {
                        volumes = json_raw(&d->j);
                        continue;
                }
                struct text *place = text_is(key, "priorityClassName") ? &ret_place->priority_class
                                     : text_is(key, "nodeName")        ? &ret_place->node
                                                                       : NULL;
                if (place) {
                        *place = json_text(&d->j, d->arena);
                        continue;
                }
                bool init = text_is(key, "initContainers");
                if (!init && !text_is(key, "containers")) {
                        json_skip(&d->j);
                        continue;
                }
                const char *list = init ? "initContainers" : "containers";
                if (seen[init])
                        decoder_refuse(d, ERR_INVALID, "%s occurs twice", list);
                seen[init] = true;
                if (json_enter(&d->j, '['))
                        while (decoder_item_cut(d, list, *ret_count, VIEW_CONTAINERS, ret_cut))
                                pod_spec_container(d, init, &ret[(*ret_count)++]);
        }
        decoder_readings(d, volumes, ret, *ret_count);
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret_pod_asks[r] = pod_spec_asks(request[r], limit[r], r, ret, *ret_count);
}
