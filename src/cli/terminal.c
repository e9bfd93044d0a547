#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

static int terminal_within(long columns)
{
        return columns < TERMINAL_COLUMNS_LEAST  ? TERMINAL_COLUMNS_LEAST
               : columns > TERMINAL_COLUMNS_MOST ? TERMINAL_COLUMNS_MOST
                                                 : (int)columns;
}

static int columns_of(int fd, bool terminal)
{
        const char *given = getenv("COLUMNS");
        struct winsize size;
        long columns = given ? strtol(given, NULL, 10) : 0;
        if (columns > 0)
                return terminal_within(columns);
        return terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? terminal_within(size.ws_col)
                                                                                : TERMINAL_COLUMNS;
}

/* Whether the locale uses UTF-8. The first of the variables that is set decides. */
static bool speaks_utf8(void)
{
        static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                const char *value = getenv(names[i]);
                if (value && *value)
                        return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
        }
        return false;
}

void terminal_read(FILE *to, struct terminal *ret)
{
        const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
        bool terminal = isatty(fileno(to)), moves = terminal && term && *term && strcmp(term, "dumb") != 0;
        *ret = (struct terminal){
                .columns = columns_of(fileno(to), terminal),
                .utf8 = speaks_utf8(),
                .moves = moves,
                .colour = moves && !(no_colour && *no_colour),
        };
}

char *terminal_tame(char *s)
{
        size_t left = s ? strlen(s) : 0;
        for (char *p = s; left > 0;) {
                size_t len = utf8_length(p, left);
                if (len == 0 || utf8_is_invisible(utf8_code(p, len)))
                        memset(p, '?', len ? len : 1);
                len = len ? len : 1;
                p += len;
                left -= len;
        }
        return s;
}

int terminal_width(const char *s)
{
        int width = 0;
        for (; *s; s++)
                width += ((unsigned char)*s & 0xc0) != 0x80;
        return width;
}

void terminal_wrap(FILE *to, const char *text, int at, int columns)
{
        char word[256];
        int column = at;
        while (*text) {
                snprintf(word, sizeof word, "%.*s", (int)strcspn(text, " "), text);
                int width = terminal_width(word);
                if (column > at && column + 1 + width > columns) {
                        fprintf(to, "\n%*s", at, "");
                        column = at;
                }
                fprintf(to, "%s%s", column > at ? " " : "", word);
                column += (column > at) + width;
                text += strlen(word);
                text += strspn(text, " ");
        }
        fputc('\n', to);
}
