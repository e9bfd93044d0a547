/*
 * The kubelet's message about an eviction for memory: "The node was low on resource: memory. Threshold quantity: 100Mi,
 * available: 53Mi. Container app was using 1200Mi, request is 500Mi, has larger consumption of memory. " The text is
 * meant for people, so an unexpected part is skipped without an error.
 */
#include <string.h>

#include "core/quantity.h"
#include "objects/decode.h"

static const char *eviction_find(struct text in, const char *word)
{
        return in.len ? memmem(in.p, in.len, word, strlen(word)) : NULL;
}

static struct text eviction_after(struct text in, const char *at)
{
        return (struct text){at, (size_t)(in.p + in.len - at)};
}

/* Reads the quantity at the start of a text, up to a comma or a space. */
static bool read_bytes(struct text in, int64_t *ret)
{
        size_t len = 0;
        while (len < in.len && in.p[len] != ',' && in.p[len] != ' ')
                len++;
        while (len > 0 && in.p[len - 1] == '.')
                len--;
        return len > 0 && quantity_parse(in.p, len, QUANTITY_WHOLE, ret, NULL) == 0 && *ret >= 0;
}

/* The kubelet writes "request is ", and wrote "its request of " before Kubernetes 1.24. */
static int64_t eviction_read_request(struct text in)
{
        static const char *const words[] = {"request is ", "request of "};
        int64_t request = 0;
        for (int i = 0; i < 2; i++) {
                const char *at = eviction_find(in, words[i]);
                if (at && read_bytes(eviction_after(in, at + strlen(words[i])), &request))
                        return request;
        }
        return 0;
}

bool decode_eviction_is_for_memory(struct text message)
{
        return eviction_find(message, "low on resource: memory") != NULL;
}

/* The part about a container ends where the next container's part begins. The search is limited to that part, so that a
 * message with many containers takes linear time. */
bool decode_eviction(struct text message, struct text *ret_container, int64_t *ret_used)
{
        static const char begin[] = "Container ", using[] = " was using ";
        int64_t most = -1;
        for (const char *at = eviction_find(message, begin), *next; at; at = next) {
                struct text said = eviction_after(message, at + strlen(begin));
                next = eviction_find(said, begin);
                if (next)
                        said.len = (size_t)(next - said.p);
                const char *verb = eviction_find(said, using);
                if (!verb || verb == said.p)
                        continue;
                struct text name = {said.p, (size_t)(verb - said.p)};
                said = eviction_after(said, verb + strlen(using));
                int64_t used, request = eviction_read_request(said);
                if (!read_bytes(said, &used) || used - request <= most)
                        continue;
                most = used - request;
                *ret_container = name;
                *ret_used = used;
        }
        return most >= 0;
}
