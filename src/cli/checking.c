#include "checking.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void check_tell(struct checking *c, enum verdict v, const char *what, const char *way_out)
{
        static const char *const word[] = {"ok", "warn", "FAIL"}, *const paint[] = {"\033[32m", "\033[33m", "\033[31m"};
        c->failed += v == BAD;
        c->warned += v == DOUBTFUL;
        printf("%s%-4s%s  %s", c->colour ? paint[v] : "", word[v], c->colour ? "\033[0m" : "", what);
        if (v != GOOD && way_out && *way_out)
                printf("\n      %s", way_out);
        printf("\n");
}

json_t *check_ask(struct checking *c, enum http_method method, const char *path, json_t *body, struct err *err)
{
        char *text = body ? json_dumps(body, 0) : NULL, *answer = NULL;
        size_t len;
        struct call call = {.method = method, .path = path, .body = text_of(text), .deadline_ms = 10 * SECOND_MS};
        int rc = client_wait(c->session.client, &call, &answer, &len, err);
        json_t *value = rc == 0 ? json_loadb(answer, len, 0, NULL) : NULL;
        if (rc == 0 && !value)
                err_set(err, ERR_RETRY, "'%s' did not answer JSON", path);
        free(text);
        mem_free(answer);
        return value;
}
