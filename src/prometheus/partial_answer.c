#include "partial_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "decode_series.h"

enum { WORDS_SIZE = 201 };

/* The words of the first part that an answer names, and how many others there are. */
struct part {
        char words[WORDS_SIZE];
        int others;
        bool found;
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

static void part_read_warnings(struct json *j, struct arena *a, struct part *p)
{
        static const char remark[] = "PromQL info: ";
        if (!json_enter(j, '['))
                return;
        while (json_item(j)) {
                struct text words = json_peek(j) == '"' ? json_text(j, a) : json_raw(j);
                if (words.len < sizeof remark - 1 || memcmp(words.p, remark, sizeof remark - 1) != 0)
                        part_add(p, words);
        }
}

static void part_read(struct json *j, struct arena *a, struct part *p)
{
        struct text key, error = {"", 0};
        bool failed = false;
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "warnings") && json_peek(j) == '[')
                        part_read_warnings(j, a, p);
                else if (text_is(key, "isPartial") && json_peek(j) == 't' && json_bool(j))
                        part_add(p, TEXT("isPartial: true"));
                else if (text_is(key, "status") && json_peek(j) == '"')
                        failed = text_is(json_text(j, a), "error");
                else if (text_is(key, "error") && json_peek(j) == '"')
                        error = json_text(j, a);
                else
                        json_skip(j);
        if (failed)
                part_add(p, error.len ? error : TEXT("status: error"));
}

int partial_answer_judge(struct text envelope, bool *ret_partial, struct err *err)
{
        struct arena a = {0};
        struct part p = {.found = false};
        struct json j;
        char others[32] = "";
        json_init(&j, envelope.p, envelope.len);
        part_read(&j, &a, &p);
        arena_release(&a);
        if (json_done(&j, err) < 0)
                return err->code;
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
