/* GET /openapi.yaml: the file src/rest/openapi.yaml, embedded at build time. */
#include "handlers.h"

__asm__(".pushsection .rodata\n"
        ".globl openapi_begin\n"
        ".globl openapi_end\n"
        "openapi_begin:\n"
        ".incbin \"src/rest/openapi.yaml\"\n"
        "openapi_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char openapi_begin[], openapi_end[];

void answer_openapi(struct ask *k)
{
        answer_begin(k->ret);
        k->ret->type = "application/yaml";
        buf_add(&k->ret->body, openapi_begin, (size_t)(openapi_end - openapi_begin));
}
