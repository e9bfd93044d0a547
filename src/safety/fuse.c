/*
 * The fuse, the doing: guards are counted and stored; once it is blown every profile says so, the Lease does, and
 * nothing new is applied until a person resets it. What the database and the Lease say of it is held together here, so
 * that the loss of either does not reset it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "safety_private.h"

enum { WORDS_MAX = 600, NAMED_MOST = 5, TIME_LEN = 20 /* "2026-11-22T02:00:00Z" */ };

const char *fuse_blown(const struct safety *safety)
{
        return safety->fuse.blown;
}

enum fuse_word fuse_read(struct text note, int64_t *ret_at_ms)
{
        static const char reset[] = "reset ";
        struct wall at = {0};
        bool is_reset = note.len >= sizeof reset - 1 && memcmp(note.p, reset, sizeof reset - 1) == 0;
        *ret_at_ms = 0;
        if (note.len == 0)
                return FUSE_NOTHING;
        if (is_reset) {
                note.p += sizeof reset - 1;
                note.len -= sizeof reset - 1;
        }
        if (note.len >= TIME_LEN && wall_parse(note.p, TIME_LEN, &at) == 0)
                *ret_at_ms = at.ms;
        return is_reset ? FUSE_RESET : FUSE_BLOWN;
}

/* --- storing --- */

void fuse_store(struct safety *safety)
{
        struct fuse *f = &safety->fuse;
        AUTO(json_decref) json_t *guards = json_array();
        for (int i = 0; i < f->guards; i++)
                json_array_append_new(guards, json_pack("[I, s]", (json_int_t)f->at_ms[i], f->name[i]));
        AUTO(json_decref) json_t *o = json_pack("{s:I, s:O}", "reset", (json_int_t)f->reset_ms, "guards", guards);
        if (f->blown)
                json_object_set_new(o, "blown", json_string(f->blown));
        char *text = json_dumps(o, JSON_COMPACT);
        checkpointer_note(safety->checkpointer, "fuse", text_of(text));
        free(text);
}

static void fuse_add(struct fuse *f, int64_t at_ms, const char *name)
{
        if (f->guards == FUSE_GUARDS_MOST) { /* more than any setting asks for */
                mem_free(f->name[0]);
                memmove(f->at_ms, f->at_ms + 1, (size_t)(f->guards - 1) * sizeof *f->at_ms);
                memmove(f->name, f->name + 1, (size_t)(f->guards - 1) * sizeof *f->name);
                f->guards--;
        }
        f->at_ms = mem_resize(f->at_ms, (size_t)f->guards + 1, sizeof *f->at_ms);
        f->name = mem_resize(f->name, (size_t)f->guards + 1, sizeof *f->name);
        f->at_ms[f->guards] = at_ms;
        f->name[f->guards++] = mem_string(name);
}

static void set_blown(struct fuse *f, const char *text)
{
        mem_free(f->blown);
        f->blown = mem_string(text);
        f->blown_ms = 0;
        if (f->blown)
                (void)fuse_read(text_of(f->blown), &f->blown_ms);
}

void fuse_load(struct safety *safety, struct text value)
{
        AUTO(json_decref) json_t *o = json_loadb(value.p, value.len, 0, NULL);
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(o, "guards"), i, row)
        {
                const char *name = json_string_value(json_array_get(row, 1));
                fuse_add(&safety->fuse, (int64_t)json_integer_value(json_array_get(row, 0)), name ? name : "");
        }
        safety->fuse.reset_ms = (int64_t)json_integer_value(json_object_get(o, "reset"));
        set_blown(&safety->fuse, json_string_value(json_object_get(o, "blown")));
}

void fuse_release(struct fuse *f)
{
        for (int i = 0; i < f->guards; i++)
                mem_free(f->name[i]);
        mem_free(f->name);
        mem_free(f->at_ms);
        mem_free(f->blown);
        mem_free(f->shown);
        *f = (struct fuse){0};
}

/* --- blowing --- */

/* One that a clock wrote which was ahead passes an hour from now, as any other. */
static void fuse_forget_old(struct fuse *f, int64_t now_ms)
{
        int kept = 0;
        for (int i = 0; i < f->guards; i++) {
                if (f->at_ms[i] > now_ms)
                        f->at_ms[i] = now_ms;
                if (fuse_count_within(&f->at_ms[i], 1, now_ms)) {
                        f->at_ms[kept] = f->at_ms[i];
                        f->name[kept++] = f->name[i];
                } else {
                        mem_free(f->name[i]);
                }
        }
        f->guards = kept;
}

static char *fuse_words_of(const struct fuse *f, struct wall now)
{
        AUTO(buf_release) struct buf text;
        char time[WALL_TEXT_MAX];
        buf_init(&text, WORDS_MAX);
        (void)buf_printf(&text, "%s: %d guards within an hour: ", wall_print(now, time), f->guards);
        for (int i = f->guards - 1, named = 0; i >= 0 && named < NAMED_MOST; i--, named++)
                if (buf_printf(&text, "%s%s", named ? ", " : "", f->name[i]) < 0)
                        break;
        if (f->guards > NAMED_MOST)
                (void)buf_printf(&text, ", …");
        return mem_string_n(text.data, text.len);
}

static void fuse_blow(struct safety *safety, const struct target *t)
{
        struct fuse *f = &safety->fuse;
        AUTO(mem_free) char *words = fuse_words_of(f, loop_now(safety->loop).wall);
        set_blown(f, words);
        fuse_store(safety);
        report_event(safety->report, t, true, "Fuse", f->blown);
        log_error("the fuse is blown: nothing new is applied until a person resets it", KV("why", f->blown),
                  KV("cure", "halflife resume --fuse"));
        nudge(safety->leadership);
}

void fuse_count(struct safety *safety, struct target *t, bool owner_changed)
{
        struct fuse *f = &safety->fuse;
        int64_t now_ms = loop_now(safety->loop).wall.ms;
        if (owner_changed || safety->live->fuse_guards == 0)
                return;
        AUTO(mem_free) char *name = mem_printf("%s/%s/%s", t->ns, t->kind, t->name);
        fuse_forget_old(f, now_ms);
        fuse_add(f, now_ms, name);
        if (!f->blown && fuse_blows(fuse_count_within(f->at_ms, f->guards, now_ms), safety->live->fuse_guards))
                fuse_blow(safety, t);
        else
                fuse_store(safety);
}

/* --- going on --- */

static void fuse_mend(struct safety *safety, int64_t at_ms, const char *who)
{
        struct fuse *f = &safety->fuse;
        f->reset_ms = at_ms;
        fuse_forget_old(f, INT64_MAX);
        set_blown(f, NULL);
        fuse_store(safety);
        log_info("the fuse was reset: changes go on", KV("by", who));
        nudge(safety->leadership);
}

static const char *reset_words(struct fuse *f)
{
        char time[WALL_TEXT_MAX];
        snprintf(f->reset, sizeof f->reset, "reset %s", wall_print((struct wall){f->reset_ms}, time));
        return f->reset;
}

static void fuse_take(struct safety *safety, const char *note)
{
        set_blown(&safety->fuse, note);
        fuse_store(safety);
        log_error("the Lease says that the fuse is blown: nothing new is applied until a person resets it",
                  KV("why", note), KV("cure", "halflife resume --fuse"));
        nudge(safety->leadership);
}

const char *fuse_noted(void *arg, const char *uid, const char *note)
{
        struct safety *safety = arg;
        struct fuse *f = &safety->fuse;
        int64_t at_ms, now_ms = loop_now(safety->loop).wall.ms;
        enum fuse_word word = fuse_read(text_of(note ? note : ""), &at_ms);
        bool dated = word == FUSE_RESET && at_ms <= now_ms;
        const struct fuse_facts facts = {
                .blown = f->blown != NULL,
                .blown_ms = f->blown_ms,
                .reset_ms = f->reset_ms,
                .shown = f->shown && uid && strcmp(f->shown, uid) == 0,
                .now_ms = now_ms,
        };
        if (word == FUSE_BLOWN && uid && !facts.shown) {
                mem_free(f->shown);
                f->shown = mem_string(uid);
        }
        switch (fuse_judge(&facts, word, at_ms)) {
        case FUSE_AGREES:
                return NULL;
        case FUSE_TAKE:
                fuse_take(safety, note);
                return NULL;
        case FUSE_WRITE:
                return f->blown;
        case FUSE_MEND:
                fuse_mend(safety, dated ? at_ms : now_ms, "the Lease's annotation");
                return dated ? NULL : reset_words(f);
        case FUSE_DATE:
                f->reset_ms = now_ms;
                fuse_store(safety);
                return reset_words(f);
        case FUSE_REPEAT:
                return reset_words(f);
        }
        return NULL;
}

void fuse_settle(struct safety *safety)
{
        if (safety->live->fuse_guards == 0 && safety->fuse.blown)
                fuse_mend(safety, loop_now(safety->loop).wall.ms, "the setting fuse-guards: 0");
}
