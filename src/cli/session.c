#include "cli/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/version.h"
#include "objects/annotation_record.h"

int session_open(struct session *s, const char *kubeconfig, const char *context, struct err *err)
{
        enum { RATE = 50, CONCURRENCY = 8 };
        struct access_options where = {.kubeconfig = kubeconfig, .context = context};
        *s = (struct session){0};
        signal(SIGPIPE, SIG_IGN);
        int rc = access_load(&where, &s->access, err);
        if (rc < 0)
                return rc;
        struct client_options o = {
                .user_agent = version_user_agent(),
                .field_manager = FIELD_MANAGER,
                .rate = RATE,
                .concurrency = CONCURRENCY,
        };
        s->loop = loop_new();
        s->client = client_new(s->loop, s->access, &o);
        return 0;
}

static const char *given_or(const char *given, const char *variable)
{
        const char *value = given ? given : getenv(variable);
        return value && *value ? value : NULL;
}

int session_open_given(struct session *s, const struct session_options *o, struct err *err)
{
        return session_open(s, given_or(o->kubeconfig, "HALFLIFE_KUBECONFIG"), given_or(o->context, "HALFLIFE_CONTEXT"),
                            err);
}

int session_open_optional(struct session *s, const struct session_options *o, struct err *err)
{
        int rc = session_open_given(s, o, err);
        return rc < 0 && !o->kubeconfig && !o->context ? 0 : rc;
}

void session_release(struct session *s)
{
        if (s->client)
                client_free(s->client);
        if (s->loop)
                loop_free(s->loop);
        access_free(s->access);
        *s = (struct session){0};
}

bool session_no_kinds(const struct err *err)
{
        return err->code == ERR_NOTFOUND && strstr(err->text, "404 page not found");
}

int session_advise(struct err *err)
{
        struct err why = *err;
        const char *cure = NULL;
        if (session_no_kinds(err))
                cure = "are halflife's CRDs installed? kubectl apply -k manifests, or -f crds";
        else if (why.http_status == 401)
                cure = "the server does not accept these credentials: --kubeconfig and --context choose them";
        else if (why.code == ERR_RETRY && !why.http_status)
                cure = "does the API server run? --kubeconfig and --context choose it";
        return cure ? err_set_http(err, why.code, why.http_status, "%s; %s", why.text, cure) : why.code;
}
