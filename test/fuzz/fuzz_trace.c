/*
 * cli/trace: any bytes give rows and refusals, the same however they are cut; a number is what strtod says; and the
 * replay of whatever rows come out ends with finite scores.
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "replay/replay.h"

enum { NUMBER_LONGEST = 511 };

struct bytes {
        const uint8_t *p;
        size_t left, chunk;
};

static ssize_t give(void *arg, void *buf, size_t size)
{
        struct bytes *b = arg;
        size_t n = b->left < b->chunk ? b->left : b->chunk;
        if (n > size)
                n = size;
        if (n > 0)
                memcpy(buf, b->p, n);
        b->p += n;
        b->left -= n;
        return (ssize_t)n;
}

static bool is_sound(const struct score *s)
{
        return isfinite(s->requested_hours) && isfinite(s->used_hours) && s->over <= s->rows && s->changes >= 0 &&
               isfinite(score_slack(s)) && isfinite(score_changes_per_week(s)) && score_overrun(s) <= 1;
}

/* Lines seen, rows taken and refused, folded into one number. */
static uint64_t replay_all(const uint8_t *data, size_t size, size_t chunk)
{
        struct bytes b = {data, size, chunk};
        struct profile_spec spec;
        struct replay r;
        struct trace t;
        struct trace_row row;
        const char *why;
        uint64_t seen = 0;
        static const struct raise_policy raise = {
                .enabled = true, .after_ms = 15 * MINUTE_MS, .factor = 1100, .most = 3000};
        replay_init(&r, HOUR_MS, &raise);
        MUST(profile_spec_read(NULL, &spec, NULL) == 0);
        spec.apply.min_history_ms = 0;
        MUST(replay_add_policy(&r, "fuzz", &spec) == 0);
        trace_init(&t, give, &b);
        for (int rc; (rc = trace_next(&t, &row, NULL)) != 0;) {
                MUST(rc == 1 || rc == ERR_INVALID);
                seen = seen * 31 + (uint64_t)t.line * 2 + (rc == 1);
                if (rc == 1 && replay_row(&r, &row, &why) < 0)
                        seen++;
        }
        MUST(t.bytes == (int64_t)size);
        for (enum replay_way way = REPLAY_AS_SET; way < REPLAY_WAYS; way++)
                for (enum resource q = CPU; q < RESOURCES; q++)
                        MUST(is_sound(&r.policy[0].scores.of[way][q]) && is_sound(&r.peak.of[way][q]));
        seen = seen * 31 + (uint64_t)r.policy[0].scores.of[REPLAY_RAISED][CPU].rows;
        trace_release(&t);
        profile_spec_release(&spec);
        replay_release(&r);
        return seen;
}

static void number_is_strtods(const uint8_t *data, size_t size)
{
        char copy[NUMBER_LONGEST + 1], *end;
        double got;
        if (size > NUMBER_LONGEST || !trace_number((struct text){(const char *)data, size}, &got))
                return;
        memcpy(copy, data, size);
        copy[size] = '\0';
        double want = strtod(copy, &end);
        MUST(end == copy + size && memcmp(&got, &want, sizeof got) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        size_t line = 0;
        while (line < size && data[line] != '\n')
                line++;
        number_is_strtods(data, line);
        uint64_t whole = replay_all(data, size, SIZE_MAX);
        MUST(replay_all(data, size, 7) == whole);
        return 0;
}
