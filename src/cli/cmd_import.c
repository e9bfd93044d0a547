/*
 * halflife import: add older histories to those of a cluster. These come from the checkpoints of a Vertical Pod
 * Autoscaler or from a file of halflife export. Only the controller writes histories, so the command asks the
 * controller to add them (import.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/yaml.h"
#include "commands.h"
#include "import.h"
#include "terminal.h"

struct import_command {
        struct importing work;
        struct session_options where;
        const struct option_given *ns;
        const char *timeout, *half_life[RESOURCES];
        bool all;
        const char *file; /* path of the file; NULL: import from VPAs */
        struct mapping {
                struct text from, to;
                bool used;  /* the file has a history of namespace `from` */
        } map[OPTION_MANY]; /* pairs of namespaces, old and new; no pair: all namespaces keep their names */
        int maps;
        bool check; /* the file is read only to check that it is whole */
        struct import_vpa_scope vpa;
};

/* --- arguments --- */

static int read_duration(const char *option, const char *text, int64_t least, int64_t most, int64_t *ret,
                         struct err *err)
{
        char shortest[DURATION_TEXT_MAX], longest[DURATION_TEXT_MAX];
        int64_t ms = *ret;
        if (text && (duration_parse(text, strlen(text), &ms) < 0 || ms < least || ms > most))
                return err_set(err, ERR_INVALID, "--%s '%s' is not a duration from %s to %s", option, text,
                               duration_print(least, shortest), duration_print(most, longest));
        *ret = ms;
        return 0;
}

static int read_durations(struct import_command *c, struct err *err)
{
        c->work.timeout_ms = 3 * MINUTE_MS;
        int rc = read_duration("timeout", c->timeout, SECOND_MS, HOUR_MS, &c->work.timeout_ms, err);
        for (enum resource r = CPU; r < RESOURCES && rc == 0; r++) {
                c->vpa.half_life_ms[r] = DAY_MS;
                rc = read_duration(r == CPU ? "cpu-half-life" : "memory-half-life", c->half_life[r], MINUTE_MS,
                                   30 * (int64_t)DAY_MS, &c->vpa.half_life_ms[r], err);
        }
        return rc;
}

static int read_vpa(struct import_command *c, const struct option_words *words, struct err *err)
{
        struct import_vpa_scope *s = &c->vpa;
        int rc = 0;
        s->ns = option_value(c->ns);
        s->words = words->count - 1;
        if (c->ns->count > 1)
                rc = err_set(err, ERR_INVALID, "import vpa takes one -n, or --all");
        else if (s->ns && !option_is_namespace(s->ns, strlen(s->ns)))
                rc = err_set(err, ERR_INVALID, "--namespace '%.300s' is not a valid namespace name", s->ns);
        else if (s->words > IMPORT_WORDS)
                rc = err_set(err, ERR_INVALID, "import vpa takes at most %d workloads", IMPORT_WORDS);
        else if (c->all && (s->ns || s->words))
                rc = err_set(err, ERR_INVALID, "--all means all namespaces: it excludes -n and KIND/NAME");
        else if (!c->all && !s->ns && s->words == 0 && !s->labels)
                rc = err_set(err, ERR_INVALID, "choose the VPAs: KIND/NAME, -n NAMESPACE, -l LABELS, or --all");
        for (int i = 0; i < s->words && rc == 0; i++)
                rc = workload_parse(words->word[i + 1], &s->word[i], err);
        if (!c->all && !s->ns)
                s->ns = ""; /* stands for the context's namespace */
        return rc;
}

static int import_read_file(struct import_command *c, const struct option_words *words, struct err *err)
{
        const char *of_vpas = c->all                 ? "all"
                              : c->vpa.labels        ? "selector"
                              : c->half_life[CPU]    ? "cpu-half-life"
                              : c->half_life[MEMORY] ? "memory-half-life"
                                                     : NULL;
        c->file = words->word[0];
        if (words->count > 1)
                return err_set(err, ERR_INVALID, "import takes one file; -n chooses namespaces of it");
        if (of_vpas)
                return err_set(err, ERR_INVALID, "--%s is only for import vpa", of_vpas);
        for (int i = 0; i < c->ns->count; i++) {
                const char *given = c->ns->value[i], *equals = strchr(given, '=');
                struct mapping m = {.from = text_of(given), .to = text_of(given)};
                if (equals)
                        m = (struct mapping){.from = {given, (size_t)(equals - given)}, .to = text_of(equals + 1)};
                if (!option_is_namespace(m.from.p, m.from.len) || !option_is_namespace(m.to.p, m.to.len))
                        return err_set(err, ERR_INVALID, "--namespace '%s' is neither a namespace nor OLD=NEW", given);
                c->map[c->maps++] = m;
        }
        return 0;
}

static int import_command_check(void *state, const struct command_line *line, struct err *err)
{
        struct import_command *c = state;
        const struct option_words *words = &line->words;
        if (words->count == 0)
                return err_set(err, ERR_INVALID, "give a source: vpa, or a file that halflife export wrote");
        int rc = read_durations(c, err);
        if (rc < 0)
                return rc;
        return strcmp(words->word[0], "vpa") == 0 ? read_vpa(c, words, err) : import_read_file(c, words, err);
}

/* --- importing --- */

static int import_take_row(void *arg, const struct transfer_row *row, struct err *err)
{
        struct import_command *c = arg;
        struct mapping *m = NULL, itself = {.from = row->key.ns, .to = row->key.ns};
        for (int i = 0; i < c->maps && !m; i++)
                m = text_equal(c->map[i].from, row->key.ns) ? &c->map[i] : NULL;
        if (m)
                m->used = true;
        if (c->check || (c->maps > 0 && !m))
                return 0;
        m = m ? m : &itself;
        AUTO(mem_free) char *ns = mem_string_n(m->to.p, m->to.len);
        return import_put(&c->work, row, ns, err);
}

/* Refuse a namespace of the command line of which the file has nothing: it is misspelled, or it is only the new
 * name. */
static int check_names(const struct import_command *c, struct err *err)
{
        for (int i = 0; i < c->maps; i++)
                if (!c->map[i].used)
                        return err_set(err, ERR_NOTFOUND,
                                       "nothing was imported: '%s' has no histories of namespace '%.*s' (-n OLD=NEW "
                                       "imports OLD's into NEW)",
                                       c->file, TEXT_ARG(c->map[i].from));
        return 0;
}

/* Read the file once to check it, then again to import it, so that a torn file imports nothing. */
static int import_file(struct import_command *c, struct err *err)
{
        const struct transfer_reader reader = {import_take_row, c};
        struct stat is;
        int64_t rows = 0;
        FILE *from = fopen(c->file, "re");
        if (!from || fstat(fileno(from), &is) < 0) {
                err_set(err, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "'%s': %s", c->file, strerror(errno));
                if (from)
                        fclose(from);
                return err->code;
        }
        int rc = S_ISREG(is.st_mode) ? 0
                                     : err_set(err, ERR_INVALID,
                                               "import reads its input twice, so it must be a "
                                               "regular file: save it first");
        for (int pass = 0; pass < 2 && rc == 0; pass++) {
                c->check = pass == 0;
                rewind(from);
                rc = transfer_read(from, &reader, &rows, err);
                if (rc < 0 && pass == 0)
                        err_wrap(err, "nothing was imported: '%s'", c->file);
                else if (rc == 0 && pass == 0)
                        rc = check_names(c, err);
        }
        fclose(from);
        if (rc == 0)
                rc = import_finish(&c->work, err);
        if (rc == 0 && rows == 0)
                fprintf(stderr, "'%s' holds no histories\n", c->file);
        return rc;
}

static int import_histories(struct import_command *c, struct err *err)
{
        struct importing *im = &c->work;
        int rc = session_open_given(&im->session, &c->where, err);
        if (rc < 0)
                return rc;
        if (c->vpa.ns && !*c->vpa.ns)
                c->vpa.ns = access_namespace(im->session.access);
        rc = c->file ? import_file(c, err) : import_vpa(im, &c->vpa, err);
        return rc < 0 ? session_advise(err) : 0;
}

static int import_run(void *state, struct err *err)
{
        struct import_command *c = state;
        int rc = import_histories(c, err);
        if (rc < 0)
                command_tell(&command_import, err);
        if (rc == 0 || c->work.joined || c->work.known || c->work.refused || c->work.left)
                import_sum(&c->work);
        return rc < 0 || c->work.refused || c->work.left ? EXIT_FAILED : EXIT_DONE;
}

static void import_command_release(void *state)
{
        struct import_command *c = state;
        import_release(&c->work);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .many = true, OPTION_IN(struct import_command, ns),
         .help = "file: import only this namespace; OLD=NEW imports OLD's histories into NEW (may be repeated). vpa: "
                 "the namespace of the VPAs"},
        {.name = "all", .letter = 'A', OPTION_IN(struct import_command, all),
         .help = "vpa: the VPAs of every namespace"},
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS,
         OPTION_IN(struct import_command, vpa.labels),
         .help = "vpa: only VPAs of workloads with these labels"},
        {.name = "cpu-half-life", .value = "DURATION", OPTION_IN(struct import_command, half_life[CPU]),
         .help = "the VPA's --cpu-histogram-decay-half-life, which its checkpoints do not hold (default 24h)"},
        {.name = "memory-half-life", .value = "DURATION", OPTION_IN(struct import_command, half_life[MEMORY]),
         .help = "the VPA's --memory-histogram-decay-half-life, which its checkpoints do not hold (default 24h)"},
        {.name = "dry-run", OPTION_IN(struct import_command, work.dry_run),
         .help = "list the histories that would be merged, and change nothing; histories imported before are listed "
                 "too"},
        {.name = "timeout", .value = "DURATION", OPTION_IN(struct import_command, timeout),
         .help = "how long to wait for the controller's answer, 1s to 1h (default 3m)"},
        SESSION_OPTIONS(struct import_command, where),
};
/* clang-format on */

const struct command command_import = {
        .name = "import",
        .help = "merge the histories of an export or of VPAs into those of this cluster",
        .words = TAKES_HISTORIES,
        .usage = {"[option]... FILE", "[option]... vpa [KIND/NAME]..."},
        .intro = "Merges histories into those that the controller has learned. They come from a file that halflife "
                 "export\n"
                 "wrote, or from the checkpoints of VerticalPodAutoscalers. A history is merged whole or not at all, "
                 "and\n"
                 "counts once, however often it is imported.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct import_command),
        .check = import_command_check,
        .run = import_run,
        .release = import_command_release,
};
