/*
 * Admission reviews, whatever they hold: read or refused with a reason, and every answer is one JSON object that
 * allows.
 */
#include <jansson.h>

#include "base/yaml.h"
#include "deploy/admission_review.h"
#include "fuzz.h"

/* One profile that would change whatever it can, at pods or at templates. */
static struct snapshot *snapshot_of(struct profile_spec *spec, enum apply_at at, struct text in)
{
        static struct snapshot_profile profile = {.name = "all"};
        struct snapshot *v = snapshot_new();
        struct snapshot_ns *ns = arena_new(&v->arena, sizeof *ns);
        *ns = (struct snapshot_ns){.name = arena_text(&v->arena, in), .labels = ""};
        snapshot_add_ns(v, ns);
        *spec = (struct profile_spec){0};
        resource_policy_defaults(CPU, &spec->of[CPU]);
        resource_policy_defaults(MEMORY, &spec->of[MEMORY]);
        apply_policy_defaults(APPLY_ON_DEPLOY, &spec->apply);
        spec->apply.at = at;
        spec->apply.overcommit = OVERCOMMIT_STATIC;
        spec->of[CPU].static_factor = spec->of[MEMORY].static_factor = 1;
        spec->of[MEMORY].enabled = true;
        profile.spec = spec;
        snapshot_add_profile(v, &profile);
        v->ready = true;
        snapshot_finish(v);
        return v;
}

static void answer(const struct admission *r, enum apply_at at, struct arena *a)
{
        static const struct admission_owner owner = {
                .group = TEXT("apps"), .kind = TEXT("Deployment"), .name = TEXT("web")};
        struct profile_spec spec;
        struct snapshot *v = snapshot_of(&spec, at, r->ns);
        enum admission_result o;
        struct buf out;
        buf_init(&out, 16 << 20);
        admission_answer(r, v, admission_wants_owner(r, v) ? &owner : NULL, NULL, a, &out, &o);
        AUTO(json_decref) json_t *json = json_loadb(out.data, out.len, 0, NULL);
        MUST(json && json_is_true(json_object_get(json_object_get(json, "response"), "allowed")));
        MUST(o < ADMISSION_RESULTS);
        buf_release(&out);
        snapshot_drop(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct arena a = {0};
        struct admission r;
        struct err err = {0};
        int rc = admission_read((struct text){(const char *)data, size}, &a, &r, &err);
        MUST(rc == 0 || (err.code == rc && err.text[0]));
        if (rc == 0) {
                answer(&r, AT_POD, &a);
                answer(&r, AT_WORKLOAD, &a);
        }
        arena_release(&a);
        return 0;
}
