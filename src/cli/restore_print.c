/*
 * Prints the result of each workload, for people or as JSON.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "restore.h"
#include "terminal.h"

/* The words for each result, for people and for programs. The second pair is for a dry run, whose plan nobody may take
 * for done. */
static const struct {
        const char *line, *result;
} words[][2] = {
        [RESULT_NONE] = {{"not begun", "notBegun"}, {"not begun", "notBegun"}},
        [RESULT_UNCHANGED] = {{"unchanged", "unchanged"}, {"unchanged", "unchanged"}},
        [RESULT_RESTORED] = {{"restored", "restored"}, {"would restore", "wouldRestore"}},
        [RESULT_LEFT] = {{"left", "left"}, {"would leave", "wouldLeave"}},
        [RESULT_FAILED] = {{"failed", "failed"}, {"failed", "failed"}},
};

/* The target's kind for people: "deployment", "widget.example.com". */
static char *kind_of(const struct restore_target *t)
{
        const struct api_resource *k = &t->kind->is;
        bool plain = !*k->group || strcmp(k->group, "apps") == 0 || strcmp(k->group, "batch") == 0;
        char *kind = mem_printf("%s%s%s", k->kind, plain ? "" : ".", plain ? "" : k->group);
        for (char *p = kind; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        return kind;
}

void restore_print(FILE *to, const struct restore_target *t, bool dry_run)
{
        AUTO(mem_free) char *kind = kind_of(t);
        AUTO(mem_free)
        char *line = mem_printf("%s %s/%s %s%s%s%s%s%s%s", t->ns, kind, t->name, words[t->result][dry_run].line,
                                t->why ? ": " : "", t->why ? t->why : "", t->changes ? ": " : "",
                                t->changes ? t->changes : "", t->left ? "; left: " : "", t->left ? t->left : "");
        fprintf(to, "%s\n", terminal_tame(line));
}

static void restore_put(json_t *o, const char *key, const char *value)
{
        if (value)
                json_object_set_new(o, key, json_string(value));
}

json_t *restore_json(const struct restore_target *t, bool dry_run)
{
        const struct api_resource *k = &t->kind->is;
        AUTO(mem_free) char *api = mem_printf("%s%s%s", k->group, *k->group ? "/" : "", k->version);
        json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s}", "namespace", t->ns, "apiVersion", api, "kind", k->kind,
                              "name", t->name, "result", words[t->result][dry_run].result);
        restore_put(o, "hold", t->hold);
        restore_put(o, "changes", t->changes);
        restore_put(o, "left", t->left);
        restore_put(o, "error", t->why);
        return o;
}
