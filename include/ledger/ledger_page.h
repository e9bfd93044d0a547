/*
 * A page of accounts as bytes, for the database: a version, then for each account its name and sum, every number in
 * groups of seven bits, the low ones first. The store adds a CRC.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_PAGE_H
#define HALFLIFE_LEDGER_LEDGER_PAGE_H

#include <stddef.h>

#include "base/text.h"
#include "ledger/ledger_sum.h"

enum {
        LEDGER_PAGE_ACCOUNTS = 128, /* most accounts of a page */
        LEDGER_NAME_MAX = 1100,     /* bytes of a name; a longer one is cut */
        LEDGER_ACCOUNT_BYTES = LEDGER_NAME_MAX + 4 + LEDGER_FLOWS * RESOURCES * 19 + (2 + LEDGER_EVENTS) * 10,
        LEDGER_PAGE_BYTES = 1 + LEDGER_PAGE_ACCOUNTS * LEDGER_ACCOUNT_BYTES,
};

/* Begin a page, and add an account to it; each returns the length so far. */
size_t ledger_page_begin(uint8_t out[static 1]);
size_t ledger_page_add(uint8_t out[static LEDGER_PAGE_BYTES], size_t len, struct text name,
                       const struct ledger_sum *sum);

/* Read a page: {packed, len} by ledger_page_open, then an account a call. */
struct ledger_page {
        const uint8_t *at, *end;
};
/* Returns false where the version is unknown. */
bool ledger_page_open(struct ledger_page *p, const void *packed, size_t len);
/* 1: an account was read, *ret_name points into the page. 0: the page ended. ERR_DAMAGED. */
int ledger_page_next(struct ledger_page *p, struct text *ret_name, struct ledger_sum *ret);
/* Whether a page, which may be damaged, seems to have this account: a quick look before it is checked and read. */
bool ledger_page_seems_to_have(struct text packed, struct text name);

#endif
