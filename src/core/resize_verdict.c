#include "core/resize_verdict.h"

enum { MEBIBYTE = 1 << 20 };

/* The facts that decide a pod's QoS class in Kubernetes: sums over all containers, init containers included. */
struct class_facts {
        __int128 request[RESOURCES], limit[RESOURCES];
        bool unlimited; /* some container lacks a limit */
        bool any;       /* some container has a request or a limit */
};

static struct amount resize_after(const struct resize_container *c, enum resource r)
{
        return c->to[r].set ? c->to[r] : c->request[r];
}

static bool resize_positive(struct amount a)
{
        return a.set && a.value > 0;
}

static void class_add(struct class_facts *f, const struct resize_container *c, enum resource r, struct amount request)
{
        f->request[r] += resize_positive(request) ? request.value : 0;
        f->limit[r] += resize_positive(c->limit[r]) ? c->limit[r].value : 0;
        f->unlimited |= !resize_positive(c->limit[r]);
        f->any |= resize_positive(request) || resize_positive(c->limit[r]);
}

enum qos { BEST_EFFORT, BURSTABLE, GUARANTEED };

static enum qos resize_class_of(const struct class_facts *f)
{
        if (!f->any)
                return BEST_EFFORT;
        bool fixed = !f->unlimited && f->request[CPU] == f->limit[CPU] && f->request[MEMORY] == f->limit[MEMORY];
        return fixed ? GUARANTEED : BURSTABLE;
}

static enum qos class_before(const struct resize_container *c, size_t n)
{
        struct class_facts f = {0};
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        class_add(&f, &c[i], r, c[i].request[r]);
        return resize_class_of(&f);
}

static enum qos class_after(const struct resize_container *c, size_t n)
{
        struct class_facts f = {0};
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        class_add(&f, &c[i], r, resize_after(&c[i], r));
        return resize_class_of(&f);
}

/* The request to write for a container, even if that restarts the container; unset: nothing to write. */
static struct amount resize_wanted(const struct resize_container *c, enum resource r)
{
        struct amount to = c->want[r];
        if (c->role == ROLE_INIT || !to.set || !c->request[r].set)
                return (struct amount){0};
        if (c->limit[r].set && to.value > c->limit[r].value)
                to.value = c->limit[r].value;
        to.set = to.value != c->request[r].value;
        return to;
}

/* Write the first raised request one step lower, so that the pod stays Burstable: the pod's requests then sum up to
 * less than its limits. */
static void step_back(struct resize_container *c, size_t n)
{
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        if (!c[i].to[r].set || c[i].to[r].value <= c[i].request[r].value)
                                continue;
                        c[i].to[r].value -= r == CPU ? 1 : MEBIBYTE;
                        c[i].to[r].set = c[i].to[r].value > c[i].request[r].value;
                        return;
                }
}

static bool resize_writes(const struct resize_container *c, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (c[i].to[CPU].set || c[i].to[MEMORY].set)
                        return true;
        return false;
}

enum resize_verdict resize_judge(struct resize_container *c, size_t n)
{
        bool restarts = false;
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        c[i].to[r] = resize_wanted(&c[i], r);
                        if (!c[i].to[r].set || !c[i].restarts[r])
                                continue;
                        c[i].to[r].set = false;
                        restarts = true;
                }
        enum qos before = class_before(c, n);
        if (before == BURSTABLE && class_after(c, n) == GUARANTEED)
                step_back(c, n);
        if (!resize_writes(c, n))
                return restarts ? RESIZE_RESTARTS : RESIZE_STANDS;
        if (class_after(c, n) == before)
                return RESIZE_WRITES;
        for (size_t i = 0; i < n; i++)
                c[i].to[CPU].set = c[i].to[MEMORY].set = false;
        return RESIZE_QOS;
}
