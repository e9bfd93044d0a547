#include "replay/node_load.h"

#include <string.h>

#include "base/mem.h"

void node_load_release(struct node_load *l)
{
        mem_free(l->slot);
        mem_free(l->day);
        mem_free(l->ask);
        *l = (struct node_load){0};
}

bool node_load_begins_day(const struct node_load *l, struct wall at)
{
        return l->days == 0 || l->day[l->days - 1].day < at.ms / DAY_MS;
}

double *node_load_begin_day(struct node_load *l, struct wall at, size_t asks, bool is_asked)
{
        size_t width = asks * RESOURCES;
        if (l->days == l->days_cap) {
                l->days_cap = l->days_cap ? 2 * l->days_cap : 16;
                l->day = mem_resize(l->day, l->days_cap, sizeof *l->day);
                l->ask = mem_resize(l->ask, l->days_cap, width * sizeof *l->ask);
        }
        double *row = l->ask + l->days * width;
        memset(row, 0, width * sizeof *row);
        l->day[l->days++] =
                (struct node_day){.day = (uint32_t)(at.ms / DAY_MS), .first = l->slots, .is_asked = is_asked};
        return row;
}

static struct node_slot *node_load_slot(struct node_load *l, uint32_t at)
{
        if (l->slots > l->day[l->days - 1].first && l->slot[l->slots - 1].at == at)
                return &l->slot[l->slots - 1];
        if (l->slots == l->slots_cap) {
                l->slots_cap = l->slots_cap ? 2 * l->slots_cap : NODE_SLOTS_A_DAY;
                l->slot = mem_resize(l->slot, l->slots_cap, sizeof *l->slot);
        }
        l->slot[l->slots] = (struct node_slot){.at = at};
        return &l->slot[l->slots++];
}

bool node_load_add(struct node_load *l, struct wall at, const bool has[static RESOURCES],
                   const double value[static RESOURCES])
{
        struct node_slot *s = node_load_slot(l, (uint32_t)(at.ms / NODE_SLOT_MS));
        s->rows++;
        if (has[CPU])
                s->of[CPU] += ((float)value[CPU] - s->of[CPU]) / (float)s->rows;
        if (has[MEMORY] && (float)value[MEMORY] > s->of[MEMORY])
                s->of[MEMORY] = (float)value[MEMORY];
        for (enum resource q = CPU; q < RESOURCES; q++)
                if (s->of[q] > l->most[q])
                        l->most[q] = s->of[q];
        return s->rows == 1;
}
