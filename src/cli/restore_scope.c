/*
 * Reads which workloads a command line means, and sets the errors for those that do not exist or carry nothing of
 * halflife.
 */
#include <string.h>

#include "base/yaml.h"
#include "list_client.h"
#include "restore.h"

/* --- the options --- */

int restore_scope_read(struct restore_scope *s, const struct option_words *words, struct err *err)
{
        if (s->everywhere && s->ns)
                return err_set(err, ERR_INVALID, "--all and -n exclude each other");
        if (words->count > RESTORE_WORDS)
                return err_set(err, ERR_INVALID, "more than %d workloads by name; use -l LABELS instead",
                               RESTORE_WORDS);
        if (words->count > 0 && (s->everywhere || s->labels || s->orphaned))
                return err_set(err, ERR_INVALID, "'%.100s' excludes --all, -l and --orphaned", words->word[0]);
        if (words->count == 0 && !s->everywhere && !s->ns && !s->labels && !s->orphaned)
                return err_set(err, ERR_INVALID,
                               "choose the workloads: KIND/NAME such as deploy/web, -n NAMESPACE, -l LABELS, "
                               "--orphaned, or --all");
        for (; s->words < words->count; s->words++)
                if (workload_parse(words->word[s->words], &s->word[s->words], err) < 0)
                        return err->code;
        return 0;
}

void restore_scope_settle(struct restore_scope *s, const struct session *session)
{
        if (!s->ns && !s->everywhere && !s->orphaned)
                s->ns = access_namespace(session->access);
}

/* --- workloads and namespaces that do not exist --- */

/* Check that the namespace exists. Without permission to read it, return 0: that nothing was found is printed anyway.
 */
static int scope_check_namespace(struct restoring *r, struct err *err)
{
        const char *ns = r->scope.ns;
        if (!ns)
                return 0;
        AUTO(mem_free) char *path = path_of("", "v1", NULL, "namespaces", ns, NULL);
        AUTO(json_decref) json_t *there = listing_ask(r->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        if (there)
                return 0;
        if (err->code == ERR_NOTFOUND)
                return err_set(err, ERR_NOTFOUND, "namespace '%s' does not exist", ns);
        if (err->code != ERR_DENIED)
                return err_wrap(err, "check that namespace '%s' exists", ns);
        *err = (struct err){0};
        return 0;
}

static int scope_no_workload(const struct restoring *r, const struct workload *w, const char *more, struct err *err)
{
        return err_set(err, ERR_NOTFOUND, "workload '%.*s/%s' does not exist in namespace '%s'%s", TEXT_ARG(w->word),
                       w->name, r->scope.ns, more);
}

/* Check that a workload exists. Nothing is checked for kinds outside the table, whose URL is not known, nor for a
 * namespace or node. */
static int scope_check_workload(struct restoring *r, const struct workload *w, struct err *err)
{
        if (!w->known || dimension_is_sum(kind_dimension(text_of(w->group), text_of(w->kind))))
                return 0;
        const struct restore_kind *k = restore_kind_get(r, text_of(w->group), text_of(w->kind), err);
        if (!k)
                return err->code;
        AUTO(mem_free) char *path = path_of(k->is.group, k->is.version, r->scope.ns, k->is.plural, w->name, NULL);
        AUTO(json_decref)
        json_t *there = k->absent ? NULL : listing_ask(r->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        if (k->absent || (!there && err->code == ERR_NOTFOUND))
                return scope_no_workload(r, w, "", err);
        if (!there && err->code != ERR_DENIED)
                return err->code;
        *err = (struct err){0};
        return 0;
}

static int scope_missing(struct restoring *r, const struct workload *w, struct err *err)
{
        int rc = scope_check_namespace(r, err);
        if (rc == 0)
                rc = scope_check_workload(r, w, err);
        return rc < 0 ? rc : workload_unknown(w, r->scope.ns, "it has no Recommendation", err);
}

static const struct restore_target *scope_target(const struct restoring *r, const struct workload *w)
{
        for (size_t i = 0; i < r->targets; i++) {
                const struct restore_target *t = r->target[i];
                const struct api_resource *k = &t->kind->is;
                if ((t->recommendation && strcmp(t->recommendation, w->recommendation) == 0) ||
                    workload_is(w, text_of(k->group), text_of(k->kind), text_of(t->name)))
                        return t;
        }
        return NULL;
}

int restore_scope_check(struct restoring *r, struct err *err)
{
        int rc = 0;
        if (r->scope.words == 0)
                return r->targets > 0 ? 0 : scope_check_namespace(r, err);
        for (int i = 0; rc == 0 && i < r->scope.words; i++) {
                const struct workload *w = &r->scope.word[i];
                const struct restore_target *t = scope_target(r, w);
                if (!t)
                        rc = scope_missing(r, w, err);
                else if (t->missing && !restore_wanted(t))
                        rc = scope_no_workload(r, w, ": only its Recommendation is left", err);
        }
        return rc;
}

/* --- nothing to restore or resume --- */

static const struct {
        const char *verb, *none, *one, *many;
} nothing[] = {
        [TO_RESTORE] = {"restore", "carries values of halflife", "carries no values of halflife",
                        "carry no values of halflife"},
        [TO_RESUME] = {"resume", "is held", "is not held", "are not held"},
};

/* The workloads as the user gave them: "'deploy/web', 'sts/db'". */
static char *scope_names(const struct restore_scope *s)
{
        char *names = mem_string("");
        for (int i = 0; i < s->words; i++) {
                const struct workload *w = &s->word[i];
                char *more = mem_printf("%s%s'%.*s/%s'", names, i > 0 ? ", " : "", TEXT_ARG(w->word), w->name);
                mem_free(names);
                names = more;
        }
        return names;
}

char *restore_scope_nothing(const struct restore_scope *s, enum restore_purpose purpose)
{
        AUTO(mem_free) char *names = scope_names(s);
        AUTO(mem_free) char *where = s->ns ? mem_printf("in namespace '%s'", s->ns) : mem_string("in the cluster");
        if (s->words > 0)
                return mem_printf("nothing to %s: %s %s %s", nothing[purpose].verb, names, where,
                                  s->words == 1 ? nothing[purpose].one : nothing[purpose].many);
        return mem_printf("nothing to %s: no workload %s%s%s%s%s %s", nothing[purpose].verb, where,
                          s->labels ? " with the labels '" : "", s->labels ? s->labels : "", s->labels ? "'" : "",
                          s->orphaned ? " that has lost its profile" : "", nothing[purpose].none);
}
