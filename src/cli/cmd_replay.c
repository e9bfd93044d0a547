/* halflife replay: the options, the profiles, the loop over the trace. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "replay.h"

enum { PROFILE_BYTES_MAX = 1 << 20, TOLD_MOST = 20, PROGRESS_ROWS = 1 << 18 };

static const char help[] =
        "usage: halflife replay [--profile FILE]... [--deploy-every 24h] [--entities] [-o table|json] FILE|-\n"
        "\n"
        "Run a usage trace (entity,timestamp_s,cpu_cores,memory_bytes; a missing value is empty; rows sorted per\n"
        "entity) through the controller's own arithmetic and score each profile: how much of what it would have\n"
        "requested was not used (slack), and how often more was used than requested (overrun). `peak` requests the\n"
        "highest value yet seen. Changes nothing.\n"
        "\n"
        "  --profile FILE      a Profile or ClusterProfile to score; may be repeated; without any, the defaults\n"
        "  --deploy-every 24h  requests change at multiples of this after an entity's first row\n"
        "  --entities          tell what is known of each entity at its end, under the first profile\n"
        "  -o table|json       how to answer\n";

struct options {
        const char *profile[REPLAY_POLICIES];
        int profiles;
        int64_t deploy_every_ms;
        bool entities, json;
        const char *file;
};

static int misused(const char *what, const char *cure)
{
        fprintf(stderr, "halflife replay: %s: %s\n", what, cure);
        return EXIT_MISUSED;
}

static int take_profile(struct options *o, const char *value)
{
        if (o->profiles == REPLAY_POLICIES)
                return misused("--profile", "at most 16 are scored side by side");
        o->profile[o->profiles++] = value;
        return EXIT_DONE;
}

static int take_deploy_every(struct options *o, const char *value)
{
        int64_t ms;
        if (duration_parse(value, strlen(value), &ms) < 0 || ms < MINUTE_MS || ms > INT64_C(8760) * HOUR_MS)
                return misused("--deploy-every", "a duration from 1m to 8760h, such as 24h; there are no days");
        o->deploy_every_ms = ms;
        return EXIT_DONE;
}

static int take_output(struct options *o, const char *value)
{
        o->json = strcmp(value, "json") == 0;
        return o->json || strcmp(value, "table") == 0 ? EXIT_DONE : misused("-o", "table or json");
}

static int take_option(struct options *o, int which, char **argv)
{
        switch (which) {
        case 'p':
                return take_profile(o, optarg);
        case 'd':
                return take_deploy_every(o, optarg);
        case 'e':
                o->entities = true;
                return EXIT_DONE;
        case 'o':
                return take_output(o, optarg);
        case ':':
                return misused(argv[optind - 1], "needs a value; see halflife replay --help");
        default:
                return misused(argv[optind - 1], "is no option of replay; see halflife replay --help");
        }
}

/* EXIT_DONE, EXIT_MISUSED; *ret_help: the help is all that is wanted. */
static int read_options(int argc, char **argv, struct options *o, bool *ret_help)
{
        static const struct option known[] = {
                {"profile", required_argument, NULL, 'p'}, {"deploy-every", required_argument, NULL, 'd'},
                {"entities", no_argument, NULL, 'e'},      {"output", required_argument, NULL, 'o'},
                {"help", no_argument, NULL, 'h'},          {0},
        };
        *o = (struct options){.deploy_every_ms = DAY_MS};
        optind = 0;
        opterr = 0;
        for (int which; (which = getopt_long(argc, argv, ":o:h", known, NULL)) != -1;) {
                *ret_help = *ret_help || which == 'h';
                int rc = which == 'h' ? EXIT_DONE : take_option(o, which, argv);
                if (rc != EXIT_DONE || *ret_help)
                        return rc;
        }
        if (argc - optind != 1)
                return misused(argc > optind ? argv[optind + 1] : "FILE",
                               "one trace is wanted, or - for standard input; see halflife replay --help");
        o->file = argv[optind];
        return EXIT_DONE;
}

/* --- profiles ---------------------------------------------------------------------------------------------------- */

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

static int add_policies(struct replay *r, const struct options *o, struct err *err)
{
        struct profile_spec defaults;
        int rc = 0;
        for (int i = 0; rc == 0 && i < o->profiles; i++)
                rc = add_profiles(r, o->profile[i], err);
        if (rc < 0 || o->profiles > 0)
                return rc;
        rc = profile_spec_read(NULL, &defaults, err);
        if (rc == 0)
                rc = replay_add_policy(r, "default", &defaults);
        return rc;
}

/* --- the trace --------------------------------------------------------------------------------------------------- */

static ssize_t read_file(void *arg, void *buf, size_t size)
{
        return read(*(const int *)arg, buf, size);
}

static void tell_refused(const struct options *o, const struct trace *t, int64_t nth, const char *why)
{
        if (nth <= TOLD_MOST)
                fprintf(stderr, "%s:%lld: %s\n", o->file, (long long)t->line, why);
}

static void tell_progress(const struct replay *r, bool last)
{
        fprintf(stderr, "\r%lld rows, %zu entities%s", (long long)r->rows, r->entities, last ? "\n" : "");
}

/* bad: lines that are no rows; they are counted with the refused. */
static int take_next(struct replay *r, struct trace *t, const struct options *o, struct err *err)
{
        struct trace_row row;
        const char *why = NULL;
        int rc = trace_next(t, &row, err);
        if (rc == 0 || rc == ERR_IO)
                return rc;
        if (rc == ERR_INVALID) {
                r->rows++;
                r->refused++;
                tell_refused(o, t, r->refused, err->text);
                return 1;
        }
        rc = replay_row(r, &row, &why);
        if (rc == ERR_INVALID)
                tell_refused(o, t, r->refused, why);
        if (rc == ERR_TOOBIG)
                return err_set(err, rc, "line %lld: more than %d entities: split the trace", (long long)t->line,
                               REPLAY_ENTITIES);
        return 1;
}

static int read_trace(struct replay *r, const struct options *o, int fd, struct err *err)
{
        bool terminal = isatty(STDERR_FILENO);
        struct trace t;
        int rc;
        trace_init(&t, read_file, &fd);
        while ((rc = take_next(r, &t, o, err)) > 0)
                if (terminal && r->rows % PROGRESS_ROWS == 0)
                        tell_progress(r, false);
        if (terminal && r->rows >= PROGRESS_ROWS)
                tell_progress(r, true);
        trace_release(&t);
        if (r->refused > TOLD_MOST)
                fprintf(stderr, "%s: %lld more rows refused\n", o->file, (long long)r->refused - TOLD_MOST);
        if (rc == 0 && r->entities == 0)
                return err_set(err, ERR_INVALID, "no row could be read: expected lines of " TRACE_HEADER);
        return rc;
}

static int open_trace(const char *path, struct err *err)
{
        if (strcmp(path, "-") == 0)
                return STDIN_FILENO;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd >= 0 ? fd : err_set(err, ERR_IO, "%s", strerror(errno));
}

static int run(struct replay *r, const struct options *o, struct err *err)
{
        int rc = add_policies(r, o, err);
        if (rc < 0)
                return rc;
        int fd = open_trace(o->file, err);
        rc = fd < 0 ? fd : read_trace(r, o, fd, err);
        if (fd > STDIN_FILENO)
                close(fd);
        return rc < 0 ? err_wrap(err, "trace '%s'", o->file) : 0;
}

int cmd_replay(int argc, char **argv)
{
        struct options o;
        bool want_help = false;
        int rc = read_options(argc, argv, &o, &want_help);
        if (want_help)
                fputs(help, stdout);
        if (rc != EXIT_DONE || want_help)
                return rc;
        struct replay r;
        struct err err = {0};
        replay_init(&r, o.deploy_every_ms);
        rc = run(&r, &o, &err);
        if (rc < 0)
                fprintf(stderr, "halflife replay: %s\n", err.text);
        else
                (o.json ? replay_print_json : replay_print_table)(&r, o.entities);
        replay_release(&r);
        if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
                fprintf(stderr, "halflife replay: the answer could not be written: %s\n", strerror(errno));
                return EXIT_FAILED;
        }
        return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}
