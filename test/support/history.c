#include "history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

void history_profile(struct fake *f, const char *name, const char *half_life)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":\"%s\","
                "\"namespace\":\"shop\"},\"spec\":{\"selector\":{\"matchLabels\":{\"by\":\"%s\"}},"
                "\"resources\":{\"cpu\":{\"halfLife\":\"%s\"}},"
                "\"apply\":{\"mode\":\"Recommend\",\"minHistory\":\"0s\"}}}",
                name, name, half_life);
        fake_put(f, "kubectl", object);
}

static void put_deployment(struct fake *f, const char *name, const char *by, int replicas)
{
        AUTO(mem_free)
        char *object = mem_printf("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\","
                                  "\"namespace\":\"shop\",\"labels\":{\"by\":\"%s\"}},"
                                  "\"spec\":{\"replicas\":%d,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},"
                                  "\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"},\"annotations\":{"
                                  "\"kwok.x-k8s.io/usage-cpu\":\"120m\",\"kwok.x-k8s.io/usage-memory\":\"200Mi\"}},"
                                  "\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"app\","
                                  "\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}}]}}}}",
                                  name, by, replicas, name, name);
        fake_put(f, "kubectl", object);
}

void history_deployment(struct fake *f, const char *name, const char *by)
{
        put_deployment(f, name, by, 1);
}

void history_deployment_without_pods(struct fake *f, const char *name, const char *by)
{
        put_deployment(f, name, by, 0);
}

struct object_wanted {
        const char *path;
        bool there;
};

static bool is_as_wanted(struct fake *f, void *arg)
{
        const struct object_wanted *w = arg;
        AUTO(mem_free) char *text = fake_get(f, w->path);
        return (text != NULL) == w->there;
}

void history_await(struct fake *f, struct halflife *h, const char *path, bool there)
{
        struct object_wanted w = {path, there};
        if (!fake_wait(f, is_as_wanted, &w, 30000))
                fail_msg("%s\n%s", path, halflife_log(h));
}

long long history_stored(const char *database, const char *name)
{
        AUTO(mem_free) char *workload = mem_printf("deploy/%s", name);
        struct halflife *h = halflife_command(
                (const char *const[]){"explain", workload, "-n", "shop", "--database", database, "-o", "json", NULL});
        (void)halflife_await(h, 30000);
        AUTO(mem_free) char *said = halflife_log(h);
        const char *samples = strstr(said, "\"samples\": ");
        halflife_free(h);
        return samples ? strtoll(samples + strlen("\"samples\": "), NULL, 10) : 0;
}
