#include "shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
/* after its needs */
#include <cmocka.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "tmp.h"

void shell_begin(struct shell *s, const struct fake_options *options)
{
        *s = (struct shell){fake_new(options), tmp_path("kubeconfig"), halflife_program()};
        assert_true(fake_write_kubeconfig(s->fake, s->kubeconfig));
}

void shell_put(struct shell *s, const char *const *objects, size_t count)
{
        for (size_t i = 0; i < count; i++)
                fake_put(s->fake, "kubectl", objects[i]);
}

void shell_end(struct shell *s)
{
        fake_free(s->fake);
        mem_free(s->kubeconfig);
        mem_free(s->program);
}

struct shell_run shell_run(const struct shell *s, const char *command, const char *fmt, ...)
{
        char words[4096];
        struct shell_run r = {0};
        size_t len;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(words, sizeof words, fmt, ap);
        va_end(ap);
        AUTO(mem_free) char *out = tmp_path("out"), *err = tmp_path("err");
        AUTO(mem_free)
        char *line = mem_printf("LC_ALL=C.UTF-8 KUBECONFIG='%s' '%s' %s %s >'%s' 2>'%s'", s->kubeconfig, s->program,
                                command, words, out, err);
        int status = system(line);
        r.result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        r.out = file_read(out, 256 << 20, &r.len, NULL);
        r.err = file_read(err, 1 << 20, &len, NULL);
        assert_true(r.out && r.err);
        return r;
}

void shell_run_release_auto(struct shell_run *r)
{
        mem_free(r->out);
        mem_free(r->err);
}
