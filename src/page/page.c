#include "page/page.h"

#define EMBED(symbol, file)                                                                                            \
        __asm__(".pushsection .rodata\n"                                                                               \
                ".globl page_" #symbol "_begin\n"                                                                      \
                ".globl page_" #symbol "_end\n"                                                                        \
                "page_" #symbol "_begin:\n"                                                                            \
                ".incbin \"src/page/" file "\"\n"                                                                      \
                "page_" #symbol "_end:\n"                                                                              \
                ".byte 0\n"                                                                                            \
                ".popsection\n");                                                                                      \
        extern const char page_##symbol##_begin[], page_##symbol##_end[]

EMBED(index, "index.html");
EMBED(style, "style.css");
EMBED(icon, "icon.svg");
EMBED(main, "main.js");
EMBED(api, "api.js");
EMBED(dom, "dom.js");
EMBED(format, "format.js");
EMBED(table, "table.js");
EMBED(chart, "chart.js");
EMBED(words, "words.js");
EMBED(overview, "overview.js");
EMBED(workloads, "workloads.js");
EMBED(workload, "workload.js");
EMBED(changes, "changes.js");
EMBED(nodes, "nodes.js");
EMBED(profiles, "profiles.js");

#define HTML            "text/html; charset=utf-8"
#define SCRIPT          "text/javascript; charset=utf-8"
#define CONTENT(symbol) page_##symbol##_begin, page_##symbol##_end

const struct page_file page_files[] = {
        {"", HTML, CONTENT(index)},
        {"style.css", "text/css; charset=utf-8", CONTENT(style)},
        {"icon.svg", "image/svg+xml", CONTENT(icon)},
        {"main.js", SCRIPT, CONTENT(main)},
        {"api.js", SCRIPT, CONTENT(api)},
        {"dom.js", SCRIPT, CONTENT(dom)},
        {"format.js", SCRIPT, CONTENT(format)},
        {"table.js", SCRIPT, CONTENT(table)},
        {"chart.js", SCRIPT, CONTENT(chart)},
        {"words.js", SCRIPT, CONTENT(words)},
        {"overview.js", SCRIPT, CONTENT(overview)},
        {"workloads.js", SCRIPT, CONTENT(workloads)},
        {"workload.js", SCRIPT, CONTENT(workload)},
        {"changes.js", SCRIPT, CONTENT(changes)},
        {"nodes.js", SCRIPT, CONTENT(nodes)},
        {"profiles.js", SCRIPT, CONTENT(profiles)},
};
const size_t page_files_count = sizeof page_files / sizeof page_files[0];

/* A browser asks each time whether its copy is the newest: the answer is a 304 until another version runs. */
const struct page_header page_headers[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-cache"},
        {"Vary", "Accept-Encoding"},
};
const size_t page_headers_count = sizeof page_headers / sizeof page_headers[0];

const struct page_file *page_find(struct text name)
{
        for (size_t i = 0; i < page_files_count; i++)
                if (text_is(name, page_files[i].name))
                        return &page_files[i];
        return NULL;
}
