/*
 * The server of `halflife ui`: the page, and behind it what its user may see. Objects are read at the API server with
 * the user's own credentials; what was learned is asked of a running halflife, as explain does.
 */
#ifndef HALFLIFE_CLI_PAGE_SERVER_H
#define HALFLIFE_CLI_PAGE_SERVER_H

#include "api_client.h"

struct page_server_options {
        struct session *session;   /* its loop drives the server */
        struct api_client *client; /* asks the halflife that learned */
        bool objects;     /* read objects at the API server; false: the client's halflife is asked for them too */
        bool no_token;    /* the client has nothing that a halflife would accept */
        const char *port; /* NULL: any free port */
};
struct page_server;
/* Listen on 127.0.0.1. */
int page_server_open(const struct page_server_options *o, struct page_server **ret, struct err *err);
const char *page_server_url(const struct page_server *s); /* "http://127.0.0.1:41234/…/ui" */
/* Do what cannot be done within a callback of the loop: call it after each turn. */
void page_server_work(struct page_server *s);
void page_server_close(struct page_server *s); /* NULL is fine */

#endif
