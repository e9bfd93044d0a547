#include "objects/decode_profile.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "core/kind.h"
#include "objects/label_selector.h"
#include "profile_fields.h"

enum { NAME_LONGEST = 63 };

/* Writes a choice into an enum, which gcc and clang store as an unsigned int. */
static int read_choice(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static_assert(sizeof(enum apply_mode) == sizeof(unsigned) && sizeof(enum hpa_mode) == sizeof(unsigned) &&
                              sizeof(enum apply_at) == sizeof(unsigned) &&
                              sizeof(enum runtime_mode) == sizeof(unsigned) &&
                              sizeof(enum startup_request) == sizeof(unsigned) &&
                              sizeof(enum startup_until) == sizeof(unsigned) &&
                              sizeof(enum overcommit) == sizeof(unsigned) && sizeof(enum dimension) == sizeof(unsigned),
                      "choices are unsigned ints");
        int i = field_choice(f, v);
        if (i < 0)
                return field_refuse(f, v, err);
        *(unsigned *)at = (unsigned)i;
        return 0;
}

static int read_ignore(const struct field *f, const json_t *v, void *at, struct err *err)
{
        int i = field_choice(f, v);
        if (i < 0)
                return field_refuse(f, v, err);
        *(bool *)at = i == 1;
        return 0;
}

static int read_selector(const struct field *f, const json_t *v, void *at, struct err *err)
{
        (void)f;
        return selector_read(v, &selector_of_profile, at, err);
}

/* --- lists --- */

/* Allocates room for the elements of the list `v`; NULL: the list is empty, or longer than the field allows. */
static void *profile_new_list(const struct field *f, const json_t *v, size_t size)
{
        size_t count = json_array_size(v);
        return count > 0 && (int64_t)count <= f->most ? mem_new_array(count, size) : NULL;
}

/* Reads one element of a list of objects into the spec. */
typedef int element_reader(const json_t *v, struct profile_spec *p, struct err *err);

static int profile_read_list(const struct field *f, const json_t *v, struct profile_spec *p, element_reader *read,
                             struct err *err)
{
        if (!json_is_array(v))
                return err_set(err, ERR_INVALID, "is not a list");
        if ((int64_t)json_array_size(v) > f->most)
                return err_set(err, ERR_INVALID, "has %zu elements: at most %d are allowed", json_array_size(v),
                               (int)f->most);
        for (size_t i = 0; i < json_array_size(v); i++) {
                const json_t *element = json_array_get(v, i);
                int rc =
                        json_is_object(element) ? read(element, p, err) : err_set(err, ERR_INVALID, "is not an object");
                if (rc < 0)
                        return err_wrap(err, "[%zu]", i);
        }
        return 0;
}

static bool is_made_of(const char *s, const char *letters, size_t most)
{
        size_t len = strlen(s);
        return len > 0 && len <= most && strspn(s, letters) == len;
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

static bool is_api_version(const char *s)
{
        const char *slash = strchr(s, '/');
        const char *version = slash ? slash + 1 : s;
        bool group = !slash || (slash > s && strspn(s, LOWER DIGIT ".-") == (size_t)(slash - s));
        return group && version[0] == 'v' && strchr(DIGIT, version[1]) && version[1] &&
               is_made_of(version, LOWER DIGIT, NAME_LONGEST);
}

static bool is_kind(const char *s)
{
        return *s >= 'A' && *s <= 'Z' && is_made_of(s, LOWER UPPER DIGIT, NAME_LONGEST);
}

static int check_target(const struct profile_spec *p, const struct profile_target *t, struct err *err)
{
        if (!t->api_version || !t->kind)
                return err_set(err, ERR_INVALID, "apiVersion or kind is missing: such as apps/v1 and Deployment");
        bool pod = strcmp(t->api_version, "v1") == 0 && strcmp(t->kind, "Pod") == 0;
        if (pod && p->dimension == DIMENSION_WORKLOAD)
                return err_set(err, ERR_INVALID,
                               "a Pod has no template to write to: name the kind that makes the pods, such as apps/v1 "
                               "Deployment; pods without owner are for dimension Pod");
        if (strcmp(t->api_version, "v1") == 0 && strcmp(t->kind, "Namespace") == 0)
                return err_set(err, ERR_INVALID,
                               "a Namespace is not a kind of workload: dimension: Namespace is what recommends for it");
        if (p->dimension == DIMENSION_NODE)
                return err_set(err, ERR_INVALID,
                               "dimension Node counts every pod of a node, whatever created it: leave targets out");
        for (int i = 0; i < p->targets - 1; i++)
                if (strcmp(p->target[i].api_version, t->api_version) == 0 && strcmp(p->target[i].kind, t->kind) == 0)
                        return err_set(err, ERR_INVALID, "%.64s %s is listed twice: leave one out", t->api_version,
                                       t->kind);
        return 0;
}

static int profile_read_target(const json_t *v, struct profile_spec *p, struct err *err)
{
        static const struct field table[] = {
                FIELD_TEXT("apiVersion", offsetof(struct profile_target, api_version),
                           "a group and a version, such as apps/v1 or argoproj.io/v1alpha1", is_api_version),
                FIELD_TEXT("kind", offsetof(struct profile_target, kind),
                           "the kind's own name in the singular, with a capital, such as Deployment", is_kind),
                {0},
        };
        struct profile_target *t = &p->target[p->targets++];
        int rc = field_object(table, v, t, err);
        return rc < 0 ? rc : check_target(p, t, err);
}

static int profile_read_targets(const struct field *f, const json_t *v, void *at, struct err *err)
{
        struct profile_spec *p = at;
        p->target = profile_new_list(f, v, sizeof *p->target);
        return profile_read_list(f, v, p, profile_read_target, err);
}

static bool is_container_name(const char *s)
{
        return strcmp(s, "*") == 0 ||
               (is_made_of(s, LOWER DIGIT "-", NAME_LONGEST) && s[0] != '-' && s[strlen(s) - 1] != '-');
}

static const char *const container_modes[] = {"Auto", "Ignore", NULL};

static int check_container(const struct profile_spec *p, const struct profile_container *c, struct err *err)
{
        if (!c->name)
                return err_set(err, ERR_INVALID,
                               "name is missing: the container's, or \"*\" for all that are not named");
        for (int i = 0; i < p->containers - 1; i++)
                if (strcmp(p->container[i].name, c->name) == 0)
                        return err_set(err, ERR_INVALID, "'%s' is listed twice: leave one out", c->name);
        return 0;
}

static int profile_read_container(const json_t *v, struct profile_spec *p, struct err *err)
{
        static const struct field table[] = {
                FIELD_TEXT("name", offsetof(struct profile_container, name),
                           "one container's name (lower case letters, digits and '-'), or \"*\" for all that are not "
                           "named; it is no pattern",
                           is_container_name),
                FIELD_CHOICE("mode", read_ignore, offsetof(struct profile_container, ignore), "Auto or Ignore",
                             container_modes),
                FIELD("resources", profile_read_resources, offsetof(struct profile_container, of), 0, 0, NULL),
                {0},
        };
        struct profile_container *c = &p->container[p->containers++];
        memcpy(c->of, p->of, sizeof c->of);
        int rc = field_object(table, v, c, err);
        return rc < 0 ? rc : check_container(p, c, err);
}

static int profile_read_containers(const struct field *f, const json_t *v, void *at, struct err *err)
{
        struct profile_spec *p = at;
        p->container = profile_new_list(f, v, sizeof *p->container);
        return profile_read_list(f, v, p, profile_read_container, err);
}

/* --- apply --- */

static const char *const part_of_schedule[] = {
        "the minute, 0-59",
        "the hour, 0-23",
        "the day of the month, 1-31",
        "the month, 1-12 or jan-dec",
        "the day of the week, 0-7 or sun-sat (ranges go upwards: the weekend is 6-7)",
        "there are five: minute hour day-of-month month day-of-week, no seconds and no @daily",
};

static int read_schedule(const struct field *f, const json_t *v, void *at, struct err *err)
{
        const char *s = json_string_value(v);
        struct window w;
        int wrong;
        if (!s || strlen(s) > (size_t)f->most)
                return field_refuse(f, v, err);
        if (window_parse(s, strlen(s), &w, &wrong) == 0) {
                *(struct window *)at = w;
                return 0;
        }
        if (wrong == 5)
                return err_set(err, ERR_INVALID, "'%s' has the wrong number of fields: %s", s, part_of_schedule[wrong]);
        return err_set(err, ERR_INVALID, "'%s', field %d, is not %s; also '*', lists (1,2), ranges (1-5), steps (*/2)",
                       s, wrong + 1, part_of_schedule[wrong]);
}

/* Checks only the syntax. Whether tzdata has the zone is checked when the window is evaluated. */
static bool is_zone(const char *s)
{
        bool letter = (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z');
        return letter && strcmp(s, "Local") != 0 && is_made_of(s, LOWER UPPER DIGIT "+-_/", 64);
}

static int read_window(const json_t *v, struct profile_spec *p, struct err *err)
{
        static const struct field table[] = {
                FIELD("schedule", read_schedule, offsetof(struct profile_window, window), 0, 80,
                      "five cron fields in quotes, such as \"0 2 * * 1-5\", at most 80 letters"),
                FIELD("duration", field_duration, offsetof(struct profile_window, window.duration_ms), MINUTES(1),
                      HOURS(168), "a duration from 1m to 168h" DURATION_CURE),
                FIELD_TEXT("timeZone", offsetof(struct profile_window, time_zone),
                           "an IANA name such as Europe/Berlin, or UTC; offsets such as +02:00 are not zones", is_zone),
                {0},
        };
        struct profile_window *w = &p->window[p->windows++];
        int rc = field_object(table, v, w, err);
        if (rc < 0)
                return rc;
        if (w->window.minutes == 0)
                return err_set(err, ERR_INVALID, "schedule is missing: five cron fields, such as \"0 2 * * 1-5\"");
        if (w->window.duration_ms == 0)
                return err_set(err, ERR_INVALID, "duration is missing: how long the window stays open, such as 3h");
        if (!w->time_zone)
                w->time_zone = mem_string("UTC");
        return 0;
}

static int read_windows(const struct field *f, const json_t *v, void *at, struct err *err)
{
        struct profile_spec *p = at;
        p->window = profile_new_list(f, v, sizeof *p->window);
        return profile_read_list(f, v, p, read_window, err);
}

static int read_budget(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("workloads", field_integer, offsetof(struct profile_spec, budget_workloads), 0, 100000,
                      "a whole number from 0 (no bound) to 100000"),
                FIELD("coresPerHour", field_cores, offsetof(struct profile_spec, budget_cores_per_hour), 0, 1000000,
                      "a whole number from 0 (no bound) to 1000000"),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

#define APPLY(member) offsetof(struct profile_spec, apply.member)

static int read_raise(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("enabled", field_bool, APPLY(raise.enabled), 0, 0, BOOL_CURE),
                FIELD("after", field_duration, APPLY(raise.after_ms), MINUTES(1), HOURS(24),
                      "a duration from 1m to 24h" DURATION_CURE),
                FIELD("factor", field_factor, APPLY(raise.factor), 1000, 10000,
                      "a decimal in quotes from 1 to 10" FACTOR_CURE),
                FIELD("most", field_factor, APPLY(raise.most), 1000, 100000,
                      "a decimal in quotes from 1 to 100" FACTOR_CURE),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

#define TIME_CURE "a duration from 0s to 8760h" DURATION_CURE
static int read_early(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("enabled", field_bool, APPLY(early.enabled), 0, 0, BOOL_CURE),
                FIELD("after", field_duration, APPLY(early.after_ms), 0, HOURS(8760), TIME_CURE),
                FIELD("multiplier", field_factor, APPLY(early.multiplier), 1000, 10000,
                      "a decimal in quotes from 1 to 10" FACTOR_CURE),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

static const char *const startup_requests[] = {"Target", "Original", NULL};
static const char *const startup_ends[] = {"Ready", NULL};

static int read_startup(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD_CHOICE("request", read_choice, APPLY(startup.request), "Target or Original", startup_requests),
                FIELD_CHOICE("until", read_choice, APPLY(startup.until), "Ready", startup_ends),
                FIELD("after", field_duration, APPLY(startup.after_ms), 0, HOURS(1),
                      "a duration from 0s to 1h" DURATION_CURE),
                FIELD("most", field_duration, APPLY(startup.most_ms), MINUTES(1), HOURS(24),
                      "a duration from 1m to 24h" DURATION_CURE),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

static int read_guard(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("enabled", field_bool, APPLY(guard.enabled), 0, 0, BOOL_CURE),
                FIELD("restarts", field_integer, APPLY(guard.restarts), 0, 100000,
                      "a whole number from 0 (they do not count) to 100000"),
                FIELD("watch", field_duration, APPLY(guard.watch_ms), 1000, HOURS(24),
                      "a duration from 1s to 24h" DURATION_CURE),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

static int profile_read_canary(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("percent", field_integer, APPLY(canary.percent), 1, 100, "a whole number from 1 to 100"),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

static const char *const apply_modes[] = {"Recommend", "Rollout", "OnDeploy", "InPlace", NULL};
static const char *const apply_places[] = {"Pod", "Workload", NULL};
static const char *const hpa_modes[] = {"Hold", "Ignore", "Retune", "LimitBasis", NULL};
static const char *const runtime_modes[] = {"Respect", "Ignore", NULL};

static const struct field apply_field[] = {
        FIELD_CHOICE("mode", read_choice, APPLY(mode), "Recommend, OnDeploy, Rollout or InPlace", apply_modes),
        FIELD_CHOICE("at", read_choice, APPLY(at), "Pod or Workload", apply_places),
        FIELD_CHOICE("hpa", read_choice, APPLY(hpa), "Hold, Ignore, Retune or LimitBasis", hpa_modes),
        FIELD_CHOICE("runtime", read_choice, APPLY(runtime), "Respect or Ignore", runtime_modes),
        FIELD("minHistory", field_duration, APPLY(min_history_ms), 0, HOURS(8760), TIME_CURE),
        FIELD("minChangePercent", field_integer, APPLY(min_change_percent), 0, 100, "a whole number from 0 to 100"),
        FIELD("maxDecreasePercent", field_integer, APPLY(max_decrease_percent), 1, 100, "a whole number from 1 to 100"),
        FIELD("cooldown", field_duration, APPLY(cooldown_ms), 0, HOURS(8760), TIME_CURE),
        FIELD("minReplicas", field_integer, APPLY(min_replicas), 0, 100000,
              "a whole number from 0 (no bound) to 100000"),
        FIELD("windows", read_windows, 0, 0, PROFILE_WINDOWS, NULL),
        FIELD("budget", read_budget, 0, 0, 0, NULL),
        FIELD("keepGuaranteed", field_bool, APPLY(keep_guaranteed), 0, 0, BOOL_CURE),
        FIELD("early", read_early, 0, 0, 0, NULL),
        FIELD("raise", read_raise, 0, 0, 0, NULL),
        FIELD("startup", read_startup, 0, 0, 0, NULL),
        FIELD("guard", read_guard, 0, 0, 0, NULL),
        FIELD("canary", profile_read_canary, 0, 0, 0, NULL),
        {0},
};

/* Reads the mode first, because the defaults depend on it. Reading the table reports an invalid mode. */
static int read_apply(const struct field *f, const json_t *v, void *at, struct err *err)
{
        struct profile_spec *p = at;
        (void)f;
        int mode = field_choice(&apply_field[0], json_object_get(v, "mode"));
        enum overcommit overcommit = p->apply.overcommit;
        apply_policy_defaults(mode < 0 ? APPLY_RECOMMEND : (enum apply_mode)mode, &p->apply);
        p->apply.overcommit = overcommit;
        return field_object(apply_field, v, p, err);
}

/* --- the spec --- */

#define SPEC(member) offsetof(struct profile_spec, member)
#define STATIC_CURE  "a decimal in quotes above 0 and at most 1" FACTOR_CURE

static const char *const dimensions[] = {"Workload", "Pod", "Namespace", "Node", NULL};
static const char *const overcommits[] = {"Dynamic", "Static", "StaticThenDynamic", NULL};

static int read_static(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("cpu", field_factor, SPEC(of[CPU].static_factor), 1, 1000, STATIC_CURE),
                FIELD("memory", field_factor, SPEC(of[MEMORY].static_factor), 1, 1000, STATIC_CURE),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}

static const struct field spec_field[] = {
        FIELD("namespaceSelector", read_selector, SPEC(namespace_selector), 0, 0, NULL),
        FIELD("selector", read_selector, SPEC(selector), 0, 0, NULL),
        FIELD_CHOICE("dimension", read_choice, SPEC(dimension), "Workload, Pod, Namespace or Node", dimensions),
        FIELD("targets", profile_read_targets, 0, 0, PROFILE_TARGETS,
              NULL), /* read after dimension, which decides which kinds are allowed */
        FIELD("priority", field_integer, SPEC(priority), -1000000, 1000000, "a whole number from -1000000 to 1000000"),
        FIELD_CHOICE("overcommit", read_choice, SPEC(apply.overcommit), "Dynamic, Static or StaticThenDynamic",
                     overcommits),
        FIELD("static", read_static, 0, 0, 0, NULL), /* read before containers, which take its factors as defaults */
        FIELD("resources", profile_read_resources, SPEC(of), 0, 0, NULL),
        FIELD("containers", profile_read_containers, 0, 0, PROFILE_CONTAINERS, NULL),
        FIELD("apply", read_apply, 0, 0, 0, NULL),
        FIELD("paused", field_bool, SPEC(paused), 0, 0, BOOL_CURE),
        {0},
};

/* halflife never writes requests for a namespace, a node or a pod of a workload, so most modes are invalid there. */
static int check_dimension(const struct profile_spec *p, struct err *err)
{
        if (p->dimension == DIMENSION_NODE && p->namespace_selector && p->namespace_selector->count > 0)
                return err_set(
                        err, ERR_INVALID,
                        "namespaceSelector: a node belongs to no namespace: selector selects nodes by their labels");
        if (p->apply.mode == APPLY_RECOMMEND || p->dimension == DIMENSION_WORKLOAD)
                return 0;
        if (dimension_is_sum(p->dimension))
                return err_set(err, ERR_INVALID, "apply: mode: dimension %s only recommends: write Recommend",
                               dimension_name(p->dimension));
        if (p->apply.mode == APPLY_IN_PLACE || (p->apply.mode == APPLY_ON_DEPLOY && p->apply.at == AT_POD))
                return 0;
        return err_set(err, ERR_INVALID,
                       "apply: mode: dimension Pod recommends, and sets pods without owner at admission or "
                       "while they run: write Recommend, OnDeploy with at: Pod, or InPlace");
}

int profile_spec_read(const json_t *spec, struct profile_spec *ret, struct err *err)
{
        struct err unread;
        struct profile_spec p = {.budget_workloads = 10, .budget_cores_per_hour = 50 * 1000};
        err = err ? err : &unread;
        resource_policy_defaults(CPU, &p.of[CPU]);
        resource_policy_defaults(MEMORY, &p.of[MEMORY]);
        apply_policy_defaults(APPLY_RECOMMEND, &p.apply);
        int rc = field_object(spec_field, spec, &p, err);
        if (rc == 0)
                rc = check_dimension(&p, err);
        if (rc < 0) {
                profile_spec_release(&p);
                return err_wrap(err, "spec");
        }
        *ret = p;
        return 0;
}

void profile_spec_release(struct profile_spec *p)
{
        selector_free(p->namespace_selector);
        selector_free(p->selector);
        for (int i = 0; i < p->targets; i++) {
                mem_free(p->target[i].api_version);
                mem_free(p->target[i].kind);
        }
        for (int i = 0; i < p->containers; i++)
                mem_free(p->container[i].name);
        for (int i = 0; i < p->windows; i++)
                mem_free(p->window[i].time_zone);
        mem_free(p->target);
        mem_free(p->container);
        mem_free(p->window);
        *p = (struct profile_spec){0};
}

/* --- sharing --- */

struct shared_spec {
        struct profile_spec spec; /* first, so that both structs have the same address */
        int refs;
};

struct profile_spec *profile_spec_share(struct profile_spec *spec)
{
        struct shared_spec *s = MEM_NEW(struct shared_spec);
        s->spec = *spec;
        s->refs = 1;
        *spec = (struct profile_spec){0};
        return &s->spec;
}

struct profile_spec *profile_spec_hold(struct profile_spec *shared)
{
        __atomic_add_fetch(&((struct shared_spec *)shared)->refs, 1, __ATOMIC_RELAXED);
        return shared;
}

void profile_spec_drop(struct profile_spec *shared)
{
        struct shared_spec *s = (struct shared_spec *)shared;
        if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
                return;
        profile_spec_release(&s->spec);
        mem_free(s);
}
