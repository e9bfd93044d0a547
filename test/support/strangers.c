#include "strangers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "wire.h"

enum { OF_ONE_ADDRESS = 100, FILES_MOST = 8192, QUIET_MS = 50, PACE_MS = 1 };

char *strangers_review(const char *ns, const char *owner, const char *container, size_t padding)
{
        AUTO(mem_free) char *long_text = mem_new(padding + 1);
        memset(long_text, 'x', padding);
        return mem_printf(
                "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\","
                "\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":"
                "\"%s\",\"userInfo\":{\"username\":\"x\"},\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                "\"metadata\":{\"generateName\":\"a-\",\"annotations\":{\"a\":\"%s\"},\"ownerReferences\":[{"
                "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"%s\",\"uid\":\"r\",\"controller\":true}]"
                "},\"spec\":{\"containers\":[{\"name\":\"%s\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}",
                ns, long_text, owner, container);
}

static void stranger_ask(struct strangers *s, int i)
{
        struct stranger *one = &s->stranger[i];
        AUTO(mem_free) char *owner = mem_printf("%s%d", s->owner, s->one ? 0 : s->asked);
        AUTO(mem_free) char *body = strangers_review(s->ns, owner, "new", s->padding);
        AUTO(mem_free)
        char *request = mem_printf("POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                   "Content-Length: %zu\r\n\r\n%s",
                                   strlen(body), s->unending ? "{" : body);
        if (one->fd < 0)
                one->fd = wire_open_from(s->address, s->near ? 1 : (unsigned)(2 + i / OF_ONE_ADDRESS));
        (void)wire_say(one->fd, request);
        one->waits = true;
        s->asked++;
}

static void stranger_hear(struct strangers *s, struct stranger *one)
{
        char answer[4096];
        if (read(one->fd, answer, sizeof answer) > 0) {
                atomic_fetch_add(&s->answers, 1);
        } else {
                close(one->fd);
                one->fd = -1;
        }
        one->waits = false;
}

static bool may_ask(const struct strangers *s, int64_t began_ns)
{
        return s->rate == 0 || s->asked < (double)(mono_read().ns - began_ns) / 1e9 * s->rate;
}

static void *strangers_run(void *arg)
{
        struct strangers *s = arg;
        struct pollfd p[STRANGERS_MOST];
        int64_t began_ns = mono_read().ns;
        while (!atomic_load(&s->over)) {
                for (int i = 0; i < s->connections; i++)
                        if (!s->stranger[i].waits && may_ask(s, began_ns))
                                stranger_ask(s, i);
                for (int i = 0; i < s->connections; i++)
                        p[i] = (struct pollfd){s->stranger[i].waits ? s->stranger[i].fd : -1, POLLIN, 0};
                (void)poll(p, (nfds_t)s->connections, s->rate ? PACE_MS : QUIET_MS);
                for (int i = 0; i < s->connections; i++)
                        if (p[i].revents)
                                stranger_hear(s, &s->stranger[i]);
        }
        return NULL;
}

void strangers_begin(struct strangers *s)
{
        for (int i = 0; i < s->connections; i++)
                s->stranger[i].fd = -1;
        if (pthread_create(&s->thread, NULL, strangers_run, s) != 0)
                abort();
}

void strangers_end(struct strangers *s)
{
        atomic_store(&s->over, true);
        pthread_join(s->thread, NULL);
        for (int i = 0; i < s->connections; i++)
                close(s->stranger[i].fd);
}

void strangers_raise_files(void)
{
        struct rlimit l;
        if (getrlimit(RLIMIT_NOFILE, &l) < 0)
                abort();
        l.rlim_cur = l.rlim_max < FILES_MOST ? l.rlim_max : FILES_MOST;
        if (setrlimit(RLIMIT_NOFILE, &l) < 0)
                abort();
}
