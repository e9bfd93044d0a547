#include "core/runtime_heap.h"

#include <assert.h>
#include <string.h>

#include "command_text.h"

enum {
        TOKEN_MAX = 256, /* bytes of one option; longer ones are no option of interest */
        PERCENT = 1000,
        WHOLE = 100 * PERCENT,
        JVM_MOST_PERCENT = 25 * PERCENT,  /* MaxRAMPercentage where it is not given */
        JVM_SMALL_PERCENT = 50 * PERCENT, /* MinRAMPercentage where it is not given */
        JVM_SMALL_HEAP = 130862280,       /* bytes, the JVM's default of MaxHeapSize on 64 bits */
};

/* --- options --- */

struct token {
        char text[TOKEN_MAX];
        size_t len; /* TOKEN_MAX: the token is longer */
};

static struct text token_text(const struct token *t)
{
        return t->len < TOKEN_MAX ? (struct text){t->text, t->len} : TEXT("");
}

static void token_add(struct token *t, char c)
{
        if (t->len < TOKEN_MAX)
                t->text[t->len++] = c;
}

static bool option_begins(struct text *t, const char *with)
{
        size_t len = strlen(with);
        if (t->len < len || memcmp(t->p, with, len) != 0)
                return false;
        *t = (struct text){t->p + len, t->len - len};
        return true;
}

/* Read the digits at the beginning of *t, and remove them from *t. Returns false where there are no digits, or too
 * many. */
static bool digits_take(struct text *t, int64_t *ret_n)
{
        int64_t n = 0;
        size_t i = 0;
        for (; i < t->len && t->p[i] >= '0' && t->p[i] <= '9'; i++)
                if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, t->p[i] - '0', &n))
                        return false;
        *t = (struct text){t->p + i, t->len - i};
        *ret_n = n;
        return i > 0;
}

/* Set *to to n units of 2^bits bytes. A size beyond int64_t leaves *to as it was. */
static void put_size(int64_t *to, int64_t n, int bits)
{
        if (n <= INT64_MAX >> bits)
                *to = n << bits;
}

/* Set *to to a size as the JVM writes sizes: "512m", "2G", "1t", "1073741824". */
static void put_jvm_size(int64_t *to, struct text t)
{
        static const char units[] = {'k', 'm', 'g', 't'};
        int64_t n;
        if (!digits_take(&t, &n))
                return;
        const char *unit = t.len == 1 ? memchr(units, t.p[0] | 0x20, sizeof units) : NULL;
        if (unit)
                put_size(to, n, 10 * (int)(unit - units + 1));
        else if (t.len == 0)
                put_size(to, n, 0);
}

/* Set *to to a percentage ("75", "75.0"), in thousandths of a per cent. */
static void put_jvm_percent(int32_t *to, struct text t)
{
        int64_t whole, part = 0;
        if (!digits_take(&t, &whole) || (t.len > 0 && *t.p != '.'))
                return;
        for (int64_t digit = 100, i = 1; i < (int64_t)t.len; i++, digit /= 10) {
                if (t.p[i] < '0' || t.p[i] > '9')
                        return;
                part += digit * (t.p[i] - '0');
        }
        if (whole < 100 || (whole == 100 && part == 0))
                *to = (int32_t)(whole * PERCENT + part);
}

static void jvm_option(struct runtime_heap *h, struct text t)
{
        if (option_begins(&t, "-Xms") || option_begins(&t, "-ms") || option_begins(&t, "-XX:InitialHeapSize="))
                put_jvm_size(&h->start, t);
        else if (option_begins(&t, "-Xmx") || option_begins(&t, "-mx") || option_begins(&t, "-XX:MaxHeapSize="))
                put_jvm_size(&h->most, t);
        else if (option_begins(&t, "-XX:InitialRAMPercentage="))
                put_jvm_percent(&h->start_percent, t);
        else if (option_begins(&t, "-XX:MaxRAMPercentage="))
                put_jvm_percent(&h->most_percent, t);
        else if (option_begins(&t, "-XX:MinRAMPercentage="))
                put_jvm_percent(&h->small_percent, t);
        else if (option_begins(&t, "-XX:Flags=") || option_begins(&t, "-XX:VMOptionsFile=") ||
                 option_begins(&t, "-XX:MaxRAM=") || text_is(t, "-XX:-UseContainerSupport"))
                h->incomplete = true; /* options come from a file, or percentages are of another amount */
}

/* Set *to to a size as Node writes sizes: "512", in MiB. */
static void put_node_size(int64_t *to, struct text t)
{
        enum { MEBIBYTE_BITS = 20 };
        int64_t n;
        if (digits_take(&t, &n) && t.len == 0)
                put_size(to, n, MEBIBYTE_BITS);
}

/* Read "--max-old-space-size=512", also with underscores, into *most. Returns whether the number is the next word. */
static bool node_option(int64_t *most, struct text t)
{
        static const char name[] = "--max-old-space-size";
        size_t len = sizeof name - 1;
        if (t.len < len)
                return false;
        for (size_t i = 0; i < len; i++)
                if ((t.p[i] == '_' ? '-' : t.p[i]) != name[i])
                        return false;
        struct text value = {t.p + len, t.len - len};
        if (option_begins(&value, "="))
                put_node_size(most, value);
        return t.len == len;
}

/* Set *to to a size as Go writes sizes: "512MiB", "1073741824". "off" is no size, and leaves *to as it was. */
static void put_go_size(int64_t *to, struct text t)
{
        static const struct {
                const char *unit;
                int bits;
        } units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
        int64_t n;
        if (!digits_take(&t, &n))
                return;
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
                if (text_is(t, units[i].unit))
                        put_size(to, n, units[i].bits);
}

/* --- command lines --- */

enum program {
        PROGRAM_UNKNOWN,    /* no runtime was found yet */
        PROGRAM_ENTRYPOINT, /* the image's entrypoint runs: a JVM or Node, as its options tell */
        PROGRAM_JAVA,
        PROGRAM_NODE,
        PROGRAM_BEGUN, /* the options have ended: all further words are the program's own */
};

struct line {
        struct runtime_heap *heap;
        int64_t node_most;
        enum program program;
        bool begun;     /* a word was read */
        bool value;     /* the next word is an option's value */
        bool node_size; /* that value is the size of Node's heap */
};

static char word_first(struct text t)
{
        return t.len > 0 ? *t.p : '\0';
}

/* The name of the program that a word runs, without the path. */
static struct text word_program(struct text t)
{
        size_t at = t.len;
        while (at > 0 && t.p[at - 1] != '/')
                at--;
        return (struct text){t.p + at, t.len - at};
}

static bool word_is_among(struct text t, const char *const *words)
{
        for (; *words; words++)
                if (text_is(t, *words))
                        return true;
        return false;
}

static bool takes_value(enum program p, struct text t)
{
        static const char *const java[] = {"-cp",
                                           "-classpath",
                                           "--class-path",
                                           "-p",
                                           "--module-path",
                                           "--upgrade-module-path",
                                           "--add-modules",
                                           "--limit-modules",
                                           "--add-opens",
                                           "--add-exports",
                                           "--add-reads",
                                           "--patch-module",
                                           "--enable-native-access",
                                           "--source",
                                           NULL};
        static const char *const node[] = {"-r", "--require", "--import", "--loader", "-C", "--conditions", NULL};
        return (p != PROGRAM_NODE && word_is_among(t, java)) || (p != PROGRAM_JAVA && word_is_among(t, node));
}

static enum program program_named(struct text t)
{
        struct text name = word_program(t);
        return text_is(name, "java")                              ? PROGRAM_JAVA
               : text_is(name, "node") || text_is(name, "nodejs") ? PROGRAM_NODE
                                                                  : PROGRAM_UNKNOWN;
}

/* Whether the word ends the options: the class, the script, or an option whose value is the program. */
static bool begins_program(enum program p, struct text t)
{
        static const char *const java[] = {"-jar", "-m", "--module", NULL};
        static const char *const node[] = {"-e", "--eval", "--", NULL};
        return word_first(t) != '-' || (p != PROGRAM_NODE && word_is_among(t, java)) ||
               (p != PROGRAM_JAVA && word_is_among(t, node));
}

static void line_word(struct line *l, struct text t)
{
        char first = word_first(t);
        if (l->program == PROGRAM_ENTRYPOINT && !l->begun && first != '-' && first != '@')
                l->program = PROGRAM_UNKNOWN; /* the image's entrypoint runs the program that the words name */
        l->begun = true;
        if (l->value) {
                if (l->node_size)
                        put_node_size(&l->node_most, t);
                l->value = l->node_size = false;
        } else if (l->program == PROGRAM_UNKNOWN) {
                l->program = program_named(t);
        } else if (l->program == PROGRAM_BEGUN) {
                return;
        } else if (l->program != PROGRAM_NODE && first == '@') {
                l->heap->incomplete = true;
        } else if (begins_program(l->program, t)) {
                l->program = PROGRAM_BEGUN;
        } else {
                if (l->program != PROGRAM_NODE)
                        jvm_option(l->heap, t);
                if (l->program != PROGRAM_JAVA)
                        l->node_size = node_option(&l->node_most, t);
                l->value = l->node_size || takes_value(l->program, t);
        }
}

static bool word_is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * Read the next word, without its quotes, of a script or of a variable with options; false: the text has ended.
 * *ret_end is set where a shell's command ends behind the word.
 */
static bool words_next(struct command_text *s, bool shell, struct token *ret, bool *ret_end)
{
        char quote = '\0', c;
        bool any = false;
        ret->len = 0;
        *ret_end = false;
        while (command_text_next(s, &c)) {
                if (quote && c == quote) {
                        quote = '\0';
                } else if (!quote && (c == '"' || c == '\'')) {
                        quote = c;
                        any = true;
                } else if (!quote && shell && (c == ';' || c == '&' || c == '|' || c == '\n')) {
                        *ret_end = true;
                        return true;
                } else if (!quote && word_is_blank(c)) {
                        if (any)
                                return true;
                        continue;
                } else {
                        if (c == '\\' && shell && quote != '\'') {
                                if (!command_text_next(s, &c))
                                        break;
                                if (c == '\n') /* the line goes on in the next one */
                                        continue;
                        }
                        token_add(ret, c);
                        any = true;
                }
                s->quoted = shell && quote == '\'';
        }
        return any;
}

static void read_script(struct command_text *s, struct line *l, struct text script)
{
        struct token t;
        bool end;
        command_text_begin(s, script, s->of->variables, true);
        while (words_next(s, true, &t, &end)) {
                /* an assignment in the script hides the template's variable */
                l->heap->incomplete |= l->program == PROGRAM_UNKNOWN && memchr(t.text, '=', t.len);
                line_word(l, token_text(&t));
                if (end)
                        l->program = PROGRAM_UNKNOWN;
        }
}

static bool word_is_shell(struct text t)
{
        static const char *const shells[] = {"sh", "bash", "ash", "dash", NULL};
        return word_is_among(word_program(t), shells);
}

/* Whether a shell's option says that the next word is a script: "-c", "-ec", "-lc" … */
static bool is_script_option(struct text t)
{
        return option_begins(&t, "-") && word_first(t) != '-' && memchr(t.p, 'c', t.len);
}

static void read_command(struct command_text *s, struct line *l)
{
        const struct runtime_command *c = s->of;
        bool shell = false;
        for (size_t i = 0; i < c->words; i++) {
                struct token t = {.len = 0};
                char byte;
                if (shell && is_script_option(c->word[i - 1])) {
                        read_script(s, l, c->word[i]);
                        return;
                }
                command_text_begin(s, c->word[i], c->variables, false);
                while (command_text_next(s, &byte))
                        token_add(&t, byte);
                line_word(l, token_text(&t));
                shell |= l->program == PROGRAM_UNKNOWN && word_is_shell(token_text(&t));
        }
}

/* Read the options in a variable of the runtime. node: of Node; else of the JVM. */
static void read_variable(struct command_text *s, struct line *l, const char *name, bool node)
{
        struct token t;
        bool end;
        if (!command_text_begin_variable(s, text_of(name)))
                return;
        while (words_next(s, false, &t, &end)) {
                l->heap->incomplete |= !node && word_first((struct text){t.text, t.len}) == '@';
                if (node)
                        (void)node_option(&l->node_most, token_text(&t));
                else
                        jvm_option(l->heap, token_text(&t));
        }
}

static void read_go(struct command_text *s, int64_t *ret_most)
{
        struct token t = {.len = 0};
        char c;
        if (!command_text_begin_variable(s, TEXT("GOMEMLIMIT")))
                return;
        while (command_text_next(s, &c))
                token_add(&t, c);
        put_go_size(ret_most, token_text(&t));
}

void runtime_heap_read(const struct runtime_command *c, struct runtime_heap *ret)
{
        struct command_text s = {.of = c};
        struct line l = {.heap = ret, .program = c->commands == 0 ? PROGRAM_ENTRYPOINT : PROGRAM_UNKNOWN};
        int64_t go = 0;
        *ret = (struct runtime_heap){0};
        read_variable(&s, &l, "JAVA_TOOL_OPTIONS", false);
        read_variable(&s, &l, "JDK_JAVA_OPTIONS", false);
        read_variable(&s, &l, "NODE_OPTIONS", true);
        read_command(&s, &l);
        read_variable(&s, &l, "_JAVA_OPTIONS", false);
        read_go(&s, &go);
        ret->incomplete |= s.incomplete;
        ret->cap = ret->most                                 ? CAP_JVM_SIZE
                   : ret->most_percent || ret->small_percent ? CAP_JVM_PERCENTAGE
                   : l.node_most                             ? CAP_NODE
                   : go                                      ? CAP_GO
                                                             : CAP_NONE;
        if (ret->cap == CAP_NODE || ret->cap == CAP_GO)
                ret->most = ret->cap == CAP_NODE ? l.node_most : go;
        if (!runtime_heap_given(ret))
                *ret = (struct runtime_heap){0};
}

/* --- bounds --- */

static int64_t share_of(struct amount limit, int32_t percent)
{
        return (int64_t)((__int128)limit.value * percent / WHOLE);
}

/* The JVM takes MinRAMPercentage where that makes a small heap, else MaxRAMPercentage, but no less than a small heap.
 */
static int64_t jvm_most(const struct runtime_heap *h, struct amount limit)
{
        int64_t small = share_of(limit, h->small_percent ? h->small_percent : JVM_SMALL_PERCENT);
        int64_t most = share_of(limit, h->most_percent ? h->most_percent : JVM_MOST_PERCENT);
        if (small < JVM_SMALL_HEAP)
                return small;
        return most > JVM_SMALL_HEAP ? most : JVM_SMALL_HEAP;
}

struct amount runtime_heap_most(const struct runtime_heap *h, struct amount limit)
{
        if (h->cap == CAP_NONE || h->incomplete || (h->cap == CAP_JVM_PERCENTAGE && !limit.set))
                return (struct amount){0};
        return (struct amount){true, h->cap == CAP_JVM_PERCENTAGE ? jvm_most(h, limit) : h->most};
}

struct amount runtime_heap_start(const struct runtime_heap *h, struct amount limit)
{
        struct amount start = {h->start > 0, h->start}, most = runtime_heap_most(h, limit);
        if (!start.set && h->start_percent && limit.set)
                start = (struct amount){true, share_of(limit, h->start_percent)};
        if (start.set && most.set && most.value < start.value)
                start.value = most.value;
        return start;
}

const char *runtime_cap_name(enum runtime_cap cap)
{
        static const char *const names[] = {
                [CAP_NONE] = "",
                [CAP_JVM_SIZE] = "-Xmx",
                [CAP_JVM_PERCENTAGE] = "-XX:MaxRAMPercentage",
                [CAP_GO] = "GOMEMLIMIT",
                [CAP_NODE] = "--max-old-space-size",
        };
        assert(cap < sizeof names / sizeof names[0]);
        return names[cap];
}
