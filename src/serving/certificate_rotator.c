#include "serving/certificate_rotator.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "ca_bundle_patch.h"
#include "certificate_authority.h"
#include "certificate_secret.h"
#include "kube/known_resource.h"
#include "kube/patch.h"

enum { LOOK_MS = MINUTE_MS, RETRY_MS = 5 * SECOND_MS, RACE_MS = 200, OBJECTS_MAX = 1 + ROTATOR_API_SERVICES_MAX };

/* An object whose caBundle the rotator writes: a MutatingWebhookConfiguration or an APIService. */
struct trusting_object {
        const char *name;
        char *path;
        enum known_resource_id of;
        bool skipped; /* the log already says that halflife may not read it */
};

struct rotator {
        struct client *client;
        struct rotator_options o;
        char *name[AUTHORITY_NAMES_MAX];
        int names;
        char *secret_path;
        struct trusting_object object[OBJECTS_MAX];
        int objects;
        struct loop_timer again;
        struct client_call *call; /* NULL: no request is under way */
        bool looking, settled;

        /* about the comparison under way */
        struct wall now;
        int64_t ahead_ms;                  /* how far now is ahead of the loop's time; 0 except in tests */
        json_t *secret;                    /* the Secret as read */
        struct certificate_authority next; /* what the Secret must have */
        enum certificate_authority_due due;
        struct path_rotation paths;
        char *in_force; /* the path that the webhooks had; "": none; NULL: halflife has no webhooks */
        int at;         /* index of the object under way */
        int writes;     /* writes in a row; more than one means that somebody changes what halflife writes */

        char *roots, *cert;         /* of the Secret when last complete; NULL: never yet */
        char trouble[ERR_TEXT_MAX]; /* the last logged error; "": no trouble */
};

/* --- the end of a look --- */

static void rotator_look_again(void *arg)
{
        struct rotator *r = arg;
        rotator_look(r, (struct wall){loop_now(client_loop(r->client)).wall.ms + r->ahead_ms});
}

static void rotator_finish(struct rotator *r, int64_t after_ms)
{
        json_decref(r->secret);
        r->secret = NULL;
        certificate_authority_release(&r->next);
        mem_free(r->in_force);
        r->in_force = NULL;
        r->looking = false;
        loop_timer_set(client_loop(r->client), &r->again, after_ms, rotator_look_again, r);
}

static void rotator_fail(struct rotator *r, const struct err *why, const char *what)
{
        if (strcmp(r->trouble, why->text) != 0)
                log_warn("the certificate cannot be rotated, will try again", KV("what", what), KV("error", why->text));
        memcpy(r->trouble, why->text, sizeof r->trouble);
        r->settled = false;
        rotator_finish(r, RETRY_MS);
}

/* --- the Secret, written --- */

static const char *due_text(enum certificate_authority_due due)
{
        static const char *const text[] = {
                [AUTHORITY_STANDS] = "",
                [AUTHORITY_NEW] = "an authority and a certificate were made",
                [AUTHORITY_ADDS_ROOT] =
                        "a new authority was made, and signs certificates once it is trusted everywhere",
                [AUTHORITY_SIGNS] = "a new certificate was made",
                [AUTHORITY_DROPS_ROOT] = "the old authority is no longer trusted",
        };
        return text[due];
}

static void secret_written(void *arg, const struct client_answer *a)
{
        struct rotator *r = arg;
        r->call = NULL;
        if (a->err.code == 0) {
                log_info(r->due == AUTHORITY_STANDS ? "the Secret has new URL paths for the admission webhook"
                                                    : due_text(r->due),
                         KV("secret", r->o.secret));
                /* Read the Secret again as it was stored: at once after a first write, later where writes follow each
                 * other. */
                rotator_finish(r, r->writes++ ? RETRY_MS : 0);
        } else if (a->err.code == ERR_STALE || a->err.code == ERR_CONFLICT) {
                rotator_finish(r, RACE_MS);
        } else {
                rotator_fail(r, &a->err, r->o.secret);
        }
}

static void rotator_write_secret(struct rotator *r)
{
        certificate_secret_write(r->secret, &r->next, &r->paths);
        char *body = json_dumps(r->secret, JSON_COMPACT);
        const struct call call = {.method = HTTP_PUT, .path = r->secret_path, .body = text_of(body), .urgent = true};
        r->call = client_start(r->client, &call, secret_written, r);
        mem_wipe(body);
}

/* --- the roots in the objects --- */

/* What the caBundle and path of the objects must be now. */
static struct ca_bundle_facts rotator_facts(const struct rotator *r)
{
        return (struct ca_bundle_facts){
                .ns = r->o.ns,
                .name = r->name,
                .names = r->names,
                .roots = r->next.roots,
                .given = r->o.given,
                .path = r->o.given ? NULL : path_rotation_current(&r->paths, r->now),
        };
}

static void rotator_next_object(struct rotator *r);

static void object_patched(void *arg, const struct client_answer *a)
{
        struct rotator *r = arg;
        const struct trusting_object *o = &r->object[r->at];
        r->call = NULL;
        if (a->err.code == 0) {
                log_info("caBundle was written", KV("object", o->name));
                r->at++;
                rotator_next_object(r);
        } else if (a->err.code == ERR_STALE) {
                rotator_finish(r, RACE_MS); /* somebody changed the object meanwhile */
        } else {
                rotator_fail(r, &a->err, o->name);
        }
}

/* Skip an object that cannot be read: an installation without admission or custom metrics has no such object, or no
 * permission for it. */
static void object_skip(struct trusting_object *o, const struct err *err)
{
        if (!o->skipped && err->code == ERR_DENIED)
                log_info("caBundle is not written: halflife may not read the object", KV("object", o->name),
                         KV("why", err->text));
        o->skipped = true;
}

static void object_read(void *arg, const struct client_answer *a)
{
        struct rotator *r = arg;
        struct trusting_object *o = &r->object[r->at];
        r->call = NULL;
        if (a->err.code == ERR_NOTFOUND || a->err.code == ERR_DENIED) {
                object_skip(o, &a->err);
                r->at++;
                rotator_next_object(r);
                return;
        }
        if (a->err.code) {
                rotator_fail(r, &a->err, o->name);
                return;
        }
        o->skipped = false;
        AUTO(json_decref) json_t *object = json_loadb(a->body.p, a->body.len, 0, NULL);
        const json_t *version = json_object_get(json_object_get(object, "metadata"), "resourceVersion");
        AUTO(json_decref)
        json_t *patch = json_pack("[{s:s, s:s, s:O?}]", "op", "test", "path", "/metadata/resourceVersion", "value",
                                  (json_t *)(uintptr_t)version);
        const struct ca_bundle_facts facts = rotator_facts(r);
        if (o->of == KNOWN_APISERVICES)
                ca_bundle_add_to_api_service(&facts, patch, object);
        else
                ca_bundle_add_to_webhooks(&facts, patch, object, &r->in_force);
        if (json_array_size(patch) > 1) {
                r->call = patch_send(r->client, o->path, patch, false, object_patched, r);
                return;
        }
        r->at++;
        rotator_next_object(r);
}

/* Every object agrees with the Secret, so the Secret may take the next step of the rotation. */
static void rotator_conclude(struct rotator *r)
{
        struct err err = {0};
        int rc = r->o.given || !r->in_force ? 0 : path_rotation_step(&r->paths, r->in_force, r->now, &err);
        if (rc < 0) {
                rotator_fail(r, &err, r->o.configuration);
                return;
        }
        bool writes = rc > 0 || r->due != AUTHORITY_STANDS;
        r->trouble[0] = '\0';
        r->settled = !writes;
        r->writes = writes ? r->writes : 0;
        if (writes)
                rotator_write_secret(r);
        else
                rotator_finish(r, LOOK_MS);
}

static void rotator_next_object(struct rotator *r)
{
        if (r->at < r->objects && r->next.roots) {
                const struct call call = {.method = HTTP_GET, .path = r->object[r->at].path, .urgent = true};
                r->call = client_start(r->client, &call, object_read, r);
                return;
        }
        rotator_conclude(r);
}

/* --- the Secret, read --- */

/* Remember roots and certificate while the Secret has both: if somebody empties the Secret, the root of the shown
 * certificate stays trusted. */
static void rotator_remember(struct rotator *r)
{
        mem_free(r->roots);
        mem_free(r->cert);
        r->roots = mem_string(r->next.roots);
        r->cert = mem_string(r->next.cert);
}

static int rotator_step(struct rotator *r, struct err *err)
{
        r->next = certificate_secret_read(r->secret);
        r->paths = certificate_secret_paths(r->secret);
        r->due = AUTHORITY_STANDS;
        if (r->o.given)
                return 0;
        int rc = certificate_authority_step(&r->next, (const char *const *)r->name, r->names, r->now, &r->due, err);
        if (rc < 0)
                return rc;
        if (r->due == AUTHORITY_NEW && r->cert && r->now.ms < certificate_authority_expiry(r->cert).ms)
                certificate_authority_keep(&r->next, r->roots, r->cert);
        if (r->due == AUTHORITY_STANDS)
                rotator_remember(r);
        return 0;
}

static void secret_read(void *arg, const struct client_answer *a)
{
        struct rotator *r = arg;
        struct err err = {0};
        r->call = NULL;
        r->secret = a->err.code ? NULL : json_loadb(a->body.p, a->body.len, 0, NULL);
        if (a->err.code == ERR_NOTFOUND)
                err_set(&err, ERR_NOTFOUND,
                        "secret '%s/%s' does not exist, and halflife may not create it: apply the manifests again",
                        r->o.ns, r->o.secret);
        else if (a->err.code)
                err_copy(&err, &a->err);
        else if (!json_is_object(r->secret))
                err_set(&err, ERR_RETRY, "the API server's answer is not a Secret");
        if (err.code || rotator_step(r, &err) < 0) {
                rotator_fail(r, &err, r->o.secret);
                return;
        }
        r->at = 0;
        rotator_next_object(r);
}

/* --- from start to end --- */

void rotator_look(struct rotator *r, struct wall now)
{
        const struct call call = {.method = HTTP_GET, .path = r->secret_path, .urgent = true};
        if (r->looking)
                return;
        loop_timer_stop(client_loop(r->client), &r->again);
        r->looking = true;
        r->now = now;
        r->ahead_ms = now.ms - loop_now(client_loop(r->client)).wall.ms;
        r->call = client_start(r->client, &call, secret_read, r);
}

bool rotator_looks(const struct rotator *r)
{
        int64_t left = r->again.due.ns - loop_now(client_loop(r->client)).mono.ns;
        return r->looking || (r->again.place && left <= RACE_MS * INT64_C(1000000));
}

bool rotator_settled(const struct rotator *r)
{
        return r->settled;
}

static bool is_label(const char *s, size_t len)
{
        size_t good = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
        return len > 0 && len <= 63 && good >= len && s[0] != '-' && s[len - 1] != '-';
}

static int add_names(struct rotator *r, struct err *err)
{
        for (const char *s = r->o.services; *s;) {
                size_t len = strcspn(s, ",");
                if (!is_label(s, len) || r->names + 2 > AUTHORITY_NAMES_MAX)
                        return err_set(
                                err, ERR_INVALID,
                                "'%s' is not a list of at most %d names of Services, such as 'halflife,halflife-serve'",
                                r->o.services, AUTHORITY_NAMES_MAX / 2);
                r->name[r->names++] = mem_printf("%.*s.%s.svc", (int)len, s, r->o.ns);
                r->name[r->names++] = mem_printf("%.*s.%s.svc.cluster.local", (int)len, s, r->o.ns);
                s += len + (s[len] == ',');
        }
        return 0;
}

static void rotator_add_object(struct rotator *r, enum known_resource_id of, const char *name)
{
        r->object[r->objects++] =
                (struct trusting_object){.name = name, .path = known_resource_path(of, NULL, name, NULL), .of = of};
}

int rotator_new(struct client *c, const struct rotator_options *o, struct rotator **ret, struct err *err)
{
        struct rotator *r = MEM_NEW(struct rotator);
        r->client = c;
        r->o = *o;
        if (add_names(r, err) < 0) {
                rotator_free(r);
                return err->code;
        }
        r->secret_path = known_resource_path(KNOWN_SECRETS, o->ns, o->secret, NULL);
        rotator_add_object(r, KNOWN_WEBHOOK_CONFIGURATIONS, o->configuration);
        for (const char *const *name = o->api_services; *name; name++)
                rotator_add_object(r, KNOWN_APISERVICES, *name);
        loop_timer_set(client_loop(c), &r->again, 0, rotator_look_again, r);
        *ret = r;
        return 0;
}

void rotator_free(struct rotator *r)
{
        if (!r)
                return;
        loop_timer_stop(client_loop(r->client), &r->again);
        if (r->call)
                client_cancel(r->client, r->call);
        json_decref(r->secret);
        certificate_authority_release(&r->next);
        mem_free(r->in_force);
        for (int i = 0; i < r->names; i++)
                mem_free(r->name[i]);
        for (int i = 0; i < r->objects; i++)
                mem_free(r->object[i].path);
        mem_free(r->secret_path);
        mem_free(r->roots);
        mem_free(r->cert);
        mem_free(r);
}
