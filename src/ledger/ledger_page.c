#include "ledger/ledger_page.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"

enum { PAGE_VERSION = 1 };

static uint8_t *ledger_page_put(uint8_t *to, unsigned __int128 n)
{
        for (; n >= 0x80; n >>= 7)
                *to++ = (uint8_t)n | 0x80;
        *to++ = (uint8_t)n;
        return to;
}

size_t ledger_page_begin(uint8_t out[static 1])
{
        out[0] = PAGE_VERSION;
        return 1;
}

size_t ledger_page_add(uint8_t out[static LEDGER_PAGE_BYTES], size_t len, struct text name,
                       const struct ledger_sum *sum)
{
        assert(name.len <= LEDGER_NAME_MAX && len + LEDGER_ACCOUNT_BYTES <= LEDGER_PAGE_BYTES);
        uint8_t *to = ledger_page_put(out + len, name.len);
        if (name.len)
                to = mempcpy(to, name.p, name.len);
        for (int f = 0; f < LEDGER_FLOWS; f++)
                for (int r = 0; r < RESOURCES; r++)
                        to = ledger_page_put(to, sum->of[f][r]);
        to = ledger_page_put(ledger_page_put(to, sum->pod_ms), sum->unbooked_ms);
        for (int e = 0; e < LEDGER_EVENTS; e++)
                to = ledger_page_put(to, sum->events[e]);
        return (size_t)(to - out);
}

bool ledger_page_seems_to_have(struct text packed, struct text name)
{
        uint8_t account[LEDGER_NAME_MAX + 4];
        if (name.len == 0 || name.len > LEDGER_NAME_MAX || packed.len == 0)
                return false;
        uint8_t *end = mempcpy(ledger_page_put(account, name.len), name.p, name.len);
        return memmem(packed.p, packed.len, account, (size_t)(end - account)) != NULL;
}

bool ledger_page_open(struct ledger_page *p, const void *packed, size_t len)
{
        *p = (struct ledger_page){packed, (const uint8_t *)packed + len};
        return len > 0 && *p->at++ == PAGE_VERSION;
}

/* Read a number. Returns false if the page ends within it, or if it has more than `bits` bits. */
static bool ledger_page_get(struct ledger_page *p, int bits, unsigned __int128 *ret)
{
        unsigned __int128 n = 0;
        for (int shift = 0; p->at < p->end && shift < bits; shift += 7) {
                uint8_t byte = *p->at++;
                unsigned __int128 part = byte & 0x7f;
                if (shift + 7 > bits && part >> (bits - shift))
                        return false;
                n |= part << shift;
                if (!(byte & 0x80)) {
                        *ret = n;
                        return true;
                }
        }
        return false;
}

static bool ledger_page_get_64(struct ledger_page *p, uint64_t *ret)
{
        unsigned __int128 n;
        bool whole = ledger_page_get(p, 64, &n);
        *ret = whole ? (uint64_t)n : 0;
        return whole;
}

int ledger_page_next(struct ledger_page *p, struct text *ret_name, struct ledger_sum *ret)
{
        uint64_t name;
        if (p->at == p->end)
                return 0;
        if (!ledger_page_get_64(p, &name) || name > LEDGER_NAME_MAX || name > (size_t)(p->end - p->at))
                return ERR_DAMAGED;
        *ret_name = (struct text){(const char *)p->at, (size_t)name};
        p->at += name;
        bool whole = true;
        for (int f = 0; f < LEDGER_FLOWS; f++)
                for (int r = 0; whole && r < RESOURCES; r++)
                        whole = ledger_page_get(p, 128, &ret->of[f][r]);
        whole = whole && ledger_page_get_64(p, &ret->pod_ms) && ledger_page_get_64(p, &ret->unbooked_ms);
        for (int e = 0; whole && e < LEDGER_EVENTS; e++)
                whole = ledger_page_get_64(p, &ret->events[e]);
        return whole ? 1 : ERR_DAMAGED;
}
