#include "api.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tmp.h"

static void check(bool good, const char *what)
{
        if (good)
                return;
        fprintf(stderr, "test/support/api: %s\n", what);
        abort();
}

void api_begin(struct api *a, const struct fake_options *o)
{
        struct err err = {0};
        AUTO(mem_free) char *config = tmp_path("kubeconfig");
        *a = (struct api){.fake = fake_new(o), .loop = loop_new()};
        check(a->fake && fake_write_kubeconfig(a->fake, config), "no server");
        check(access_load(&(struct access_options){.kubeconfig = config}, &a->access, &err) == 0, err.text);
        const struct client_options options = {
                .user_agent = "halflife/test", .field_manager = "halflife", .concurrency = 8};
        a->client = client_new(a->loop, a->access, &options);
}

void api_end(struct api *a)
{
        client_free(a->client);
        access_free(a->access);
        loop_free(a->loop);
        fake_free(a->fake);
}

bool api_until(struct api *a, bool (*holds)(void *arg), void *arg)
{
        struct mono begin = mono_read();
        while (!holds(arg)) {
                if ((mono_read().ns - begin.ns) / 1000000 > MINUTE_MS)
                        return false;
                loop_turn(a->loop, 20);
        }
        return true;
}

void api_turn(struct api *a, int64_t ms)
{
        struct mono begin = mono_read();
        while ((mono_read().ns - begin.ns) / 1000000 < ms)
                loop_turn(a->loop, 20);
}

void api_put_service(struct api *a, const char *version, const char *service, const char *more)
{
        AUTO(mem_free)
        char *text = mem_printf(
                "{\"apiVersion\":\"apiregistration.k8s.io/v1\",\"kind\":\"APIService\",\"metadata\":{\"name\":"
                "\"%s.custom.metrics.k8s.io\"},\"spec\":{\"group\":\"custom.metrics.k8s.io\",\"version\":"
                "\"%s\",\"groupPriorityMinimum\":100,\"versionPriority\":100,\"service\":{\"namespace\":"
                "\"halflife\",\"name\":\"%s\",\"port\":6443}%s}}",
                version, version, service, more);
        fake_put(a->fake, "kubectl", text);
}
