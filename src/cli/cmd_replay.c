/* halflife replay: the options, and the loop that replays each trace and prints its row. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/noun.h"
#include "base/yaml.h"
#include "commands.h"
#include "replay_compare.h"
#include "replay_nodes.h"
#include "replay_policy.h"
#include "terminal.h"

enum { TOLD_MOST = 20, PROGRESS_ROWS = 1 << 18, GZIP_BUFFER = 1 << 18 };

struct arguments {
        const struct option_given *profiles;
        const struct option_given *owners;
        const char *every, *after, *size, *draws; /* the options' values as given; NULL: not given */
        struct option_words files;
        int64_t deploy_every_ms;
        struct raise_policy raise;
        bool weekly_peak, compare, halves, entities, json;
        struct replay_nodes nodes; /* read only if `size` is given */
};

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
        raise_policy_defaults(&a->raise);
        a->raise.enabled = a->after != NULL;
        a->deploy_every_ms = DAY_MS;
        int rc = a->every ? replay_read_time("deploy-every", a->every, 8760, &a->deploy_every_ms, err) : 0;
        return rc == 0 && a->after ? replay_read_time("raise", a->after, 24, &a->raise.after_ms, err) : rc;
}

static int replay_check(void *state, const struct command_line *line, struct err *err)
{
        struct arguments *a = state;
        a->files = line->words;
        int rc = read_times(a, err);
        if (rc < 0)
                return rc;
        if (a->files.count == 0)
                return err_set(err, ERR_INVALID, "give a trace: files, or '-' for standard input");
        if (a->compare && a->entities)
                return err_set(err, ERR_INVALID, "--compare and --entities exclude each other");
        if (!a->size && (a->draws || a->owners->count > 0))
                return err_set(err, ERR_INVALID, "--draws and --owners need --nodes");
        for (int i = 0; i < a->files.count; i++)
                if (a->halves && strcmp(a->files.word[i], "-") == 0)
                        return err_set(err, ERR_INVALID,
                                       "--halves cannot read standard input: it reads a trace thrice");
        return a->size ? replay_nodes_read(&a->nodes, a->size, a->draws, err) : 0;
}

/* --- the trace --- */

/* The trace_source of a file. gzread also reads a file that is not compressed. It reports a truncated file only at the
 * end. */
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

/* A trace is replayed whole, and with --halves once more for each half of its entities. */
enum { WHOLE, PARTS_WITH_HALVES = 3 };

struct file {
        const char *path;
        struct trace trace;
        int part;       /* what is replayed: WHOLE, or the half 1 or 2 */
        bool has_other; /* some row belongs to the other half of the entities */
};

/* The half that an entity belongs to, 1 or 2: by its name alone, so always the same. */
static int half_of(struct text entity)
{
        return 1 + (int)(digest_bytes(0, entity.p, entity.len) >> 32 & 1);
}

/* Print why a row was refused, if it is among the first TOLD_MOST. The rows of a half were told with the whole trace.
 */
static void replay_tell_refused(const struct file *f, int64_t nth, const char *why)
{
        if (f->part == WHOLE && nth <= TOLD_MOST)
                fprintf(stderr, "%s:%lld: %s\n", f->path, (long long)f->trace.line, why);
}

static void tell_progress(const struct replay *r, bool last)
{
        fprintf(stderr, "\r%s, %s%s", NOUN_COUNT(r->rows, "row"), NOUN_COUNT(r->entities, "entity"), last ? "\n" : "");
}

/* Read and replay one line. A line that is not a row of a trace counts as refused. */
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
        if (f->part != WHOLE && half_of(row.entity) != f->part) {
                f->has_other = true;
                return 1;
        }
        rc = replay_row(r, &row, &why);
        if (rc == ERR_INVALID)
                replay_tell_refused(f, r->refused, why);
        if (rc == ERR_TOOBIG)
                return err_set(err, rc, "line %lld: more than %d entities%s: split the trace", (long long)f->trace.line,
                               REPLAY_ENTITIES, r->keeps_loads ? ", or too many rows for --nodes" : "");
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
        if (f->part == WHOLE && r->refused > TOLD_MOST)
                fprintf(stderr, "%s: %s refused\n", f->path, NOUN_COUNT(r->refused - TOLD_MOST, "more row"));
        if (rc == 0 && r->entities == 0 && !f->has_other)
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
                err_set(err, ERR_IO, "not enough memory to read the file");
                return NULL;
        }
        gzbuffer(gz, GZIP_BUFFER); /* if zlib refuses the size, its smaller default buffer works too */
        return gz;
}

static int read_trace(struct replay *r, const char *path, int part, struct err *err)
{
        struct file f = {.path = path, .part = part};
        gzFile gz = open_trace(path, err);
        if (!gz)
                return ERR_IO;
        trace_init(&f.trace, replay_read_file, gz);
        int rc = read_rows(r, &f, err);
        trace_release(&f.trace);
        gzclose(gz);
        return rc;
}

/* --- all traces --- */

/* The name of a trace: "web" from "traces/web.csv.gz"; "web/1" for its first half. */
static char *trace_name(const char *path, int part)
{
        static const char *const ends[] = {".gz", ".csv"};
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        size_t len = strlen(name);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
                size_t end = strlen(ends[i]);
                if (len > end && memcmp(name + len - end, ends[i], end) == 0)
                        len -= end;
        }
        AUTO(mem_free) char *whole = mem_string_n(name, len);
        return terminal_tame(part == WHOLE ? STEAL(&whole) : mem_printf("%s/%d", whole, part));
}

static int add_policies(struct replay *r, const struct arguments *a, struct err *err)
{
        int rc = replay_policies_read(r, a->profiles, err);
        for (int i = 0; i < r->policies && a->weekly_peak; i++)
                r->policy[i].of[MEMORY].weekly_peak = true;
        if (rc == 0 && a->compare && replay_policies_compare(r) < 0)
                return err_set(err, ERR_TOOBIG, "too many profiles for --compare: leave some out");
        return rc;
}

static int replay_parts(const struct arguments *a)
{
        return a->halves ? PARTS_WITH_HALVES : 1;
}

/* The number of answers: one for each part of each trace. */
static int replay_answers(const struct arguments *a)
{
        return a->files.count * replay_parts(a);
}

static void replay_answer(const struct replay *r, struct arguments *a, int nth, struct replay_compare *table)
{
        AUTO(mem_free) char *name = trace_name(a->files.word[nth / replay_parts(a)], nth % replay_parts(a));
        const char *shown = replay_answers(a) > 1 ? name : NULL;
        if (a->json && shown)
                fputs(nth > 0 ? "," : "{\"traces\":[", stdout);
        if (a->size && !a->json)
                replay_nodes_add(&a->nodes, r, name);
        AUTO(json_decref) json_t *nodes = a->size && a->json ? replay_nodes_json(&a->nodes, r) : NULL;
        if (a->json)
                replay_print_json(r, shown, a->entities, nodes);
        else if (a->compare)
                replay_compare_add(table, r, name);
        else
                replay_print_table(r, shown, a->entities);
        if (!a->json && !a->compare && nth < replay_answers(a) - 1)
                putchar('\n');
}

static int run_trace(struct arguments *a, int nth, struct replay_compare *table, struct err *err)
{
        struct replay r;
        replay_init(&r, a->deploy_every_ms, &a->raise);
        r.keeps_loads = a->size != NULL;
        r.owners = &a->nodes.owners;
        int rc = add_policies(&r, a, err);
        const char *path = a->files.word[nth / replay_parts(a)];
        if (rc == 0 && (rc = read_trace(&r, path, nth % replay_parts(a), err)) < 0)
                err_wrap(err, "trace '%s'", path);
        if (rc == 0)
                replay_answer(&r, a, nth, table);
        replay_release(&r);
        return rc;
}

static int replay_run(void *state, struct err *err)
{
        struct arguments *a = state;
        struct replay_compare table = {0};
        int rc = replay_nodes_read_owners(&a->nodes, a->owners, err), done = 0;
        while (rc == 0 && done < replay_answers(a))
                if ((rc = run_trace(a, done, &table, err)) == 0)
                        done++;
        if (a->json && replay_answers(a) > 1 && done > 0) /* end the JSON even if a later trace failed */
                puts("]}");
        if (rc == 0 && a->compare && !a->json)
                replay_compare_print(&table);
        if (rc == 0 && a->size && !a->json)
                replay_nodes_print(&a->nodes);
        replay_nodes_release(&a->nodes);
        replay_compare_release(&table);
        return rc < 0 ? rc : EXIT_DONE;
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "profile", .value = "FILE", .many = true, OPTION_IN(struct arguments, profiles),
         .help = "file of Profiles or ClusterProfiles to score, may be repeated; default: a profile with all defaults"},
        {.name = "deploy-every", .value = "TIME", OPTION_IN(struct arguments, every),
         .help = "time between two deploys of an entity, from its first row on (default 24h)"},
        {.name = "raise", .value = "TIME", OPTION_IN(struct arguments, after),
         .help = "score every profile a second time, raising a request once usage has been above it for this time "
                 "(as apply.raise does, after 15m)"},
        {.name = "weekly-peak", OPTION_IN(struct arguments, weekly_peak),
         .help = "turn on weeklyPeak for memory, whatever the profiles say"},
        {.name = "compare", OPTION_IN(struct arguments, compare),
         .help = "also score weeklyPeak, P95 and P99 without decay, and VPA's defaults; print a row for each trace "
                 "and a column for each policy"},
        {.name = "halves", OPTION_IN(struct arguments, halves),
         .help = "also replay each half of a trace's entities, which shows what differs by chance alone"},
        {.name = "nodes", .value = "CORES,MEMORY", OPTION_IN(struct arguments, size),
         .help = "pack the entities as pods on nodes of this size (16,64Gi), each day by what every policy asks for, and "
                 "print the nodes needed, how often they are short of CPU, and how often memory is used up"},
        {.name = "draws", .value = "N", OPTION_IN(struct arguments, draws),
         .help = "how many halves of the entities are packed, at random but the same each time (default 5)"},
        {.name = "owners", .value = "FILE", .many = true, OPTION_IN(struct arguments, owners),
         .help = "file of what the entities' owners ask for (entity,cpu_cores,memory_bytes), to pack by it as well; may "
                 "be repeated"},
        {.name = "entities", OPTION_IN(struct arguments, entities),
         .help = "print each entity's percentiles and model after its last row, under the first profile"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "table|json", OPTION_IN(struct arguments, json),
         .help = "table or json (default table)"},
};
/* clang-format on */

const struct command command_replay = {
        .name = "replay",
        .help = "score profiles on usage traces",
        .words = TAKES_FILES,
        .usage = {"[option]... FILE|- ..."},
        .intro =
                "Reads usage traces (" TRACE_HEADER "; a missing value is empty; rows sorted\n"
                "by time within each entity; plain or gzip) and scores profiles on them with the controller's own\n"
                "arithmetic. Slack is the requested amount that was not used; an overrun is usage above the request.\n"
                "The policy 'peak' requests the highest value seen so far. Changes nothing.\n\n"
                "A profile of mode InPlace or Rollout is played as the controller does, at each row: up an hour after\n"
                "the last change, down after the cooldown. OnDeploy and Recommend change at deploys.\n"
                "A row is scored for all policies or for none: the longest minHistory must be over,\n"
                "or early.after where a profile has apply.early.\n"
                "Memory counts even if the profile turns it off, and a percentile may have tenths (97.5). Selectors,\n"
                "containers, overcommit, windows, budget and canaries do not count.\n\n"
                "With --nodes, entities are pods on nodes: packed each day (UTC) by the requests at its first row, "
                "first\n"
                "fit decreasing, and their usage summed in slots of 5 minutes. The table also has the\n"
                "owners' requests, if every entity has one, and 'clairvoyant': each pod's highest usage of the day to "
                "come.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct arguments),
        .check = replay_check,
        .run = replay_run,
};
