#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "access_config.h"
#include "base/buf.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "net/proxy.h"

enum {
        FILE_BYTES_MAX = 16 << 20,
        FILES_MAX = 64,
        NAMES_SHOWN = 1024,
        TEXT_BYTES_MAX = 8 << 10,
        LIST_MAX = 256,
        ITEM_BYTES_MAX = 64 << 10, /* longest argument or variable of a plug-in; the kernel passes 128 KiB */
};

struct config_file {
        char *path;
        json_t *doc;
};

struct config_set {
        struct config_file file[FILES_MAX];
        int files;
        const char *list; /* the paths as given */
};

/* An entry of a section, and the file that holds it; relative paths in the entry start at the file's folder. */
struct entry {
        const json_t *value;
        const char *section, *name, *path;
};

static void config_set_release(struct config_set *set)
{
        for (int i = 0; i < set->files; i++) {
                mem_free(set->file[i].path);
                json_decref(set->file[i].doc);
        }
}

/* --- the files --- */

static int kubeconfig_read_one(struct config_set *set, const char *path, struct err *err)
{
        size_t len;
        char *text = file_read_input(path, FILE_BYTES_MAX, &len, err);
        if (!text)
                return err_wrap(err, "read kubeconfig");
        AUTO(json_decref) json_t *doc = len ? yaml_read(text, len, err) : json_object();
        mem_wipe_n(text, len);
        if (!doc)
                return err_wrap(err, "read kubeconfig '%s'", path);
        if (json_is_null(doc))
                return 0;
        if (!json_is_object(doc))
                return err_set(err, ERR_INVALID,
                               "read kubeconfig '%s': it is not a mapping with clusters, users and contexts", path);
        set->file[set->files++] = (struct config_file){.path = mem_string(path), .doc = STEAL(&doc)};
        return 0;
}

/* Read all files. If there are several, skip missing ones, as kubectl does. */
static int kubeconfig_read_all(struct config_set *set, const char *list, struct err *err)
{
        bool several = strchr(list, ':') != NULL;
        set->list = list;
        for (const char *p = list; *p;) {
                size_t len = strcspn(p, ":");
                AUTO(mem_free) char *path = mem_string_n(p, len);
                p += len + (p[len] == ':');
                if (len == 0 || (several && access(path, F_OK) != 0 && errno == ENOENT))
                        continue;
                if (set->files == FILES_MAX)
                        return err_set(err, ERR_TOOBIG, "KUBECONFIG names more than %d files", FILES_MAX);
                int rc = kubeconfig_read_one(set, path, err);
                if (rc < 0)
                        return rc;
        }
        if (set->files == 0)
                return err_set(err, ERR_NOTFOUND, "the kubeconfig files %s are all missing or empty", list);
        return 0;
}

/* --- sections --- */

/* Find an entry by name, in the first file that has one. ERR_NOTFOUND: no file has one. ERR_INVALID: that file has
 * two. */
static int find_entry(const struct config_set *set, const char *section, const char *member, const char *name,
                      struct entry *ret, struct err *err)
{
        for (int i = 0; i < set->files; i++) {
                size_t at;
                json_t *item;
                int found = 0;
                json_array_foreach(json_object_get(set->file[i].doc, section), at, item)
                {
                        const char *its = json_string_value(json_object_get(item, "name"));
                        if (!its || strcmp(its, name) != 0)
                                continue;
                        if (found++)
                                return err_set(err, ERR_INVALID, "'%s' appears twice in %s of %s", name, section,
                                               set->file[i].path);
                        *ret = (struct entry){json_object_get(item, member), section, name, set->file[i].path};
                }
                if (found)
                        return 0;
        }
        return ERR_NOTFOUND;
}

/* The names of all files' entries as "a, b", or "none"; names beyond NAMES_SHOWN bytes are left out. */
static char *names_of(const struct config_set *set, const char *section)
{
        struct buf b;
        buf_init(&b, NAMES_SHOWN);
        for (int i = 0; i < set->files; i++) {
                size_t at;
                json_t *item;
                json_array_foreach(json_object_get(set->file[i].doc, section), at, item)
                {
                        const char *name = json_string_value(json_object_get(item, "name"));
                        if (name && name[0])
                                (void)buf_printf(&b, "%s%s", b.len ? ", " : "", name);
                }
        }
        return b.len ? buf_steal(&b) : mem_string("none");
}

static int need_entry(const struct config_set *set, const char *section, const char *member, const char *name,
                      struct entry *ret, struct err *err)
{
        int rc = find_entry(set, section, member, name, ret, err);
        if (rc == ERR_NOTFOUND) {
                AUTO(mem_free) char *names = names_of(set, section);
                return err_set(err, ERR_NOTFOUND, "%s '%s' is not in %s; it has: %s", member, name, set->list, names);
        }
        if (rc == 0 && !json_is_object(ret->value))
                return err_set(err, ERR_INVALID, "%s '%s' in %s is empty", member, name, ret->path);
        return rc;
}

static int long_text_member(const struct entry *e, const json_t *of, const char *key, size_t most, char **ret,
                            struct err *err)
{
        const json_t *value = json_object_get(of, key);
        if (!value || json_is_null(value))
                return 0;
        if (!json_is_string(value))
                return err_set(err, ERR_INVALID, "%s of '%s' in %s must be a text: put it in quotes", key, e->name,
                               e->path);
        size_t len = json_string_length(value);
        if (len > most)
                return err_set(err, ERR_TOOBIG, "%s of '%s' in %s has %zu bytes, and at most %zu are read: shorten it",
                               key, e->name, e->path, len, most);
        if (len > 0)
                *ret = mem_string(json_string_value(value));
        return 0;
}

/* Read a member that is a text. If it is absent, null or "", *ret stays as it is. */
static int text_member(const struct entry *e, const json_t *of, const char *key, char **ret, struct err *err)
{
        return long_text_member(e, of, key, TEXT_BYTES_MAX, ret, err);
}

static int bool_member(const struct entry *e, const char *key, bool *ret, struct err *err)
{
        const json_t *value = json_object_get(e->value, key);
        if (!value || json_is_null(value))
                return 0;
        if (!json_is_boolean(value))
                return err_set(err, ERR_INVALID, "%s of '%s' in %s must be true or false", key, e->name, e->path);
        *ret = json_is_true(value);
        return 0;
}

/* --- credentials --- */

/* Resolve a path relative to the folder of the file that names it. Takes ownership of path. */
static char *path_from(const char *file, char *path)
{
        const char *slash = strrchr(file, '/');
        if (path[0] == '/' || !slash)
                return path;
        char *ret = mem_printf("%.*s/%s", (int)(slash - file), file, path);
        mem_free(path);
        return ret;
}

/* Read a PEM text: KEY-data holds it inline and takes precedence over KEY, which is a path. */
static int pem_member(const struct entry *e, const char *key, struct access_text *ret, struct err *err)
{
        AUTO(mem_free) char *data_key = mem_printf("%s-data", key);
        AUTO(mem_free) char *data = NULL;
        int rc = long_text_member(e, e->value, data_key, CREDENTIAL_BYTES_MAX, &data, err);
        if (rc < 0)
                return rc;
        if (data) {
                ret->text = credential_decode(data);
                if (!ret->text)
                        return err_set(err, ERR_INVALID, "%s of '%s' in %s is not base64", data_key, e->name, e->path);
                rc = credential_check(ret->text, CREDENTIAL_PEM, err);
                return rc < 0 ? err_wrap(err, "%s of '%s' in %s", data_key, e->name, e->path) : 0;
        }
        rc = text_member(e, e->value, key, &ret->path, err);
        if (rc < 0 || !ret->path)
                return rc;
        ret->path = path_from(e->path, ret->path);
        rc = access_text_read(ret, CREDENTIAL_PEM, err);
        return rc < 0 ? err_wrap(err, "%s of '%s' in %s", key, e->name, e->path) : 0;
}

/* Read a user's token. tokenFile takes precedence; the inline token is used as long as that file cannot be read. */
static int token_member(const struct entry *e, struct access_text *ret, struct err *err)
{
        int rc = long_text_member(e, e->value, "token", CREDENTIAL_BYTES_MAX, &ret->text, err);
        if (rc == 0)
                rc = text_member(e, e->value, "tokenFile", &ret->path, err);
        if (rc < 0)
                return rc;
        if (ret->text && (rc = credential_check(ret->text, CREDENTIAL_TOKEN, err)) < 0)
                return err_wrap(err, "token of '%s' in %s", e->name, e->path);
        if (!ret->path)
                return 0;
        ret->path = path_from(e->path, ret->path);
        rc = access_text_read(ret, CREDENTIAL_TOKEN, err);
        return rc < 0 && !ret->text ? err_wrap(err, "tokenFile of '%s' in %s", e->name, e->path) : 0;
}

/* --- cluster, user, context --- */

static int read_server(const struct entry *e, struct access_config *c, struct err *err)
{
        int rc = text_member(e, e->value, "server", &c->server, err);
        if (rc < 0)
                return rc;
        if (!c->server)
                return err_set(err, ERR_INVALID, "cluster '%s' in %s names no server", e->name, e->path);
        size_t scheme = strncmp(c->server, "https://", 8) == 0 ? 8 : strncmp(c->server, "http://", 7) == 0 ? 7 : 0;
        c->server[scheme + strcspn(c->server + scheme, "?#")] = '\0'; /* cut query and fragment, as kubectl does */
        if (!scheme || c->server[scheme] == '\0' || c->server[scheme] == '/')
                return err_set(err, ERR_INVALID, "server '%s' of cluster '%s' in %s is not https://host:port",
                               c->server, e->name, e->path);
        for (size_t len = strlen(c->server); len > 0 && c->server[len - 1] == '/'; len--)
                c->server[len - 1] = '\0';
        return 0;
}

/* Refuse a proxy URL that cannot be used, so that loading fails and not each request. */
static int read_proxy(const struct entry *e, char **ret, struct err *err)
{
        struct proxy_url u;
        int rc = text_member(e, e->value, "proxy-url", ret, err);
        if (rc == 0 && *ret && (rc = proxy_url_parse(*ret, &u, err)) < 0)
                return err_wrap(err, "proxy-url of cluster '%s' in %s", e->name, e->path);
        return rc;
}

static int read_cluster(const struct entry *e, struct access_config *c, struct err *err)
{
        int rc = read_server(e, c, err);
        if (rc == 0)
                rc = text_member(e, e->value, "tls-server-name", &c->server_name, err);
        if (rc == 0)
                rc = read_proxy(e, &c->proxy_url, err);
        if (rc == 0)
                rc = bool_member(e, "insecure-skip-tls-verify", &c->insecure, err);
        if (rc == 0)
                rc = bool_member(e, "disable-compression", &c->no_gzip, err);
        if (rc == 0)
                rc = pem_member(e, "certificate-authority", &c->ca, err);
        if (rc == 0 && c->insecure && c->ca.text)
                return err_set(
                        err, ERR_INVALID,
                        "cluster '%s' in %s has both insecure-skip-tls-verify and a certificate-authority: drop one",
                        e->name, e->path);
        return rc;
}

/* Refuse authentication methods that halflife does not support, instead of ignoring them silently. */
static int kubeconfig_refuse_unknown(const struct entry *e, struct err *err)
{
        static const struct {
                const char *key, *cure;
        } row[] = {
                {"username", "Kubernetes takes no passwords any more; use a token, a certificate or exec"},
                {"auth-provider", "it was replaced by exec plug-ins; run your provider's login tool again"},
                {"as", "halflife does not impersonate; use a user of its own"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const json_t *value = json_object_get(e->value, row[i].key);
                if (value && !json_is_null(value))
                        return err_set(err, ERR_INVALID, "user '%s' in %s has %s: %s", e->name, e->path, row[i].key,
                                       row[i].cure);
        }
        return 0;
}

static int kubeconfig_read_list(const struct entry *e, const json_t *exec, const char *key, char ***ret,
                                struct err *err)
{
        const json_t *list = json_object_get(exec, key);
        size_t count = json_array_size(list), at;
        json_t *item;
        if (count > LIST_MAX)
                return err_set(err, ERR_TOOBIG,
                               "exec of user '%s' in %s: %s has %zu elements, and at most %d are read: call a script "
                               "that has them",
                               e->name, e->path, key, count, LIST_MAX);
        *ret = mem_new_array(count + 1, sizeof(char *));
        json_array_foreach(list, at, item)
        {
                const char *name = json_string_value(json_object_get(item, "name"));
                const char *value = json_string_value(json_object_get(item, "value"));
                if (json_is_string(item))
                        (*ret)[at] = mem_string(json_string_value(item));
                else if (name && value)
                        (*ret)[at] = mem_printf("%s=%s", name, value);
                else
                        return err_set(err, ERR_INVALID,
                                       "exec of user '%s' in %s: args are texts, env has name and value", e->name,
                                       e->path);
                if (strlen((*ret)[at]) > ITEM_BYTES_MAX)
                        return err_set(err, ERR_TOOBIG,
                                       "exec of user '%s' in %s: %s[%zu] has more than %d bytes: put it into a file",
                                       e->name, e->path, key, at, ITEM_BYTES_MAX);
        }
        return 0;
}

/* Find the cluster's extension for credential plug-ins, by its reserved name. *ret NULL: the cluster has none. */
static int find_plug_in_config(const struct entry *cluster, json_t **ret, struct err *err)
{
        static const char reserved[] = "client.authentication.k8s.io/exec";
        size_t at;
        json_t *item;
        *ret = NULL;
        json_array_foreach(json_object_get(cluster->value, "extensions"), at, item)
        {
                const char *name = json_string_value(json_object_get(item, "name"));
                if (!name || strcmp(name, reserved) != 0)
                        continue;
                if (*ret)
                        return err_set(err, ERR_INVALID, "'%s' appears twice in extensions of cluster '%s' in %s", name,
                                       cluster->name, cluster->path);
                json_t *value = json_object_get(item, "extension");
                *ret = value ? value : json_null();
        }
        return 0;
}

/* The cluster's settings as kubectl hands them to a plug-in: members that are false or empty are left out, except
 * config. */
static int cluster_info(const struct entry *cluster, const struct access_config *c, json_t **ret, struct err *err)
{
        json_t *config;
        int rc = find_plug_in_config(cluster, &config, err);
        if (rc < 0)
                return rc;
        *ret = json_pack("{s:O, s:s*, s:s*, s:O}", "server", json_object_get(cluster->value, "server"),
                         "tls-server-name", c->server_name, "proxy-url", c->proxy_url, "config",
                         config ? config : json_null());
        if (c->insecure)
                json_object_set_new(*ret, "insecure-skip-tls-verify", json_true());
        if (c->no_gzip)
                json_object_set_new(*ret, "disable-compression", json_true());
        return 0;
}

static int read_exec(const struct entry *e, const struct entry *cluster, struct access_config *c, struct err *err)
{
        struct exec_spec *x = &c->exec;
        const json_t *exec = json_object_get(e->value, "exec");
        if (!exec || json_is_null(exec))
                return 0;
        AUTO(mem_free) char *mode = NULL;
        int rc = text_member(e, exec, "command", &x->command, err);
        if (rc == 0)
                rc = text_member(e, exec, "apiVersion", &x->api_version, err);
        if (rc == 0)
                rc = text_member(e, exec, "installHint", &x->hint, err);
        if (rc == 0)
                rc = text_member(e, exec, "interactiveMode", &mode, err);
        if (rc == 0)
                rc = kubeconfig_read_list(e, exec, "args", &x->argument, err);
        if (rc == 0)
                rc = kubeconfig_read_list(e, exec, "env", &x->environment, err);
        if (rc < 0)
                return rc;
        if (!x->command || !x->api_version)
                return err_set(err, ERR_INVALID, "exec of user '%s' in %s lacks %s", e->name, e->path,
                               x->command ? "apiVersion" : "command");
        if (mode && strcmp(mode, "Always") == 0)
                return err_set(err, ERR_INVALID,
                               "exec of user '%s' in %s needs a terminal (interactiveMode Always), which "
                               "halflife does not have",
                               e->name, e->path);
        if (strchr(x->command, '/'))
                x->command = path_from(e->path, x->command);
        if (json_is_true(json_object_get(exec, "provideClusterInfo")))
                return cluster_info(cluster, c, &x->cluster, err);
        return 0;
}

static int kubeconfig_read_user(const struct entry *e, const struct entry *cluster, struct access_config *c,
                                struct err *err)
{
        int rc = kubeconfig_refuse_unknown(e, err);
        if (rc == 0)
                rc = pem_member(e, "client-certificate", &c->cert, err);
        if (rc == 0)
                rc = pem_member(e, "client-key", &c->key, err);
        if (rc == 0)
                rc = token_member(e, &c->token, err);
        if (rc == 0)
                rc = read_exec(e, cluster, c, err);
        if (rc == 0 && !c->cert.text != !c->key.text)
                return err_set(err, ERR_INVALID, "user '%s' in %s has a client-%s but no client-%s", e->name, e->path,
                               c->cert.text ? "certificate" : "key", c->cert.text ? "key" : "certificate");
        return rc;
}

static const char *current_context(const struct config_set *set)
{
        for (int i = 0; i < set->files; i++) {
                const char *name = json_string_value(json_object_get(set->file[i].doc, "current-context"));
                if (name && name[0])
                        return name;
        }
        return NULL;
}

static int choose_context(const struct config_set *set, const char *wanted, struct entry *ret, struct err *err)
{
        const char *name = wanted ? wanted : current_context(set);
        if (name && strlen(name) > TEXT_BYTES_MAX)
                return err_set(err, ERR_TOOBIG, "a context of %s has a name of more than %d bytes: rename it",
                               set->list, TEXT_BYTES_MAX);
        if (name)
                return need_entry(set, "contexts", "context", name, ret, err);
        AUTO(mem_free) char *names = names_of(set, "contexts");
        return err_set(err, ERR_INVALID, "no context is chosen: %s has no current-context; it has: %s", set->list,
                       names);
}

static int read_context(const struct config_set *set, const struct entry *context, struct access_config *c,
                        struct err *err)
{
        AUTO(mem_free) char *cluster_name = NULL;
        AUTO(mem_free) char *user_name = NULL;
        struct entry cluster, user;
        int rc = text_member(context, context->value, "cluster", &cluster_name, err);
        if (rc == 0)
                rc = text_member(context, context->value, "user", &user_name, err);
        if (rc == 0)
                rc = text_member(context, context->value, "namespace", &c->ns, err);
        if (rc == 0 && !cluster_name)
                return err_set(err, ERR_INVALID, "context '%s' in %s names no cluster", context->name, context->path);
        if (rc == 0)
                rc = need_entry(set, "clusters", "cluster", cluster_name, &cluster, err);
        if (rc == 0)
                rc = read_cluster(&cluster, c, err);
        if (rc < 0 || !user_name)
                return rc;
        rc = find_entry(set, "users", "user", user_name, &user, err);
        if (rc == 0 && !json_is_object(user.value))
                return 0; /* a user without credentials */
        if (rc == ERR_NOTFOUND)
                return need_entry(set, "users", "user", user_name, &user, err);
        return rc < 0 ? rc : kubeconfig_read_user(&user, &cluster, c, err);
}

int kubeconfig_load(const char *list, const char *context, struct access_config *ret, struct err *err)
{
        struct config_set set __attribute__((cleanup(config_set_release))) = {.files = 0};
        struct access_config c = {0};
        struct entry chosen;
        int rc = kubeconfig_read_all(&set, list, err);
        if (rc == 0)
                rc = choose_context(&set, context, &chosen, err);
        if (rc < 0)
                return rc;
        rc = read_context(&set, &chosen, &c, err);
        if (rc < 0) {
                access_config_release(&c);
                return err_wrap(err, "context '%s'", chosen.name);
        }
        c.source = mem_printf("context '%s' of %s", chosen.name, chosen.path);
        *ret = c;
        return 0;
}
