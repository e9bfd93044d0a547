#include "base/queue.h"

#include <assert.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

static const int64_t ns_per_ms = 1000000;

/*
 * A key that is held in some way: ready, in work, waiting for its time. Ready and waiting exclude each other; either
 * may go with work, where ready means "once more after it".
 */
struct entry {
        void *key;
        bool ready, in_work;
        size_t place; /* in the heap + 1; 0: does not wait */
        int64_t due_ns;
        int failures;
        struct entry *prev, *next; /* in the line of the ready that are not in work */
};

struct queue {
        struct map held;
        struct entry line; /* head of the ring: next is the oldest */
        struct entry **heap;
        size_t waiting, heap_cap;
        size_t max;
        int64_t least_ms, most_ms;
        uint64_t draws;
};

static struct text name_of(void *const *key)
{
        return (struct text){(const char *)key, sizeof *key};
}

struct queue *queue_new(size_t max, int64_t back_off_least_ms, int64_t back_off_most_ms)
{
        assert(max > 0 && back_off_least_ms > 0 && back_off_least_ms <= back_off_most_ms);
        struct queue *q = MEM_NEW(struct queue);
        q->line.prev = q->line.next = &q->line;
        q->max = max;
        q->least_ms = back_off_least_ms;
        q->most_ms = back_off_most_ms;
        return q;
}

void queue_free(struct queue *q)
{
        if (!q)
                return;
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&q->held, &at, &key, &value);)
                mem_free(value);
        map_release(&q->held);
        mem_free(q->heap);
        mem_free(q);
}

/* --- the heap of those that wait, soonest first --- */

static void heap_set(struct queue *q, size_t i, struct entry *e)
{
        q->heap[i] = e;
        e->place = i + 1;
}

/* Move e from slot i to where it belongs. */
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

/* --- the line of those that are ready --- */

static void line_add(struct queue *q, struct entry *e)
{
        e->prev = q->line.prev;
        e->next = &q->line;
        e->prev->next = e->next->prev = e;
}

static void line_remove(struct entry *e)
{
        e->prev->next = e->next;
        e->next->prev = e->prev;
}

/* Ready now: a delay is overtaken. What is in work stands in line only after it. */
static void make_ready(struct queue *q, struct entry *e)
{
        heap_remove(q, e);
        if (e->ready)
                return;
        e->ready = true;
        if (!e->in_work)
                line_add(q, e);
}

/* --- keys --- */

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
        struct entry *e = q->line.next;
        if (e == &q->line)
                return NULL;
        line_remove(e);
        e->ready = false;
        e->in_work = true;
        return e->key;
}

/* Work has ended: stand in line when added meanwhile, stay when waiting, else leave. */
static void end_work(struct queue *q, struct entry *e)
{
        e->in_work = false;
        if (e->ready)
                line_add(q, e);
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

/* Somewhere in the upper half of the delay, so that keys which failed together do not come back together. */
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
        heap_remove(q, e); /* a sooner delay asked for before the failure would undo the back-off */
        wait_until(q, e, mono_after(now, delay_ms > at_least_ms ? delay_ms : at_least_ms).ns);
        end_work(q, e);
}

void queue_forget(struct queue *q, void *key)
{
        struct entry *e = queue_find(q, key);
        if (!e)
                return;
        heap_remove(q, e);
        if (e->ready && !e->in_work)
                line_remove(e);
        queue_drop(q, e);
}

int64_t queue_wait_ms(const struct queue *q, struct mono now)
{
        if (q->line.next != &q->line)
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
