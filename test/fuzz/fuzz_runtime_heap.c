/* Any bytes as the variables, command and arguments of a container: one a line, "eNAME=VALUE", "cWORD" or "aWORD". */
#include <string.h>

#include "core/runtime_heap.h"
#include "fuzz.h"

enum { MOST = 64 };

static void check_bounds(const struct runtime_heap *h, struct amount limit)
{
        struct amount start = runtime_heap_start(h, limit), most = runtime_heap_most(h, limit);
        MUST(!start.set || start.value >= 0);
        MUST(!most.set || (most.value >= 0 && !h->incomplete));
        MUST(!start.set || !most.set || start.value <= most.value);
        MUST(runtime_heap_given(h) || (!start.set && !most.set));
        MUST(*runtime_cap_name((enum runtime_cap)h->cap) || !most.set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct runtime_variable env[MOST];
        struct text word[MOST];
        struct runtime_command c = {.variable = env, .word = word};
        struct runtime_heap h, again;
        const char *at = (const char *)data, *end = at + size;
        while (at < end && c.variables < MOST && c.words < MOST) {
                const char *line = memchr(at, '\n', (size_t)(end - at));
                struct text t = {at + 1, (size_t)((line ? line : end) - at)};
                t.len -= t.len > 0;
                const char *equals = *at == 'e' && t.len ? memchr(t.p, '=', t.len) : NULL;
                if (equals)
                        env[c.variables++] = (struct runtime_variable){{t.p, (size_t)(equals - t.p)},
                                                                       {equals + 1, t.len - (size_t)(equals - t.p) - 1},
                                                                       t.len % 7 != 0};
                else if (*at == 'a' || *at == 'c')
                        word[c.words++] = t;
                c.commands = *at == 'c' ? c.words : c.commands;
                at = line ? line + 1 : end;
        }
        runtime_heap_read(&c, &h);
        runtime_heap_read(&c, &again);
        MUST(h.start == again.start && h.most == again.most && h.cap == again.cap && h.incomplete == again.incomplete);
        check_bounds(&h, (struct amount){0});
        check_bounds(&h, (struct amount){true, 0});
        check_bounds(&h, (struct amount){true, (int64_t)4 << 30});
        check_bounds(&h, (struct amount){true, INT64_MAX});
        return 0;
}
