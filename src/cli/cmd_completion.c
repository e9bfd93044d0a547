/*
 * halflife completion prints the completion script of a shell. The script calls halflife __complete, which prints the
 * candidates.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/session.h"
#include "commands.h"
#include "completion_words.h"
#include "core/kind.h"
#include "kube/known_resource.h"

enum { NAMES_MAX = 500, NAMES_BYTES = 16 << 20, ASK_MS = 2 * SECOND_MS, ALL_S = 3 };

struct completion {
        const char *script;
};

static int completion_check(void *state, const struct command_line *line, struct err *err)
{
        struct completion *c = state;
        c->script = line->words.count == 1 ? complete_script(line->words.word[0]) : NULL;
        return c->script ? 0 : err_set(err, ERR_INVALID, "name the shell: bash, zsh or fish");
}

static int completion_run(void *state, struct err *err)
{
        const struct completion *c = state;
        (void)err;
        fputs(c->script, stdout);
        return EXIT_DONE;
}

const struct command command_completion = {
        .name = "completion",
        .help = "print the script that completes halflife's command lines in a shell",
        .words = TAKES_SHELLS,
        .usage = {"bash|zsh|fish"},
        .intro = "Prints the script that completes halflife's command lines in a shell, with names from the cluster. "
                 "make\n"
                 "install puts the script where the shell finds it. Without make install, load it by one of these "
                 "lines:\n"
                 "\n  source <(halflife completion bash)\n  source <(halflife completion zsh)\n  halflife completion "
                 "fish | source\n",
        .size = sizeof(struct completion),
        .check = completion_check,
        .run = completion_run,
};

/* --- names from the cluster: one page, quietly, and soon or not at all --- */

static json_t *completion_ask(struct session *s, const char *path)
{
        AUTO(mem_free) char *body = NULL, *query = mem_printf("limit=%d", NAMES_MAX);
        size_t len = 0;
        struct err err;
        struct call call = {
                .method = HTTP_GET, .path = path, .query = query, .deadline_ms = ASK_MS, .body_max = NAMES_BYTES};
        return client_wait(s->client, &call, &body, &len, &err) == 0 ? json_loadb(body, len, 0, NULL) : NULL;
}

static void tell_workload(const json_t *item, complete_told *told, void *to)
{
        const json_t *ref = json_object_get(json_object_get(item, "spec"), "targetRef");
        const char *version = json_string_value(json_object_get(ref, "apiVersion"));
        const char *kind = json_string_value(json_object_get(ref, "kind"));
        const char *name = json_string_value(json_object_get(ref, "name"));
        if (!version || !kind || !name)
                return;
        struct text group = kind_group(text_of(version));
        const struct kind *row = kind_by_name(text_of(kind));
        bool plain = group.len == 0 || (row && text_is(group, row->group));
        AUTO(mem_free) char *full = mem_printf("%s%s%.*s", kind, plain ? "" : ".", plain ? 0 : (int)group.len, group.p);
        told(to, full, name);
}

static void tell_namespace(const json_t *item, complete_told *told, void *to)
{
        const char *name = json_string_value(json_object_get(json_object_get(item, "metadata"), "name"));
        if (name)
                told(to, "", name);
}

static void tell_all(const struct complete_where *w, bool workloads, complete_told *told, void *to)
{
        struct session s;
        struct err err;
        if (session_open_given(&s, &w->session, &err) == 0) {
                AUTO(mem_free)
                char *path = workloads ? known_resource_path(KNOWN_RECOMMENDATIONS,
                                                             w->ns ? w->ns : access_namespace(s.access), NULL, NULL)
                                       : known_resource_path(KNOWN_NAMESPACES, NULL, NULL, NULL);
                AUTO(json_decref) json_t *list = completion_ask(&s, path);
                const json_t *items = json_object_get(list, "items");
                for (size_t i = 0; i < json_array_size(items) && i < NAMES_MAX; i++)
                        (workloads ? tell_workload : tell_namespace)(json_array_get(items, i), told, to);
        }
        session_release(&s);
}

static void tell_workloads(const struct complete_where *w, complete_told *told, void *to)
{
        tell_all(w, true, told, to);
}

static void tell_namespaces(const struct complete_where *w, complete_told *told, void *to)
{
        tell_all(w, false, told, to);
}

/* A credential plug-in may take long; nobody at a prompt waits that long, so a timer ends the command. */
int cmd_complete(int argc, char **argv)
{
        static const struct complete_names names = {tell_workloads, tell_namespaces};
        signal(SIGALRM, SIG_DFL);
        alarm(ALL_S);
        complete(stdout, (const char *const *)argv + 1, argc - 1, &names);
        return EXIT_DONE;
}
