#include "base/queue.h"

#include <assert.h>

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

static const int64_t ns_per_ms = 1000000;

/*
 * A key that the queue holds. A key is ready, in work, or waiting for its time. A key in work may also be ready (it is
 * then processed once more) or waiting, but no key is both ready and waiting.
 */
struct entry {
        void *key;
        bool ready, in_work;
        bool urgent;  /* the key is among the urgent keys of its line; valid while it is in a line */
        size_t place; /* index in the heap + 1; 0: the key does not wait */
        int64_t due_ns;
        int failures;
        struct line *line;       /* the tenant's line, while the key is ready in that line or in work; NULL otherwise */
        TAILQ_ENTRY(entry) link; /* in line->keys, while the key is ready and not in work */
};

/* The ready keys of a tenant, the longest ready first. A line exists while its tenant has a ready key or a key in
 * work. */
struct line {
        const void *tenant;
        TAILQ_HEAD(, entry) keys[2]; /* [true]: the urgent keys */
        size_t in_work;
        TAILQ_ENTRY(line) link; /* in queue.turns, while the line has ready keys */
};

struct queue {
        struct map held;
        struct map lines;         /* tenant -> struct line */
        TAILQ_HEAD(, line) turns; /* lines with ready keys; the line whose turn is next is the first */
        struct entry **heap;
        size_t waiting, heap_cap;
        size_t max, places, in_work;
        int64_t least_ms, most_ms;
        const void *(*tenant_of)(const void *key);
        bool (*urgent)(const void *key);
        uint64_t draws, taken;
};

/* The map key of a pointer: the bytes of the pointer itself. `key` is the address at which the pointer is stored, and
 * must stay. */
static struct text name_of(const void *key)
{
        return (struct text){key, sizeof(void *)};
}

struct queue *queue_new(size_t max, int64_t back_off_least_ms, int64_t back_off_most_ms,
                        const void *(*tenant_of)(const void *key))
{
        assert(max > 0 && back_off_least_ms > 0 && back_off_least_ms <= back_off_most_ms);
        struct queue *q = MEM_NEW(struct queue);
        TAILQ_INIT(&q->turns);
        q->max = max;
        q->least_ms = back_off_least_ms;
        q->most_ms = back_off_most_ms;
        q->tenant_of = tenant_of;
        return q;
}

void queue_set_urgent(struct queue *q, bool (*urgent)(const void *key))
{
        q->urgent = urgent;
}

void queue_set_places(struct queue *q, size_t places)
{
        q->places = places;
}

void queue_free(struct queue *q)
{
        if (!q)
                return;
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&q->held, &at, &key, &value);)
                mem_free(value);
        for (size_t at = 0; map_next(&q->lines, &at, &key, &value);)
                mem_free(value);
        map_release(&q->held);
        map_release(&q->lines);
        mem_free(q->heap);
        mem_free(q);
}

/* --- the heap of waiting keys, the soonest due first --- */

static void heap_set(struct queue *q, size_t i, struct entry *e)
{
        q->heap[i] = e;
        e->place = i + 1;
}

/* Put e into the heap: from slot i, up or down to the slot where its due time belongs. */
static void heap_settle(struct queue *q, size_t i, struct entry *e)
{
        for (; i > 0 && q->heap[(i - 1) / 2]->due_ns > e->due_ns; i = (i - 1) / 2)
                heap_set(q, i, q->heap[(i - 1) / 2]);
        for (size_t child; (child = 2 * i + 1) < q->waiting; i = child) {
                if (child + 1 < q->waiting && q->heap[child + 1]->due_ns < q->heap[child]->due_ns)
                        child++;
                if (q->heap[child]->due_ns >= e->due_ns)
                        break;
                heap_set(q, i, q->heap[child]);
        }
        heap_set(q, i, e);
}

static void heap_add(struct queue *q, struct entry *e, int64_t due_ns)
{
        if (q->waiting == q->heap_cap) {
                q->heap_cap = q->heap_cap ? 2 * q->heap_cap : 16;
                q->heap = mem_resize(q->heap, q->heap_cap, sizeof *q->heap);
        }
        e->due_ns = due_ns;
        q->waiting++;
        heap_settle(q, q->waiting - 1, e);
}

static void heap_remove(struct queue *q, struct entry *e)
{
        if (e->place == 0)
                return;
        size_t hole = e->place - 1;
        struct entry *last = q->heap[--q->waiting];
        e->place = 0;
        if (last != e)
                heap_settle(q, hole, last);
}

/* --- lines: tenants take turns --- */

static struct line *line_of(struct queue *q, const struct entry *e)
{
        const void *tenant = q->tenant_of ? q->tenant_of(e->key) : NULL;
        struct line *line = map_get(&q->lines, name_of(&tenant));
        if (line)
                return line;
        line = MEM_NEW(struct line);
        line->tenant = tenant;
        TAILQ_INIT(&line->keys[false]);
        TAILQ_INIT(&line->keys[true]);
        map_put(&q->lines, name_of(&line->tenant), line);
        return line;
}

static bool line_is_empty(const struct line *line)
{
        return TAILQ_EMPTY(&line->keys[false]) && TAILQ_EMPTY(&line->keys[true]);
}

static void line_join(struct queue *q, struct entry *e)
{
        e->line = line_of(q, e);
        e->urgent = q->urgent && q->urgent(e->key);
        if (line_is_empty(e->line))
                TAILQ_INSERT_TAIL(&q->turns, e->line, link);
        TAILQ_INSERT_TAIL(&e->line->keys[e->urgent], e, link);
}

/* Take a ready key out of its tenant's line, or end the work of a key in work. A line without keys is freed. */
static void line_leave(struct queue *q, struct entry *e)
{
        struct line *line = e->line;
        if (!line)
                return;
        e->line = NULL;
        if (e->in_work) {
                line->in_work--;
                q->in_work--;
        } else {
                TAILQ_REMOVE(&line->keys[e->urgent], e, link);
                if (line_is_empty(line))
                        TAILQ_REMOVE(&q->turns, line, link);
        }
        if (!line_is_empty(line) || line->in_work)
                return;
        map_drop(&q->lines, name_of(&line->tenant));
        mem_free(line);
}

/* Whether a tenant may have another place: it must have fewer places than are free. A tenant that is alone leaves one
 * place, so that the next tenant starts at once. */
static bool line_has_place(const struct queue *q, const struct line *line)
{
        bool alone = q->lines.count == 1 && q->places > 1;
        return q->places == 0 || (alone ? q->in_work + 1 : line->in_work + q->in_work) < q->places;
}

/* The next line whose tenant may have a place and, where `urgent` is true, that has an urgent key; NULL: there is
 * none. */
static struct line *line_with_place(const struct queue *q, bool urgent)
{
        struct line *line;
        TAILQ_FOREACH (line, &q->turns, link)
                if ((!urgent || !TAILQ_EMPTY(&line->keys[true])) && line_has_place(q, line))
                        break;
        return line;
}

/* The key to take next: urgent keys first, but not in one take of TURNS_ALONE. Its line goes to the end of the turns.
 * NULL: there is no key to take. */
static struct entry *line_next(struct queue *q)
{
        enum { TURNS_ALONE = 8 }; /* one take in so many goes by turns, not by urgency */
        bool by_turn = q->taken % TURNS_ALONE == TURNS_ALONE - 1;
        struct line *line = by_turn ? NULL : line_with_place(q, true);
        if (!line)
                line = line_with_place(q, false);
        if (!line)
                return NULL;
        q->taken++;
        TAILQ_REMOVE(&q->turns, line, link);
        TAILQ_INSERT_TAIL(&q->turns, line, link);
        bool urgent = by_turn ? TAILQ_EMPTY(&line->keys[false]) : !TAILQ_EMPTY(&line->keys[true]);
        return TAILQ_FIRST(&line->keys[urgent]);
}

/* Move a ready key of a line into work. */
static void line_work(struct queue *q, struct entry *e)
{
        struct line *line = e->line;
        line->in_work++;
        q->in_work++;
        line_leave(q, e);
        e->line = line;
        e->ready = false;
        e->in_work = true;
}

/* --- keys --- */

/* Makes a key ready and ends its delay. A key in work enters the line only when its work ends. */
static void make_ready(struct queue *q, struct entry *e)
{
        heap_remove(q, e);
        if (e->ready)
                return;
        e->ready = true;
        if (!e->in_work)
                line_join(q, e);
}

static struct entry *queue_find(const struct queue *q, void *key)
{
        return map_get(&q->held, name_of(&key));
}

static struct entry *find_or_add(struct queue *q, void *key)
{
        struct entry *e = queue_find(q, key);
        if (e || q->held.count >= q->max)
                return e;
        e = MEM_NEW(struct entry);
        e->key = key;
        map_put(&q->held, name_of(&e->key), e);
        return e;
}

static void queue_drop(struct queue *q, struct entry *e)
{
        map_drop(&q->held, name_of(&e->key));
        mem_free(e);
}

int queue_add(struct queue *q, void *key)
{
        struct entry *e = find_or_add(q, key);
        if (!e)
                return ERR_TOOBIG;
        make_ready(q, e);
        return 0;
}

static void wait_until(struct queue *q, struct entry *e, int64_t due_ns)
{
        if (e->ready || (e->place && e->due_ns <= due_ns))
                return;
        heap_remove(q, e);
        heap_add(q, e, due_ns);
}

int queue_add_after(struct queue *q, void *key, struct mono now, int64_t delay_ms)
{
        struct entry *e = find_or_add(q, key);
        if (!e)
                return ERR_TOOBIG;
        if (delay_ms <= 0)
                make_ready(q, e);
        else
                wait_until(q, e, mono_after(now, delay_ms).ns);
        return 0;
}

static void queue_wake(struct queue *q, struct mono now)
{
        while (q->waiting && q->heap[0]->due_ns <= now.ns)
                make_ready(q, q->heap[0]);
}

void *queue_take(struct queue *q, struct mono now)
{
        queue_wake(q, now);
        struct entry *e = line_next(q);
        if (!e)
                return NULL;
        line_work(q, e);
        return e->key;
}

/* A key that was added during its work enters the line; a waiting key stays; any other key leaves the queue. */
static void end_work(struct queue *q, struct entry *e)
{
        line_leave(q, e);
        e->in_work = false;
        if (e->ready)
                line_join(q, e);
        else if (!e->place)
                queue_drop(q, e);
}

void queue_done(struct queue *q, void *key)
{
        struct entry *e = queue_find(q, key);
        if (!e)
                return;
        assert(e->in_work);
        e->failures = 0;
        end_work(q, e);
}

/* A random delay from the upper half of delay_ms, so that keys which failed together do not all retry together. */
static int64_t queue_jitter(struct queue *q, int64_t delay_ms)
{
        q->draws++;
        uint64_t random = map_hash((struct text){(const char *)&q->draws, sizeof q->draws});
        return delay_ms - (int64_t)(random % ((uint64_t)delay_ms / 2 + 1));
}

static int64_t back_off(struct queue *q, struct entry *e)
{
        int64_t delay_ms = q->least_ms;
        for (int i = 0; i < e->failures && delay_ms < q->most_ms; i++)
                delay_ms = delay_ms > q->most_ms / 2 ? q->most_ms : 2 * delay_ms;
        if (delay_ms < q->most_ms)
                e->failures++;
        return queue_jitter(q, delay_ms);
}

void queue_retry(struct queue *q, void *key, struct mono now, int64_t at_least_ms)
{
        struct entry *e = queue_find(q, key);
        if (!e)
                return;
        assert(e->in_work);
        int64_t delay_ms = back_off(q, e);
        heap_remove(q, e); /* an earlier, shorter delay would undo the back-off */
        wait_until(q, e, mono_after(now, delay_ms > at_least_ms ? delay_ms : at_least_ms).ns);
        end_work(q, e);
}

void queue_forget(struct queue *q, void *key)
{
        struct entry *e = queue_find(q, key);
        if (!e)
                return;
        heap_remove(q, e);
        line_leave(q, e);
        queue_drop(q, e);
}

int64_t queue_wait_ms(const struct queue *q, struct mono now)
{
        if (!TAILQ_EMPTY(&q->turns))
                return 0;
        if (q->waiting == 0)
                return -1;
        int64_t left = q->heap[0]->due_ns - now.ns;
        return left <= 0 ? 0 : (left - 1) / ns_per_ms + 1;
}

size_t queue_count(const struct queue *q)
{
        return q->held.count;
}
