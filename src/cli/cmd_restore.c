/*
 * halflife restore: put all requests back to what their owners asked for. The command needs no running controller.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/noun.h"
#include "base/yaml.h"
#include "commands.h"
#include "restore.h"
#include "terminal.h"

struct restore_command {
        struct restoring work;
        struct session_options where;
        const char *budget, *timeout;
        bool json, progress;
};

/* --- arguments --- */

static int read_numbers(struct restore_command *c, struct err *err)
{
        enum { BUDGET = 5 };
        const char *budget = c->budget, *timeout = c->timeout;
        char *end = NULL;
        long n = budget ? strtol(budget, &end, 10) : BUDGET;
        int64_t ms = 5 * MINUTE_MS;
        if ((budget && (end == budget || *end)) || n < 1 || n > 1000)
                return err_set(err, ERR_INVALID, "--budget '%s' is not a number from 1 to 1000", budget);
        if (timeout && (duration_parse(timeout, strlen(timeout), &ms) < 0 || ms < SECOND_MS || ms > DAY_MS))
                return err_set(err, ERR_INVALID, "--timeout '%s' is not a duration from 1s to 24h, such as 5m",
                               timeout);
        c->work.budget = (int)n;
        c->work.timeout_ms = ms;
        return 0;
}

static int restore_check(void *state, const struct command_line *line, struct err *err)
{
        struct restore_command *c = state;
        c->work.reason = c->work.reason ? c->work.reason : "halflife restore";
        AUTO(json_decref) json_t *hold = json_string(c->work.reason); /* NULL: the reason is not UTF-8 */
        if (!hold || !*c->work.reason || strlen(c->work.reason) > 1024)
                return err_set(err, ERR_INVALID, "--reason must not be empty, and is at most 1024 bytes of UTF-8");
        int rc = restore_scope_read(&c->work.scope, &line->words, err);
        return rc < 0 ? rc : read_numbers(c, err);
}

/* --- printing --- */

static void restore_wipe(const struct restore_command *c)
{
        if (c->progress)
                fputs("\r\033[K", stderr);
}

static void on_ended(struct restoring *r, const struct restore_target *t)
{
        const struct restore_command *c = r->arg;
        if (c->json || (t->result == RESULT_UNCHANGED && r->scope.words == 0))
                return;
        restore_wipe(c);
        restore_print(stdout, t, r->dry_run);
        fflush(stdout);
}

static void on_looked(struct restoring *r)
{
        const struct restore_command *c = r->arg;
        const struct restore_target *one = NULL;
        size_t ended = 0, under_way = 0;
        if (!c->progress)
                return;
        for (size_t i = 0; i < r->targets; i++) {
                const struct restore_target *t = r->target[i];
                bool works = t->step != STEP_END && t->step != STEP_WAITING;
                ended += t->step == STEP_END;
                under_way += works;
                one = works && !one ? t : one;
        }
        struct terminal terminal;
        AUTO(mem_free)
        char *line =
                mem_printf("%zu of %zu, %zu under way%s%s%s%s", ended, r->targets, under_way, one ? ": " : "",
                           one ? one->key : "", one && one->trouble.code ? ": " : "", one ? one->trouble.text : "");
        terminal_read(stderr, &terminal);
        fprintf(stderr, "\r\033[K%.*s", terminal.columns - 1, terminal_tame(line));
        fflush(stderr);
}

struct sum {
        size_t of[RESULT_FAILED + 1], held;
};

static struct sum sum_up(const struct restoring *r)
{
        struct sum s = {0};
        for (size_t i = 0; i < r->targets; i++) {
                const struct restore_target *t = r->target[i];
                s.of[t->result]++;
                s.held += t->hold != NULL;
        }
        return s;
}

static void restore_tell(const struct restore_command *c, const struct sum *s)
{
        const struct restoring *r = &c->work;
        restore_wipe(c);
        fflush(stdout); /* so that the results stand before the errors if both go to one file */
        if (r->no_crds)
                fprintf(stderr, "halflife's CRDs are not installed, so no hold was set\n");
        else if (r->bare > 0 && !r->dry_run)
                fprintf(stderr,
                        "without a Recommendation to hold: %zu of them, which a running controller may lower again\n",
                        r->bare);
        AUTO(mem_free) char *nothing = restore_scope_nothing(&r->scope, TO_RESTORE);
        if (r->wanted == 0 && s->of[RESULT_UNCHANGED] == r->targets)
                fprintf(stderr, "%s\n", terminal_tame(nothing));
        else
                fprintf(stderr,
                        "%zu %s, %zu left with values of halflife, %zu failed, %zu not begun, %zu had no such values\n",
                        s->of[RESULT_RESTORED], r->dry_run ? "would be restored" : "restored", s->of[RESULT_LEFT],
                        s->of[RESULT_FAILED], s->of[RESULT_NONE], s->of[RESULT_UNCHANGED]);
        if (s->held > 0 && !r->dry_run)
                fprintf(stderr, "%zu held: halflife changes nothing there until %s resume lifts the holds\n", s->held,
                        program_name());
        if (r->interrupted)
                fprintf(stderr, "interrupted: rollouts and resizes that have begun continue by themselves\n");
        if (s->of[RESULT_FAILED] || s->of[RESULT_NONE])
                fprintf(stderr, "run the same command again to continue\n");
}

static void restore_print_json(const struct restoring *r)
{
        json_t *results = json_array(), *all = json_pack("{s:b, s:o}", "dryRun", r->dry_run, "workloads", results);
        for (size_t i = 0; i < r->targets; i++)
                json_array_append_new(results, restore_json(r->target[i], r->dry_run));
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        printf("\n");
        json_decref(all);
}

/* --- restoring --- */

static void restore_on_signal(void *arg, int signo)
{
        struct restoring *r = arg;
        (void)signo;
        if (r->interrupted)
                _exit(EXIT_FAILED);
        r->interrupted = true;
}

/* Find, hold and restore the targets. A change that was under way when a hold was set is found at the end, and restored
 * too. */
static int restore_work(struct restoring *r, struct err *err)
{
        enum { PASSES = 3 };
        int rc = restore_find(r, err);
        if (rc == 0)
                rc = restore_scope_check(r, err);
        if (rc == 0 && !r->dry_run)
                rc = restore_hold(r, err);
        for (int pass = 1; rc >= 0; pass++) {
                restore_run(r);
                if (pass == PASSES || r->dry_run || r->stopped || r->interrupted)
                        return 0;
                rc = restore_find_again(r, err);
                if (rc == 0)
                        return 0;
        }
        return rc;
}

static int restore_workloads(struct restore_command *c, struct err *err)
{
        struct restoring *r = &c->work;
        struct terminal terminal;
        int rc = session_open_given(&r->session, &c->where, err);
        if (rc < 0)
                return rc;
        (void)loop_signal(r->session.loop, SIGINT, restore_on_signal, r);
        (void)loop_signal(r->session.loop, SIGTERM, restore_on_signal, r);
        restore_scope_settle(&r->scope, &r->session);
        terminal_read(stderr, &terminal);
        c->progress = terminal.moves;
        r->ended = on_ended;
        r->looked = on_looked;
        r->arg = c;
        rc = restore_work(r, err);
        restore_wipe(c);
        return rc < 0 ? session_advise(err) : 0;
}

static int restore_command_run(void *state, struct err *err)
{
        struct restore_command *c = state;
        int rc = restore_workloads(c, err);
        struct sum s = sum_up(&c->work);
        if (c->json && (rc == 0 || c->work.targets > 0))
                restore_print_json(&c->work);
        if (rc < 0)
                return rc;
        restore_tell(c, &s);
        return s.of[RESULT_FAILED] || s.of[RESULT_NONE] ? EXIT_FAILED : EXIT_DONE;
}

static void restore_release(void *state)
{
        struct restore_command *c = state;
        restoring_release(&c->work);
}

/* clang-format off */
static const struct option_spec options[] = {
        RESTORE_SCOPE_OPTIONS(struct restore_command, work.scope),
        {.name = "budget", .value = "N", OPTION_IN(struct restore_command, budget),
         .help = "most workloads to restore at the same time, 1 to 1000 (default 5)"},
        {.name = "timeout", .value = "DURATION", OPTION_IN(struct restore_command, timeout),
         .help = "longest time without progress before restore gives a workload up, 1s to 24h (default 5m)"},
        {.name = "restart", OPTION_IN(struct restore_command, work.restart),
         .help = "restart workloads whose running pods cannot be resized, as kubectl rollout restart does"},
        {.name = "dry-run", OPTION_IN(struct restore_command, work.dry_run),
         .help = "list what would be restored, and change nothing"},
        {.name = "reason", .value = "TEXT", OPTION_IN(struct restore_command, work.reason),
         .help = "reason to record in the hold (default \"halflife restore\")"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "text|json",
         OPTION_IN(struct restore_command, json),
         .help = "text or json (default text); json has a result for each workload: restored, left, unchanged, failed "
                 "or notBegun; with --dry-run wouldRestore or wouldLeave"},
        SESSION_OPTIONS(struct restore_command, where),
};
/* clang-format on */

const struct command command_restore = {
        .name = "restore",
        .help = "restore the owners' original requests; needs no controller",
        .words = TAKES_WORKLOADS,
        .usage = {"[option]... [KIND/NAME]..."},
        .intro = "Restores the owners' original requests and the autoscalers' original targets. First sets a hold on "
                 "each\n"
                 "workload, so that no controller lowers it again. Then restores up to --budget workloads at a time; "
                 "the next\n"
                 "begins when the pods of one run. Needs only the API server. halflife resume lifts the holds. If a "
                 "namespace or a\n"
                 "KIND/NAME does not exist, the command fails before it writes anything.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct restore_command),
        .check = restore_check,
        .run = restore_command_run,
        .release = restore_release,
};
