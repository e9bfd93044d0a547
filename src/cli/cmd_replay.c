/* halflife replay: the options, the profiles, the loop over the trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "commands.h"
#include "replay.h"

enum { PROFILE_BYTES_MAX = 1 << 20, TOLD_MOST = 20, PROGRESS_ROWS = 1 << 18 };

enum { OPT_PROFILE, OPT_DEPLOY_EVERY, OPT_ENTITIES, OPT_OUTPUT, OPT_HELP, OPTS };
static const struct option_spec option[OPTS] = {
        {.name = "profile",
         .value = "FILE",
         .help = "Profiles or ClusterProfiles to score, may be repeated; without any, the defaults",
         .many = true},
        {.name = "deploy-every",
         .value = "TIME",
         .help = "requests change at multiples of this after an entity's first row (default 24h)"},
        {.name = "entities", .help = "tell what is known of each entity at its end, under the first profile"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .help = "table or json (default table)"},
        {.name = "help", .letter = 'h', .help = "this text"},
};

/* --help stands last, and is every command's. */
const struct option_spec *cmd_replay_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return option;
}

struct arguments {
        struct option_given given[OPTS];
        int64_t deploy_every_ms;
        bool entities, json;
        const char *file;
};

static void print_help(void)
{
        printf("usage: %s replay [option]... FILE|-\n\n"
               "Runs a usage trace (" TRACE_HEADER "; a missing value is empty; rows sorted\n"
               "per entity) through the controller's own arithmetic and scores each profile: how much of what it "
               "would\n"
               "have requested was not used (slack), and how often more was used than requested (overrun). 'peak'\n"
               "requests the highest value yet seen. Changes nothing.\n\n"
               "Rows before a profile's minHistory are learned and not scored. Of a profile its resources, minHistory\n"
               "and minChangePercent count, memory also where it is off; selectors, containers, windows and cooldown\n"
               "do not.\n\n",
               program_name());
        options_print(stdout, option, OPTS);
}

static int read_deploy_every(const char *value, int64_t *ret_ms, struct err *err)
{
        int64_t ms = DAY_MS;
        if (value && (duration_parse(value, strlen(value), &ms) < 0 || ms < MINUTE_MS || ms > INT64_C(8760) * HOUR_MS))
                return err_set(err, ERR_INVALID,
                               "deploy-every '%s' is not a duration from 1m to 8760h, such as 24h; there are no days",
                               value);
        *ret_ms = ms;
        return 0;
}

static int read_output(const char *value, bool *ret_json, struct err *err)
{
        *ret_json = value && strcmp(value, "json") == 0;
        if (!value || *ret_json || strcmp(value, "table") == 0)
                return 0;
        return err_set(err, ERR_INVALID, "output '%s' is not one of table, json", value);
}

static int read_arguments(int argc, char **argv, struct arguments *a, struct err *err)
{
        struct option_words words;
        *a = (struct arguments){0};
        int rc = options_parse(option, OPTS, argc, argv, a->given, &words, err);
        if (rc == 0)
                rc = option_switch(&a->given[OPT_ENTITIES], &a->entities, err);
        if (rc == 0)
                rc = read_deploy_every(option_value(&a->given[OPT_DEPLOY_EVERY]), &a->deploy_every_ms, err);
        if (rc == 0)
                rc = read_output(option_value(&a->given[OPT_OUTPUT]), &a->json, err);
        if (rc < 0 || a->given[OPT_HELP].count)
                return rc;
        if (words.count != 1)
                return err_set(err, ERR_INVALID, "one trace is wanted, a file or '-' for standard input, not %d",
                               words.count);
        a->file = words.word[0];
        return 0;
}

/* --- profiles --- */

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
                return err_set(err, ERR_INVALID, "profile '%s': there is none in it", path);
        for (size_t i = 0; i < json_array_size(documents); i++)
                if (add_profile(r, json_array_get(documents, i), err) < 0)
                        return err_wrap(err, "profile '%s'", path);
        return 0;
}

static int add_policies(struct replay *r, const struct arguments *a, struct err *err)
{
        struct profile_spec defaults;
        int rc = 0;
        const struct option_given *profiles = &a->given[OPT_PROFILE];
        for (int i = 0; rc == 0 && i < profiles->count; i++)
                rc = add_profiles(r, profiles->value[i], err);
        if (rc < 0 || profiles->count > 0)
                return rc;
        rc = profile_spec_read(NULL, &defaults, err);
        if (rc == 0)
                rc = replay_add_policy(r, "default", &defaults);
        return rc;
}

/* --- the trace --- */

static ssize_t read_file(void *arg, void *buf, size_t size)
{
        return read(*(const int *)arg, buf, size);
}

static void tell_refused(const struct arguments *a, const struct trace *t, int64_t nth, const char *why)
{
        if (nth <= TOLD_MOST)
                fprintf(stderr, "%s:%lld: %s\n", a->file, (long long)t->line, why);
}

static void tell_progress(const struct replay *r, bool last)
{
        fprintf(stderr, "\r%lld rows, %zu entities%s", (long long)r->rows, r->entities, last ? "\n" : "");
}

/* A line that is no row is counted with the refused ones. */
static int take_next(struct replay *r, struct trace *t, const struct arguments *a, struct err *err)
{
        struct trace_row row;
        const char *why = NULL;
        int rc = trace_next(t, &row, err);
        if (rc == 0 || rc == ERR_IO)
                return rc;
        if (rc == ERR_INVALID) {
                r->rows++;
                r->refused++;
                tell_refused(a, t, r->refused, err->text);
                return 1;
        }
        rc = replay_row(r, &row, &why);
        if (rc == ERR_INVALID)
                tell_refused(a, t, r->refused, why);
        if (rc == ERR_TOOBIG)
                return err_set(err, rc, "line %lld: more than %d entities: split the trace", (long long)t->line,
                               REPLAY_ENTITIES);
        return 1;
}

static int read_trace(struct replay *r, const struct arguments *a, int fd, struct err *err)
{
        bool terminal = isatty(STDERR_FILENO);
        struct trace t;
        int rc;
        trace_init(&t, read_file, &fd);
        while ((rc = take_next(r, &t, a, err)) > 0)
                if (terminal && r->rows % PROGRESS_ROWS == 0)
                        tell_progress(r, false);
        if (terminal && r->rows >= PROGRESS_ROWS)
                tell_progress(r, true);
        trace_release(&t);
        if (r->refused > TOLD_MOST)
                fprintf(stderr, "%s: %lld more rows refused\n", a->file, (long long)r->refused - TOLD_MOST);
        if (rc == 0 && r->entities == 0)
                return err_set(err, ERR_INVALID,
                               "no row could be read: expected lines of " TRACE_HEADER
                               " (what is compressed goes through zcat)");
        return rc;
}

static int open_trace(const char *path, struct err *err)
{
        if (strcmp(path, "-") == 0)
                return STDIN_FILENO;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd >= 0 ? fd : err_set(err, ERR_IO, "%s", strerror(errno));
}

static int run(struct replay *r, const struct arguments *a, struct err *err)
{
        int rc = add_policies(r, a, err);
        if (rc < 0)
                return rc;
        int fd = open_trace(a->file, err);
        rc = fd < 0 ? fd : read_trace(r, a, fd, err);
        if (fd > STDIN_FILENO)
                close(fd);
        return rc < 0 ? err_wrap(err, "trace '%s'", a->file) : 0;
}

static int fail(int code, const struct err *err)
{
        fprintf(stderr, "halflife replay: %s\n", err->text);
        return code;
}

int cmd_replay(int argc, char **argv)
{
        struct arguments a;
        struct err err = {0};
        if (read_arguments(argc, argv, &a, &err) < 0)
                return fail(EXIT_MISUSED, &err);
        if (a.given[OPT_HELP].count) {
                print_help();
                return EXIT_DONE;
        }
        struct replay r;
        replay_init(&r, a.deploy_every_ms);
        int rc = run(&r, &a, &err);
        if (rc == 0)
                (a.json ? replay_print_json : replay_print_table)(&r, a.entities);
        replay_release(&r);
        return rc < 0 ? fail(EXIT_FAILED, &err) : EXIT_DONE;
}
