/*
 * halflife resume: holds are lifted, and halflife goes on where its profiles say so.
 */
#include <stdio.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "commands.h"
#include "restore.h"
#include "terminal.h"

enum { OPT_DRY_RUN = SCOPE_OPTIONS, OPT_KUBECONFIG, OPT_CONTEXT, OPT_HELP, OPTS };
static const struct option_spec spec[OPTS] = {
        RESTORE_SCOPE_OPTIONS,
        {.name = "dry-run", .help = "tell what would be lifted, and change nothing"},
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

const struct option_spec *cmd_resume_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

static int lift(struct restoring *r, struct err *err)
{
        int lifted = 0, rc = restore_find_recommendations(r, err);
        for (size_t i = 0; rc >= 0 && i < r->targets; i++) {
                struct restore_target *t = r->target[i];
                if (!t->hold)
                        continue;
                rc = r->dry_run ? 1 : restore_resume(r, t, err);
                lifted += rc > 0;
                AUTO(mem_free)
                char *line = mem_printf("%s %s %s (it was held: %s)", t->ns, t->recommendation,
                                        r->dry_run ? "would resume" : "resumed", t->hold);
                if (rc > 0)
                        printf("%s\n", terminal_tame(line));
        }
        if (rc < 0)
                return rc;
        if (r->targets == 0 && r->scope.words > 0)
                return workload_unknown(&r->scope.word[0], r->scope.ns, "it has no Recommendation", err);
        fprintf(stderr, "%d %s\n", lifted, r->dry_run ? "would be resumed" : "resumed");
        return 0;
}

int cmd_resume(int argc, char **argv)
{
        struct restoring r;
        struct option_given given[OPTS];
        struct option_words words;
        struct err err = {0};
        int code = EXIT_DONE;
        restoring_init(&r);
        int rc = options_parse(spec, OPTS, argc, argv, given, &words, &err);
        bool help = rc == 0 && given[OPT_HELP].count;
        if (rc == 0 && !help)
                rc = restore_scope_read(given, &words, &r.scope, &err);
        if (rc == 0 && !help)
                rc = option_switch(&given[OPT_DRY_RUN], &r.dry_run, &err);
        if (rc < 0) {
                code = EXIT_MISUSED;
        } else if (help) {
                printf("usage: %s resume [option]... [KIND/NAME]...\n\nLifts the holds that halflife restore, or a "
                       "person, has set: halflife goes on with what the profiles say.\n\n",
                       program_name());
                options_print(stdout, spec, OPTS);
        } else {
                rc = session_open_given(&r.session, option_value(&given[OPT_KUBECONFIG]),
                                        option_value(&given[OPT_CONTEXT]), &err);
                if (rc == 0) {
                        restore_scope_settle(&r.scope, &r.session);
                        rc = lift(&r, &err);
                }
                if (rc < 0)
                        (void)session_advise(&err);
                code = rc < 0 ? EXIT_FAILED : EXIT_DONE;
        }
        if (rc < 0)
                fprintf(stderr, "halflife resume: %s\n", terminal_tame(err.text));
        restoring_release(&r);
        return code;
}
