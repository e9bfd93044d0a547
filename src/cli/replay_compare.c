#include "replay_compare.h"

/* The columns before the policies (trace, rows, raise) and behind them (peak). */
enum { BEFORE = 3, BEHIND = 1 };

static bool is_shown(const struct replay *r, int policy, enum resource q)
{
        return q == MEMORY || !r->policy[policy].memory_only;
}

static void compare_begin(struct table *t, const struct replay *r, enum resource q)
{
        int shown = 0;
        for (int i = 0; i < r->policies; i++)
                shown += is_shown(r, i, q);
        table_init(t, BEFORE + shown + BEHIND);
        table_add(t, mem_string(resource_name(q)));
        table_add(t, mem_string("rows"));
        table_add(t, mem_string("raise"));
        for (int i = 0; i < r->policies; i++)
                if (is_shown(r, i, q))
                        table_add(t, mem_string(r->policy[i].name));
        table_add(t, mem_string("peak"));
}

static void add_score(struct table *t, const struct score *s)
{
        table_add(t, s->requested_hours > 0 ? mem_printf("%.1f%% %.2f%%", 100 * score_slack(s), 100 * score_overrun(s))
                                            : mem_string("-"));
}

static void compare_add_row(struct table *t, const struct replay *r, const char *trace, enum replay_way way,
                            enum resource q)
{
        char after[DURATION_TEXT_MAX];
        table_add(t, mem_string(trace));
        table_add(t, mem_printf("%lld", (long long)r->peak.of[way][q].rows));
        table_add(t, mem_string(way == REPLAY_RAISED ? duration_print(r->raise.after_ms, after) : "-"));
        for (int i = 0; i < r->policies; i++)
                if (is_shown(r, i, q))
                        add_score(t, &r->policy[i].scores.of[way][q]);
        add_score(t, &r->peak.of[way][q]);
}

static bool compare_has_samples(const struct replay *r, enum resource q)
{
        for (size_t i = 0; i < r->entities; i++)
                if (r->entity[i]->samples[q] > 0)
                        return true;
        return false;
}

void replay_compare_add(struct replay_compare *c, const struct replay *r, const char *trace)
{
        for (enum resource q = CPU; q < RESOURCES; q++) {
                if (!c->of[q].columns)
                        compare_begin(&c->of[q], r, q);
                if (!compare_has_samples(r, q))
                        continue;
                compare_add_row(&c->of[q], r, trace, REPLAY_AS_SET, q);
                if (r->raise.enabled)
                        compare_add_row(&c->of[q], r, trace, REPLAY_RAISED, q);
        }
}

void replay_compare_print(const struct replay_compare *c)
{
        for (enum resource q = CPU; q < RESOURCES; q++) {
                if (q > CPU)
                        putchar('\n');
                table_print(stdout, &c->of[q]);
        }
        putchar('\n');
        replay_print_weights();
}

void replay_compare_release(struct replay_compare *c)
{
        for (enum resource q = CPU; q < RESOURCES; q++)
                table_release(&c->of[q]);
}
