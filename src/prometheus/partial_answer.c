#include "partial_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "decode_series.h"

enum { WORDS_SIZE = 201 };

/* What an answer says of parts that are missing: its first remark, and how many more there are. */
struct part {
        char words[WORDS_SIZE];
        int others;
        bool found;
        char type[WORDS_SIZE]; /* the answer's resultType; "": not told */
};

static void part_add(struct part *p, struct text words)
{
        if (p->found) {
                p->others++;
                return;
        }
        p->found = true;
        snprintf(p->words, sizeof p->words, "%.*s", TEXT_ARG(words));
}

/* Whether a value says nothing: null, false, 0, or an empty text, list or object. */
static bool part_is_empty(struct text raw)
{
        static const char *const nothing[] = {"null", "false", "0", "\"\"", "\"false\""};
        char inner = 0;
        for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++)
                if (text_is(raw, nothing[i]))
                        return true;
        for (size_t i = 1; i + 1 < raw.len && !inner; i++)
                inner = strchr(" \t\r\n", raw.p[i]) ? 0 : raw.p[i];
        return !inner && raw.len >= 2 && (raw.p[0] == '[' || raw.p[0] == '{');
}

static void part_read_warning(struct json *j, struct arena *a, struct part *p)
{
        static const char remark[] = "PromQL info: ";
        struct text words = json_peek(j) == '"' ? json_text(j, a) : json_raw(j);
        if (words.len < sizeof remark - 1 || memcmp(words.p, remark, sizeof remark - 1) != 0)
                part_add(p, words);
}

/* Read the warnings. Some stores do not send a list; any other value that is not empty counts as a warning. */
static void part_read_warnings(struct json *j, struct arena *a, struct part *p)
{
        if (json_peek(j) == '"') {
                struct text words = json_text(j, a);
                if (words.len)
                        part_add(p, words);
        } else if (json_peek(j) == '[') {
                (void)json_enter(j, '[');
                while (json_item(j))
                        part_read_warning(j, a, p);
        } else {
                struct text raw = json_raw(j);
                if (!part_is_empty(raw))
                        part_add(p, raw);
        }
}

static void part_read_flag(struct json *j, struct part *p)
{
        struct text raw = json_raw(j);
        char said[64];
        snprintf(said, sizeof said, "isPartial: %.*s", TEXT_ARG(raw));
        if (!part_is_empty(raw))
                part_add(p, text_of(said));
}

/* Read the answer's outer object, or (`outside` false) its data: a store may mark the answer as partial in either. */
static void part_read(struct json *j, struct arena *a, struct part *p, bool outside)
{
        struct text key, status = {"", 0}, error = {"", 0}, type = {"", 0};
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "warnings"))
                        part_read_warnings(j, a, p);
                else if (text_is(key, "isPartial"))
                        part_read_flag(j, p);
                else if (outside && text_is(key, "data") && json_peek(j) == '{')
                        part_read(j, a, p, false);
                else if (!outside && text_is(key, "resultType") && json_peek(j) == '"')
                        type = json_text(j, a);
                else if (outside && text_is(key, "status") && json_peek(j) == '"')
                        status = json_text(j, a);
                else if (outside && text_is(key, "error") && json_peek(j) == '"')
                        error = json_text(j, a);
                else
                        json_skip(j);
        if (type.len)
                snprintf(p->type, sizeof p->type, "%.*s", TEXT_ARG(type));
        if (status.len && !text_is(status, "success")) {
                char said[64];
                snprintf(said, sizeof said, "status: %.*s", TEXT_ARG(status));
                part_add(p, error.len ? error : text_of(said));
        }
}

int partial_answer_judge(struct text envelope, bool *ret_partial, struct err *err)
{
        struct arena a = {0};
        struct part p = {.found = false};
        struct json j;
        char others[32] = "";
        json_init(&j, envelope.p, envelope.len);
        part_read(&j, &a, &p, true);
        arena_release(&a);
        if (json_done(&j, err) < 0)
                return err->code;
        if (!p.found && *p.type && strcmp(p.type, "matrix") != 0) {
                series_tame(p.type);
                return err_set(err, ERR_INVALID, "the answer is of type '%s', where series over time were asked for",
                               p.type);
        }
        if (!p.found)
                return 0;
        *ret_partial = true;
        if (p.others)
                snprintf(others, sizeof others, ", and %d more", p.others);
        series_tame(p.words);
        return err_set(err, ERR_RETRY,
                       "the answer is only a part, and nothing is learned from it; the store says '%s'%s", p.words,
                       others);
}
