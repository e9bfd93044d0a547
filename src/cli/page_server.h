/*
 * The server of `halflife ui`: it serves the page, and the data that its user may see. It reads objects at the API
 * server with the user's own credentials, and asks a running halflife for what was learned, as `halflife explain` does.
 */
#ifndef HALFLIFE_CLI_PAGE_SERVER_H
#define HALFLIFE_CLI_PAGE_SERVER_H

#include "api_client.h"

struct page_server_options {
        struct session *session;   /* the connection to the API server */
        struct api_client *client; /* asks the halflife that learned; its loop drives the server */
        bool objects;     /* read objects at the API server; false: the client's halflife is asked for them too */
        bool no_token;    /* the client has no token that a halflife would accept */
        const char *port; /* NULL: any free port */
};
struct page_server;
/* Listen on 127.0.0.1. Returns 0, or an error and no server. */
int page_server_open(const struct page_server_options *o, struct page_server **ret, struct err *err);
const char *page_server_url(const struct page_server *s); /* address of the page: "http://127.0.0.1:41234/…/ui" */
/* Read the objects that requests wait for, which no callback of the loop may do: call it after each turn of the loop.
 */
void page_server_work(struct page_server *s);
void page_server_close(struct page_server *s); /* NULL is fine */

#endif
