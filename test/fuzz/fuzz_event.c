/*
 * Events, which anybody with write access to a namespace can make. Any text gives a view (the same one twice) or one
 * clear error. The parts read from an eviction's message lie within the message.
 */
#include "fuzz.h"
#include "objects/decode.h"

static void check_eviction(struct text message)
{
        struct text container;
        int64_t used;
        if (!decode_eviction(message, &container, &used))
                return;
        MUST(used >= 0 && container.len > 0);
        MUST(container.p >= message.p && container.p + container.len <= message.p + message.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct arena a = {0};
        struct event_view first, second;
        struct err err = {0};
        struct text in = {(const char *)data, size};
        int rc = decode_event(in, &a, &first, &err);
        MUST(rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG);
        MUST(rc == 0 || (err.code == rc && err.text[0]));
        if (rc == 0) {
                MUST(decode_event(in, &a, &second, NULL) == 0);
                MUST(text_equal(first.message, second.message) && text_equal(first.name, second.name));
                MUST(first.at.ms == second.at.ms && first.at.ms >= 0);
                check_eviction(first.message);
        }
        check_eviction(in);
        arena_release(&a);
        return 0;
}
