/*
 * Checkpoints: what was learned and done, packed a slice at a time on the loop and written by the store's thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cache/apply_state.h"
#include "checkpointer_private.h"

enum { RECORD_MAX = 64 << 10, TRIM_ROWS = 100 };

static struct store_key checkpointer_key_of(const struct target *t, const char *container)
{
        return (struct store_key){text_of(t->ns), text_of(t->group), text_of(t->kind), text_of(t->name),
                                  text_of(container)};
}

/* --- loading --- */

static void *load_target(void *arg, const struct store_key *key)
{
        struct checkpointer *cp = arg;
        return target_get(cp->cache, key->ns, key->group, key->kind, key->name);
}

static void load_record(void *arg, void *target, struct text record, struct wall gone)
{
        const struct checkpointer *cp = arg;
        struct target *t = target;
        apply_state_read(cp->cache, t, record);
        t->gone_ms = gone.ms;
}

static void load_usage(void *arg, void *target, struct text name, const struct usage *u,
                       const struct store_watermark *watermark, size_t watermarks)
{
        static const struct resource_policy none[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};
        struct checkpointer *cp = arg;
        const char *container = intern_text(cp->cache->names, name);
        struct history *h = history_get(target, container, none);
        h->usage = *u; /* its doubles are the reader's: copied into memory of our own */
        for (int r = 0; r < RESOURCES; r++) {
                int cap = h->usage.of[r].count;
                histogram_lend(&h->usage.of[r], cap ? mem_new_array((size_t)cap, sizeof(double)) : NULL, cap);
        }
        h->watermark = mem_resize(NULL, watermarks, sizeof *watermark);
        h->watermarks = watermarks;
        if (watermarks)
                memcpy(h->watermark, watermark, watermarks * sizeof *watermark);
        intern_drop(cp->cache->names, container);
}

static void load_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        struct checkpointer *cp = arg;
        struct target *t = target;
        t->killed = mem_resize(t->killed, (size_t)t->kills + 1, sizeof *t->killed);
        struct loaded_kill *k = &t->killed[t->kills++];
        memcpy(k->uid, kill->uid, UID_BYTES);
        k->container = intern_text(cp->cache->names, container);
        k->restarts = kill->restarts;
}

static void load_note(void *arg, struct text name, struct text value)
{
        struct checkpointer *cp = arg;
        if (cp->callbacks.note)
                cp->callbacks.note(cp->callbacks.arg, name, value);
}

static void load_refused(void *arg, void *target, struct text container, const struct err *why)
{
        const struct target *t = target;
        char name[768];
        (void)arg;
        snprintf(name, sizeof name, "%s/%.*s", t ? t->key : "", TEXT_ARG(container));
        log_warn("a row of the database does not check out", KV("history", name), KV("error", why->text));
}

/* --- the store's answers --- */

struct checkpoint_told {
        struct checkpointer *checkpointer;
        struct store_result result;
};

/* The watermarks of a pod's containers are those of its workload; histories of other dimensions are their own
 * watermarks. */
static struct pod *watermarked_pods(const struct target *t)
{
        return t->dimension == DIMENSION_WORKLOAD ? t->pods : NULL;
}

/* Doors that closed ahead of the clock would refuse every sample until then. */
static void watermarks_back(const struct history *h)
{
        for (struct pod *p = watermarked_pods(h->target); p; p = p->next_of_target)
                for (int i = 0; i < p->containers; i++)
                        if (p->container[i].name == h->container &&
                            p->container[i].watermark.last_ms > h->usage.newest_ms)
                                p->container[i].watermark.last_ms = h->usage.newest_ms;
}

static void checkpointer_recalled(struct checkpointer *cp, const struct store_result *r)
{
        struct target *t;
        double room[2 * HISTOGRAM_BUCKETS];
        struct usage u;
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));)
                for (struct history *h = t->histories; h; h = h->next) {
                        if (h != r->recall_tag)
                                continue;
                        if (r->packed_len == 0 || usage_unpack(r->packed, r->packed_len, &u, room) < 0)
                                return;
                        for (int k = 0; k < RESOURCES; k++) {
                                int cap = u.of[k].count;
                                histogram_lend(&u.of[k], cap ? mem_new_array((size_t)cap, sizeof(double)) : NULL, cap);
                                mem_free(h->usage.of[k].w);
                        }
                        h->usage = u;
                        h->dirty = true;
                        watermarks_back(h);
                        log_warn("a history was ahead of every clock: taken back to the checkpoint before",
                                 KV("namespace", t->ns), KV("name", t->name), KV("container", h->container));
                }
}

/* To be stored with h: a kill that it holds. */
static void counted_add(struct checkpointer *cp, struct history *h, const uint8_t *uid, int64_t restarts, double bytes)
{
        struct counted *all = &cp->counted;
        struct store_key key = checkpointer_key_of(h->target, h->container);
        struct store_kill kill = {.restarts = restarts, .at = loop_now(cp->loop).wall, .bytes = bytes};
        if (!cp->store)
                return;
        if (!all->batch)
                all->batch = store_batch_new();
        memcpy(kill.uid, uid, sizeof kill.uid);
        store_batch_kill(all->batch, &key, &kill);
        if (h->counted)
                return;
        h->counted = true;
        if (all->histories == all->cap)
                all->history = mem_resize(all->history, all->cap = all->cap * 2 + 16, sizeof(struct history *));
        all->history[all->histories++] = h;
}

/* The kills that h holds: of pods that are there, and of those that have not come yet. What each was held at is known
 * no more; the store keeps the rows that were carried over. */
static void counted_add_known(struct checkpointer *cp, struct history *h)
{
        struct target *t = h->target;
        for (struct pod *p = t->pods; p; p = target_next_pod(t, p))
                for (int i = 0; i < p->containers; i++) {
                        const struct pod_container *pc = &p->container[i];
                        if (pc->name == h->container && pc->role != ROLE_INIT && pod_ended(pc).kills_counted >= 0)
                                counted_add(cp, h, p->uid, pod_ended(pc).kills_counted, 0);
                }
        for (int i = 0; i < t->kills; i++)
                if (t->killed[i].container == h->container)
                        counted_add(cp, h, t->killed[i].uid, t->killed[i].restarts, 0);
}

/* A damaged database was replaced. What could not be carried over is lost to the next start unless it is written anew,
 * and what that is nobody knows: so all that is known is. */
static void checkpointer_replaced(struct checkpointer *cp, const struct err *why)
{
        struct target *t;
        log_error("the database was damaged: all that is known is written to a new one", KV("note", why->text));
        cp->errors++;
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));) {
                t->apply_state_dirty = true;
                for (struct history *h = t->histories; h; h = h->next) {
                        h->dirty = true;
                        counted_add_known(cp, h);
                }
        }
        checkpointer_kills(cp);
        if (cp->callbacks.replaced)
                cp->callbacks.replaced(cp->callbacks.arg);
}

static void checkpointer_on_loop(void *arg)
{
        struct checkpoint_told *told = arg;
        struct checkpointer *cp = told->checkpointer;
        const struct store_result *r = &told->result;
        if (r->recall) {
                checkpointer_recalled(cp, r);
        } else if (r->err.code == ERR_DAMAGED && r->batch == 0) {
                checkpointer_replaced(cp, &r->err);
        } else if (r->err.code != 0) {
                cp->errors++;
                if (strcmp(cp->store_error, r->err.text) != 0)
                        log_error("checkpoint not written; what was learned stays in memory and is written with the "
                                  "next one",
                                  KV("error", r->err.text));
                snprintf(cp->store_error, sizeof cp->store_error, "%.250s", r->err.text);
        } else {
                if (cp->store_error[0])
                        log_info("checkpoints are written again", KV_INT("rows", r->rows));
                cp->store_error[0] = '\0';
                cp->batch_done = r->batch;
                cp->file_bytes = r->file_bytes;
                metric_observe(&cp->seconds, (double)r->took_ms / 1e3);
        }
        mem_free(told);
}

/* On the store's thread. After a checkpoint, what it took and what the cycles before it left over is not kept. */
static void store_told(void *arg, const struct store_result *r)
{
        if (r->rows >= TRIM_ROWS)
                mem_trim();
        struct checkpoint_told *told = MEM_NEW(struct checkpoint_told);
        told->checkpointer = arg;
        told->result = *r;
        loop_post(told->checkpointer->loop, checkpointer_on_loop, told);
}

void checkpointer_open(struct checkpointer *cp, struct err *err)
{
        if (!cp->database) {
                log_warn("no database: what is learned is lost at the next restart", KV("cure", "set --database FILE"));
                return;
        }
        char note[512] = "";
        struct store_options o = {
                .path = cp->database,
                .now = loop_now(cp->loop).wall,
                .told = store_told,
                .arg = cp,
        };
        struct store_reader reader = {
                .target = load_target,
                .record = load_record,
                .usage = load_usage,
                .kill = load_kill,
                .note = load_note,
                .refused = load_refused,
                .arg = cp,
        };
        if (store_open(&o, &cp->store, note, err) < 0 || store_load(cp->store, &reader, err) < 0) {
                if (err->code == ERR_CONFLICT)
                        return;
                snprintf(cp->store_error, sizeof cp->store_error, "%.250s", err->text);
                log_error("no checkpoints: what is learned is lost at the next restart", KV("error", err->text));
                *err = (struct err){0};
                return;
        }
        if (note[0])
                log_warn("database", KV("note", note));
        log_info("database opened", KV("file", cp->database), KV_INT("targets", cp->cache->targets.count));
}

/* --- writing --- */

static void put_apply_state(struct store_batch *b, struct target *t)
{
        struct store_key key = checkpointer_key_of(t, "");
        char *record = apply_state_print(t);
        if (strlen(record) <= RECORD_MAX)
                store_batch_target(b, &key, text_of(record), (struct wall){t->gone_ms});
        else
                log_warn("too much is known of a workload to be stored: a restart forgets what its Recommendation "
                         "does not tell",
                         KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name));
        free(record);
        t->apply_state_dirty = false;
}

static void checkpointer_submit(struct checkpointer *cp, struct store_batch *b)
{
        cp->batch_sent = store_submit(cp->store, b);
}

/* The watermarks of a history: those of its pods, and those loaded whose pods have not come yet. */
static size_t watermarks_of(const struct history *h, struct store_watermark **ret)
{
        const struct target *t = h->target;
        size_t count = 0;
        struct store_watermark *watermark = mem_new_array((size_t)t->pod_count + h->watermarks + 1, sizeof *watermark);
        for (const struct pod *p = watermarked_pods(t); p; p = p->next_of_target)
                for (int i = 0; i < p->containers; i++)
                        if (p->container[i].name == h->container && p->container[i].watermark.last_ms) {
                                memcpy(watermark[count].uid, p->uid, UID_BYTES);
                                watermark[count++].last_ms = p->container[i].watermark.last_ms;
                        }
        if (h->watermarks)
                memcpy(watermark + count, h->watermark, h->watermarks * sizeof *watermark);
        *ret = watermark;
        return count + h->watermarks;
}

static void checkpointer_put_usage(struct store_batch *b, const struct history *h)
{
        struct store_key key = checkpointer_key_of(h->target, h->container);
        struct store_watermark *watermark;
        size_t watermarks = watermarks_of(h, &watermark);
        store_batch_usage(b, &key, &h->usage, watermark, watermarks);
        mem_free(watermark);
}

/* What is stored at once goes before a checkpoint under way, which may hold rows of before: that has it as well. */
void checkpointer_apply_state(struct checkpointer *cp, struct target *t)
{
        if (!cp->store)
                return;
        struct store_batch *b = store_batch_new();
        put_apply_state(b, t);
        if (cp->packing)
                put_apply_state(cp->packing, t);
        checkpointer_submit(cp, b);
}

void checkpointer_kill(struct checkpointer *cp, struct history *h, const struct pod *p, const struct pod_container *pc,
                       double bytes)
{
        counted_add(cp, h, p->uid, pod_ended(pc).kills_counted, bytes);
}

static void put_counted(struct store_batch *b, const struct counted *all)
{
        for (size_t i = 0; i < all->histories; i++) {
                checkpointer_put_usage(b, all->history[i]);
                put_apply_state(b, all->history[i]->target);
        }
}

/* Each history that holds some is stored with them, and once: what is counted once must be remembered once, and one of
 * ten thousand pods is a quarter of a megabyte. */
void checkpointer_kills(struct checkpointer *cp)
{
        struct counted *all = &cp->counted;
        if (!all->batch)
                return;
        put_counted(all->batch, all);
        if (cp->packing)
                put_counted(cp->packing, all);
        checkpointer_submit(cp, all->batch);
        for (size_t i = 0; i < all->histories; i++)
                all->history[i]->counted = false;
        mem_free(all->history);
        *all = (struct counted){0};
}

void checkpointer_note(struct checkpointer *cp, const char *name, struct text value)
{
        if (!cp->store)
                return;
        struct store_batch *b = store_batch_new();
        store_batch_note(b, name, value);
        checkpointer_submit(cp, b);
}

static int pack_target(struct store_batch *b, struct target *t)
{
        int rows = 0;
        if (t->apply_state_dirty)
                put_apply_state(b, t);
        for (struct history *h = t->histories; h; h = h->next) {
                if (!h->dirty)
                        continue;
                checkpointer_put_usage(b, h);
                h->dirty = false;
                rows++;
        }
        return rows;
}

/* Nothing is written where nothing is to be said; b NULL: there is no store. */
static void submit_rows(struct checkpointer *cp, struct store_batch *b)
{
        if (b && store_batch_rows(b) > 0)
                checkpointer_submit(cp, b);
        else
                store_batch_free(b);
}

/* A checkpoint under way may hold rows of before: it goes first. */
static void finish_packing(struct checkpointer *cp)
{
        while (cp->packing && !checkpointer_pack(cp))
                ;
}

void checkpointer_target(struct checkpointer *cp, struct target *t)
{
        if (!cp->store)
                return;
        finish_packing(cp);
        struct store_batch *b = store_batch_new();
        (void)pack_target(b, t);
        submit_rows(cp, b);
}

void checkpointer_adopted(struct checkpointer *cp, struct target *t, struct target *old)
{
        if (!cp->store)
                return;
        finish_packing(cp);
        struct store_batch *b = store_batch_new();
        struct store_key key = checkpointer_key_of(old, "");
        (void)pack_target(b, t);
        store_batch_forget(b, &key);
        checkpointer_submit(cp, b);
}

void checkpointer_namespace(struct checkpointer *cp, const char *ns)
{
        struct target *t;
        if (!cp->store)
                return;
        finish_packing(cp);
        struct store_batch *b = store_batch_new();
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));)
                if (t->ns == ns)
                        (void)pack_target(b, t);
        submit_rows(cp, b);
}

/* With it go the kills that no pod can tell of any more. */
bool checkpointer_pack(struct checkpointer *cp)
{
        struct target *t;
        int rows = 0;
        if (!cp->store)
                return true;
        if (!cp->packing) {
                cp->packing = store_batch_new();
                cp->pack_at = 0;
        }
        while ((t = map_each(&cp->cache->targets, &cp->pack_at))) {
                rows += pack_target(cp->packing, t);
                if (rows >= CHECKPOINT_SLICE)
                        return false;
        }
        if (store_batch_rows(cp->packing) > 0)
                store_batch_forget_kills(cp->packing,
                                         (struct wall){clock_skew_earlier(cp->skew) - cp->live->retention_ms});
        submit_rows(cp, cp->packing);
        cp->packing = NULL;
        return true;
}

/* What vanished longer ago than the retention time is forgotten. */
void checkpointer_forget_old(struct checkpointer *cp)
{
        int64_t now = clock_skew_earlier(cp->skew);
        struct target *t;
        struct store_batch *b = cp->store ? store_batch_new() : NULL;
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));) {
                bool over = t->gone_ms && now - t->gone_ms >= cp->live->retention_ms;
                if (!over || t->busy || (t->published && t->published->known) || !target_is_seen(cp->cache, t))
                        continue;
                struct store_key key = checkpointer_key_of(t, "");
                if (b)
                        store_batch_forget(b, &key);
                if (cp->callbacks.forgotten)
                        cp->callbacks.forgotten(cp->callbacks.arg, t);
                target_free(cp->cache, t);
        }
        submit_rows(cp, b);
}

/* Three cycles in a row ahead of our clock and of the server's: our clock was wrong when it was learned. */
void checkpointer_recall(struct checkpointer *cp)
{
        enum { AHEAD_MS = 5 * MINUTE_MS, PATIENCE = 3 };
        int64_t latest = clock_skew_later(cp->skew); /* also of the server as it told last: usage may be away */
        struct target *t;
        for (size_t at = 0; cp->store && (t = map_each(&cp->cache->targets, &at));)
                for (struct history *h = t->histories; h; h = h->next) {
                        bool ahead = h->usage.newest_ms > latest + AHEAD_MS;
                        h->jumped = ahead ? (uint8_t)(h->jumped + 1) : 0;
                        if (h->jumped < PATIENCE)
                                continue;
                        h->jumped = 0;
                        struct store_key key = checkpointer_key_of(t, h->container);
                        store_recall(cp->store, &key, h);
                }
}

struct checkpointer *checkpointer_new(struct loop *l, struct cache *w, const struct clock_skew *skew,
                                      const struct live_settings *live, const char *database,
                                      const struct checkpointer_callbacks *callbacks)
{
        struct checkpointer *cp = MEM_NEW(struct checkpointer);
        *cp = (struct checkpointer){
                .loop = l, .cache = w, .skew = skew, .live = live, .database = database, .callbacks = *callbacks};
        return cp;
}

void checkpointer_free(struct checkpointer *cp)
{
        if (!cp)
                return;
        (void)checkpointer_close(cp, &(struct err){0});
        store_batch_free(cp->packing);
        mem_free(cp);
}

bool checkpointer_under_way(const struct checkpointer *cp, uint64_t batch)
{
        return cp->store && cp->batch_done < batch;
}

uint64_t checkpointer_last_sent(const struct checkpointer *cp)
{
        return cp->batch_sent;
}

struct checkpointer_state checkpointer_state(const struct checkpointer *cp)
{
        return (struct checkpointer_state){
                .writes = cp->store && !cp->store_error[0],
                .errors = cp->errors,
                .file_bytes = cp->file_bytes,
                .seconds = &cp->seconds,
        };
}

int checkpointer_close(struct checkpointer *cp, struct err *err)
{
        if (!cp->store)
                return 0;
        finish_packing(cp);
        while (!checkpointer_pack(cp))
                ; /* and what came since */
        int rc = store_close(cp->store, err);
        cp->store = NULL;
        return rc;
}
