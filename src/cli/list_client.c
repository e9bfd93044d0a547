#include "list_client.h"

#include <string.h>

#include "base/yaml.h"
#include "kube/list_bound.h"

enum { PAGE = 500, ALL_BYTES = 512 << 20 };

json_t *listing_ask(struct client *c, const char *path, const char *query, size_t most, struct err *err)
{
        AUTO(mem_free) char *body = NULL;
        size_t len;
        struct call call = {
                .method = HTTP_GET, .path = path, .query = query, .deadline_ms = 10 * SECOND_MS, .body_max = most};
        if (client_wait(c, &call, &body, &len, err) < 0)
                return NULL;
        json_error_t why;
        json_t *answer = json_loadb(body, len, 0, &why);
        if (!answer)
                err_set(err, ERR_RETRY, "the server's answer is not JSON: %s", why.text);
        return answer;
}

static int listing_read_page(const struct listing *l, const json_t *answer, struct err *err)
{
        const json_t *items = json_object_get(answer, "items");
        size_t i;
        json_t *item;
        int rc = 0;
        if (!json_is_array(items) && !json_is_null(items))
                return err_set(err, ERR_INVALID, "the server's answer is not a list: it has no items");
        json_array_foreach(items, i, item) if (rc == 0) rc = l->each(l->arg, item, err);
        return rc;
}

static char *query_of(const struct listing *l, const char *token, bool paged)
{
        AUTO(mem_free) char *labels = l->labels ? path_escape(l->labels) : NULL;
        AUTO(mem_free) char *from = token ? path_escape(token) : NULL;
        AUTO(mem_free) char *limit = paged ? mem_printf("limit=%d", PAGE) : mem_string("limit=0");
        return mem_printf("%s%s%s%s%s", limit, labels ? "&labelSelector=" : "", labels ? labels : "",
                          from ? "&continue=" : "", from ? from : "");
}

/* Take a page's continue token. Refuse it if the list cannot have an end. */
static int listing_read_token(const json_t *page, struct list_bound *bound, char **token, struct err *err)
{
        const json_t *meta = json_object_get(page, "metadata");
        const char *next = json_string_value(json_object_get(meta, "continue"));
        mem_free(*token);
        *token = next && *next ? mem_string(next) : NULL;
        return list_bound_page(bound, (struct text){*token, *token ? strlen(*token) : 0},
                               json_integer_value(json_object_get(meta, "remainingItemCount")),
                               (int64_t)json_array_size(json_object_get(page, "items")), err);
}

static int get_page(struct client *c, const struct listing *l, struct list_bound *bound, char **token, bool paged,
                    struct err *err)
{
        AUTO(mem_free) char *query = query_of(l, *token, paged);
        AUTO(json_decref) json_t *answer = listing_ask(c, l->path, query, paged ? LISTING_ITEM_BYTES : ALL_BYTES, err);
        if (!answer)
                return err->code;
        int rc = listing_read_token(answer, bound, token, err);
        return rc < 0 ? rc : listing_read_page(l, answer, err);
}

static int get_pages(struct client *c, const struct listing *l, bool paged, struct err *err)
{
        AUTO(mem_free) char *token = NULL;
        struct list_bound bound = {0};
        int rc;
        do {
                rc = get_page(c, l, &bound, &token, paged, err);
        } while (rc == 0 && token);
        return rc;
}

/* ERR_GONE: the list's version has expired on the server, so the pages read so far are void. */
int listing_read(struct client *c, const struct listing *l, struct err *err)
{
        int rc = get_pages(c, l, true, err);
        for (int again = 0; rc == ERR_GONE && again < 2; again++) {
                if (l->restart)
                        l->restart(l->arg);
                rc = get_pages(c, l, again == 0, err);
        }
        return rc;
}
