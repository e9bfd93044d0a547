/*
 * What keeps a profile from working, for its condition Degraded. The condition has one reason: the first row of the
 * table degraded_by whose function writes a message.
 */
#include <stdio.h>

#include "applier_private.h"
#include "base/mem.h"
#include "cache/profile_fuse.h"
#include "cache/watched_kind.h"

/* --- its selector --- */

static void left_out_says(const struct applier *applier, const struct profile *p, char *out)
{
        (void)applier;
        if (p->left_out)
                snprintf(out, PROFILE_DEGRADED_MAX,
                         "this profile selects nothing: the Profiles before it in its namespace use up the comparisons "
                         "of labels that halflife makes there, at most %d for all workloads and pods, and %d for one. "
                         "Use fewer Profiles, fewer requirements in their selectors, or fewer labels",
                         PROFILE_COMPARES_NAMESPACE, PROFILE_COMPARES_SUBJECT);
}

/* --- what halflife cannot see --- */

static void usage_says(const struct applier *applier, const struct profile *p, char *out)
{
        const struct usage_source_state *usage = notice_usage_source(applier->notices);
        (void)p;
        if (usage->away)
                snprintf(out, PROFILE_DEGRADED_MAX, "%s", usage->error);
}

static void blind_says(const struct applier *applier, const struct profile *p, char *out)
{
        const char *blind = applier->options.blind(applier->options.arg);
        (void)p;
        if (blind)
                snprintf(out, PROFILE_DEGRADED_MAX, "nothing is applied while this cannot be watched: %.400s", blind);
}

static void watch_says(const struct applier *applier, const struct profile *p, char *out)
{
        const struct watch_health *failing = notice_failing_watch(applier->notices);
        (void)p;
        if (failing)
                snprintf(out, PROFILE_DEGRADED_MAX, "%s: %.400s", failing->what, failing->trouble.text);
}

/* --- fuses --- */

/* Say that the cluster's fuse is blown, if it is. A Profile's status must not name other namespaces' workloads, because
 * tenants of the Profile's namespace read it. */
static void fuse_says(const struct applier *applier, const struct profile *p, char *out)
{
        const char *blown = fuse_blown(applier->safety);
        if (blown && p->ns)
                snprintf(out, PROFILE_DEGRADED_MAX,
                         "nothing is lowered until halflife resume --fuse: too many changes in the cluster were "
                         "taken back within an hour");
        else if (blown)
                snprintf(out, PROFILE_DEGRADED_MAX, "nothing is lowered until halflife resume --fuse: %.400s", blown);
}

static void profile_fuse_says(const struct applier *applier, const struct profile *p, char *out)
{
        const struct profile_fuse *f = profile_fuse_first(p);
        char where[160] = "", time[WALL_TEXT_MAX];
        (void)applier;
        if (!f)
                return;
        if (*f->ns && p->fuses.count > 1)
                snprintf(where, sizeof where, "in namespace %.63s and %zu more, ", f->ns, p->fuses.count - 1);
        else if (*f->ns)
                snprintf(where, sizeof where, "in namespace %.63s ", f->ns);
        snprintf(out, PROFILE_DEGRADED_MAX,
                 "%snothing is lowered until this profile's spec is changed, or halflife resume --fuse: %s: %.200s",
                 where, wall_print((struct wall){f->blown_ms}, time), f->why);
}

/* --- the kinds that it names --- */

static void too_many_kinds_says(const struct applier *applier, const struct profile *p, char *out)
{
        AUTO(mem_free) char *beyond = profile_kinds_beyond(p);
        (void)applier;
        if (beyond)
                snprintf(out, PROFILE_DEGRADED_MAX,
                         "nothing is applied by this profile while it names kinds beyond a limit: %s may name at most "
                         "%d kinds that are not built in, and the oldest profile's kinds come first. Beyond it: %.280s",
                         p->ns ? "the profiles of a namespace" : "all ClusterProfiles together", KINDS_OF_PROFILES,
                         beyond);
}

static void unplaced_kinds_says(const struct applier *applier, const struct profile *p, char *out)
{
        AUTO(mem_free) char *unplaced = profile_kinds_unplaced(p);
        (void)applier;
        if (unplaced)
                snprintf(out, PROFILE_DEGRADED_MAX,
                         "nothing is applied by this profile while other kinds use all watches for named kinds. Not "
                         "watched: %.280s",
                         unplaced);
}

static bool kind_is_missing(const struct watched_kind *k)
{
        return k->lookup.state == LOOKUP_MISSING;
}

static bool kind_fails(const struct watched_kind *k)
{
        return k->informer && k->trouble->code;
}

/* The first kind that the profile names and for which `is` returns true; NULL: none. */
static const struct watched_kind *named_kind(const struct applier *applier, const struct profile *p,
                                             bool (*is)(const struct watched_kind *k))
{
        for (int i = 0; i < p->spec->targets; i++) {
                struct text group, version;
                key_split(text_of(p->spec->target[i].api_version), &group, &version);
                const struct watched_kind *k =
                        watched_kind_find(applier->cache, group, text_of(p->spec->target[i].kind));
                if (k && is(k))
                        return k;
        }
        return NULL;
}

static void missing_kind_says(const struct applier *applier, const struct profile *p, char *out)
{
        const struct watched_kind *k = named_kind(applier, p, kind_is_missing);
        if (k)
                snprintf(out, PROFILE_DEGRADED_MAX,
                         "the server has no kind %s in group '%s': install it, or take it out of targets", k->kind,
                         k->group);
}

static void failing_kind_says(const struct applier *applier, const struct profile *p, char *out)
{
        const struct watched_kind *k = named_kind(applier, p, kind_fails);
        if (k)
                snprintf(out, PROFILE_DEGRADED_MAX, "%s: %.400s", k->key, k->trouble->text);
}

/* --- the rest of its spec --- */

static void time_zone_says(const struct applier *applier, const struct profile *p, char *out)
{
        (void)applier;
        if (p->trouble)
                snprintf(out, PROFILE_DEGRADED_MAX, "%s", p->trouble);
}

static const struct {
        const char *reason;
        void (*says)(const struct applier *applier, const struct profile *p,
                     char *out); /* writes the message to `out`, or nothing where the reason does not hold */
} degraded_by[] = {
        {"TooManyProfiles", left_out_says}, /* first, because replicas act by this reason */
        {"UsageUnavailable", usage_says},
        {"CannotSee", blind_says},
        {"Fuse", fuse_says},
        {"ProfileFuse", profile_fuse_says},
        {"TooManyKinds", too_many_kinds_says},
        {"CannotSee", unplaced_kinds_says},
        {"UnknownTimeZone", time_zone_says},
        {"KindNotFound", missing_kind_says},
        {"CannotSee", failing_kind_says},
        {"CannotSee", watch_says},
};

const char *profile_degraded(const struct applier *applier, const struct profile *p,
                             char out[static PROFILE_DEGRADED_MAX])
{
        *out = '\0';
        for (size_t i = 0; i < sizeof degraded_by / sizeof *degraded_by; i++) {
                degraded_by[i].says(applier, p, out);
                if (*out)
                        return degraded_by[i].reason;
        }
        return NULL;
}
