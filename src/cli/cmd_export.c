/*
 * halflife export: write the histories to a file that halflife import reads. The histories come from a running halflife
 * (by its address or through the API server) or from a database, one workload at a time, so that memory does not limit
 * their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_client.h"
#include "base/buf.h"
#include "base/noun.h"
#include "base/yaml.h"
#include "cache/usage_starts_json.h"
#include "cli/session.h"
#include "commands.h"
#include "core/kind.h"
#include "store/transfer.h"
#include "terminal.h"

struct exporting {
        struct session_options where;
        struct api_client_options from;
        bool all;
        const char *ns, *labels; /* ns NULL: all namespaces */
        const char *file;        /* path of the output; NULL: stdout */
        FILE *to;
        bool begun; /* the file's first line is written */
        struct transfer_writer writer;
        struct api_client api_client;
        struct err failed; /* an error of the output file, or of reading the answer */
        size_t workloads, refused;
};

static int export_check(void *state, const struct command_line *line, struct err *err)
{
        const struct exporting *x = state;
        if (line->words.count > 0)
                return err_set(err, ERR_INVALID,
                               "takes no names, not '%s': choose workloads with -n, --all "
                               "and -l",
                               line->words.word[0]);
        if (x->all == (x->ns != NULL))
                return err_set(err, ERR_INVALID, "choose the namespaces: -n NAMESPACE, or --all");
        if (x->from.database && (x->labels || x->from.server))
                return err_set(err, ERR_INVALID, "--database and --%s exclude each other",
                               x->labels ? "selector" : "server");
        if (x->file && (strcmp(x->file, "json") == 0 || strcmp(x->file, "yaml") == 0))
                return err_set(err, ERR_INVALID,
                               "--output is the name of a file, not a format: for a file called '%s' write ./%s",
                               x->file, x->file);
        return x->from.server ? api_client_check(x->from.server, err) : 0;
}

/* --- writing histories --- */

/* Write the first line only when the first history has come, so that a command that fails before writes nothing. */
static int export_begin(struct exporting *x, struct err *err)
{
        if (x->begun)
                return 0;
        x->begun = true;
        return transfer_begin(&x->writer, x->to, now_read().wall, err);
}

static int put_row(struct exporting *x, const struct transfer_row *row, struct err *err)
{
        int rc = export_begin(x, err);
        return rc < 0 ? rc : transfer_put(&x->writer, row, err);
}

/* --- histories of a running halflife --- */

static const char *export_text_at(const json_t *object, const char *key)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s ? s : "";
}

static size_t export_read_hex(const char *text, uint8_t *out, size_t most)
{
        size_t len = 0;
        for (; text[0] && text[1] && len < most; text += 2) {
                char pair[3] = {text[0], text[1], '\0'}, *end;
                out[len++] = (uint8_t)strtoul(pair, &end, 16);
                if (*end)
                        return 0;
        }
        return *text ? 0 : len;
}

static int put_container(struct exporting *x, struct transfer_row *row, const json_t *container, struct err *err)
{
        uint8_t packed[USAGE_PACK_MAX];
        struct usage_memory memory;
        const json_t *sources = json_object_get(container, "sources");
        size_t len = export_read_hex(export_text_at(container, "history"), packed, sizeof packed);
        row->key.container = text_of(export_text_at(container, "name"));
        row->sources = 0;
        for (size_t i = 0; i < json_array_size(sources) && row->sources < TRANSFER_SOURCES; i++) {
                const char *source = json_string_value(json_array_get(sources, i));
                row->source[row->sources++] = source ? strtoull(source, NULL, 16) : 0;
        }
        if (row->sources == 0 || !transfer_key_fits(&row->key) || usage_unpack(packed, len, &row->usage, &memory) < 0)
                return err_set(err, ERR_INVALID,
                               "%.*s/%.*s: this halflife cannot read the history in the answer: use the version of "
                               "the server or a newer one",
                               TEXT_ARG(row->key.ns), TEXT_ARG(row->key.name));
        return row->usage.samples > 0 ? put_row(x, row, err) : 0;
}

static bool export_names_fit(const struct store_key *k)
{
        enum { NAME_MOST = 253 };
        return k->ns.len > 0 && k->ns.len <= NAME_MOST && k->group.len <= NAME_MOST && k->kind.len > 0 &&
               k->kind.len <= NAME_MOST && k->name.len > 0 && k->name.len <= NAME_MOST;
}

/* Write a workload's histories. A workload that was deleted since the list was read has none. */
static int put_workload(struct exporting *x, const json_t *metadata, struct err *err)
{
        struct transfer_row row = {.key = {text_of(export_text_at(metadata, "namespace")),
                                           kind_group(text_of(export_text_at(metadata, "apiVersion"))),
                                           text_of(export_text_at(metadata, "kind")),
                                           text_of(export_text_at(metadata, "name")), TEXT("")}};
        const struct store_key *k = &row.key;
        if (!export_names_fit(k))
                return err_set(err, ERR_INVALID, "the server is not halflife: its answer names no workload");
        AUTO(mem_free)
        char *word = mem_printf("%.*s%s%.*s", TEXT_ARG(k->kind), k->group.len ? "." : "", TEXT_ARG(k->group));
        AUTO(mem_free) char *ns = path_escape(k->ns.p), *kind = path_escape(word), *name = path_escape(k->name.p);
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/workloads/%s/%s/history", ns, kind, name);
        AUTO(json_decref) json_t *answer = api_client_get(&x->api_client, path, err);
        const json_t *container;
        size_t i;
        int rc = 0;
        if (!answer)
                return err->code == ERR_NOTFOUND ? 0 : err->code;
        /* the list may lack the apiVersion of a deleted workload, so take the group from the answer */
        row.key.group = text_of(export_text_at(answer, "group"));
        if (!export_names_fit(&row.key))
                return err_set(err, ERR_INVALID, "the server is not halflife: its answer names no API group");
        if (!json_is_array(json_object_get(answer, "containers")))
                return err_set(err, ERR_INVALID, "the server is not halflife: its answer has no containers");
        json_array_foreach(json_object_get(answer, "containers"), i, container)
        {
                if (rc == 0)
                        rc = put_container(x, &row, container, err);
        }
        x->workloads++;
        return rc;
}

static char *page_url(const struct exporting *x, const char *token)
{
        AUTO(mem_free) char *ns = x->ns ? path_escape(x->ns) : NULL;
        AUTO(mem_free) char *labels = x->labels ? path_escape(x->labels) : NULL;
        AUTO(mem_free) char *from = token ? path_escape(token) : NULL;
        return mem_printf("/api/v1%s%s/workloads?limit=500&fields=metadata%s%s%s%s", ns ? "/namespaces/" : "",
                          ns ? ns : "", labels ? "&labelSelector=" : "", labels ? labels : "", from ? "&continue=" : "",
                          from ? from : "");
}

static int put_page(struct exporting *x, const json_t *page, struct err *err)
{
        const json_t *items = json_object_get(page, "items"), *item;
        size_t i;
        int rc = 0;
        if (!json_is_array(items))
                return err_set(err, ERR_INVALID, "the server is not halflife: its list has no items");
        json_array_foreach(items, i, item)
        {
                if (rc == 0)
                        rc = put_workload(x, json_object_get(item, "metadata"), err);
        }
        return rc;
}

/* Read all pages. A page may be empty without being the last. To notice continue tokens that repeat in a circle, each
 * token is compared with an older one, which is replaced at page 1, 2, 4, 8 …. */
static int put_all(struct exporting *x, struct err *err)
{
        enum { PAGES_MOST = 1 << 20 };
        AUTO(mem_free) char *token = NULL, *kept = NULL;
        for (unsigned pages = 1; pages <= PAGES_MOST; pages++) {
                AUTO(mem_free) char *url = page_url(x, token);
                AUTO(json_decref) json_t *page = api_client_get(&x->api_client, url, err);
                int rc = page ? put_page(x, page, err) : err->code;
                if (rc < 0)
                        return rc;
                mem_free(token);
                token = mem_string(export_text_at(page, "continue"));
                if (!*token)
                        return 0;
                if (kept && strcmp(token, kept) == 0)
                        break;
                if ((pages & (pages - 1)) == 0) {
                        mem_free(kept);
                        kept = mem_string(token);
                }
        }
        return err_set(err, ERR_INVALID, "the server's list has no end: a continue token came twice");
}

/* Add to the error which server failed, and which option avoids it. */
static void tell_who(const char *server, const char *ours, struct err *err)
{
        struct err why = *err;
        if (!server && api_client_no_proxy(&why))
                err_set(err, why.code, "%s; the Role halflife-rest-proxy grants access: " API_CLIENT_GRANT, why.text,
                        ours);
        else if (why.code == ERR_DENIED && strstr(why.text, "HTTP "))
                err_set(err, why.code,
                        "%s: %s; give a token that may get and list recommendations, by HALFLIFE_TOKEN or --token-file",
                        server ? server : "the halflife in the cluster", why.text);
        else if (server || why.code == ERR_INVALID || why.code == ERR_DENIED)
                err_wrap(err, "%s", server ? server : "the halflife in the cluster");
        else
                err_set(err, why.code,
                        "Service 'halflife' in namespace '%s' did not answer (%s); --halflife-namespace gives its "
                        "namespace, --server URL asks halflife directly, --database FILE reads its database",
                        ours, why.text);
}

/* Set the error for an export that found no workload: the user probably mistyped a name, and an empty file would hide
 * that. */
static int none_known(const struct exporting *x, struct err *err)
{
        const char *labels = x->labels, *ns = x->ns;
        return err_set(err, ERR_NOTFOUND, "halflife knows no workload%s%s%s%s%s%s: %s get -A lists those it knows",
                       labels ? " with labels '" : "", labels ? labels : "", labels ? "'" : "",
                       ns ? " of namespace '" : "", ns ? ns : "", ns ? "'" : "", program_name());
}

static int export_ask(struct exporting *x, struct err *err)
{
        struct session s = {0};
        AUTO(mem_wipe) char *token = NULL;
        int rc = api_client_token(x->from.token_file, &token, err);
        if (rc < 0)
                return rc;
        rc = api_client_connect(&x->api_client, &s, &x->where, &x->from, token, err);
        if (rc == 0 && (rc = put_all(x, err)) < 0)
                tell_who(x->from.server, api_client_namespace(&x->from), err);
        if (rc == 0 && x->workloads == 0 && (x->ns || x->labels))
                rc = none_known(x, err);
        api_client_release(&x->api_client);
        session_release(&s);
        return rc;
}

/* --- histories of a database --- */

struct loaded {
        struct loaded *next;
        struct store_key key;
        /* from the target's record: the imported sources of its histories, and what its containers need while they
         * start */
        json_t *imported, *starts;
        char text[];
};

enum { NAMED_MOST = 8 };
struct loading {
        struct exporting *x;
        struct loaded *all;
        char *elsewhere[NAMED_MOST]; /* some namespaces of the database other than x->ns */
        size_t named;
        struct loaded other; /* receives the rows of all targets that are not exported */
};

static struct text export_copy(char **at, struct text from)
{
        struct text to = {memcpy(*at, from.p, from.len), from.len};
        *at += from.len;
        return to;
}

static void name_namespace(struct loading *l, struct text ns)
{
        for (size_t i = 0; i < l->named; i++)
                if (text_is(ns, l->elsewhere[i]))
                        return;
        if (l->named < NAMED_MOST)
                l->elsewhere[l->named++] = mem_string_n(ns.p, ns.len);
}

static void *export_take_target(void *arg, const struct store_key *key)
{
        struct loading *l = arg;
        if (!export_names_fit(key))
                return &l->other;
        if (l->x->ns && !text_is(key->ns, l->x->ns)) {
                name_namespace(l, key->ns);
                return &l->other;
        }
        struct loaded *t = mem_new(sizeof *t + key->ns.len + key->group.len + key->kind.len + key->name.len + 1);
        char *at = t->text;
        t->key = (struct store_key){.ns = export_copy(&at, key->ns),
                                    .group = export_copy(&at, key->group),
                                    .kind = export_copy(&at, key->kind),
                                    .name = export_copy(&at, key->name)};
        t->next = l->all;
        l->all = t;
        l->x->workloads++;
        return t;
}

static void take_record(void *arg, void *target, struct text record, struct wall gone)
{
        struct loading *l = arg;
        struct loaded *t = target;
        AUTO(json_decref) json_t *o = t != &l->other ? json_loadb(record.p, record.len, 0, NULL) : NULL;
        (void)gone;
        t->imported = json_incref(json_object_get(o, "imported")); /* NULL if the record has no such member */
        t->starts = json_incref(json_object_get(o, "starts"));
}

static void export_take_usage(void *arg, void *target, struct text container, const struct usage *u,
                              const struct store_watermark *watermarks, size_t count)
{
        struct loading *l = arg;
        const struct loaded *t = target;
        (void)watermarks, (void)count;
        if (t == &l->other || l->x->failed.code || u->samples == 0)
                return;
        struct transfer_row row = {.key = t->key, .sources = 1, .usage = *u};
        AUTO(mem_free) char *name = mem_string_n(container.p, container.len);
        const json_t *others = json_object_get(t->imported, name);
        struct usage_starts starts;
        row.usage.starts = usage_starts_read(json_object_get(t->starts, name), &starts) ? &starts : NULL;
        row.key.container = text_of(name);
        if (!transfer_key_fits(&row.key))
                return;
        row.source[0] = transfer_source(&row.key, u);
        for (size_t i = 0; i < json_array_size(others) && row.sources < TRANSFER_SOURCES; i++) {
                const char *source = json_string_value(json_array_get(others, i));
                if (source)
                        row.source[row.sources++] = strtoull(source, NULL, 16);
        }
        (void)put_row(l->x, &row, &l->x->failed);
}

static void export_pass_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        (void)arg, (void)target, (void)container, (void)kill;
}

static void export_pass_note(void *arg, struct text name, struct text value)
{
        (void)arg, (void)name, (void)value;
}

static void export_take_refused(void *arg, void *target, struct text container, const struct err *why)
{
        struct loading *l = arg;
        const struct loaded *t = target;
        if (t == &l->other)
                return;
        AUTO(mem_free)
        char *line = mem_printf("%.*s %.*s/%.*s %.*s: left out: %s", t ? (int)t->key.ns.len : 0, t ? t->key.ns.p : "",
                                t ? (int)t->key.kind.len : 0, t ? t->key.kind.p : "", t ? (int)t->key.name.len : 0,
                                t ? t->key.name.p : "", TEXT_ARG(container), why->text);
        fprintf(stderr, "%s\n", terminal_tame(line));
        l->x->refused++;
}

static void loading_release(struct loading *l)
{
        for (struct loaded *t; (t = l->all);) {
                l->all = t->next;
                json_decref(t->imported);
                json_decref(t->starts);
                mem_free(t);
        }
        while (l->named > 0)
                mem_free(l->elsewhere[--l->named]);
}

static int no_such_namespace(const struct loading *l, struct err *err)
{
        struct buf names;
        buf_init(&names, NAMED_MOST * 256);
        for (size_t i = 0; i < l->named; i++)
                (void)buf_printf(&names, "%s%s", i ? ", " : "", l->elsewhere[i]);
        err_set(err, ERR_NOTFOUND, "namespace '%s' has no workload in '%s'%s%.*s%s", l->x->ns, l->x->from.database,
                l->named ? ", which has namespaces " : ", nor has any other namespace", TEXT_ARG(buf_text(&names)),
                l->named == NAMED_MOST ? ", ..." : "");
        buf_release(&names);
        return err->code;
}

static int export_load(struct exporting *x, struct err *err)
{
        struct loading l = {.x = x};
        const struct store_reader reader = {
                export_take_target,  take_record, export_take_usage, export_pass_kill, export_pass_note,
                export_take_refused, &l};
        struct store *s;
        int rc = store_open_reader(x->from.database, &s, err);
        if (rc < 0)
                return rc;
        rc = store_load(s, &reader, err);
        store_close(s, &(struct err){0});
        if (rc == 0 && x->failed.code) {
                *err = x->failed;
                rc = err->code;
        }
        if (rc == 0 && x->ns && x->workloads == 0)
                rc = no_such_namespace(&l, err);
        loading_release(&l);
        return rc;
}

/* --- the file --- */

static int export_write_all(struct exporting *x, FILE *to, struct err *err)
{
        x->to = to;
        int rc = x->from.database ? export_load(x, err) : export_ask(x, err);
        if (rc == 0)
                rc = export_begin(x, err);
        return rc == 0 ? transfer_end(&x->writer, err) : rc;
}

/* Write to a temporary file beside the output file, and then rename it, so that nobody finds half a file. */
static int write_file(struct exporting *x, const char *path, struct err *err)
{
        AUTO(mem_free) char *half = mem_printf("%s.XXXXXX", path);
        struct stat is;
        if (lstat(path, &is) == 0 && !S_ISREG(is.st_mode))
                return err_set(err, ERR_INVALID,
                               "'%s' is not a regular file and was not written: give another path, or leave out -o "
                               "for standard output",
                               path);
        int fd = mkostemp(half, O_CLOEXEC), rc;
        FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
        if (!to)
                return err_set(err, ERR_IO, "'%s': %s", path, strerror(errno));
        rc = export_write_all(x, to, err);
        if (rc == 0 && fsync(fd) < 0)
                rc = err_set(err, ERR_IO, "write: %s", strerror(errno));
        if (fclose(to) != 0 && rc == 0)
                rc = err_set(err, ERR_IO, "write: %s", strerror(errno));
        if (rc == 0 && rename(half, path) < 0)
                rc = err_set(err, ERR_IO, "'%s': %s", path, strerror(errno));
        if (rc < 0)
                unlink(half);
        return rc;
}

static int export_run(void *state, struct err *err)
{
        struct exporting *x = state;
        int rc = x->file ? write_file(x, x->file, err) : export_write_all(x, stdout, err);
        if (rc < 0 && !x->file && x->begun)
                fprintf(stderr, "the output is incomplete, and halflife import will refuse it\n");
        if (rc < 0)
                return rc;
        fprintf(stderr, "%s of %s%s\n", NOUN_COUNT(x->writer.rows, "history"), NOUN_COUNT(x->workloads, "workload"),
                x->refused ? ", others were left out" : "");
        return x->refused ? EXIT_FAILED : EXIT_DONE;
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE,
         OPTION_IN(struct exporting, ns),
         .help = "export the histories of this namespace"},
        {.name = "all", .letter = 'A', OPTION_IN(struct exporting, all), .help = "export the histories of every "
                                                                                 "namespace"},
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS,
         OPTION_IN(struct exporting, labels),
         .help = "export only workloads with these labels"},
        {.name = "output", .letter = 'o', .value = "FILE", OPTION_IN(struct exporting, file),
         .help = "file to write, whole or not at all; default: standard output"},
        REMOTE_OPTIONS(struct exporting, from),
        SESSION_OPTIONS(struct exporting, where),
};
/* clang-format on */

const struct command command_export = {
        .name = "export",
        .help = "write histories to a file, for another cluster or namespace",
        .usage = {"[option]..."},
        .intro = "Writes histories as text, which halflife import reads into another cluster or namespace. Requires "
                 "-n or\n"
                 "--all. Changes nothing. The text holds only names and histograms.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct exporting),
        .check = export_check,
        .run = export_run,
};
