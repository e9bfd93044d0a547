/*
 * GET …/history: the histories of a workload's containers exactly as the database stores them, for halflife export.
 */
#include "handlers.h"

static void write_history(struct writer *w, const struct learned_copy *c)
{
        static const char digit[] = "0123456789abcdef";
        uint8_t packed[USAGE_PACK_MAX];
        char text[2 * USAGE_PACK_MAX];
        size_t len = usage_pack(&c->usage, packed);
        for (size_t i = 0; i < len; i++) {
                text[2 * i] = digit[packed[i] >> 4];
                text[2 * i + 1] = digit[packed[i] & 15];
        }
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(c->container));
        writer_open(w, "sources", '[');
        for (int i = 0; i < c->sources; i++)
                writer_printf(w, NULL, "%016llx", (unsigned long long)c->source[i]);
        writer_close(w, ']');
        writer_int(w, "samples", c->usage.samples);
        writer_text(w, "history", (struct text){text, 2 * len});
        writer_close(w, '}');
}

void answer_history(struct ask *k)
{
        if (learned_asked(k) < 0)
                return;
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        write_metadata(&w, k);
        writer_text(&w, "group", text_of(k->route->group));
        writer_open(&w, "containers", '[');
        for (size_t i = 0; i < k->copies; i++)
                write_history(&w, &k->learned[i]);
        writer_close(&w, ']');
        writer_close(&w, '}');
}
