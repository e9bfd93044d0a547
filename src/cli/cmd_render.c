/*
 * halflife render: print manifests with the recommended requests. The numbers come from a halflife server, or directly
 * from the cluster.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_client.h"
#include "base/noun.h"
#include "base/yaml.h"
#include "cli/session.h"
#include "commands.h"
#include "deploy/render.h"
#include "diff.h"
#include "manifest_inputs.h"
#include "render_table.h"
#include "serving/snapshot_once.h"
#include "terminal.h"

enum { OUT_MAX = 256 << 20 };

struct rendering {
        const struct option_given *files;
        bool diff, dry_run, exit_code;
        struct session_options where;
        struct api_client_options from;
        struct session session;
        const char *ns;
        struct inputs in;
        struct buf *out;    /* the resulting text of each input */
        json_t **report;    /* the report of each manifest, in the form of deploy/render.h */
        const char *failed; /* path of the manifest that the error is about; NULL: the error is about none */
        bool changed;
};

/* --- arguments --- */

static int render_check(void *state, const struct command_line *line, struct err *err)
{
        const struct rendering *r = state;
        if (line->words.count)
                return err_set(err, ERR_INVALID, "'%s' is not an option: give manifests with -f", line->words.word[0]);
        if (r->files->count == 0)
                return err_set(err, ERR_INVALID, "no manifests: give -f FILE, -f - or -f FOLDER");
        if (r->diff && r->dry_run)
                return err_set(err, ERR_INVALID, "--diff and --dry-run exclude each other");
        if (!r->from.server && (r->from.server_ca || r->from.token_file))
                return err_set(err, ERR_INVALID, "--server-ca and --token-file require --server URL");
        return 0;
}

static int read_manifests(struct rendering *r, struct err *err)
{
        for (int i = 0; i < r->files->count; i++)
                if (inputs_add(&r->in, r->files->value[i], err) < 0)
                        return err->code;
        r->out = mem_new_array(r->in.count, sizeof *r->out);
        r->report = mem_new_array(r->in.count, sizeof *r->report);
        for (size_t i = 0; i < r->in.count; i++)
                buf_init(&r->out[i], OUT_MAX);
        return 0;
}

static void rendering_release(void *state)
{
        struct rendering *r = state;
        for (size_t i = 0; r->out && i < r->in.count; i++) {
                buf_release(&r->out[i]);
                json_decref(r->report[i]);
        }
        mem_free(r->out);
        mem_free(r->report);
        inputs_release(&r->in);
        session_release(&r->session);
}

/* --- rendering with what the cluster has --- */

static int render_look(struct rendering *r, const struct render *all, struct snapshot **ret, struct err *err)
{
        struct text found[GLANCE_NAMESPACES + 1];
        const char *ns[GLANCE_NAMESPACES + 1];
        struct arena names = {0};
        struct err why = {0};
        size_t unread = 0, named = 0, count = render_namespaces(all, found, GLANCE_NAMESPACES);
        /* Leave out texts that cannot name a namespace, because one with a slash would lead to another URL path. */
        for (size_t i = 0; i < count && i < GLANCE_NAMESPACES; i++)
                if (option_is_namespace(found[i].p, found[i].len))
                        ns[named++] = arena_text(&names, found[i]);
        const char *own = getenv("HALFLIFE_NAMESPACE");
        const struct snapshot_once_options o = {.own_ns = own && *own ? own : "halflife",
                                                .ns = ns,
                                                .namespaces = count > GLANCE_NAMESPACES ? count : named};
        int rc = count ? snapshot_once(r->session.client, &o, ret, &unread, &why, err) : 0;
        if (unread)
                fprintf(stderr, "halflife render: skipped %s of the cluster that could not be read: %s\n",
                        NOUN_COUNT(unread, "object"), terminal_tame(why.text));
        arena_release(&names);
        return rc;
}

static int read_report(struct rendering *r, const struct render *all, size_t i, struct err *err)
{
        struct buf text;
        buf_init(&text, RENDER_REPORT_MAX);
        int rc = render_report(all, i, &text, err);
        r->report[i] = rc == 0 ? json_loadb(text.data, text.len, 0, NULL) : NULL;
        buf_release(&text);
        return rc;
}

static int take_results(struct rendering *r, const struct render *all, struct err *err)
{
        int rc = 0;
        for (size_t i = 0; rc == 0 && i < r->in.count; i++) {
                rc = render_write(all, i, &r->out[i], err);
                if (rc == 0)
                        rc = read_report(r, all, i, err);
        }
        r->changed = render_changed(all) > 0;
        return rc;
}

static int render_here(struct rendering *r, struct err *err)
{
        struct snapshot *v = NULL;
        int rc = session_open_given(&r->session, &r->where, err);
        if (rc < 0)
                return rc;
        r->ns = r->ns ? r->ns : access_namespace(r->session.access);
        const struct render_options o = {.ns = text_of(r->ns)};
        AUTO(render_free) struct render *all = render_new(&o);
        for (size_t i = 0; i < r->in.count; i++)
                if (render_add(all, r->in.item[i].text, err) < 0) {
                        r->failed = r->in.item[i].path;
                        return err->code;
                }
        rc = render_look(r, all, &v, err);
        if (rc == 0) {
                v = v ? v : snapshot_new(); /* no Recommendation concerns these manifests */
                render_run(all, v);
                rc = take_results(r, all, err);
        } else {
                session_advise(err);
        }
        snapshot_drop(v);
        return rc;
}

/* --- rendering by a server --- */

static bool render_ends_in(const char *s, const char *ending)
{
        size_t len = strlen(s), tail = strlen(ending);
        return len >= tail && strcmp(s + len - tail, ending) == 0;
}

static int render_ask(struct api_client *api_client, const char *ns, bool dry_run, bool json, struct text text,
                      char **ret, size_t *ret_len, struct err *err)
{
        AUTO(mem_free) char *escaped = path_escape(ns);
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/render%s", escaped, dry_run ? "?dryRun" : "");
        return api_client_post(api_client, path, json ? "application/json" : "application/yaml", text, ret, ret_len,
                               err);
}

/* Add the server's rows about a namespace to an input's report, and rows without a namespace only once. Returns whether
 * an added row has a change. */
static bool take_rows(json_t *report, const json_t *rows, const char *ns)
{
        bool first = json_array_size(report) == 0, changed = false;
        size_t i;
        json_t *row;
        json_array_foreach((json_t *)(uintptr_t)rows, i, row)
        {
                const char *of = json_string_value(json_object_get(row, "namespace"));
                if (of ? strcmp(of, ns) != 0 : !first)
                        continue;
                changed |= json_object_get(row, "changes") != NULL;
                json_array_append(report, row);
        }
        return changed;
}

/* Have the server render an input for one namespace. First request the report on the input as it was given; if the
 * report has no change, the text stays as it is. */
static int ask_of(struct rendering *r, struct api_client *api_client, size_t i, const char *ns, struct err *err)
{
        const struct input *m = &r->in.item[i];
        AUTO(mem_free) char *list = NULL;
        AUTO(mem_free) char *text = NULL;
        bool json = render_ends_in(m->path, ".json");
        size_t len;
        int rc = render_ask(api_client, ns, true, json, m->text, &list, &len, err);
        if (rc < 0)
                return rc;
        AUTO(json_decref) json_t *rows = json_loadb(list, len, 0, NULL);
        if (!json_is_array(rows))
                return err_set(err, ERR_RETRY, "the server is not halflife: its answer is not a list");
        if (!take_rows(r->report[i], rows, ns))
                return 0;
        r->changed = true;
        rc = render_ask(api_client, ns, false, json, buf_text(&r->out[i]), &text, &len, err);
        buf_reset(&r->out[i]);
        return rc < 0 ? rc : buf_add(&r->out[i], text, len);
}

/* Have the server render an input for each of its namespaces in turn. A document without a namespace would count for
 * each, so it is allowed only in a file with one namespace. */
static int ask_one(struct rendering *r, struct api_client *api_client, size_t i, struct err *err)
{
        const struct input *m = &r->in.item[i];
        struct text found[GLANCE_NAMESPACES + 1];
        AUTO(render_free) struct render *parsed = render_new(&(struct render_options){.ns = TEXT("")});
        if (render_add(parsed, m->text, err) < 0)
                return err->code;
        size_t count = render_namespaces(parsed, found, GLANCE_NAMESPACES);
        bool nameless = count == 0;
        int rc = buf_add(&r->out[i], m->text.p, m->text.len);
        r->report[i] = json_array();
        for (size_t k = 0; k < count && k < GLANCE_NAMESPACES; k++)
                nameless |= found[k].len == 0;
        if (count > GLANCE_NAMESPACES || (nameless && count > 1))
                return err_set(err, ERR_INVALID,
                               "with --server, each document must name its namespace, at most %d namespaces in a "
                               "file; or leave out --server",
                               GLANCE_NAMESPACES);
        if (nameless)
                return rc < 0 ? rc : ask_of(r, api_client, i, r->ns, err);
        for (size_t k = 0; rc == 0 && k < count; k++) {
                AUTO(mem_free) char *ns = mem_string_n(found[k].p, found[k].len);
                rc = ask_of(r, api_client, i, ns, err);
        }
        return rc;
}

static int ask_all(struct rendering *r, const char *token, struct err *err)
{
        struct api_client api_client = {0};
        const char *url = r->from.server;
        int rc = api_client_open(&api_client, url, r->from.server_ca, token, err);
        bool open = rc == 0;
        for (size_t i = 0; rc == 0 && i < r->in.count; i++) {
                rc = ask_one(r, &api_client, i, err);
                if (rc == ERR_INVALID)
                        r->failed = r->in.item[i].path;
        }
        api_client_release(&api_client);
        return rc < 0 && open && !r->failed ? err_wrap(err, "server '%s'", url) : rc;
}

static int render_there(struct rendering *r, struct err *err)
{
        AUTO(mem_wipe) char *token = NULL;
        int rc = api_client_token(r->from.token_file, &token, err);
        if (rc == 0)
                rc = session_open_optional(&r->session, &r->where, err);
        if (rc < 0)
                return rc;
        const struct access *a = r->session.access;
        if (!r->ns)
                r->ns = a ? access_namespace(a) : "default";
        return ask_all(r, token ? token : a ? access_bearer(a) : NULL, err);
}

/* --- printing --- */

/* Print "line 3, column 7: why" of a file as "FILE:3:7: why", as compilers do. */
static void say_place(const char *path, unsigned line, const char *text, const char *note)
{
        unsigned column;
        int behind = 0;
        bool placed = sscanf(text, "line %u, column %u: %n", &line, &column, &behind) == 2 && behind > 0;
        AUTO(mem_free)
        char *say = placed ? mem_printf("%s:%u:%u: %s%s", path, line, column, note, text + behind)
                    : line ? mem_printf("%s:%u: %s%s", path, line, note, text)
                           : mem_printf("%s: %s%s", path, note, text);
        fprintf(stderr, "halflife render: %s\n", terminal_tame(say));
}

/* Whether a workload stays unchanged because something is wrong with its manifest. --dry-run reports the other
 * reasons. */
static bool is_trouble(const char *reason)
{
        static const char *const troubles[] = {"NotEditable", "Templated", "UnreadableRecord"};
        for (size_t i = 0; reason && i < sizeof troubles / sizeof *troubles; i++)
                if (strcmp(reason, troubles[i]) == 0)
                        return true;
        return false;
}

static void warn_of(const char *path, const json_t *row)
{
        const char *detail = json_string_value(json_object_get(row, "detail"));
        if (!detail || !is_trouble(json_string_value(json_object_get(row, "reason"))))
                return;
        say_place(path, (unsigned)json_integer_value(json_object_get(row, "line")), detail, "left as it is: ");
}

static void render_warn(const struct rendering *r)
{
        for (size_t i = 0; i < r->in.count; i++) {
                size_t k;
                json_t *row;
                json_array_foreach(r->report[i], k, row) warn_of(r->in.item[i].path, row);
        }
}

/* The separator line before a text that follows another one; NULL: the text begins with one. A directive (%) may only
 * follow "...". */
static const char *render_parting(struct text t)
{
        if (t.len >= 3 && memcmp(t.p, "---", 3) == 0)
                return NULL;
        while (t.len > 0 && strchr("#\r\n", *t.p)) {
                const char *newline = memchr(t.p, '\n', t.len);
                size_t behind = newline ? (size_t)(newline - t.p) + 1 : t.len;
                t = (struct text){t.p + behind, t.len - behind};
        }
        return t.len > 0 && *t.p == '%' ? "..." : "---";
}

/* Print the rendered manifests in order, with a separator line between two of them. */
static void print_manifests(const struct rendering *r)
{
        static const char bom[] = "\xef\xbb\xbf";
        for (size_t i = 0; i < r->in.count; i++) {
                struct text t = buf_text(&r->out[i]), before = i ? buf_text(&r->out[i - 1]) : (struct text){0};
                if (i && before.len && before.p[before.len - 1] != '\n')
                        putchar('\n');
                if (i && t.len >= 3 && memcmp(t.p, bom, 3) == 0)
                        t = (struct text){t.p + 3, t.len - 3};
                if (i && render_parting(t))
                        puts(render_parting(t));
                fwrite(t.p, 1, t.len, stdout);
        }
}

static void print_diffs(const struct rendering *r)
{
        struct terminal t;
        terminal_read(stdout, &t);
        for (size_t i = 0; i < r->in.count; i++)
                diff_print(stdout, r->in.item[i].path, r->in.item[i].text, buf_text(&r->out[i]), t.colour);
}

/* Print the last line: how many workloads are left as they were, or that there is none to change. */
static void render_say_left(const struct rendering *r)
{
        size_t rows = 0, left = 0;
        const char *hint = r->dry_run ? "" : "; --dry-run says why";
        for (size_t i = 0; i < r->in.count; i++) {
                size_t k;
                json_t *row;
                json_array_foreach(r->report[i], k, row) left += json_object_get(row, "changes") == NULL;
                rows += json_array_size(r->report[i]);
        }
        if (rows == 0)
                fputs("halflife render: nothing is changed: the manifests contain no workload\n", stderr);
        else if (left == rows)
                fprintf(stderr, "halflife render: nothing is changed: %zu left as they were%s\n", left, hint);
        else if (left)
                fprintf(stderr, "halflife render: %zu changed, %zu left as they were%s\n", rows - left, left, hint);
}

static int render_manifests(void *state, struct err *err)
{
        struct rendering *r = state;
        int rc = read_manifests(r, err);
        if (rc == 0)
                rc = r->from.server ? render_there(r, err) : render_here(r, err);
        if (rc < 0 && r->failed) {
                say_place(r->failed, 0, err->text, "");
                return EXIT_FAILED;
        }
        if (rc < 0)
                return rc;
        if (!r->dry_run)
                render_warn(r);
        if (r->dry_run)
                render_table_print(&r->in, r->report);
        else
                (r->diff ? print_diffs : print_manifests)(r);
        render_say_left(r);
        return r->exit_code && r->changed ? EXIT_CHANGES : EXIT_DONE;
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "filename", .letter = 'f', .value = "FILE", .many = true, OPTION_IN(struct rendering, files),
         .help = "manifests: a file, - for standard input, or a folder with all *.yaml, *.yml and *.json below it; "
                 "may be repeated"},
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE,
         OPTION_IN(struct rendering, ns),
         .help = "namespace of manifests that name none; default: the context's"},
        {.name = "diff", OPTION_IN(struct rendering, diff), .help = "print a unified diff instead of the manifests"},
        {.name = "dry-run", OPTION_IN(struct rendering, dry_run),
         .help = "instead of the manifests, list each request that would change or stay, with its reason"},
        {.name = "exit-code", OPTION_IN(struct rendering, exit_code), .help = "exit with 3 if a manifest changes"},
        {.name = "server", .value = "URL", OPTION_IN(struct rendering, from.server),
         .help = "send each file to the halflife at this address (its --serve-listen); default: read the cluster"},
        {.name = "server-ca", .value = "FILE", OPTION_IN(struct rendering, from.server_ca),
         .help = "CA (PEM) that verifies the certificate of --server; default: the system's CAs"},
        {.name = "token-file", .value = "FILE", OPTION_IN(struct rendering, from.token_file),
         .help = "file with the token for --server; default: $HALFLIFE_TOKEN, else the kubeconfig's token"},
        SESSION_OPTIONS(struct rendering, where),
};
/* clang-format on */

const struct command command_render = {
        .name = "render",
        .help = "set recommended requests in manifests",
        .usage = {"-f FILE [option]..."},
        .intro = "Reads manifests and prints them with the requests to deploy with. All other bytes stay as they are, "
                 "except\n"
                 "for halflife's own annotations.\n",
        .outro = "Exit codes: 0 success; 1 failure, with nothing on standard output; 2 wrong usage; 3 with "
                 "--exit-code: a\n"
                 "manifest changes. Where workloads are left as they were, the last line on standard error says so.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct rendering),
        .check = render_check,
        .run = render_manifests,
        .release = rendering_release,
};
