/*
 * Any bytes as an export: what is read of it may be written again to the same line, and joined with a history without
 * spoiling it. Each line is also taken with its checksums set right.
 */
#include <math.h>
#include <string.h>

#include "core/crc.h"
#include "fuzz.h"
#include "store/transfer.h"

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.percentile = 950, .half_life_ms = DAY_MS},
        [MEMORY] = {.percentile = 990, .half_life_ms = DAY_MS, .oom_bump = 1200},
};
static const struct wall now = {(int64_t)20778 * DAY_MS};

static void join(const struct usage *from)
{
        struct usage u;
        struct usage_room wanted;
        struct sample_watermark watermark = {0};
        struct sample s = {.at = now, .has = {true, true}, .value = {0.5, 3e9}, .cpu_weight = 1};
        enum sample_verdict verdict;
        double w[RESOURCES][HISTOGRAM_BUCKETS], total;
        usage_init(&u, policy);
        for (int r = 0; r < RESOURCES; r++)
                histogram_lend(&u.of[r], w[r], HISTOGRAM_BUCKETS);
        MUST(usage_add(&u, &watermark, &s, now, &verdict, &wanted) == 0 && verdict == SAMPLE_ACCEPTED);
        struct usage_starts starts = {0};
        u.starts = from->starts ? &starts : NULL;
        int rc = usage_merge(&u, from, &wanted);
        MUST(rc == 0 || rc == ERR_INVALID);
        s.at.ms += MINUTE_MS;
        MUST(usage_add(&u, &watermark, &s, s.at, &verdict, &wanted) == 0);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                total = histogram_total(&u.of[r]);
                MUST(isfinite(total) && total > 0);
        }
        uint8_t packed[USAGE_PACK_MAX];
        struct usage_memory memory;
        struct usage back;
        size_t len = usage_pack(&u, packed);
        MUST(usage_unpack(packed, len, &back, &memory) == 0);
}

static int take(void *arg, const struct transfer_row *row, struct err *err)
{
        char line[TRANSFER_LINE_MAX], scratch[TRANSFER_LINE_MAX];
        struct usage_memory memory;
        struct transfer_row back;
        (void)arg;
        size_t len = transfer_print(row, line);
        MUST(transfer_parse((struct text){line, len - 1}, scratch, &back, &memory, err) == 0);
        MUST(back.sources == row->sources && text_equal(back.key.container, row->key.container));
        if (usage_may_join(&back.usage, now)) {
                usage_rewindow(&back.usage, 0);
                join(&back.usage);
        }
        return 0;
}

static void parse(struct text line)
{
        char scratch[TRANSFER_LINE_MAX];
        struct usage_memory memory;
        struct transfer_row row;
        struct err err = {0};
        if (transfer_parse(line, scratch, &row, &memory, &err) == 0)
                take(NULL, &row, &err);
        else
                MUST(err.text[0]);
}

/* With the CRC that it should have. */
static void parse_sealed(const uint8_t *data, size_t size)
{
        static char line[TRANSFER_LINE_MAX];
        char crc[10];
        if (size < 9 || size >= sizeof line)
                return;
        memcpy(line, data, size);
        snprintf(crc, sizeof crc, "%08x\t", crc_add(0, line + 9, size - 9));
        memcpy(line, crc, 9);
        parse((struct text){line, size});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct transfer_reader reader = {take, NULL};
        struct err err = {0};
        int64_t rows;
        if (size == 0)
                return 0;
        FILE *from = fmemopen((void *)(uintptr_t)data, size, "r");
        MUST(from && (transfer_read(from, &reader, &rows, &err) == 0 || err.text[0]));
        fclose(from);
        for (const uint8_t *at = data, *end = data + size; at < end;) {
                const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
                size_t len = newline ? (size_t)(newline - at) : (size_t)(end - at);
                parse((struct text){(const char *)at, len});
                parse_sealed(at, len);
                at += len + 1;
        }
        return 0;
}
