#include "serving/webhook_certificate.h"

#include <gnutls/gnutls.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "certificate_authority.h"
#include "kube/patch.h"

enum { RETRY_MS = 5 * SECOND_MS, RACE_MS = 200, HOOKS_MAX = 32 };

struct webhook {
        struct client *client;
        struct webhook_options o;
        char *name[AUTHORITY_NAMES_MAX];
        int names;
        char *secret_path, *secrets_path, *configuration_path;
        struct loop_timer again;
        struct client_call *call; /* NULL: nothing is under way */
        bool looking;

        /* one look */
        struct wall now;
        int64_t ahead_ms; /* of the loop's time: 0, but in tests */
        json_t *secret;   /* as the server has it; NULL: there is none */
        struct certificate_authority held, next;
        enum certificate_authority_due due;
        int writes; /* one after the other: somebody changes what we write */

        char *roots;         /* that the configuration has, or would have */
        struct wall trusted; /* since when */
        char *shown;         /* the certificate */
        struct wall expires;
        char trouble[ERR_TEXT_MAX]; /* as told; "" : none */
        bool hooks_told;
};

/* --- base64 --- */

static char *webhook_decode(const json_t *data, const char *key)
{
        const char *text = json_string_value(json_object_get(data, key));
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)text, text ? (unsigned)strlen(text) : 0}, out;
        if (!text || gnutls_base64_decode2(&in, &out) < 0)
                return NULL;
        char *s = mem_string_n((const char *)out.data, out.size);
        explicit_bzero(out.data, out.size);
        gnutls_free(out.data);
        return s;
}

static json_t *webhook_encode(const char *text)
{
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)}, out;
        if (gnutls_base64_encode2(&in, &out) < 0)
                return json_string("");
        json_t *s = json_stringn((const char *)out.data, out.size);
        explicit_bzero(out.data, out.size);
        gnutls_free(out.data);
        return s;
}

/* --- the end of a look --- */

static void look_again(void *arg)
{
        struct webhook *w = arg;
        webhook_look(w, (struct wall){loop_now(client_loop(w->client)).wall.ms + w->ahead_ms});
}

static void webhook_finish(struct webhook *w, int64_t after_ms)
{
        json_decref(w->secret);
        w->secret = NULL;
        certificate_authority_release(&w->held);
        certificate_authority_release(&w->next);
        w->looking = false;
        loop_timer_set(client_loop(w->client), &w->again, after_ms, look_again, w);
}

static void webhook_fail(struct webhook *w, const struct err *why, const char *what)
{
        if (strcmp(w->trouble, why->text) != 0)
                log_warn("the certificate cannot be seen to, will try again", KV("what", what), KV("error", why->text));
        memcpy(w->trouble, why->text, sizeof w->trouble);
        webhook_finish(w, RETRY_MS);
}

/* --- the Secret, written --- */

static const char *due_text(enum certificate_authority_due due)
{
        static const char *const text[] = {
                [AUTHORITY_STANDS] = "",
                [AUTHORITY_NEW] = "an authority and a certificate were made",
                [AUTHORITY_ADDS_ROOT] = "a new authority was made; it signs once it is trusted everywhere",
                [AUTHORITY_SIGNS] = "a new certificate was made",
                [AUTHORITY_DROPS_ROOT] = "the old authority is trusted no longer",
        };
        return text[due];
}

static void webhook_written(void *arg, const struct client_answer *a)
{
        struct webhook *w = arg;
        w->call = NULL;
        if (a->err.code == 0) {
                log_info(due_text(w->due), KV("secret", w->o.secret));
                webhook_finish(w, w->writes++ ? RETRY_MS : 0); /* read it as everybody does, and go on from there */
        } else if (a->err.code == ERR_STALE || a->err.code == ERR_CONFLICT) {
                webhook_finish(w, RACE_MS); /* another replica was faster */
        } else {
                webhook_fail(w, &a->err, w->o.secret);
        }
}

static void set_data(json_t *secret, const struct certificate_authority *a)
{
        json_t *data = json_object_get(secret, "data");
        if (!json_is_object(data)) {
                data = json_object();
                json_object_set_new(secret, "data", data);
        }
        json_object_set_new(data, "ca.crt", webhook_encode(a->roots));
        json_object_set_new(data, "ca.key", webhook_encode(a->key));
        json_object_set_new(data, "tls.crt", webhook_encode(a->cert));
        json_object_set_new(data, "tls.key", webhook_encode(a->cert_key));
}

static void write_secret(struct webhook *w)
{
        bool fresh = w->secret == NULL;
        if (fresh)
                w->secret = json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:s}", "apiVersion", "v1", "kind", "Secret",
                                      "metadata", "name", w->o.secret, "namespace", w->o.ns, "labels",
                                      "app.kubernetes.io/name", "halflife", "type", "kubernetes.io/tls");
        set_data(w->secret, &w->next);
        char *body = json_dumps(w->secret, JSON_COMPACT);
        const struct call call = {
                .method = fresh ? HTTP_POST : HTTP_PUT,
                .path = fresh ? w->secrets_path : w->secret_path,
                .body = text_of(body),
                .urgent = true,
        };
        w->call = client_start(w->client, &call, webhook_written, w);
        explicit_bzero(body, strlen(body));
        free(body);
}

/* --- shown at the door --- */

static void webhook_trust(struct webhook *w)
{
        const char *roots = w->held.roots ? w->held.roots : "";
        if (w->roots && strcmp(w->roots, roots) == 0)
                return;
        mem_free(w->roots);
        w->roots = mem_string(roots);
        w->trusted = w->now;
        if (*roots && w->o.trust)
                w->o.trust(w->o.arg, roots);
}

/* For how long what is shown goes on, so that everybody may learn to trust the next. */
static int64_t webhook_wait_ms(struct webhook *w)
{
        if (w->now.ms < w->trusted.ms) /* the clock was put back */
                w->trusted = w->now;
        int64_t waited = w->now.ms - w->trusted.ms;
        bool good = w->shown && w->now.ms < w->expires.ms &&
                    (w->o.given || certificate_authority_verifies(w->roots, w->shown));
        return good && waited < WEBHOOK_SPREAD_MS ? WEBHOOK_SPREAD_MS - waited : 0;
}

static int webhook_show(struct webhook *w, struct err *err)
{
        int rc = w->o.show(w->o.arg, w->held.cert, w->held.cert_key, err);
        if (rc < 0)
                return rc;
        mem_free(w->shown);
        w->shown = mem_string(w->held.cert);
        w->expires = certificate_authority_expiry(w->shown);
        log_info("certificate shown from now on", KV("secret", w->o.secret),
                 KV_INT("expires_s", w->expires.ms / SECOND_MS));
        return 0;
}

static void show_and_go_on(struct webhook *w)
{
        struct err err = {0};
        webhook_trust(w);
        bool same = w->shown && strcmp(w->shown, w->held.cert) == 0;
        int64_t wait = same ? 0 : webhook_wait_ms(w);
        if (!same && wait == 0 && webhook_show(w, &err) < 0) {
                webhook_fail(w, &err, w->o.secret);
                return;
        }
        w->trouble[0] = '\0';
        if (w->due != AUTHORITY_STANDS)
                write_secret(w);
        else
                webhook_finish(w, wait > 0 && wait < WEBHOOK_LOOK_MS ? wait : WEBHOOK_LOOK_MS);
}

/* --- who vouches for it, in the configuration --- */

static bool is_service(const struct webhook *w, const json_t *hook)
{
        const json_t *service = json_object_get(json_object_get(hook, "clientConfig"), "service");
        const char *name = json_string_value(json_object_get(service, "name"));
        const char *ns = json_string_value(json_object_get(service, "namespace"));
        if (!name || !ns || strcmp(ns, w->o.ns) != 0)
                return false;
        size_t len = strlen(name);
        for (int i = 0; i < w->names; i++)
                if (strncmp(w->name[i], name, len) == 0 && w->name[i][len] == '.')
                        return true;
        return false;
}

/* The bundle to write; NULL: it may stay. Of a Secret that is not ours the root before is kept beside the new one. */
static char *bundle_for(const struct webhook *w, const char *has)
{
        static const char end[] = "-----END CERTIFICATE-----\n";
        const char *last = has ? strstr(has, end) : NULL;
        if (has && (w->o.given ? strstr(has, w->held.roots) != NULL : strcmp(has, w->held.roots) == 0))
                return NULL;
        if (!w->o.given || !last)
                return mem_string(w->held.roots);
        size_t len = strlen(w->held.roots);
        bool ended = len && w->held.roots[len - 1] == '\n';
        return mem_printf("%s%s%.*s", w->held.roots, ended ? "" : "\n", (int)(last - has) + (int)sizeof end - 1, has);
}

static void patch_hook(const struct webhook *w, json_t *patch, const json_t *hook, size_t i)
{
        AUTO(mem_free) char *has = webhook_decode(json_object_get(hook, "clientConfig"), "caBundle");
        AUTO(mem_free) char *bundle = bundle_for(w, has);
        AUTO(mem_free) char *name = mem_printf("/webhooks/%zu/name", i);
        AUTO(mem_free) char *path = mem_printf("/webhooks/%zu/clientConfig/caBundle", i);
        if (!bundle)
                return;
        json_array_append_new(patch, json_pack("{s:s, s:s, s:O?}", "op", "test", "path", name, "value",
                                               json_object_get(hook, "name")));
        json_array_append_new(patch,
                              json_pack("{s:s, s:s, s:o}", "op", "add", "path", path, "value", webhook_encode(bundle)));
}

/* Empty: all is as it should be. */
static json_t *patch_for(const struct webhook *w, const json_t *configuration)
{
        json_t *patch = json_array(), *hook;
        size_t i;
        json_array_foreach(json_object_get(configuration, "webhooks"), i,
                           hook) if (i < HOOKS_MAX && is_service(w, hook)) patch_hook(w, patch, hook, i);
        const json_t *version = json_object_get(json_object_get(configuration, "metadata"), "resourceVersion");
        if (json_array_size(patch) > 0)
                json_array_insert_new(patch, 0,
                                      json_pack("{s:s, s:s, s:O?}", "op", "test", "path", "/metadata/resourceVersion",
                                                "value", (json_t *)(uintptr_t)version));
        return patch;
}

static void webhook_patched(void *arg, const struct client_answer *a)
{
        struct webhook *w = arg;
        w->call = NULL;
        if (a->err.code == 0) {
                log_info("the webhook's caBundle was written", KV("configuration", w->o.configuration));
                show_and_go_on(w);
        } else if (a->err.code == ERR_STALE) {
                webhook_finish(w, RACE_MS); /* it was changed meanwhile */
        } else {
                webhook_fail(w, &a->err, w->o.configuration);
        }
}

/* Whoever does no admission has no configuration, and no right to one. */
static void tell_no_hooks(struct webhook *w, const struct err *err)
{
        if (!w->hooks_told && err->code == ERR_DENIED)
                log_info("webhooks are not seen to: it may not be read whether there are any",
                         KV("configuration", w->o.configuration), KV("why", err->text));
        w->hooks_told = true;
}

static void configuration_read(void *arg, const struct client_answer *a)
{
        struct webhook *w = arg;
        w->call = NULL;
        if (a->err.code == ERR_NOTFOUND || a->err.code == ERR_DENIED) {
                tell_no_hooks(w, &a->err);
                show_and_go_on(w);
                return;
        }
        if (a->err.code) {
                webhook_fail(w, &a->err, w->o.configuration);
                return;
        }
        w->hooks_told = false;
        AUTO(json_decref) json_t *configuration = json_loadb(a->body.p, a->body.len, 0, NULL);
        AUTO(json_decref) json_t *patch = patch_for(w, configuration);
        if (json_array_size(patch) == 0)
                show_and_go_on(w);
        else
                w->call = patch_send(w->client, w->configuration_path, patch, false, webhook_patched, w);
}

static void read_configuration(struct webhook *w)
{
        const struct call call = {.method = HTTP_GET, .path = w->configuration_path, .urgent = true};
        if (!w->held.roots)
                show_and_go_on(w); /* nobody to name */
        else
                w->call = client_start(w->client, &call, configuration_read, w);
}

/* --- the Secret, read --- */

static struct certificate_authority certificate_authority_of(const json_t *secret)
{
        const json_t *data = json_object_get(secret, "data");
        struct certificate_authority a = {webhook_decode(data, "ca.crt"), webhook_decode(data, "ca.key"),
                                          webhook_decode(data, "tls.crt"), webhook_decode(data, "tls.key")};
        if (a.roots && !*a.roots) { /* cert-manager's way to say that it does not know */
                mem_free(a.roots);
                a.roots = NULL;
        }
        return a;
}

static int webhook_take(struct webhook *w, struct err *err)
{
        w->held = certificate_authority_of(w->secret);
        w->due = AUTHORITY_STANDS;
        if (w->o.given)
                return w->held.cert && w->held.cert_key
                               ? 0
                               : err_set(err, ERR_INVALID, "secret '%s/%s' has no tls.crt and tls.key yet", w->o.ns,
                                         w->o.secret);
        w->next = certificate_authority_of(w->secret);
        int rc = certificate_authority_step(&w->next, (const char *const *)w->name, w->names, w->now, &w->due, err);
        if (rc == 0 && w->due == AUTHORITY_NEW && w->shown && w->now.ms < w->expires.ms)
                certificate_authority_keep(&w->next, w->roots, w->shown);
        return rc;
}

static void secret_read(void *arg, const struct client_answer *a)
{
        struct webhook *w = arg;
        struct err err = {0};
        w->call = NULL;
        if (a->err.code && (a->err.code != ERR_NOTFOUND || w->o.given)) {
                webhook_fail(w, &a->err, w->o.secret);
                return;
        }
        w->secret = a->err.code ? NULL : json_loadb(a->body.p, a->body.len, 0, NULL);
        int rc = webhook_take(w, &err);
        w->writes = w->due == AUTHORITY_STANDS ? 0 : w->writes;
        if (rc < 0)
                webhook_fail(w, &err, w->o.secret);
        else if (w->due == AUTHORITY_NEW)
                write_secret(w); /* there is nothing to show yet */
        else
                read_configuration(w);
}

/* --- from start to end --- */

void webhook_look(struct webhook *w, struct wall now)
{
        const struct call call = {.method = HTTP_GET, .path = w->secret_path, .urgent = true};
        if (w->looking)
                return;
        loop_timer_stop(client_loop(w->client), &w->again);
        w->looking = true;
        w->now = now;
        w->ahead_ms = now.ms - loop_now(client_loop(w->client)).wall.ms;
        w->call = client_start(w->client, &call, secret_read, w);
}

bool webhook_looks(const struct webhook *w)
{
        int64_t left = w->again.due.ns - loop_now(client_loop(w->client)).mono.ns;
        return w->looking || (w->again.place && left <= RACE_MS * INT64_C(1000000));
}

int64_t webhook_expires_s(const struct webhook *w)
{
        return w->expires.ms / SECOND_MS;
}

static bool is_label(const char *s, size_t len)
{
        size_t good = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
        return len > 0 && len <= 63 && good >= len && s[0] != '-' && s[len - 1] != '-';
}

static int add_names(struct webhook *w, struct err *err)
{
        for (const char *s = w->o.services; *s;) {
                size_t len = strcspn(s, ",");
                if (!is_label(s, len) || w->names + 2 > AUTHORITY_NAMES_MAX)
                        return err_set(
                                err, ERR_INVALID,
                                "'%s' is no list of at most %d names of Services, as in 'halflife,halflife-serve'",
                                w->o.services, AUTHORITY_NAMES_MAX / 2);
                w->name[w->names++] = mem_printf("%.*s.%s.svc", (int)len, s, w->o.ns);
                w->name[w->names++] = mem_printf("%.*s.%s.svc.cluster.local", (int)len, s, w->o.ns);
                s += len + (s[len] == ',');
        }
        return 0;
}

int webhook_new(struct client *c, const struct webhook_options *o, struct webhook **ret, struct err *err)
{
        struct webhook *w = MEM_NEW(struct webhook);
        w->client = c;
        w->o = *o;
        if (add_names(w, err) < 0) {
                webhook_free(w);
                return err->code;
        }
        w->secret_path = path_of("", "v1", o->ns, "secrets", o->secret, NULL);
        w->secrets_path = path_of("", "v1", o->ns, "secrets", NULL, NULL);
        w->configuration_path = path_of("admissionregistration.k8s.io", "v1", NULL, "mutatingwebhookconfigurations",
                                        o->configuration, NULL);
        loop_timer_set(client_loop(c), &w->again, 0, look_again, w);
        *ret = w;
        return 0;
}

void webhook_free(struct webhook *w)
{
        if (!w)
                return;
        loop_timer_stop(client_loop(w->client), &w->again);
        if (w->call)
                client_cancel(w->client, w->call);
        json_decref(w->secret);
        certificate_authority_release(&w->held);
        certificate_authority_release(&w->next);
        for (int i = 0; i < w->names; i++)
                mem_free(w->name[i]);
        mem_free(w->secret_path);
        mem_free(w->secrets_path);
        mem_free(w->configuration_path);
        mem_free(w->roots);
        mem_free(w->shown);
        mem_free(w);
}
