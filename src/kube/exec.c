#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/yaml.h"

enum { OUT, ERROR, OUTPUTS, OUT_BYTES_MAX = 1 << 20, DRAIN_BYTES_MAX = 2 << 20, ERROR_BYTES_MAX = 4096, PAUSE_MS = 20 };

struct exec_run {
        const struct exec_spec *spec;
        pid_t pid; /* 0: the plug-in has ended and was waited for */
        int status;
        int fd[OUTPUTS]; /* -1: closed */
        struct buf said[OUTPUTS];
        bool too_much;
        struct mono started;
};

void exec_result_release(struct exec_result *r)
{
        mem_wipe(r->token);
        mem_wipe(r->cert);
        mem_wipe(r->key);
        *r = (struct exec_result){0};
}

/* --- start --- */

static char *exec_base64(const char *s)
{
        static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t len = strlen(s), at = 0;
        char *out = mem_new((len + 2) / 3 * 4 + 1);
        for (size_t i = 0; i < len; i += 3) {
                unsigned bits = 0;
                for (size_t k = 0; k < 3; k++)
                        bits = bits << 8 | (i + k < len ? (unsigned char)s[i + k] : 0);
                for (size_t k = 0; k < 4; k++)
                        out[at++] = i + k <= len ? digit[bits >> (18 - 6 * k) & 63] : '=';
        }
        return out;
}

static char *exec_info(const struct exec_spec *x, const char *ca_pem)
{
        AUTO(json_decref) json_t *spec = json_pack("{s:b}", "interactive", 0);
        if (x->cluster) {
                AUTO(mem_free) char *ca = ca_pem ? exec_base64(ca_pem) : NULL;
                json_t *cluster = json_copy(x->cluster);
                if (ca)
                        json_object_set_new(cluster, "certificate-authority-data", json_string(ca));
                json_object_set_new(spec, "cluster", cluster);
        }
        AUTO(json_decref)
        json_t *info =
                json_pack("{s:s, s:s, s:O}", "apiVersion", x->api_version, "kind", "ExecCredential", "spec", spec);
        char *text = json_dumps(info, JSON_COMPACT);
        char *line = mem_printf("KUBERNETES_EXEC_INFO=%s", text);
        free(text);
        return line;
}

static bool same_variable(const char *a, const char *b)
{
        size_t len = strcspn(a, "=");
        return strncmp(a, b, len) == 0 && b[len] == '=';
}

/* The plug-in's environment: info, the variables from kubeconfig, then this process's variables that these do not
 * replace. The caller frees the array, not its strings. */
static char **make_environment(const struct exec_spec *x, char *info)
{
        size_t ours = 1, all = 0, kept;
        while (x->environment[ours - 1])
                ours++;
        while (environ[all])
                all++;
        char **env = mem_new_array(ours + all + 1, sizeof(char *));
        env[0] = info;
        memcpy(env + 1, x->environment, (ours - 1) * sizeof(char *));
        kept = ours;
        for (size_t i = 0; i < all; i++) {
                bool replaced = false;
                for (size_t k = 0; k < ours && !replaced; k++)
                        replaced = same_variable(env[k], environ[i]);
                if (!replaced)
                        env[kept++] = environ[i];
        }
        return env;
}

static char **make_arguments(const struct exec_spec *x)
{
        size_t count = 0;
        while (x->argument[count])
                count++;
        char **argv = mem_new_array(count + 2, sizeof(char *));
        argv[0] = x->command;
        memcpy(argv + 1, x->argument, count * sizeof(char *));
        return argv;
}

/* Start the plug-in in its own process group, so that all its processes can be killed. Reset signal masks and handlers,
 * since the loop blocks some signals. */
static int exec_spawn(struct exec_run *run, int to[OUTPUTS], char **argv, char **env)
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, to[OUT], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, to[ERROR], STDERR_FILENO);
        posix_spawnattr_init(&attr);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attr, 0);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        int rc = posix_spawnp(&run->pid, run->spec->command, &files, &attr, argv, env);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&files);
        return rc;
}

static int spawn_with_pipes(struct exec_run *run, const char *ca_pem)
{
        int out[2], error[2];
        if (pipe2(out, O_CLOEXEC) < 0)
                return errno;
        if (pipe2(error, O_CLOEXEC) < 0) {
                int why = errno;
                close(out[0]);
                close(out[1]);
                return why;
        }
        run->fd[OUT] = out[0];
        run->fd[ERROR] = error[0];
        (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
        (void)fcntl(error[0], F_SETFL, O_NONBLOCK);
        AUTO(mem_free) char *info = exec_info(run->spec, ca_pem);
        AUTO(mem_free) char **env = make_environment(run->spec, info);
        AUTO(mem_free) char **argv = make_arguments(run->spec);
        int rc = exec_spawn(run, (int[]){out[1], error[1]}, argv, env);
        close(out[1]);
        close(error[1]);
        return rc;
}

struct exec_run *exec_start(const struct exec_spec *x, const char *ca_pem, struct mono now, struct err *err)
{
        struct exec_run *run = MEM_NEW(struct exec_run);
        run->spec = x;
        run->started = now;
        run->fd[OUT] = run->fd[ERROR] = -1;
        buf_init(&run->said[OUT], OUT_BYTES_MAX);
        buf_init(&run->said[ERROR], ERROR_BYTES_MAX);
        int rc = spawn_with_pipes(run, ca_pem);
        if (rc == 0)
                return run;
        run->pid = 0;
        exec_free(run);
        errno = rc;
        const char *cure = rc == ENOENT  ? x->hint
                           : rc == E2BIG ? "shorten args and env, or what provideClusterInfo hands over"
                                         : NULL;
        err_set(err, rc == ENOENT ? ERR_NOTFOUND : ERR_IO, "run credential plug-in '%s': %m%s%s", x->command,
                cure ? "; " : "", cure ? cure : "");
        return NULL;
}

void exec_free(struct exec_run *run)
{
        if (!run)
                return;
        if (run->pid > 0) {
                kill(-run->pid, SIGKILL);
                kill(run->pid, SIGKILL); /* the plug-in may have left its process group */
                while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        for (int i = 0; i < OUTPUTS; i++) {
                if (run->fd[i] >= 0)
                        close(run->fd[i]);
                buf_wipe(&run->said[i]);
        }
        mem_free(run);
}

/* --- output --- */

/* Read the available output. Too much on stdout is an error; for stderr only the beginning is kept. A plug-in may write
 * as fast as this reads, so at most DRAIN_BYTES_MAX are read. */
static void exec_drain(struct exec_run *run, int i)
{
        char chunk[4096];
        ssize_t got;
        for (size_t all = 0; run->fd[i] >= 0 && (got = read(run->fd[i], chunk, sizeof chunk)) != 0;) {
                if (got < 0) {
                        if (errno == EINTR)
                                continue;
                        return;
                }
                if (buf_add(&run->said[i], chunk, (size_t)got) < 0 && i == OUT) {
                        run->too_much = true;
                        return;
                }
                if ((all += (size_t)got) > DRAIN_BYTES_MAX)
                        return;
        }
        if (run->fd[i] >= 0)
                close(run->fd[i]);
        run->fd[i] = -1;
}

static int text_of_status(const json_t *status, const char *key, enum credential what, char **ret, struct err *err)
{
        const char *text = json_string_value(json_object_get(status, key));
        if (!text || !text[0])
                return 0;
        *ret = mem_string(text);
        int rc = credential_check(*ret, what, err);
        return rc < 0 ? err_wrap(err, "status.%s", key) : 0;
}

static int exec_read_status(const json_t *status, struct exec_result *r, struct err *err)
{
        int rc = text_of_status(status, "token", CREDENTIAL_TOKEN, &r->token, err);
        if (rc == 0)
                rc = text_of_status(status, "clientCertificateData", CREDENTIAL_PEM, &r->cert, err);
        if (rc == 0)
                rc = text_of_status(status, "clientKeyData", CREDENTIAL_PEM, &r->key, err);
        if (rc < 0)
                return rc;
        if (!r->cert != !r->key || (!r->token && !r->cert))
                return err_set(err, ERR_INVALID, "status has neither a token nor a certificate with its key");
        const char *expires = json_string_value(json_object_get(status, "expirationTimestamp"));
        if (expires && wall_parse(expires, strlen(expires), &r->expires) < 0)
                return err_set(err, ERR_INVALID, "status.expirationTimestamp '%s' is not a time", expires);
        return 0;
}

static int read_credential(const struct exec_run *run, struct exec_result *ret, struct err *err)
{
        struct exec_result r = {0};
        json_error_t why;
        AUTO(json_decref)
        json_t *doc = json_loadb(run->said[OUT].data ? run->said[OUT].data : "", run->said[OUT].len, 0, &why);
        if (!doc)
                return err_set(err, ERR_INVALID, "its output is not JSON: %s", why.text);
        const char *version = json_string_value(json_object_get(doc, "apiVersion"));
        if (!version || strcmp(version, run->spec->api_version) != 0)
                return err_set(err, ERR_INVALID, "its apiVersion is '%s', but the kubeconfig asks for '%s'",
                               version ? version : "", run->spec->api_version);
        int rc = exec_read_status(json_object_get(doc, "status"), &r, err);
        if (rc < 0) {
                exec_result_release(&r);
                return rc;
        }
        *ret = r;
        return 0;
}

/* Set err from the plug-in's exit status and its stderr, on one line. */
static void exec_complain(struct exec_run *run, struct err *err)
{
        for (size_t i = 0; i < run->said[ERROR].len; i++)
                if ((unsigned char)run->said[ERROR].data[i] < ' ')
                        run->said[ERROR].data[i] = ' ';
        int len = (int)(run->said[ERROR].len < 300 ? run->said[ERROR].len : 300);
        const char *said = run->said[ERROR].data ? run->said[ERROR].data : "";
        if (WIFEXITED(run->status))
                err_set(err, ERR_RETRY, "exit code %d: %.*s", WEXITSTATUS(run->status), len, said);
        else
                err_set(err, ERR_RETRY, "ended by signal %d: %.*s", WTERMSIG(run->status), len, said);
}

int exec_poll(struct exec_run *run, struct mono now, struct exec_result *ret, struct err *err)
{
        int rc = 1;
        pid_t ended = waitpid(run->pid, &run->status, WNOHANG);
        exec_drain(run, OUT);
        exec_drain(run, ERROR);
        if (ended == run->pid) {
                run->pid = 0;
                if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0)
                        rc = read_credential(run, ret, err);
                else {
                        exec_complain(run, err);
                        rc = err->code;
                }
        } else if (now.ns - run->started.ns > EXEC_MS_MAX * INT64_C(1000000)) {
                rc = err_set(err, ERR_RETRY, "it did not end within %d s", EXEC_MS_MAX / SECOND_MS);
        }
        if (run->too_much)
                rc = err_set(err, ERR_TOOBIG, "it wrote more than %d bytes", OUT_BYTES_MAX);
        return rc < 0 ? err_wrap(err, "credential plug-in '%s'", run->spec->command) : rc;
}

void exec_pause(struct exec_run *run)
{
        struct pollfd p[OUTPUTS];
        for (int i = 0; i < OUTPUTS; i++)
                p[i] = (struct pollfd){.fd = run->fd[i], .events = POLLIN};
        (void)poll(p, OUTPUTS, PAUSE_MS);
}
