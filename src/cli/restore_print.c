/*
 * Which workloads a command line means, and what became of each, in words and as JSON.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "restore.h"
#include "terminal.h"

/* --- the scope --- */

int restore_scope_read(const struct option_given *given, const struct option_words *words, struct restore_scope *ret,
                       struct err *err)
{
        *ret = (struct restore_scope){.ns = option_value(&given[SCOPE_NAMESPACE]),
                                      .labels = option_value(&given[SCOPE_SELECTOR])};
        int rc = option_switch(&given[SCOPE_ALL], &ret->everywhere, err);
        if (rc == 0)
                rc = option_switch(&given[SCOPE_ORPHANED], &ret->orphaned, err);
        if (rc < 0)
                return rc;
        if (ret->everywhere && ret->ns)
                return err_set(err, ERR_INVALID, "--all and -n exclude each other");
        if (words->count > RESTORE_WORDS)
                return err_set(err, ERR_INVALID, "more than %d workloads by name; -l takes labels", RESTORE_WORDS);
        if (words->count > 0 && (ret->everywhere || ret->labels || ret->orphaned))
                return err_set(err, ERR_INVALID, "'%.100s' by its name and --all, -l or --orphaned exclude each other",
                               words->word[0]);
        if (words->count == 0 && !ret->everywhere && !ret->ns && !ret->labels && !ret->orphaned)
                return err_set(err, ERR_INVALID,
                               "say which: KIND/NAME such as deploy/web, -n NAMESPACE, -l LABELS, "
                               "--orphaned, or --all");
        for (; ret->words < words->count; ret->words++)
                if ((rc = workload_parse(words->word[ret->words], &ret->word[ret->words], err)) < 0)
                        return rc;
        return 0;
}

void restore_scope_settle(struct restore_scope *s, const struct session *session)
{
        if (!s->ns && !s->everywhere && !s->orphaned)
                s->ns = access_namespace(session->access);
}

/* --- words --- */

/* For a person and for a program; under --dry-run those of the second row, so that a plan is not taken for a deed. */
static const struct {
        const char *line, *result;
} words[][2] = {
        [RESULT_NONE] = {{"not begun", "notBegun"}, {"not begun", "notBegun"}},
        [RESULT_UNCHANGED] = {{"unchanged", "unchanged"}, {"unchanged", "unchanged"}},
        [RESULT_RESTORED] = {{"restored", "restored"}, {"would restore", "wouldRestore"}},
        [RESULT_LEFT] = {{"left", "left"}, {"would leave", "wouldLeave"}},
        [RESULT_FAILED] = {{"failed", "failed"}, {"failed", "failed"}},
};

/* "deployment", "widget.example.com" */
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
