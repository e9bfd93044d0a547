/*
 * halflife ui: serves the web page on loopback, for the user of the kubeconfig.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_client.h"
#include "base/mem.h"
#include "browser.h"
#include "cli/session.h"
#include "commands.h"
#include "page_server.h"

enum { PORT_MOST = 65535 };

struct showing {
        struct session_options where;
        struct api_client_options from;
        struct session session;
        struct api_client client;
        struct page_server *server;
        const char *ns, *port;
        bool no_browser, ended;
        char *token, *file;
};

static int ui_check(void *state, const struct command_line *line, struct err *err)
{
        const struct showing *u = state;
        if (line->words.count)
                return err_set(err, ERR_INVALID, "takes no argument, so not '%s'; -n names a namespace",
                               line->words.word[0]);
        char *end = NULL;
        long port = u->port ? strtol(u->port, &end, 10) : 1;
        if (port < 1 || port > PORT_MOST || (end && *end) || (u->port && strspn(u->port, "0123456789") == 0))
                return err_set(err, ERR_INVALID, "--port '%s' is not a number from 1 to 65535", u->port);
        return u->from.server ? api_client_check(u->from.server, err) : 0;
}

static int ui_connect(struct showing *u, struct err *err)
{
        int rc = api_client_token(u->from.token_file, &u->token, err);
        return rc < 0 ? rc : api_client_connect(&u->client, &u->session, &u->where, &u->from, u->token, err);
}

static void ui_end(void *arg, int signo)
{
        struct showing *u = arg;
        (void)signo;
        u->ended = true;
}

static void ui_show(struct showing *u)
{
        struct err err = {0};
        AUTO(mem_free)
        char *url = mem_printf("%s%s%s", page_server_url(u->server), u->ns ? "#/?ns=" : "", u->ns ? u->ns : "");
        printf("%s\n", url);
        fflush(stdout);
        fprintf(stderr, "Only you know this address. Ctrl-C ends it.\n");
        if (!u->no_browser && browser_is_there() && browser_open(url, &u->file, &err) < 0)
                fprintf(stderr, "no browser is opened: %s\n", err.text);
}

static int ui_run(void *state, struct err *err)
{
        struct showing *u = state;
        int rc = ui_connect(u, err);
        if (rc < 0)
                return rc;
        const struct page_server_options o = {.session = &u->session,
                                              .client = &u->client,
                                              .objects = !u->from.server,
                                              .no_token = u->from.server ? !u->client.bearer : !u->token,
                                              .port = u->port};
        rc = page_server_open(&o, &u->server, err);
        if (rc < 0)
                return rc;
        if (loop_signal(u->client.loop, SIGINT, ui_end, u) < 0 || loop_signal(u->client.loop, SIGTERM, ui_end, u) < 0)
                return err_set(err, ERR_IO, "signals cannot be handled: %m");
        ui_show(u);
        while (!u->ended) {
                loop_turn(u->client.loop, -1);
                page_server_work(u->server);
        }
        return EXIT_DONE;
}

static void ui_release(void *state)
{
        struct showing *u = state;
        page_server_close(u->server);
        api_client_release(&u->client);
        session_release(&u->session);
        browser_forget(u->file);
        mem_wipe(u->token);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE, OPTION_IN(struct showing, ns),
         .help = "begin with this namespace; for users who may list recommendations only there"},
        {.name = "port", .value = "PORT", OPTION_IN(struct showing, port),
         .help = "port on 127.0.0.1; default: any free one"},
        {.name = "no-browser", OPTION_IN(struct showing, no_browser),
         .help = "open no browser, only print the address"},
        REMOTE_ADDRESS_OPTIONS(struct showing, from),
        SESSION_OPTIONS(struct showing, where),
};
/* clang-format on */

const struct command command_ui = {
        .name = "ui",
        .help = "show the web page on loopback, with what your kubeconfig may see",
        .words = TAKES_NOTHING,
        .usage = {"[option]..."},
        .intro = "Serves halflife's web page on 127.0.0.1, at a random path that only you know, until Ctrl-C, and "
                 "opens\n"
                 "your browser. It reads objects at the API server with your kubeconfig, and asks a running halflife "
                 "for\n"
                 "histograms, explanations and nodes, as explain does. It writes nothing.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct showing),
        .check = ui_check,
        .run = ui_run,
        .release = ui_release,
};
