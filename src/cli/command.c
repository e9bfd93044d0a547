#include "command.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "terminal.h"

enum { OWN_OPTIONS_MOST = 4, OPTIONS_MOST = SETTINGS_MOST + OWN_OPTIONS_MOST };

/* A command's options behind the settings, which come first because settings_read takes their values in the order of
 * the table. */
static const struct option_spec *command_add_settings(const struct command *c, int *ret_count)
{
        static struct option_spec spec[OPTIONS_MOST];
        int settings;
        const struct option_spec *of_settings = settings_options(c->heeds, &settings);
        assert(c->options <= OWN_OPTIONS_MOST);
        memcpy(spec, of_settings, (size_t)settings * sizeof *spec);
        for (int i = 0; i < c->options; i++)
                spec[settings + i] = c->option[i];
        *ret_count = settings + c->options;
        return spec;
}

const struct option_spec *command_options(const struct command *c, int *ret_count)
{
        if (c->settings)
                return command_add_settings(c, ret_count);
        *ret_count = c->options;
        return c->option;
}

void command_tell(const struct command *c, struct err *err)
{
        fprintf(stderr, "halflife %s: %s\n", c->name, terminal_tame(err->text));
}

static void command_print_help(const struct command *c, const struct option_spec *spec, int specs)
{
        for (int i = 0; i < 2 && c->usage[i]; i++)
                printf("%s %s %s%s%s\n", i ? "      " : "usage:", program_name(), c->name, *c->usage[i] ? " " : "",
                       c->usage[i]);
        printf("\n%s", c->intro);
        if (specs > 0) {
                putchar('\n');
                options_print(stdout, spec, specs);
        }
        if (c->outro)
                printf("\n%s", c->outro);
}

/* A command that takes no options shows its help for a first and only word --help. */
static int command_take_words(int argc, char **argv, struct option_words *words, bool *ret_help, struct err *err)
{
        *ret_help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
        if (argc - 1 > OPTION_WORDS)
                return err_set(err, ERR_INVALID, "more than %d arguments", OPTION_WORDS);
        for (; words->count < argc - 1; words->count++)
                words->word[words->count] = argv[words->count + 1];
        return 0;
}

/* Check the arguments and run the command. Returns the exit code or an error. */
static int command_work(const struct command *c, void *state, struct command_line *line, const struct option_spec *spec,
                        int specs, struct err *err)
{
        int rc = options_store(spec, specs, line->given, state, err);
        if (rc == 0 && c->settings && line->words.count > 0)
                rc = err_set(err, ERR_INVALID, "takes no arguments, not '%s'", line->words.word[0]);
        if (rc == 0)
                rc = c->check(state, line, err);
        if (rc < 0)
                return rc;
        rc = c->run(state, err);
        if (rc < 0)
                command_tell(c, err);
        return rc < 0 ? EXIT_FAILED : rc;
}

int command_call(const struct command *c, int argc, char **argv)
{
        struct option_spec spec[OPTIONS_MOST + 1];
        struct option_given given[OPTIONS_MOST + 1];
        struct command_line line = {.command = c, .given = given};
        struct err err = {0};
        bool help = false;
        int count, rc;
        const struct option_spec *own = command_options(c, &count);
        if (count > 0) {
                memcpy(spec, own, (size_t)count * sizeof *own);
                spec[count] = (struct option_spec){.name = "help", .letter = 'h', .help = "this text"};
                rc = options_parse(spec, count + 1, argc, argv, given, &line.words, &err);
                help = rc == 0 && given[count].count > 0;
        } else {
                rc = command_take_words(argc, argv, &line.words, &help, &err);
        }
        if (help) {
                command_print_help(c, spec, count > 0 ? count + 1 : 0);
                return EXIT_DONE;
        }
        void *state = mem_new(c->size + 1);
        if (rc == 0)
                rc = command_work(c, state, &line, spec, count, &err);
        if (rc < 0) {
                command_tell(c, &err);
                rc = EXIT_MISUSED;
        }
        if (c->release)
                c->release(state);
        mem_free(state);
        return rc;
}
