#include "replay_policy.h"

#include <math.h>

#include "base/file_read.h"
#include "base/yaml.h"
#include "commands.h"

enum { PROFILE_BYTES_MAX = 1 << 20 };
/* A half-life so long that no sample fades: 2^50 ms are 35 000 years. */
static const int64_t forever_ms = INT64_C(1) << 50;

/* Take a percentile with tenths, such as 97.5, out of a profile, whose CRD has only whole per cents. The profile keeps
 * the whole part. *ret: the percentile in tenths of a per cent; 0: it was whole already. */
static int take_tenths(json_t *resource, int *ret, struct err *err)
{
        json_t *given = json_object_get(resource, "percentile");
        *ret = 0;
        if (!json_is_real(given))
                return 0;
        double tenths = json_real_value(given) * 10;
        if (!(tenths >= 500 && tenths <= 1000) || fabs(tenths - round(tenths)) > 1e-9)
                return err_set(err, ERR_INVALID, "percentile %g is not from 50 to 100 in steps of 0.1",
                               json_real_value(given));
        *ret = (int)round(tenths);
        json_object_set_new(resource, "percentile", json_integer(*ret / 10));
        return 0;
}

static int read_spec(const json_t *spec, struct profile_spec *ret, struct err *err)
{
        AUTO(json_decref) json_t *whole = json_deep_copy(spec);
        int tenths[RESOURCES];
        for (enum resource q = CPU; q < RESOURCES; q++) {
                json_t *resource = json_object_get(json_object_get(whole, "resources"), resource_name(q));
                if (take_tenths(resource, &tenths[q], err) < 0)
                        return err_wrap(err, "spec: resources: %s", resource_name(q));
        }
        int rc = profile_spec_read(whole, ret, err);
        for (enum resource q = CPU; rc == 0 && q < RESOURCES; q++)
                if (tenths[q])
                        ret->of[q].percentile = tenths[q];
        return rc;
}

static int add_profile(struct replay *r, const json_t *document, struct err *err)
{
        const char *kind = json_string_value(json_object_get(document, "kind"));
        const char *name = json_string_value(json_object_get(json_object_get(document, "metadata"), "name"));
        const json_t *spec = json_object_get(document, "spec");
        struct profile_spec p;
        if (!json_is_object(document))
                return err_set(err, ERR_INVALID, "is not an object with kind and spec");
        if (!kind || (strcmp(kind, "ClusterProfile") && strcmp(kind, "Profile")))
                return err_set(err, ERR_INVALID, "kind '%.64s' is not ClusterProfile or Profile", kind ? kind : "");
        if (!spec)
                return err_set(err, ERR_INVALID, "spec is missing: write {} for the defaults");
        int rc = read_spec(spec, &p, err);
        if (rc < 0)
                return rc;
        rc = replay_add_policy(r, name ? name : kind, &p);
        profile_spec_release(&p);
        return rc < 0 ? err_set(err, rc, "more than %d profiles: leave some out", REPLAY_POLICIES) : 0;
}

static int add_profiles(struct replay *r, const char *path, struct err *err)
{
        size_t len;
        AUTO(mem_free) char *text = file_read_input(path, PROFILE_BYTES_MAX, &len, err);
        AUTO(json_decref) json_t *documents = text ? yaml_read_all(text, len, err) : NULL;
        if (!documents)
                return err_wrap(err, "profile '%s'", path);
        if (json_array_size(documents) == 0)
                return err_set(err, ERR_INVALID, "profile '%s': the file contains no profile", path);
        for (size_t i = 0; i < json_array_size(documents); i++)
                if (add_profile(r, json_array_get(documents, i), err) < 0)
                        return err_wrap(err, "profile '%s'", path);
        return 0;
}

static int add_default(struct replay *r, struct err *err)
{
        struct profile_spec defaults;
        int rc = profile_spec_read(NULL, &defaults, err);
        if (rc == 0)
                rc = replay_add_policy(r, "default", &defaults);
        profile_spec_release(&defaults);
        return rc;
}

int replay_policies_read(struct replay *r, const struct option_given *files, struct err *err)
{
        int rc = 0;
        for (int i = 0; rc == 0 && i < files->count; i++)
                rc = add_profiles(r, files->value[i], err);
        return rc < 0 || files->count > 0 ? rc : add_default(r, err);
}

/* --- yardsticks --- */

/* A policy without a minimum, a history or a least change, set at deploys, with the margins of a default profile. */
static struct replay_policy *add_yardstick(struct replay *r, const char *name)
{
        if (r->policies == REPLAY_POLICIES)
                return NULL;
        struct replay_policy *p = &r->policy[r->policies++];
        *p = (struct replay_policy){.name = mem_string(name), .apply = {.mode = APPLY_ON_DEPLOY}};
        for (enum resource q = CPU; q < RESOURCES; q++) {
                resource_policy_defaults(q, &p->of[q]);
                p->of[q].enabled = true;
                p->of[q].min = 0;
        }
        return p;
}

static int add_weekly(struct replay *r)
{
        struct replay_policy *p = add_yardstick(r, "weekly peak");
        if (!p)
                return ERR_TOOBIG;
        memcpy(p->of, r->policy[0].of, sizeof p->of);
        p->apply = r->policy[0].apply;
        p->of[MEMORY].weekly_peak = true;
        p->memory_only = true;
        return 0;
}

static int add_undecayed(struct replay *r, const char *name, int percentile)
{
        struct replay_policy *p = add_yardstick(r, name);
        if (!p)
                return ERR_TOOBIG;
        for (enum resource q = CPU; q < RESOURCES; q++) {
                p->of[q].percentile = percentile;
                p->of[q].half_life_ms = forever_ms;
        }
        return 0;
}

static int add_vpa(struct replay *r)
{
        struct replay_policy *p = add_yardstick(r, "VPA");
        if (!p)
                return ERR_TOOBIG;
        p->is_vpa = true;
        return 0;
}

int replay_policies_compare(struct replay *r)
{
        int rc = add_weekly(r);
        if (rc == 0)
                rc = add_undecayed(r, "P95 of all", 950);
        if (rc == 0)
                rc = add_undecayed(r, "P99 of all", 990);
        return rc == 0 ? add_vpa(r) : rc;
}
