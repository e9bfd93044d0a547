#include "kube/collection.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "kube/list_bound.h"
#include "objects/decode.h"

enum { PAGE_ITEMS = 500, PAGE_BYTES = 64 << 20, ALL_BYTES = 512 << 20, CALL_MS = 30 * SECOND_MS };

static int collection_take_items(const struct collection *l, struct text page, int64_t *ret_items, struct err *err)
{
        struct json j;
        struct text key;
        json_init(&j, page.p, page.len);
        if (json_peek(&j) != '{')
                return err_set(err, ERR_INVALID, "the server's answer is not a list");
        if (json_enter(&j, '{'))
                while (json_key(&j, &key)) {
                        if (!text_is(key, "items")) {
                                json_skip(&j);
                                continue;
                        }
                        if (json_enter(&j, '['))
                                for (; json_item(&j); ++*ret_items)
                                        l->each(l->arg, json_raw(&j));
                }
        return json_done(&j, err);
}

static char *collection_query(const struct collection *l, const char *token, bool paged)
{
        AUTO(mem_free) char *from = token ? path_escape(token) : NULL;
        return mem_printf("limit=%d%s%s%s%s", paged ? PAGE_ITEMS : 0, l->selector ? "&" : "",
                          l->selector ? l->selector : "", from ? "&continue=" : "", from ? from : "");
}

/* *token is the list's continue token; NULL: the first page is next, or the last page was read. */
static int collection_take_page(struct client *c, const struct collection *l, bool paged, struct list_bound *bound,
                                char **token, struct err *err)
{
        AUTO(mem_free) char *query = collection_query(l, *token, paged);
        AUTO(mem_free) char *body = NULL;
        const struct call call = {.method = HTTP_GET,
                                  .path = l->path,
                                  .query = query,
                                  .gzip = true,
                                  .deadline_ms = CALL_MS,
                                  .body_max = paged ? PAGE_BYTES : ALL_BYTES};
        struct arena scratch = {0};
        struct list_view list;
        size_t len;
        int64_t items = 0;
        int rc = client_wait(c, &call, &body, &len, err);
        if (rc == 0)
                rc = collection_take_items(l, (struct text){body, len}, &items, err);
        if (rc == 0)
                rc = decode_list((struct text){body, len}, &scratch, &list, err);
        if (rc == 0)
                rc = list_bound_page(bound, list.next, list.remaining, items, err);
        mem_free(*token);
        *token = rc == 0 && list.next.len ? mem_string_n(list.next.p, list.next.len) : NULL;
        arena_release(&scratch);
        return rc;
}

static int collection_take(struct client *c, const struct collection *l, bool paged, struct err *err)
{
        AUTO(mem_free) char *token = NULL;
        struct list_bound bound = {0};
        int rc;
        do
                rc = collection_take_page(c, l, paged, &bound, &token, err);
        while (rc == 0 && token);
        return rc;
}

int collection_read(struct client *c, const struct collection *l, struct err *err)
{
        int rc = collection_take(c, l, true, err);
        return rc == ERR_GONE ? collection_take(c, l, false, err) : rc;
}
