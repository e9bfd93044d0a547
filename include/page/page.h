/*
 * The web page: its files as they lie in src/page, compiled in, and the headers that each of them is served with. The
 * page holds no data and no secrets; it asks the REST API of the address that it comes from.
 */
#ifndef HALFLIFE_PAGE_PAGE_H
#define HALFLIFE_PAGE_PAGE_H

#include <stddef.h>

#include "base/text.h"

struct page_file {
        const char *name; /* below /ui; "": the document itself */
        const char *type; /* media type */
        const char *begin, *end;
};
extern const struct page_file page_files[];
extern const size_t page_files_count;

/* The file of that name, compared byte by byte; NULL: there is none. */
const struct page_file *page_find(struct text name);
static inline struct text page_text(const struct page_file *f)
{
        return (struct text){f->begin, (size_t)(f->end - f->begin)};
}

/* Headers of every file, beside its Content-Type. */
struct page_header {
        const char *name, *value;
};
extern const struct page_header page_headers[];
extern const size_t page_headers_count;

#endif
