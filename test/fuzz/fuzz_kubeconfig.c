/*
 * kube/kubeconfig: any file is read whole into something that can be used, or refused with a sentence. Plug-ins are not
 * run here.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "kube/access_config.h"

static bool is_utf8(const char *s)
{
        size_t len = strlen(s), step = 1;
        for (; len > 0 && step > 0; s += step, len -= step)
                step = utf8_length(s, len);
        return len == 0;
}

static void check(const struct access_config *c)
{
        MUST(c->source && c->server);
        MUST(strncmp(c->server, "https://", 8) == 0 || strncmp(c->server, "http://", 7) == 0);
        MUST(!c->cert.text == !c->key.text);
        MUST(!(c->insecure && c->ca.text));
        const char *pem[] = {c->ca.text, c->cert.text, c->key.text};
        for (int i = 0; i < 3; i++)
                MUST(!pem[i] || strstr(pem[i], "-----BEGIN "));
        for (const char *p = c->token.text; p && *p; p++)
                MUST(*p > ' ' && *p < 0x7f);
        MUST(!c->exec.command || (c->exec.api_version && c->exec.argument && c->exec.environment));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char *const context[] = {NULL, "x"};
        int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
        MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
        char *path = mem_printf("/proc/self/fd/%d", fd);
        for (int i = 0; i < 2; i++) {
                struct access_config c = {0};
                struct err err = {0};
                int rc = kubeconfig_load(path, context[i], &c, &err);
                MUST(rc <= 0 && err.code == rc);
                if (rc == 0) {
                        check(&c);
                        access_config_release(&c);
                } else {
                        MUST(err.text[0] && is_utf8(err.text));
                        MUST(!c.server);
                }
        }
        mem_free(path);
        close(fd);
        return 0;
}
