#include "prometheus_settings.h"

#include "cli/version.h"

enum { ASK_MS = 10 * SECOND_MS };

struct prometheus_options recorded_options(const struct settings *s)
{
        return (struct prometheus_options){
                .url = s->text[SET_PROMETHEUS_URL],
                .names = (enum prometheus_names)s->number[SET_PROMETHEUS_NAMES],
                .matchers = s->text[SET_PROMETHEUS_MATCHERS],
                .rate_window_ms = s->number[SET_PROMETHEUS_RATE_WINDOW],
                .bearer_file = s->text[SET_PROMETHEUS_TOKEN_FILE],
                .user = s->text[SET_PROMETHEUS_USER],
                .password_file = s->text[SET_PROMETHEUS_PASSWORD_FILE],
                .ca_file = s->text[SET_PROMETHEUS_CA],
                .cert_file = s->text[SET_PROMETHEUS_CERT],
                .key_file = s->text[SET_PROMETHEUS_KEY],
                .user_agent = version_user_agent(),
                .queries = (int)s->number[SET_PROMETHEUS_QUERIES],
        };
}

struct counting {
        bool done;
        size_t containers;
        struct err err;
};

static void recorded_counted(void *arg, const struct prometheus_answer *a)
{
        struct counting *c = arg;
        c->done = true;
        c->containers = a->series_count;
        c->err = a->err;
}

int recorded_count(struct loop *l, const struct settings *s, size_t *ret_containers, struct err *err)
{
        struct prometheus_options o = recorded_options(s);
        struct prometheus *p;
        struct counting c = {0};
        int rc = prometheus_new(l, &o, &p, err);
        if (rc < 0)
                return rc;
        struct wall now = {whole_second(loop_now(l).wall.ms)};
        const struct prometheus_slice slice = {
                .from = now, .to = now, .step_ms = MINUTE_MS, .deadline_ms = ASK_MS, .points_most = SIZE_MAX};
        prometheus_fetch(p, &slice, recorded_counted, &c);
        while (!c.done)
                loop_turn(l, -1);
        prometheus_free(p);
        *ret_containers = c.containers;
        *err = c.err;
        return c.err.code;
}
