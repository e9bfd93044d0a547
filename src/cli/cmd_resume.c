/*
 * halflife resume: lift holds or reset the fuse, so that halflife makes changes again.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "commands.h"
#include "kube/known_resource.h"
#include "restore.h"
#include "terminal.h"

struct resuming {
        struct restoring work;
        struct session_options where;
        bool fuse;              /* reset the fuse */
        const char *ns, *lease; /* the Lease that has the fuse, and its namespace */
};

static int resume_lift(struct restoring *r, struct err *err)
{
        int lifted = 0, rc = restore_find_recommendations(r, err);
        if (rc == 0 && r->no_crds && r->scope.words > 0)
                return err_set(err, ERR_NOTFOUND, "halflife's CRDs are not installed, so nothing is held");
        if (rc == 0)
                rc = restore_scope_check(r, err);
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
        AUTO(mem_free) char *nothing = restore_scope_nothing(&r->scope, TO_RESUME);
        fflush(stdout);
        if (r->no_crds)
                fprintf(stderr, "halflife's CRDs are not installed, so nothing is held\n");
        else if (lifted == 0)
                fprintf(stderr, "%s\n", terminal_tame(nothing));
        else
                fprintf(stderr, "%d %s\n", lifted, r->dry_run ? "would be resumed" : "resumed");
        return 0;
}

/* --- the fuse --- */

static int fuse_check(struct resuming *f, const struct option_words *words, struct err *err)
{
        const struct restore_scope *s = &f->work.scope;
        if (f->lease && !f->fuse)
                return err_set(err, ERR_INVALID, "--lease requires --fuse");
        if (f->fuse && (words->count || s->everywhere || s->labels || s->orphaned))
                return err_set(err, ERR_INVALID, "--fuse concerns the whole controller: give no workloads with it");
        f->ns = s->ns ? s->ns : "halflife";
        f->lease = f->lease ? f->lease : "halflife";
        return 0;
}

/* Reset the fuse by an annotation of the Lease. It stays, so that the next leader learns of the reset even with an
 * older database. */
static int fuse_reset(struct resuming *f, struct err *err)
{
        struct restoring *r = &f->work;
        char time[WALL_TEXT_MAX], note[WALL_TEXT_MAX + 8];
        AUTO(mem_free) char *path = known_resource_path(KNOWN_LEASES, f->ns, f->lease, NULL);
        AUTO(mem_free) char *text = restore_get(r, path, err);
        if (!text)
                return err_wrap(err,
                                "read the Lease '%s' in namespace '%s' (-n and --lease choose it; the setting "
                                "fuse-guards: 0 resets a controller without a Lease)",
                                f->lease, f->ns);
        AUTO(json_decref) json_t *lease = json_loads(text, 0, NULL);
        const json_t *notes = json_object_get(json_object_get(lease, "metadata"), "annotations");
        const char *blown = json_string_value(json_object_get(notes, ANNOTATION_FUSE));
        bool whole = !blown || strncmp(blown, "reset ", 6) == 0;
        snprintf(note, sizeof note, "reset %s", wall_print(now_read().wall, time));
        AUTO(json_decref)
        json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANNOTATION_FUSE, note);
        AUTO(mem_free)
        char *answer = r->dry_run ? NULL : restore_patch(r, path, "application/merge-patch+json", patch, err);
        if (!r->dry_run && !answer)
                return err_wrap(err, "write the Lease '%s' in namespace '%s'", f->lease, f->ns);
        AUTO(mem_free)
        char *line =
                whole ? mem_printf("the fuse is not blown; blown fuses of profiles %s reset",
                                   r->dry_run ? "would be" : "are")
                      : mem_printf("the fuse %s (it was blown: %s)", r->dry_run ? "would be reset" : "is reset", blown);
        printf("%s\n", terminal_tame(line));
        return 0;
}

/* --- the command --- */

static int resume_check(void *state, const struct command_line *line, struct err *err)
{
        struct resuming *r = state;
        int rc = fuse_check(r, &line->words, err);
        return rc < 0 || r->fuse ? rc : restore_scope_read(&r->work.scope, &line->words, err);
}

static int resume_run(void *state, struct err *err)
{
        struct resuming *r = state;
        int rc = session_open_given(&r->work.session, &r->where, err);
        if (rc == 0 && r->fuse) {
                rc = fuse_reset(r, err);
        } else if (rc == 0) {
                restore_scope_settle(&r->work.scope, &r->work.session);
                rc = resume_lift(&r->work, err);
        }
        return rc < 0 ? session_advise(err) : EXIT_DONE;
}

static void resume_release(void *state)
{
        struct resuming *r = state;
        restoring_release(&r->work);
}

/* clang-format off */
static const struct option_spec options[] = {
        RESTORE_SCOPE_OPTIONS(struct resuming, work.scope),
        {.name = "fuse", OPTION_IN(struct resuming, fuse),
         .help = "reset the blown fuses instead of lifting holds; -n is then the namespace halflife runs in (default "
                 "halflife)"},
        {.name = "lease", .value = "NAME", OPTION_IN(struct resuming, lease),
         .help = "with --fuse: name of the controller's Lease (default halflife)"},
        {.name = "dry-run", OPTION_IN(struct resuming, work.dry_run),
         .help = "list the holds that would be lifted, and change nothing"},
        SESSION_OPTIONS(struct resuming, where),
};
/* clang-format on */

const struct command command_resume = {
        .name = "resume",
        .help = "lift holds, or reset the fuse",
        .words = TAKES_WORKLOADS,
        .usage = {"[option]... [KIND/NAME]..."},
        .intro =
                "Lifts the holds that halflife restore or a person has set, so that halflife follows the profiles "
                "again.\n"
                "With --fuse, resets the fuses of the cluster and of all profiles instead. Do so once it is clear why "
                "so "
                "many\n"
                "changes did harm: condition Degraded of the ClusterProfiles names them. If a namespace or a KIND/NAME "
                "does\n"
                "not exist, the command fails before it writes anything.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct resuming),
        .check = resume_check,
        .run = resume_run,
        .release = resume_release,
};
