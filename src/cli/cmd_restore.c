/*
 * halflife restore: everything back as its owners had it. It needs no controller.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "commands.h"
#include "restore.h"
#include "terminal.h"

enum {
        OPT_BUDGET = SCOPE_OPTIONS,
        OPT_TIMEOUT,
        OPT_RESTART,
        OPT_DRY_RUN,
        OPT_REASON,
        OPT_OUTPUT,
        OPT_KUBECONFIG,
        OPT_CONTEXT,
        OPT_HELP,
        OPTS
};
static const struct option_spec spec[OPTS] = {
        RESTORE_SCOPE_OPTIONS,
        {.name = "budget", .value = "N", .help = "at most so many workloads at once, 1 to 1000 (default 5)"},
        {.name = "timeout",
         .value = "DURATION",
         .help = "how long a workload may stand still before it is given up, 1s to 24h (default 5m)"},
        {.name = "restart",
         .help = "roll the workloads whose running pods cannot be resized, as kubectl rollout restart does"},
        {.name = "dry-run", .help = "tell what would be put back, and change nothing"},
        {.name = "reason",
         .value = "TEXT",
         .help = "what the hold says, for whoever finds it (default \"halflife restore\")"},
        {.name = "output",
         .letter = 'o',
         .value = "FORMAT",
         .help = "text or json (default text); json has the result of each: restored, left, unchanged, failed or "
                 "notBegun, under --dry-run wouldRestore or wouldLeave"},
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

const struct option_spec *cmd_restore_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

struct restore_command {
        struct restoring work;
        struct option_given given[OPTS];
        bool json, progress;
};

/* --- arguments --- */

static int read_numbers(struct restore_command *c, struct err *err)
{
        const char *budget = option_value(&c->given[OPT_BUDGET]), *timeout = option_value(&c->given[OPT_TIMEOUT]);
        char *end = NULL;
        long n = budget ? strtol(budget, &end, 10) : c->work.budget;
        int64_t ms = c->work.timeout_ms;
        if ((budget && (end == budget || *end)) || n < 1 || n > 1000)
                return err_set(err, ERR_INVALID, "--budget '%s' is no number from 1 to 1000", budget);
        if (timeout && (duration_parse(timeout, strlen(timeout), &ms) < 0 || ms < SECOND_MS || ms > DAY_MS))
                return err_set(err, ERR_INVALID, "--timeout '%s' is no duration from 1s to 24h, such as 5m", timeout);
        c->work.budget = (int)n;
        c->work.timeout_ms = ms;
        return 0;
}

static int restore_read_arguments(struct restore_command *c, int argc, char **argv, struct err *err)
{
        struct option_words words;
        int rc = options_parse(spec, OPTS, argc, argv, c->given, &words, err);
        if (rc < 0 || c->given[OPT_HELP].count)
                return rc;
        const char *output = option_value(&c->given[OPT_OUTPUT]), *reason = option_value(&c->given[OPT_REASON]);
        c->json = output && strcmp(output, "json") == 0;
        c->work.reason = reason ? reason : "halflife restore";
        if (output && !c->json && strcmp(output, "text") != 0)
                return err_set(err, ERR_INVALID, "output '%s' is not one of text, json", output);
        AUTO(json_decref) json_t *hold = json_string(c->work.reason); /* NULL: no UTF-8 */
        if (!hold || !*c->work.reason || strlen(c->work.reason) > 1024)
                return err_set(err, ERR_INVALID, "--reason wants some words, 1024 bytes of UTF-8 at most");
        rc = restore_scope_read(c->given, &words, &c->work.scope, err);
        if (rc == 0)
                rc = read_numbers(c, err);
        if (rc == 0)
                rc = option_switch(&c->given[OPT_RESTART], &c->work.restart, err);
        return rc < 0 ? rc : option_switch(&c->given[OPT_DRY_RUN], &c->work.dry_run, err);
}

/* --- telling --- */

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
        fflush(stdout); /* the lines first, wherever both go */
        if (r->no_crds)
                fprintf(stderr, "halflife's kinds are not installed: nothing could be held\n");
        else if (r->bare > 0 && !r->dry_run)
                fprintf(stderr,
                        "%zu of them have no Recommendation that could be held: a controller that runs may lower them "
                        "again\n",
                        r->bare);
        fprintf(stderr, "%zu %s, %zu left, %zu failed, %zu not begun, %zu had nothing of halflife\n",
                s->of[RESULT_RESTORED], r->dry_run ? "would be restored" : "restored", s->of[RESULT_LEFT],
                s->of[RESULT_FAILED], s->of[RESULT_NONE], s->of[RESULT_UNCHANGED]);
        if (s->held > 0 && !r->dry_run)
                fprintf(stderr, "%zu held: halflife leaves them alone until %s resume lifts it\n", s->held,
                        program_name());
        if (r->interrupted)
                fprintf(stderr, "interrupted: what was begun goes on by itself\n");
        if (s->of[RESULT_FAILED] || s->of[RESULT_NONE])
                fprintf(stderr, "the same command again goes on from here\n");
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

/* --- doing --- */

static void restore_on_signal(void *arg, int signo)
{
        struct restoring *r = arg;
        (void)signo;
        if (r->interrupted)
                _exit(EXIT_FAILED);
        r->interrupted = true;
}

/* What came before the hold was heard of is found when all is done, and put back as well. */
static int restore_work(struct restoring *r, struct err *err)
{
        enum { PASSES = 3 };
        int rc = restore_find(r, err);
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
        int rc = session_open_given(&r->session, option_value(&c->given[OPT_KUBECONFIG]),
                                    option_value(&c->given[OPT_CONTEXT]), err);
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

int cmd_restore(int argc, char **argv)
{
        struct restore_command c = {0};
        struct err err = {0};
        int code = EXIT_DONE;
        restoring_init(&c.work);
        if (restore_read_arguments(&c, argc, argv, &err) < 0) {
                fprintf(stderr, "halflife restore: %s\n", err.text);
                code = EXIT_MISUSED;
        } else if (c.given[OPT_HELP].count) {
                printf("usage: %s restore [option]... [KIND/NAME]...\n\n", program_name());
                terminal_intro(
                        "Requests, and what autoscalers go by, back as their owners had them. First each is held, so "
                        "that nothing lowers it again; then workload by workload its values go back, and the next "
                        "begins when its pods run. Needs the API server alone. halflife resume lifts the holds.");
                options_print(stdout, spec, OPTS);
        } else {
                int rc = restore_workloads(&c, &err);
                struct sum s = sum_up(&c.work);
                if (c.json && (rc == 0 || c.work.targets > 0))
                        restore_print_json(&c.work);
                if (rc < 0)
                        fprintf(stderr, "halflife restore: %s\n", terminal_tame(err.text));
                if (rc == 0)
                        restore_tell(&c, &s);
                code = rc < 0 || s.of[RESULT_FAILED] || s.of[RESULT_NONE] ? EXIT_FAILED : EXIT_DONE;
        }
        restoring_release(&c.work);
        return code;
}
