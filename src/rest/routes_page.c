/* GET /ui: the files of the web page. */
#include "handlers.h"
#include "page/page.h"

void answer_page(struct ask *k)
{
        const char *name = k->route->file ? k->route->file : "";
        const struct page_file *f = page_find(text_of(name));
        if (!f || (k->route->file && !*name)) {
                answer_problem(k->ret, PROBLEM_NOT_FOUND, "the page has no such file: it begins at /ui");
                return;
        }
        answer_begin(k->ret);
        k->ret->type = f->type;
        (void)buf_add(&k->ret->body, f->begin, page_text(f).len); /* cannot fail: files are far below the bound */
        for (size_t i = 0; i < page_headers_count; i++)
                answer_header(k->ret, page_headers[i].name, page_headers[i].value);
}
