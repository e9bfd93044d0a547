/*
 * halflife import: histories from before, of a VPA's checkpoints or of a file that halflife export wrote, are joined
 * with those of a cluster. The controller does it, who alone writes histories.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/yaml.h"
#include "cli/cmd.h"
#include "commands.h"
#include "import.h"
#include "terminal.h"

enum {
        OPT_NAMESPACE,
        OPT_ALL,
        OPT_SELECTOR,
        OPT_CPU_HALF_LIFE,
        OPT_MEMORY_HALF_LIFE,
        OPT_DRY_RUN,
        OPT_TIMEOUT,
        OPT_KUBECONFIG,
        OPT_CONTEXT,
        OPT_HELP,
        OPTS
};
static const struct option_spec spec[OPTS] = {
        {.name = "namespace",
         .letter = 'n',
         .value = "NAME",
         .many = true,
         .help = "of a file: this namespace's histories alone, and as OLD=NEW into another (may be given more than "
                 "once); of VPAs: those of this namespace"},
        {.name = "all", .letter = 'A', .help = "of VPAs: those of every namespace"},
        {.name = "selector",
         .letter = 'l',
         .value = "LABELS",
         .shape = OPTION_LABELS,
         .help = "VPAs of workloads with these labels alone"},
        {.name = "cpu-half-life",
         .value = "DURATION",
         .help = "the VPA's --cpu-histogram-decay-half-life (default 24h): its checkpoints do not tell"},
        {.name = "memory-half-life",
         .value = "DURATION",
         .help = "the VPA's --memory-histogram-decay-half-life (default 24h)"},
        {.name = "dry-run", .help = "tell what would be joined but for what is known already, and change nothing"},
        {.name = "timeout",
         .value = "DURATION",
         .help = "how long to wait for the controller's answer, 1s to 1h (default 3m)"},
        SESSION_OPTIONS,
        {.name = "help", .letter = 'h', .help = "this text"},
};

const struct option_spec *cmd_import_options(int *ret_count)
{
        *ret_count = OPT_HELP;
        return spec;
}

struct import_command {
        struct importing work;
        struct option_given given[OPTS];
        const char *file; /* NULL: of VPAs */
        struct mapping {
                struct text from, to;
                bool used;  /* the file has something of it */
        } map[OPTION_MANY]; /* namespaces; none: all, to themselves */
        int maps;
        bool check; /* the first reading: is it whole? */
        struct import_vpa_scope vpa;
};

/* --- arguments --- */

static int read_duration(const struct import_command *c, int option, int64_t least, int64_t most, int64_t *ret,
                         struct err *err)
{
        const char *text = option_value(&c->given[option]);
        char shortest[DURATION_TEXT_MAX], longest[DURATION_TEXT_MAX];
        int64_t ms = *ret;
        if (text && (duration_parse(text, strlen(text), &ms) < 0 || ms < least || ms > most))
                return err_set(err, ERR_INVALID, "--%s '%s' is no duration from %s to %s", spec[option].name, text,
                               duration_print(least, shortest), duration_print(most, longest));
        *ret = ms;
        return 0;
}

static int read_durations(struct import_command *c, struct err *err)
{
        int rc = read_duration(c, OPT_TIMEOUT, SECOND_MS, HOUR_MS, &c->work.timeout_ms, err);
        for (enum resource r = CPU; r < RESOURCES && rc == 0; r++)
                rc = read_duration(c, r == CPU ? OPT_CPU_HALF_LIFE : OPT_MEMORY_HALF_LIFE, MINUTE_MS,
                                   30 * (int64_t)DAY_MS, &c->vpa.half_life_ms[r], err);
        return rc;
}

static int read_vpa(struct import_command *c, const struct option_words *words, struct err *err)
{
        struct import_vpa_scope *s = &c->vpa;
        bool all = false;
        int rc = option_switch(&c->given[OPT_ALL], &all, err);
        s->ns = option_value(&c->given[OPT_NAMESPACE]);
        s->labels = option_value(&c->given[OPT_SELECTOR]);
        s->words = words->count - 1;
        if (rc == 0 && c->given[OPT_NAMESPACE].count > 1)
                rc = err_set(err, ERR_INVALID, "VPAs are of one namespace, or of all");
        else if (rc == 0 && s->ns && !option_is_namespace(s->ns, strlen(s->ns)))
                rc = err_set(err, ERR_INVALID, "--namespace '%.300s' is no name of a namespace", s->ns);
        else if (rc == 0 && s->words > IMPORT_WORDS)
                rc = err_set(err, ERR_INVALID, "more than %d workloads", IMPORT_WORDS);
        else if (rc == 0 && all && (s->ns || s->words))
                rc = err_set(err, ERR_INVALID, "--all means all namespaces: it goes with no -n, and no KIND/NAME");
        else if (rc == 0 && !all && !s->ns && s->words == 0 && !s->labels)
                rc = err_set(err, ERR_INVALID,
                             "say of which: KIND/NAME, -n NAMESPACE, -l LABELS, or --all for all namespaces");
        for (int i = 0; i < s->words && rc == 0; i++)
                rc = workload_parse(words->word[i + 1], &s->word[i], err);
        if (!all && !s->ns)
                s->ns = ""; /* the context's */
        return rc;
}

static int import_read_file(struct import_command *c, const struct option_words *words, struct err *err)
{
        static const int vpas[] = {OPT_ALL, OPT_SELECTOR, OPT_CPU_HALF_LIFE, OPT_MEMORY_HALF_LIFE};
        c->file = words->word[0];
        if (words->count > 1)
                return err_set(err, ERR_INVALID, "one file at once, and -n for a namespace of it");
        for (size_t i = 0; i < sizeof vpas / sizeof vpas[0]; i++)
                if (c->given[vpas[i]].count)
                        return err_set(err, ERR_INVALID, "--%s is of VPAs: import vpa", spec[vpas[i]].name);
        for (int i = 0; i < c->given[OPT_NAMESPACE].count; i++) {
                const char *given = c->given[OPT_NAMESPACE].value[i], *equals = strchr(given, '=');
                struct mapping m = {.from = text_of(given), .to = text_of(given)};
                if (equals)
                        m = (struct mapping){.from = {given, (size_t)(equals - given)}, .to = text_of(equals + 1)};
                if (!option_is_namespace(m.from.p, m.from.len) || !option_is_namespace(m.to.p, m.to.len))
                        return err_set(err, ERR_INVALID, "--namespace '%s' is no NAME, and no OLD=NEW", given);
                c->map[c->maps++] = m;
        }
        return 0;
}

static int import_read_arguments(struct import_command *c, int argc, char **argv, struct err *err)
{
        struct option_words words;
        int rc = options_parse(spec, OPTS, argc, argv, c->given, &words, err);
        if (rc < 0 || c->given[OPT_HELP].count)
                return rc;
        if (words.count == 0)
                return err_set(err, ERR_INVALID, "say from where: vpa, or a file that export wrote");
        rc = option_switch(&c->given[OPT_DRY_RUN], &c->work.dry_run, err);
        if (rc == 0)
                rc = read_durations(c, err);
        if (rc < 0)
                return rc;
        return strcmp(words.word[0], "vpa") == 0 ? read_vpa(c, &words, err) : import_read_file(c, &words, err);
}

/* --- doing --- */

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

/* A namespace that was named, and of which the file has nothing: misspelled, or the new name alone. */
static int check_names(const struct import_command *c, struct err *err)
{
        for (int i = 0; i < c->maps; i++)
                if (!c->map[i].used)
                        return err_set(err, ERR_NOTFOUND,
                                       "nothing was imported: '%s' has no histories of namespace '%.*s' (-n OLD=NEW "
                                       "takes those of OLD into NEW)",
                                       c->file, TEXT_ARG(c->map[i].from));
        return 0;
}

/* First it is looked at as a whole, so that nothing comes of half a file. */
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
        int rc = S_ISREG(is.st_mode) ? 0 : err_set(err, ERR_INVALID, "it is no file, and is read twice: save it first");
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
        int rc = session_open_given(&im->session, option_value(&c->given[OPT_KUBECONFIG]),
                                    option_value(&c->given[OPT_CONTEXT]), err);
        if (rc < 0)
                return rc;
        if (c->vpa.ns && !*c->vpa.ns)
                c->vpa.ns = access_namespace(im->session.access);
        rc = c->file ? import_file(c, err) : import_vpa(im, &c->vpa, err);
        return rc < 0 ? session_advise(err) : 0;
}

static void import_print_help(void)
{
        printf("usage: %s import [option]... FILE\n       %s import [option]... vpa [KIND/NAME]...\n\n", program_name(),
               program_name());
        terminal_intro("Histories from before are joined with what the controller has learned since: those of a file "
                       "that export wrote, or of the checkpoints of VerticalPodAutoscalers. Each is joined whole or "
                       "not at all, and none counts twice, however often it is imported.");
        options_print(stdout, spec, OPTS);
}

int cmd_import(int argc, char **argv)
{
        struct import_command c = {.work = {.timeout_ms = 3 * MINUTE_MS}, .vpa.half_life_ms = {DAY_MS, DAY_MS}};
        struct err err = {0};
        int code = EXIT_DONE;
        if (import_read_arguments(&c, argc, argv, &err) < 0) {
                fprintf(stderr, "halflife import: %s\n", err.text);
                code = EXIT_MISUSED;
        } else if (c.given[OPT_HELP].count) {
                import_print_help();
        } else {
                int rc = import_histories(&c, &err);
                if (rc < 0)
                        fprintf(stderr, "halflife import: %s\n", terminal_tame(err.text));
                if (rc == 0 || c.work.joined || c.work.known || c.work.refused || c.work.left)
                        import_sum(&c.work);
                code = rc < 0 || c.work.refused || c.work.left ? EXIT_FAILED : EXIT_DONE;
        }
        import_release(&c.work);
        return code;
}
