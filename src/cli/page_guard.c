#include "page_guard.h"

#include <stdio.h>
#include <strings.h>

enum { RANDOM_BYTES = 16 };

void page_guard_init(struct page_guard *g, const char *port, const unsigned char random[static 16])
{
        snprintf(g->host[0], sizeof g->host[0], "127.0.0.1:%s", port);
        snprintf(g->host[1], sizeof g->host[1], "localhost:%s", port);
        g->prefix[0] = '/';
        for (size_t i = 0; i < RANDOM_BYTES; i++)
                snprintf(g->prefix + 1 + 2 * i, sizeof g->prefix - 1 - 2 * i, "%02x", random[i]);
}

static bool page_guard_is_host(const struct page_guard *g, const char *host)
{
        return host && (strcasecmp(host, g->host[0]) == 0 || strcasecmp(host, g->host[1]) == 0);
}

static bool page_guard_is_origin(const struct page_guard *g, const char *origin)
{
        return strncmp(origin, "http://", 7) == 0 && page_guard_is_host(g, origin + 7);
}

/* Whether the path begins with the secret prefix. The time of the comparison does not tell how much of a wrong prefix
 * is right. */
static bool page_guard_has_prefix(const struct page_guard *g, struct text path)
{
        size_t len = strlen(g->prefix);
        unsigned char differs = 0;
        if (path.len <= len || path.p[len] != '/')
                return false;
        for (size_t i = 0; i < len; i++)
                differs |= (unsigned char)(path.p[i] ^ g->prefix[i]);
        return differs == 0;
}

static bool page_guard_begins(struct text path, const char *with)
{
        size_t len = strlen(with);
        return path.len >= len && memcmp(path.p, with, len) == 0;
}

/* Whether the HTTP request comes from our own page. The page itself may be opened from anywhere, because it shows
 * nothing until its script asks. */
static bool page_guard_is_ours(const struct page_question *q, struct text path)
{
        if (!q->site || strcasecmp(q->site, "same-origin") == 0 || strcasecmp(q->site, "none") == 0)
                return true;
        return text_is(path, "/ui") && q->mode && strcasecmp(q->mode, "navigate") == 0;
}

unsigned page_guard_judge(const struct page_guard *g, const struct page_question *q, struct text *ret,
                          const char **ret_why)
{
        size_t len = strlen(g->prefix);
        struct text path = {"", 0};
        *ret_why = "this address is not for requests that name another host\n";
        if (!page_guard_is_host(g, q->host))
                return 403;
        *ret_why = "there is nothing at this path: kubectl halflife ui prints the one there is\n";
        if (!page_guard_has_prefix(g, q->path))
                return 404;
        path = (struct text){q->path.p + len, q->path.len - len};
        *ret_why = "this address is not for pages of another origin\n";
        if ((q->origin && !page_guard_is_origin(g, q->origin)) || !page_guard_is_ours(q, path))
                return 403;
        *ret_why = "only GET and HEAD\n";
        if (!text_is(q->method, "GET") && !text_is(q->method, "HEAD"))
                return 405;
        *ret_why = "there are /ui and /api/v1\n";
        if (!text_is(path, "/ui") && !page_guard_begins(path, "/ui/") && !page_guard_begins(path, "/api/v1/"))
                return 404;
        *ret = path;
        return 0;
}
