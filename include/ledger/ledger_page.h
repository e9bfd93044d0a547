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
        LEDGER_NAME_MAX = 1100,     /* bytes of an account's name; a longer name is cut */
        LEDGER_ACCOUNT_BYTES = LEDGER_NAME_MAX + 4 + LEDGER_FLOWS * RESOURCES * 19 + (2 + LEDGER_EVENTS) * 10,
        LEDGER_PAGE_BYTES = 1 + LEDGER_PAGE_ACCOUNTS * LEDGER_ACCOUNT_BYTES,
};

/* Begin a page, and add an account to it; each returns the length so far. */
size_t ledger_page_begin(uint8_t out[static 1]);
size_t ledger_page_add(uint8_t out[static LEDGER_PAGE_BYTES], size_t len, struct text name,
                       const struct ledger_sum *sum);

/* A page being read: ledger_page_open begins, then each ledger_page_next reads one account. */
struct ledger_page {
        const uint8_t *at, *end;
};
/* Begin to read the page of `len` bytes at `packed`. Returns false if it is empty or its version is unknown. */
bool ledger_page_open(struct ledger_page *p, const void *packed, size_t len);
/* Returns 1: an account was read, and *ret_name points into the page; 0: the page ended; ERR_DAMAGED: the page breaks
 * off within an account, or a number in it is out of range. */
int ledger_page_next(struct ledger_page *p, struct text *ret_name, struct ledger_sum *ret);
/* Does a page seem to have the account `name`? A search for the name's bytes, before the page is checked and read. */
bool ledger_page_seems_to_have(struct text packed, struct text name);

#endif
