#include "browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#ifdef __APPLE__
#define OPENER "open"
#else
#define OPENER "xdg-open"
#endif

static const char *browser_variable(const char *name)
{
        const char *value = getenv(name);
        return value && *value ? value : NULL;
}

bool browser_is_there(void)
{
        return browser_variable("BROWSER") || browser_variable("DISPLAY") || browser_variable("WAYLAND_DISPLAY") ||
               strcmp(OPENER, "open") == 0;
}

static int browser_write(int fd, const char *url)
{
        FILE *to = fdopen(fd, "w");
        if (!to) {
                close(fd);
                return ERR_IO;
        }
        /* url is the page server's own, and has only characters that HTML takes as they are */
        fprintf(to,
                "<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
                "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>halflife</title><a "
                "href=\"%s\">halflife</a>\n",
                url, url);
        return fclose(to) == 0 ? 0 : ERR_IO;
}

/* Start the browser as a grandchild process, so that nobody has to wait for its end. */
static void browser_start(const char *file)
{
        pid_t child = fork();
        if (child == 0) {
                if (fork() == 0) {
                        const char *program = browser_variable("BROWSER");
                        int null = open("/dev/null", O_RDWR);
                        sigset_t none;
                        sigemptyset(&none); /* halflife's loop has blocked signals by which a browser must end */
                        sigprocmask(SIG_SETMASK, &none, NULL);
                        signal(SIGPIPE, SIG_DFL);
                        setsid();
                        for (int fd = 0; fd < 3; fd++)
                                dup2(null, fd);
                        execlp(program ? program : OPENER, program ? program : OPENER, file, (char *)NULL);
                        _exit(127);
                }
                _exit(0);
        }
        if (child > 0)
                (void)waitpid(child, NULL, 0);
}

int browser_open(const char *url, char **ret_file, struct err *err)
{
        const char *folder = browser_variable("XDG_RUNTIME_DIR");
        if (!folder)
                folder = browser_variable("TMPDIR") ? browser_variable("TMPDIR") : "/tmp";
        char *file = mem_printf("%s/halflife-XXXXXX.html", folder);
        int fd = mkostemps(file, (int)strlen(".html"), O_CLOEXEC);
        if (fd < 0 || browser_write(fd, url) < 0) {
                err_set(err, ERR_IO, "write '%s': %m", file);
                if (fd >= 0)
                        unlink(file);
                mem_free(file);
                return err->code;
        }
        browser_start(file);
        *ret_file = file;
        return 0;
}

void browser_forget(char *file)
{
        if (file)
                unlink(file);
        mem_free(file);
}
