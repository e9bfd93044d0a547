/* halflife replay: the options, the loop over the traces and their rows. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/cmd.h"
#include "cli/options.h"
#include "commands.h"
#include "replay_compare.h"
#include "replay_policy.h"
#include "terminal.h"

enum { TOLD_MOST = 20, PROGRESS_ROWS = 1 << 18, GZIP_BUFFER = 1 << 18 };

enum {
        OPT_PROFILE,
        OPT_DEPLOY_EVERY,
        OPT_RAISE,
        OPT_WEEKLY_PEAK,
        OPT_COMPARE,
        OPT_ENTITIES,
        OPT_OUTPUT,
        OPT_HELP,
        OPTS
};
static const struct option_spec option[OPTS] = {
        {.name = "profile",
         .value = "FILE",
         .help = "Profiles or ClusterProfiles to score, may be repeated; without any, the defaults",
         .many = true},
        {.name = "deploy-every",
         .value = "TIME",
         .help = "requests change at multiples of this after an entity's first row (default 24h)"},
        {.name = "raise",
         .value = "TIME",
         .help = "score all a second time with requests raised as soon as usage stood above them for so long "
                 "(apply.raise: 15m there)"},
        {.name = "weekly-peak", .help = "memory: with weeklyPeak, whatever the profiles say"},
        {.name = "compare",
         .help = "score weeklyPeak, P95 and P99 without decay and VPA's defaults as well; a row a trace, a column a "
                 "policy"},
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
        struct option_words files;
        int64_t deploy_every_ms;
        struct raise_policy raise;
        bool weekly_peak, compare, entities, json;
};

static void replay_print_help(void)
{
        printf("usage: %s replay [option]... FILE|- ...\n\n"
               "Runs usage traces (" TRACE_HEADER "; a missing value is empty; rows sorted\n"
               "per entity; plain or gzip) through the controller's own arithmetic and scores each profile: how much "
               "of\n"
               "what it would have requested was not used (slack), and how often more was used than requested "
               "(overrun).\n"
               "'peak' requests the highest value yet seen. Changes nothing.\n\n"
               "Rows before a profile's minHistory are learned and not scored. Of a profile its resources, minHistory\n"
               "and minChangePercent count, memory also where it is off; selectors, containers, windows and cooldown\n"
               "do not.\n\n",
               program_name());
        options_print(stdout, option, OPTS);
}

/* --- arguments --- */

static int replay_read_time(const char *name, const char *value, int most_h, int64_t *ret_ms, struct err *err)
{
        int64_t ms;
        if (duration_parse(value, strlen(value), &ms) < 0 || ms < MINUTE_MS || ms > (int64_t)most_h * HOUR_MS)
                return err_set(err, ERR_INVALID,
                               "%s '%s' is not a duration from 1m to %dh, such as 24h; there are no days", name, value,
                               most_h);
        *ret_ms = ms;
        return 0;
}

static int read_times(struct arguments *a, struct err *err)
{
        const char *every = option_value(&a->given[OPT_DEPLOY_EVERY]), *after = option_value(&a->given[OPT_RAISE]);
        raise_policy_defaults(&a->raise);
        a->raise.enabled = after != NULL;
        a->deploy_every_ms = DAY_MS;
        int rc = every ? replay_read_time("deploy-every", every, 8760, &a->deploy_every_ms, err) : 0;
        return rc == 0 && after ? replay_read_time("raise", after, 24, &a->raise.after_ms, err) : rc;
}

static int read_output(const char *value, bool *ret_json, struct err *err)
{
        *ret_json = value && strcmp(value, "json") == 0;
        if (!value || *ret_json || strcmp(value, "table") == 0)
                return 0;
        return err_set(err, ERR_INVALID, "output '%s' is not one of table, json", value);
}

static int replay_read_arguments(int argc, char **argv, struct arguments *a, struct err *err)
{
        *a = (struct arguments){0};
        int rc = options_parse(option, OPTS, argc, argv, a->given, &a->files, err);
        if (rc == 0)
                rc = option_switch(&a->given[OPT_WEEKLY_PEAK], &a->weekly_peak, err);
        if (rc == 0)
                rc = option_switch(&a->given[OPT_COMPARE], &a->compare, err);
        if (rc == 0)
                rc = option_switch(&a->given[OPT_ENTITIES], &a->entities, err);
        if (rc == 0)
                rc = read_times(a, err);
        if (rc == 0)
                rc = read_output(option_value(&a->given[OPT_OUTPUT]), &a->json, err);
        if (rc < 0 || a->given[OPT_HELP].count)
                return rc;
        if (a->files.count == 0)
                return err_set(err, ERR_INVALID, "a trace is wanted: files, or '-' for standard input");
        if (a->compare && a->entities)
                return err_set(err, ERR_INVALID, "compare tells of policies, entities of one of them: ask one by one");
        return 0;
}

/* --- the trace --- */

/* Plain text comes through as it is. A file cut short is told at its end. */
static ssize_t replay_read_file(void *arg, void *buf, size_t size)
{
        gzFile gz = arg;
        int n = gzread(gz, buf, (unsigned)size), failed = Z_OK;
        if (n <= 0)
                gzerror(gz, &failed);
        if (failed == Z_OK || failed == Z_STREAM_END)
                return n;
        if (failed != Z_ERRNO)
                errno = EBADMSG;
        return -1;
}

struct file {
        const char *path;
        struct trace trace;
};

static void replay_tell_refused(const struct file *f, int64_t nth, const char *why)
{
        if (nth <= TOLD_MOST)
                fprintf(stderr, "%s:%lld: %s\n", f->path, (long long)f->trace.line, why);
}

static void tell_progress(const struct replay *r, bool last)
{
        fprintf(stderr, "\r%lld rows, %zu entities%s", (long long)r->rows, r->entities, last ? "\n" : "");
}

/* A line that is no row is counted with the refused ones. */
static int take_next(struct replay *r, struct file *f, struct err *err)
{
        struct trace_row row;
        const char *why = NULL;
        int rc = trace_next(&f->trace, &row, err);
        if (rc == 0 || rc == ERR_IO)
                return rc;
        if (rc == ERR_INVALID) {
                r->rows++;
                r->refused++;
                replay_tell_refused(f, r->refused, err->text);
                return 1;
        }
        rc = replay_row(r, &row, &why);
        if (rc == ERR_INVALID)
                replay_tell_refused(f, r->refused, why);
        if (rc == ERR_TOOBIG)
                return err_set(err, rc, "line %lld: more than %d entities: split the trace", (long long)f->trace.line,
                               REPLAY_ENTITIES);
        return 1;
}

static int read_rows(struct replay *r, struct file *f, struct err *err)
{
        bool terminal = isatty(STDERR_FILENO);
        int rc;
        while ((rc = take_next(r, f, err)) > 0)
                if (terminal && r->rows % PROGRESS_ROWS == 0)
                        tell_progress(r, false);
        if (terminal && r->rows >= PROGRESS_ROWS)
                tell_progress(r, true);
        if (r->refused > TOLD_MOST)
                fprintf(stderr, "%s: %lld more rows refused\n", f->path, (long long)r->refused - TOLD_MOST);
        if (rc == 0 && r->entities == 0)
                return err_set(err, ERR_INVALID, "no row could be read: expected lines of " TRACE_HEADER);
        return rc;
}

static gzFile open_trace(const char *path, struct err *err)
{
        bool input = strcmp(path, "-") == 0;
        int fd = input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
                err_set(err, ERR_IO, "%s", strerror(errno));
                return NULL;
        }
        gzFile gz = gzdopen(fd, "rb");
        if (!gz) {
                close(fd);
                err_set(err, ERR_IO, "no memory to read it");
                return NULL;
        }
        gzbuffer(gz, GZIP_BUFFER); /* refused: a smaller one does */
        return gz;
}

static int read_trace(struct replay *r, const char *path, struct err *err)
{
        struct file f = {.path = path};
        gzFile gz = open_trace(path, err);
        if (!gz)
                return ERR_IO;
        trace_init(&f.trace, replay_read_file, gz);
        int rc = read_rows(r, &f, err);
        trace_release(&f.trace);
        gzclose(gz);
        return rc;
}

/* --- all of them --- */

/* "web" of "traces/web.csv.gz" */
static char *trace_name(const char *path)
{
        static const char *const ends[] = {".gz", ".csv"};
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        size_t len = strlen(name);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
                size_t end = strlen(ends[i]);
                if (len > end && memcmp(name + len - end, ends[i], end) == 0)
                        len -= end;
        }
        return terminal_tame(mem_string_n(name, len));
}

static int add_policies(struct replay *r, const struct arguments *a, struct err *err)
{
        int rc = replay_policies_read(r, &a->given[OPT_PROFILE], err);
        for (int i = 0; i < r->policies && a->weekly_peak; i++)
                r->policy[i].of[MEMORY].weekly_peak = true;
        if (rc == 0 && a->compare && replay_policies_compare(r) < 0)
                return err_set(err, ERR_TOOBIG, "too many profiles to compare with anything: leave some out");
        return rc;
}

static void replay_answer(const struct replay *r, const struct arguments *a, int nth, struct replay_compare *table)
{
        AUTO(mem_free) char *name = trace_name(a->files.word[nth]);
        const char *shown = a->files.count > 1 ? name : NULL;
        if (a->json && shown)
                fputs(nth > 0 ? "," : "{\"traces\":[", stdout);
        if (a->json)
                replay_print_json(r, shown, a->entities);
        else if (a->compare)
                replay_compare_add(table, r, name);
        else
                replay_print_table(r, shown, a->entities);
        if (!a->json && !a->compare && nth < a->files.count - 1)
                putchar('\n');
}

static int run_trace(const struct arguments *a, int nth, struct replay_compare *table, struct err *err)
{
        struct replay r;
        replay_init(&r, a->deploy_every_ms, &a->raise);
        int rc = add_policies(&r, a, err);
        if (rc == 0 && (rc = read_trace(&r, a->files.word[nth], err)) < 0)
                err_wrap(err, "trace '%s'", a->files.word[nth]);
        if (rc == 0)
                replay_answer(&r, a, nth, table);
        replay_release(&r);
        return rc;
}

static int replay_run(const struct arguments *a, struct err *err)
{
        struct replay_compare table = {0};
        int rc = 0, done = 0;
        while (rc == 0 && done < a->files.count)
                if ((rc = run_trace(a, done, &table, err)) == 0)
                        done++;
        if (a->json && a->files.count > 1 && done > 0) /* whatever became of the rest */
                puts("]}");
        if (rc == 0 && a->compare && !a->json)
                replay_compare_print(&table);
        replay_compare_release(&table);
        return rc;
}

static int replay_fail(int code, struct err *err)
{
        fprintf(stderr, "halflife replay: %s\n", terminal_tame(err->text));
        return code;
}

int cmd_replay(int argc, char **argv)
{
        struct arguments a;
        struct err err = {0};
        if (replay_read_arguments(argc, argv, &a, &err) < 0)
                return replay_fail(EXIT_MISUSED, &err);
        if (a.given[OPT_HELP].count) {
                replay_print_help();
                return EXIT_DONE;
        }
        return replay_run(&a, &err) < 0 ? replay_fail(EXIT_FAILED, &err) : EXIT_DONE;
}
