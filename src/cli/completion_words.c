#include "completion_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "commands.h"
#include "core/kind.h"
#include "terminal.h"

struct completing {
        FILE *to;
        const char *const *word;
        int words;
        const struct complete_names *names;
        const struct command *command;
        const struct option_spec *option; /* the options of the command */
        int options;
        const char *begun; /* what is typed of the word; each candidate must begin with it */
        const char *lead;  /* what stands before the candidate in the word: "--output=" */
        bool files;
};

static void complete_offer(struct completing *c, const char *word, const char *help)
{
        if (strncmp(word, c->begun, strlen(c->begun)) != 0)
                return;
        fprintf(c->to, "%s%s%s%s\n", c->lead, word, help ? "\t" : "", help ? help : "");
}

/* --- values --- */

static void offer_each(struct completing *c, const char *list)
{
        char word[64];
        while (*list) {
                size_t len = strcspn(list, "|");
                snprintf(word, sizeof word, "%.*s", (int)len, list);
                complete_offer(c, word, NULL);
                list += len + (list[len] == '|');
        }
}

static const struct option_spec *find_option(const struct completing *c, const char *word)
{
        size_t len = strcspn(word, "=");
        for (int i = 0; i < c->options; i++) {
                const struct option_spec *o = &c->option[i];
                if (strncmp(word, "--", 2) == 0 && strlen(o->name) + 2 == len &&
                    strncmp(word + 2, o->name, len - 2) == 0)
                        return o;
                if (word[0] == '-' && word[1] && word[1] == o->letter)
                        return o;
        }
        return NULL;
}

/* The option whose value is the next word; NULL: the word is not such an option. */
static const struct option_spec *wants_next(const struct completing *c, const char *word)
{
        const struct option_spec *o = word[0] == '-' ? find_option(c, word) : NULL;
        bool inside = o && (word[1] == '-' ? strchr(word, '=') != NULL : word[2] != '\0');
        return o && o->value && !inside ? o : NULL;
}

/* The value that an option already has before the word to complete; NULL: not given. bash passes "=" as a word. */
static const char *complete_given(const struct completing *c, const char *name)
{
        const char *value = NULL;
        int last = c->words - 1;
        for (int i = 1; i < last; i++) {
                const char *word = c->word[i], *equals = strchr(word, '=');
                const struct option_spec *o = find_option(c, word);
                if (!o || strcmp(o->name, name) != 0)
                        continue;
                int next = i + 1 + (i + 1 < last && strcmp(c->word[i + 1], "=") == 0);
                if (wants_next(c, word))
                        value = next < last ? c->word[next] : NULL;
                else
                        value = word[1] != '-' ? word + 2 : equals ? equals + 1 : NULL;
        }
        return value;
}

static struct complete_where complete_place(const struct completing *c)
{
        return (struct complete_where){{complete_given(c, "kubeconfig"), complete_given(c, "context")},
                                       complete_given(c, "namespace")};
}

static char *complete_tame(const char *name)
{
        return terminal_tame(mem_string(name));
}

static void complete_take_namespace(void *to, const char *kind, const char *name)
{
        AUTO(mem_free) char *plain = complete_tame(name);
        (void)kind;
        complete_offer(to, plain, NULL);
}

static void complete_value(struct completing *c, const struct option_spec *o)
{
        const char *values = o->choices ? o->choices : o->examples;
        struct complete_where w = complete_place(c);
        if (values)
                offer_each(c, values);
        else if (strcmp(o->name, "namespace") == 0 || strcmp(o->name, "halflife-namespace") == 0)
                c->names->namespaces(&w, complete_take_namespace, c);
        else
                c->files = strcmp(o->value, "FILE") == 0;
}

/* --- words --- */

/* Offer a workload as "deployment/web", or with the kind as the user has typed it. */
static void complete_take_workload(void *to, const char *kind, const char *name)
{
        struct completing *c = to;
        const char *slash = strchr(c->begun, '/');
        struct text typed = {c->begun, slash ? (size_t)(slash - c->begun) : 0};
        const struct kind *row = typed.len ? kind_by_name(typed) : NULL, *is = kind_by_name(text_of(kind));
        AUTO(mem_free) char *spelled = row && row == is ? mem_string_n(typed.p, typed.len) : mem_string(kind);
        for (char *p = spelled; !(row && row == is) && *p; p++)
                *p = (char)tolower((unsigned char)*p);
        AUTO(mem_free) char *word = mem_printf("%s/%s", spelled, name);
        complete_offer(c, terminal_tame(word), NULL);
}

static void complete_option(struct completing *c)
{
        for (int i = 0; i < c->options; i++) {
                AUTO(mem_free) char *name = mem_printf("--%s", c->option[i].name);
                bool again = false;
                for (int k = 1; k < c->words - 1; k++)
                        again |= find_option(c, c->word[k]) == &c->option[i];
                if (!again || c->option[i].many)
                        complete_offer(c, name, c->option[i].help);
        }
        complete_offer(c, "--help", "what the command does and takes");
}

/* Complete the arguments of import: a file, or "vpa" and then the workloads of VPAs. */
static void complete_histories(struct completing *c, const struct complete_where *w)
{
        for (int i = 1; i < c->words - 1; i++)
                if (strcmp(c->word[i], "vpa") == 0) {
                        c->names->workloads(w, complete_take_workload, c);
                        return;
                }
        complete_offer(c, "vpa", "checkpoints of VerticalPodAutoscalers");
        c->files = true;
}

static void complete_word(struct completing *c)
{
        struct complete_where w = complete_place(c);
        switch (c->command->words) {
        case TAKES_FILES:
                c->files = true;
                break;
        case TAKES_HISTORIES:
                complete_histories(c, &w);
                break;
        case TAKES_WORKLOADS:
                c->names->workloads(&w, complete_take_workload, c);
                break;
        case TAKES_SHELLS:
                offer_each(c, "bash|zsh|fish");
                break;
        case TAKES_NOTHING:
                break;
        }
}

static void complete_command(struct completing *c)
{
        for (size_t i = 0; i < commands_count; i++)
                complete_offer(c, commands[i]->name, commands[i]->help);
}

/* Complete the value in "--output=w", which a shell passes as one word, or (bash) as three. */
static void complete_argument(struct completing *c)
{
        const char *last = c->word[c->words - 1], *before = c->words > 2 ? c->word[c->words - 2] : "";
        const char *equals = strncmp(last, "--", 2) == 0 ? strchr(last, '=') : NULL;
        bool apart = c->words > 3 && strcmp(before, "=") == 0, begins = strcmp(last, "=") == 0;
        const struct option_spec *o = equals   ? find_option(c, last)
                                      : apart  ? find_option(c, c->word[c->words - 3])
                                      : begins ? find_option(c, before)
                                               : wants_next(c, before);
        AUTO(mem_free) char *lead = equals ? mem_string_n(last, (size_t)(equals + 1 - last)) : mem_string("");
        c->begun = equals ? equals + 1 : begins ? "" : last;
        c->lead = lead;
        if (o)
                complete_value(c, o);
        else if (last[0] == '-')
                complete_option(c);
        else
                complete_word(c);
        c->lead = "";
}

void complete(FILE *to, const char *const *word, int words, const struct complete_names *names)
{
        struct completing c = {.to = to,
                               .word = word,
                               .words = words,
                               .names = names,
                               .begun = words ? word[words - 1] : "",
                               .lead = ""};
        if (words <= 1) {
                complete_command(&c);
        } else if ((c.command = command_find(word[0]))) {
                c.option = command_options(c.command, &c.options);
                complete_argument(&c);
        }
        fprintf(to, ":%d\n", c.files ? 0 : 4);
}

/* --- scripts --- */

static const char bash[] = "# bash completion of halflife: all that is known is asked of halflife itself.\n"
                           "_halflife() {\n"
                           "    local line word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
                           "    COMPREPLY=()\n"
                           "    while IFS= read -r line; do\n"
                           "        case $line in\n"
                           "        :0) compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen "
                           "-f -- \"$word\") ;;\n"
                           "        :*) ;;\n"
                           "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
                           "        esac\n"
                           "    done < <(halflife __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
                           "}\n"
                           "complete -F _halflife halflife\n";

static const char zsh[] =
        "#compdef halflife\n"
        "# zsh completion of halflife: all that is known is asked of halflife itself.\n"
        "_halflife() {\n"
        "    local line\n"
        "    local -a found\n"
        "    for line in \"${(@f)$(halflife __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
        "        case $line in\n"
        "        :0) _files ;;\n"
        "        :*) ;;\n"
        "        *$'\\t'*) found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
        "        ?*) found+=(\"${line//:/\\\\:}\") ;;\n"
        "        esac\n"
        "    done\n"
        "    (( ${#found} )) && _describe halflife found\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _halflife ]; then\n"
        "    _halflife \"$@\"\n"
        "else\n"
        "    compdef _halflife halflife\n"
        "fi\n";

static const char fish[] = "# fish completion of halflife: all that is known is asked of halflife itself.\n"
                           "function __halflife_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    for line in (halflife __complete $words[2..-1] 2>/dev/null)\n"
                           "        switch $line\n"
                           "            case ':0'\n"
                           "                __fish_complete_path (commandline -ct)\n"
                           "            case ':*'\n"
                           "            case '*'\n"
                           "                echo $line\n"
                           "        end\n"
                           "    end\n"
                           "end\n"
                           "complete -c halflife -f -a '(__halflife_complete)'\n";

const char *complete_script(const char *shell)
{
        return strcmp(shell, "bash") == 0   ? bash
               : strcmp(shell, "zsh") == 0  ? zsh
               : strcmp(shell, "fish") == 0 ? fish
                                            : NULL;
}
