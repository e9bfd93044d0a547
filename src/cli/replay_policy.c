#include "replay_policy.h"

#include "base/yaml.h"
#include "commands.h"

enum { PROFILE_BYTES_MAX = 1 << 20 };
/* A half-life so long that no sample fades: 2^50 ms are 35 000 years. */
static const int64_t forever_ms = INT64_C(1) << 50;

static int add_profile(struct replay *r, const json_t *document, struct err *err)
{
        const char *kind = json_string_value(json_object_get(document, "kind"));
        const char *name = json_string_value(json_object_get(json_object_get(document, "metadata"), "name"));
        const json_t *spec = json_object_get(document, "spec");
        struct profile_spec p;
        if (!kind || (strcmp(kind, "ClusterProfile") && strcmp(kind, "Profile")))
                return err_set(err, ERR_INVALID, "kind '%.64s' is not ClusterProfile or Profile", kind ? kind : "");
        if (!spec)
                return err_set(err, ERR_INVALID, "spec is missing: write {} for the defaults");
        int rc = profile_spec_read(spec, &p, err);
        if (rc < 0)
                return rc;
        rc = replay_add_policy(r, name ? name : kind, &p);
        profile_spec_release(&p);
        return rc < 0 ? err_set(err, rc, "more than %d profiles: leave some out", REPLAY_POLICIES) : 0;
}

static int add_profiles(struct replay *r, const char *path, struct err *err)
{
        size_t len;
        AUTO(mem_free) char *text = file_read(path, PROFILE_BYTES_MAX, &len, err);
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

static struct replay_policy *add_like_first(struct replay *r, const char *name)
{
        if (r->policies == REPLAY_POLICIES)
                return NULL;
        struct replay_policy *p = &r->policy[r->policies++];
        *p = r->policy[0];
        p->name = mem_string(name);
        return p;
}

static int add_weekly(struct replay *r)
{
        struct replay_policy *p = add_like_first(r, "weekly peak");
        if (!p)
                return ERR_TOOBIG;
        p->of[MEMORY].weekly_peak = true;
        p->memory_only = true;
        return 0;
}

static int add_undecayed(struct replay *r, const char *name, int percentile)
{
        struct replay_policy *p = add_like_first(r, name);
        if (!p)
                return ERR_TOOBIG;
        for (enum resource q = CPU; q < RESOURCES; q++) {
                p->of[q].percentile = percentile;
                p->of[q].half_life_ms = forever_ms;
        }
        p->of[MEMORY].weekly_peak = false;
        return 0;
}

static int add_vpa(struct replay *r)
{
        struct replay_policy *p = add_like_first(r, "VPA");
        if (!p)
                return ERR_TOOBIG;
        for (enum resource q = CPU; q < RESOURCES; q++) {
                p->of[q].percentile = 900;
                p->of[q].multiplier = 1150;
                p->of[q].half_life_ms = DAY_MS;
        }
        p->of[MEMORY].window_ms = DAY_MS;
        p->of[MEMORY].weekly_peak = false;
        return 0;
}

int replay_policies_compare(struct replay *r)
{
        int rc = add_weekly(r);
        if (rc == 0)
                rc = add_undecayed(r, "P95, no decay", 950);
        if (rc == 0)
                rc = add_undecayed(r, "P99, no decay", 990);
        return rc == 0 ? add_vpa(r) : rc;
}
