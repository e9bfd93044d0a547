/*
 * Pods: any text gives a view that stays within its bounds, the same twice, or one clear error.
 */
#include <string.h>

#include "fuzz.h"
#include "objects/decode.h"

static void check_texts(const struct pod_view *p)
{
        volatile char sum = 0; /* every byte handed out may be read */
        const struct text all[] = {p->meta.ns,
                                   p->meta.name,
                                   p->meta.uid,
                                   p->meta.version,
                                   p->meta.owner.kind,
                                   p->meta.owner.name,
                                   p->meta.annotation.apply};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                for (size_t k = 0; k < all[i].len; k++)
                        sum = (char)(sum ^ all[i].p[k]);
        for (int i = 0; i < p->meta.labels; i++)
                for (size_t k = 0; k < p->meta.label[i].value.len; k++)
                        sum = (char)(sum ^ p->meta.label[i].value.p[k]);
}

static void check(const struct pod_view *p)
{
        MUST(p->meta.unnamed == (p->meta.name.len == 0));
        MUST(p->containers >= 0 && p->containers <= VIEW_CONTAINERS);
        MUST(p->statuses >= 0 && p->statuses <= VIEW_CONTAINERS);
        MUST(p->meta.labels >= 0 && p->meta.labels <= VIEW_LABELS);
        MUST(!(p->running && p->finished));
        for (int i = 0; i < p->containers; i++) {
                const struct container_view *c = &p->container[i];
                MUST(c->name.len > 0 && c->role <= ROLE_INIT);
                for (int r = 0; r < RESOURCES; r++) {
                        MUST(!c->request[r].set || c->request[r].value >= 0);
                        MUST(!c->limit[r].set || c->limit[r].value >= 0);
                }
        }
        check_texts(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct pod_view first, second;
        struct arena a = {0};
        struct err err = {0};
        uint8_t id[UID_BYTES], none[UID_BYTES] = {0};
        struct text in = {(const char *)data, size};
        int rc = decode_pod(in, &a, &first, &err);
        MUST(rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG);
        MUST(rc == 0 || (err.code == rc && err.text[0]));
        if (rc == 0) {
                check(&first);
                MUST(decode_pod(in, &a, &second, NULL) == 0);
                MUST(first.containers == second.containers && first.statuses == second.statuses);
                MUST(text_equal(first.meta.name, second.meta.name) && first.meta.labels == second.meta.labels);
                uid_bytes(first.meta.uid, id);
                MUST(memcmp(id, none, sizeof id) != 0);
        }
        arena_release(&a);
        return 0;
}
