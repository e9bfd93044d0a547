#include "serving/certificate_reader.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "certificate_authority.h"
#include "certificate_secret.h"
#include "kube/known_resource.h"

enum { RETRY_MS = 5 * SECOND_MS };

struct certificate_reader {
        struct client *client;
        struct certificate_reader_options o;
        char *path;
        struct loop_timer again;
        struct client_call *call; /* NULL: no request is under way */

        struct wall now;  /* the present, for the read of the Secret under way */
        int64_t ahead_ms; /* how far now is ahead of the loop's time; 0 except in tests */

        char *roots;         /* the roots as last read; NULL: not yet */
        struct wall trusted; /* when these roots were first read */
        struct admission_paths paths;
        char *shown; /* the certificate that the listeners show */
        struct wall expires;
        char trouble[ERR_TEXT_MAX]; /* the last logged error; "": no trouble */
};

static void reader_look_again(void *arg)
{
        struct certificate_reader *r = arg;
        certificate_reader_look(r, (struct wall){loop_now(client_loop(r->client)).wall.ms + r->ahead_ms});
}

static void reader_finish(struct certificate_reader *r, int64_t after_ms)
{
        loop_timer_set(client_loop(r->client), &r->again, after_ms, reader_look_again, r);
}

static void reader_fail(struct certificate_reader *r, const struct err *why)
{
        if (strcmp(r->trouble, why->text) != 0)
                log_warn("the certificate cannot be read, the shown one stays; will try again",
                         KV("secret", r->o.secret), KV("error", why->text));
        memcpy(r->trouble, why->text, sizeof r->trouble);
        reader_finish(r, RETRY_MS);
}

static void reader_trust(struct certificate_reader *r, const char *roots)
{
        if (r->roots && strcmp(r->roots, roots) == 0)
                return;
        mem_free(r->roots);
        r->roots = mem_string(roots);
        r->trusted = r->now;
        if (*roots && r->o.trust)
                r->o.trust(r->o.arg, roots);
}

/* How long the shown certificate must stay, in milliseconds, so that every client first reads the roots of the next
 * certificate. */
static int64_t reader_wait_ms(struct certificate_reader *r)
{
        if (r->now.ms < r->trusted.ms) /* the clock was set back */
                r->trusted = r->now;
        int64_t waited = r->now.ms - r->trusted.ms;
        bool good = r->shown && r->now.ms < r->expires.ms &&
                    (r->o.given || certificate_authority_verifies(r->roots, r->shown));
        return good && waited < CERTIFICATE_SPREAD_MS ? CERTIFICATE_SPREAD_MS - waited : 0;
}

/* Serve admission at the paths that the Secret has. Where another program writes the Secret, the well-known path
 * stays. */
static void reader_take_paths(struct certificate_reader *r, const json_t *secret)
{
        struct admission_paths p = certificate_secret_paths(secret).paths;
        if (r->o.given || !r->o.admit_at || p.count == 0 || memcmp(&p, &r->paths, sizeof p) == 0)
                return;
        r->paths = p;
        r->o.admit_at(r->o.arg, &p);
}

static int reader_show(struct certificate_reader *r, const struct certificate_authority *a, struct err *err)
{
        int rc = r->o.show(r->o.arg, a->cert, a->cert_key, err);
        if (rc < 0)
                return rc;
        mem_free(r->shown);
        r->shown = mem_string(a->cert);
        r->expires = certificate_authority_expiry(r->shown);
        log_info("certificate shown from now on", KV("secret", r->o.secret),
                 KV_INT("expires_s", r->expires.ms / SECOND_MS));
        return 0;
}

/* Use the certificate and roots just read. Returns after how many milliseconds to read the Secret again, or an
 * error. */
static int64_t reader_take(struct certificate_reader *r, const struct certificate_authority *a, struct err *err)
{
        if (!a->cert || !a->cert_key || (!a->roots && !r->o.given))
                return err_set(err, ERR_INVALID, "secret '%s/%s' has no %s yet%s", r->o.ns, r->o.secret,
                               r->o.given ? "tls.crt and tls.key" : "certificate",
                               r->o.given ? "" : ": halflife rotate makes it");
        reader_trust(r, a->roots ? a->roots : "");
        if (r->shown && strcmp(r->shown, a->cert) == 0)
                return CERTIFICATE_LOOK_MS;
        int64_t wait = reader_wait_ms(r);
        if (wait > 0)
                return wait < CERTIFICATE_LOOK_MS ? wait : CERTIFICATE_LOOK_MS;
        int rc = reader_show(r, a, err);
        return rc < 0 ? rc : CERTIFICATE_LOOK_MS;
}

static void reader_answered(void *arg, const struct client_answer *answer)
{
        struct certificate_reader *r = arg;
        struct err err = {0};
        r->call = NULL;
        if (answer->err.code) {
                reader_fail(r, &answer->err);
                return;
        }
        AUTO(json_decref) json_t *secret = json_loadb(answer->body.p, answer->body.len, 0, NULL);
        struct certificate_authority a = certificate_secret_read(secret);
        reader_take_paths(r, secret);
        int64_t after = reader_take(r, &a, &err);
        certificate_authority_release(&a);
        if (after < 0) {
                reader_fail(r, &err);
                return;
        }
        r->trouble[0] = '\0';
        reader_finish(r, after);
}

/* --- from start to end --- */

void certificate_reader_look(struct certificate_reader *r, struct wall now)
{
        const struct call call = {.method = HTTP_GET, .path = r->path, .urgent = true};
        if (r->call)
                return;
        loop_timer_stop(client_loop(r->client), &r->again);
        r->now = now;
        r->ahead_ms = now.ms - loop_now(client_loop(r->client)).wall.ms;
        r->call = client_start(r->client, &call, reader_answered, r);
}

bool certificate_reader_looks(const struct certificate_reader *r)
{
        return r->call != NULL;
}

int64_t certificate_reader_expires_s(const struct certificate_reader *r)
{
        return r->expires.ms / SECOND_MS;
}

struct certificate_reader *certificate_reader_new(struct client *c, const struct certificate_reader_options *o)
{
        struct certificate_reader *r = MEM_NEW(struct certificate_reader);
        r->client = c;
        r->o = *o;
        r->path = known_resource_path(KNOWN_SECRETS, o->ns, o->secret, NULL);
        reader_finish(r, 0);
        return r;
}

void certificate_reader_free(struct certificate_reader *r)
{
        if (!r)
                return;
        loop_timer_stop(client_loop(r->client), &r->again);
        if (r->call)
                client_cancel(r->client, r->call);
        mem_free(r->path);
        mem_free(r->roots);
        mem_free(r->shown);
        mem_free(r);
}
