/*
 * halflife resume: holds are lifted, or the fuse is reset, and halflife goes on where its profiles say so.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/cmd.h"
#include "commands.h"
#include "restore.h"
#include "terminal.h"

enum { OPT_FUSE = SCOPE_OPTIONS, OPT_LEASE, OPT_DRY_RUN, OPT_KUBECONFIG, OPT_CONTEXT, OPT_HELP, OPTS };
static const struct option_spec spec[OPTS] = {
        RESTORE_SCOPE_OPTIONS,
        {.name = "fuse",
         .help = "reset the fuse instead, which too many changes that were taken back have blown; -n: where halflife "
                 "runs (default halflife)"},
        {.name = "lease", .value = "NAME", .help = "with --fuse: the controller's Lease (default halflife)"},
        {.name = "dry-run", .help = "tell what would be lifted, and change nothing"},
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

const struct option_spec *cmd_resume_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

static int resume_lift(struct restoring *r, struct err *err)
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
        if (r->no_crds && r->scope.words > 0)
                return err_set(err, ERR_NOTFOUND, "halflife's kinds are not installed: nothing is held");
        if (r->no_crds)
                fprintf(stderr, "halflife's kinds are not installed: nothing is held\n");
        if (r->targets == 0 && r->scope.words > 0)
                return workload_unknown(&r->scope.word[0], r->scope.ns, "it has no Recommendation", err);
        fflush(stdout);
        fprintf(stderr, "%d %s\n", lifted, r->dry_run ? "would be resumed" : "resumed");
        return 0;
}

/* --- the fuse --- */

struct fuse_place {
        bool asked;
        const char *ns, *lease;
};

static int fuse_place_read(const struct option_given *given, const struct option_words *words, struct fuse_place *ret,
                           struct err *err)
{
        int rc = option_switch(&given[OPT_FUSE], &ret->asked, err);
        const char *ns = option_value(&given[SCOPE_NAMESPACE]), *lease = option_value(&given[OPT_LEASE]);
        if (rc < 0)
                return rc;
        if (lease && !ret->asked)
                return err_set(err, ERR_INVALID, "--lease is for --fuse: give both");
        if (ret->asked &&
            (words->count || given[SCOPE_ALL].count || given[SCOPE_SELECTOR].count || given[SCOPE_ORPHANED].count))
                return err_set(err, ERR_INVALID, "--fuse is of the whole controller: leave the workloads out");
        ret->ns = ns ? ns : "halflife";
        ret->lease = lease ? lease : "halflife";
        return 0;
}

/* That it was reset stays written: whoever holds the Lease next, with an older database, learns of it. */
static int reset_fuse(struct restoring *r, const struct fuse_place *at, struct err *err)
{
        char time[WALL_TEXT_MAX], note[WALL_TEXT_MAX + 8];
        AUTO(mem_free) char *path = path_of("coordination.k8s.io", "v1", at->ns, "leases", at->lease, NULL);
        AUTO(mem_free) char *text = restore_get(r, path, err);
        if (!text)
                return err_wrap(err,
                                "read the Lease '%s' in namespace '%s' (-n and --lease say where it is; a controller "
                                "without one is reset by its setting fuse-guards: 0)",
                                at->lease, at->ns);
        AUTO(json_decref) json_t *lease = json_loads(text, 0, NULL);
        const json_t *notes = json_object_get(json_object_get(lease, "metadata"), "annotations");
        const char *blown = json_string_value(json_object_get(notes, ANNOTATION_FUSE));
        if (!blown || strncmp(blown, "reset ", 6) == 0) {
                printf("the fuse is whole: there is nothing to reset\n");
                return 0;
        }
        snprintf(note, sizeof note, "reset %s", wall_print(now_read().wall, time));
        AUTO(json_decref)
        json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANNOTATION_FUSE, note);
        AUTO(mem_free)
        char *answer = r->dry_run ? NULL : restore_patch(r, path, "application/merge-patch+json", patch, err);
        if (!r->dry_run && !answer)
                return err_wrap(err, "write the Lease '%s' in namespace '%s'", at->lease, at->ns);
        AUTO(mem_free)
        char *line = mem_printf("the fuse %s (it was blown: %s)", r->dry_run ? "would be reset" : "is reset", blown);
        printf("%s\n", terminal_tame(line));
        return 0;
}

int cmd_resume(int argc, char **argv)
{
        struct restoring r;
        struct option_given given[OPTS];
        struct option_words words;
        struct fuse_place fuse = {0};
        struct err err = {0};
        int code = EXIT_DONE;
        restoring_init(&r);
        int rc = options_parse(spec, OPTS, argc, argv, given, &words, &err);
        bool help = rc == 0 && given[OPT_HELP].count;
        if (rc == 0 && !help)
                rc = fuse_place_read(given, &words, &fuse, &err);
        if (rc == 0 && !help && !fuse.asked)
                rc = restore_scope_read(given, &words, &r.scope, &err);
        if (rc == 0 && !help)
                rc = option_switch(&given[OPT_DRY_RUN], &r.dry_run, &err);
        if (rc < 0) {
                code = EXIT_MISUSED;
        } else if (help) {
                printf("usage: %s resume [option]... [KIND/NAME]...\n\n", program_name());
                terminal_intro("Lifts the holds that halflife restore, or a person, has set: halflife goes on with "
                               "what the profiles say. With --fuse resets the fuse instead, once it is clear why so "
                               "many changes did harm: the condition Degraded of every profile names them.");
                options_print(stdout, spec, OPTS);
        } else {
                rc = session_open_given(&r.session, option_value(&given[OPT_KUBECONFIG]),
                                        option_value(&given[OPT_CONTEXT]), &err);
                if (rc == 0 && fuse.asked) {
                        rc = reset_fuse(&r, &fuse, &err);
                } else if (rc == 0) {
                        restore_scope_settle(&r.scope, &r.session);
                        rc = resume_lift(&r, &err);
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
