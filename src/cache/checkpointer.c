/*
 * Checkpoints of histories and apply states: packed in slices on the loop, written by the store's thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cache/apply_state.h"
#include "cache/change_log.h"
#include "cache/usage_starts_json.h"
#include "checkpointer_private.h"

enum { RECORD_MAX = 64 << 10, TRIM_ROWS = 100 };

static struct store_key checkpointer_key_of(const struct target *t, const char *container)
{
        return (struct store_key){text_of(t->ns), text_of(t->group), text_of(t->kind), text_of(t->name),
                                  text_of(container)};
}

/* --- loading --- */

/* The policy of a loaded history until its profile is known. */
static const struct resource_policy unknown_policy[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};

static void *load_target(void *arg, const struct store_key *key)
{
        struct checkpointer *cp = arg;
        return target_get(cp->cache, key->ns, key->group, key->kind, key->name);
}

/* Load what containers need while they start. The histories themselves are loaded after the record. */
static void load_starts(struct checkpointer *cp, struct target *t, struct text record)
{
        AUTO(json_decref) json_t *o = json_loadb(record.p, record.len, 0, NULL);
        json_t *all = json_object_get(o, "starts");
        for (void *at = json_object_iter(all); at; at = json_object_iter_next(all, at)) {
                struct usage_starts starts;
                const json_t *printed = json_object_iter_value(at);
                if (!usage_starts_read(printed, &starts))
                        continue;
                const char *container = intern_text(cp->cache->names, text_of(json_object_iter_key(at)));
                history_take_starts(history_get(t, container, unknown_policy), &starts,
                                    json_integer_value(json_object_get(printed, "since")));
                intern_drop(cp->cache->names, container);
        }
}

static void load_record(void *arg, void *target, struct text record, struct wall gone)
{
        struct checkpointer *cp = arg;
        struct target *t = target;
        apply_state_read(cp->cache, t, record);
        if (memmem(record.p, record.len, "\"starts\"", 8)) /* most records have none, and need no second parsing */
                load_starts(cp, t, record);
        t->gone_ms = gone.ms;
}

static void load_usage(void *arg, void *target, struct text name, const struct usage *u,
                       const struct store_watermark *watermark, size_t watermarks)
{
        struct checkpointer *cp = arg;
        const char *container = intern_text(cp->cache->names, name);
        struct history *h = history_get(target, container, unknown_policy);
        struct usage_starts *starts = h->usage.starts; /* loaded before, with the target's record */
        h->usage = *u; /* the reader owns the histograms' memory, so it is copied below */
        h->usage.starts = starts;
        if (target_is_sum(target))
                usage_make_sum(&h->usage);
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
        k->at_ms = kill->at.ms;
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
        log_warn("the database has a damaged part", KV("history", name), KV("error", why->text));
}

/* --- the store's answers --- */

struct checkpoint_told {
        struct checkpointer *checkpointer;
        struct store_result result;
};

/* The pods whose containers have the target's watermarks. For dimensions Pod and Namespace there are none: the newest
 * sample of the history serves as watermark. */
static struct pod *watermarked_pods(const struct target *t)
{
        return t->dimension == DIMENSION_WORKLOAD ? t->pods : NULL;
}

/* Move watermarks later than after_ms back to the history's newest sample. A watermark ahead of the clock would refuse
 * all samples of the meantime. */
static void watermarks_back(const struct history *h, int64_t after_ms)
{
        for (struct pod *p = watermarked_pods(h->target); p; p = p->next_of_target)
                for (int i = 0; i < p->containers; i++)
                        if (p->container[i].name == h->container && p->container[i].watermark.last_ms > after_ms)
                                p->container[i].watermark.last_ms = h->usage.newest_ms;
}

static void checkpointer_recalled(struct checkpointer *cp, const struct store_result *r)
{
        struct target *t;
        struct usage_memory memory;
        struct usage u;
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));)
                for (struct history *h = t->histories; h; h = h->next) {
                        if (h != r->recall_tag)
                                continue;
                        if (r->packed_len == 0 || usage_unpack(r->packed, r->packed_len, &u, &memory) < 0)
                                return;
                        for (int k = 0; k < RESOURCES; k++) {
                                int cap = u.of[k].count;
                                histogram_lend(&u.of[k], cap ? mem_new_array((size_t)cap, sizeof(double)) : NULL, cap);
                                mem_free(h->usage.of[k].w);
                        }
                        u.starts = h->usage.starts;
                        h->usage = u;
                        if (target_is_sum(t))
                                usage_make_sum(&h->usage);
                        h->dirty = true;
                        watermarks_back(h, h->usage.newest_ms);
                        log_warn("a history was ahead of every clock: restored from the checkpoint before",
                                 KV("namespace", t->ns), KV("name", t->name), KV("container", h->container));
                }
}

/* Add a kill that `h` counted to the batch that will be stored together with `h`. */
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

/* Add all kills that `h` counted, of known pods and of pods that are not listed yet. The memory of the killed processes
 * is no longer known, but the store keeps the rows that it carried over. */
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

/* The store replaced a damaged or missing database. Rows that the store could not carry over must be written again, or
 * the next start lacks them. Nobody knows which, so everything is written. */
static void checkpointer_replaced(struct checkpointer *cp, const struct err *why)
{
        struct target *t;
        log_error("the database was damaged or taken away: halflife writes all it knows to a new one",
                  KV("note", why->text));
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

/* Who gets a report once the store's thread has added to it. */
struct checkpoint_report {
        checkpointer_reported *answered;
        void *arg;
};

static void checkpointer_report_read(struct checkpointer *cp, const struct store_result *r)
{
        struct checkpoint_report *asked = r->report_tag;
        cp->reports--;
        asked->answered(asked->arg, r->report, &r->err);
        mem_free(asked);
}

static void checkpointer_on_loop(void *arg)
{
        struct checkpoint_told *told = arg;
        struct checkpointer *cp = told->checkpointer;
        const struct store_result *r = &told->result;
        if (r->report) {
                checkpointer_report_read(cp, r);
        } else if (r->recall) {
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

/* Runs on the store's thread. After a large checkpoint, return freed memory to the system. */
static void store_told(void *arg, const struct store_result *r)
{
        if (r->rows >= TRIM_ROWS)
                mem_trim();
        struct checkpoint_told *told = MEM_NEW(struct checkpoint_told);
        told->checkpointer = arg;
        told->result = *r;
        loop_post(told->checkpointer->loop, checkpointer_on_loop, told);
}

/* Load the ledger. A damaged part is only logged, because halflife can learn without it. */
static void load_pages(struct checkpointer *cp)
{
        struct err err = {0};
        int refused;
        if (store_load_ledger(cp->store, cp->callbacks.ledger, cp->callbacks.arg, &refused, &err) < 0 || refused > 0)
                log_warn("the ledger has a damaged part: what it has booked there is lost", KV_INT("pages", refused),
                         KV("error", err.text));
}

static void load_change(void *arg, int64_t id, struct wall at, struct text record)
{
        change_log_load(((struct checkpointer *)arg)->cache, id, at, record);
}

static void load_changes_logged(struct checkpointer *cp)
{
        struct err err = {0};
        int refused;
        if (store_load_changes(cp->store, load_change, cp, &refused, &err) < 0 || refused > 0)
                log_warn("the log of changes has a damaged part: those changes are no longer listed",
                         KV_INT("changes", refused), KV("error", err.text));
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
        if (cp->callbacks.ledger)
                load_pages(cp);
        load_changes_logged(cp);
        if (note[0])
                log_warn("database", KV("note", note));
        log_info("database opened", KV("file", cp->database), KV_INT("targets", cp->cache->targets.count));
}

/* --- writing --- */

static void put_apply_state(struct store_batch *b, struct target *t)
{
        struct store_key key = checkpointer_key_of(t, "");
        char *record = apply_state_print(t, true);
        bool starts = strlen(record) <= RECORD_MAX;
        if (!starts) { /* leave out the starts: the rest of the record matters more */
                free(record);
                record = apply_state_print(t, false);
        }
        if (target_starts_dropped(t, !starts))
                log_warn("what a workload's containers need while they start is too large to store: it is known until "
                         "the next restart",
                         KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name));
        if (strlen(record) <= RECORD_MAX)
                store_batch_target(b, &key, text_of(record), (struct wall){t->gone_ms});
        else
                log_warn("the apply state of a workload is too large to store: after a restart only its "
                         "Recommendation is known",
                         KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name));
        free(record);
        t->apply_state_dirty = false;
}

static void checkpointer_submit(struct checkpointer *cp, struct store_batch *b)
{
        cp->batch_sent = store_submit(cp->store, b);
}

/* The watermarks of a history: its pods' and those loaded for pods not listed yet. The caller frees *ret. */
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

/* A checkpoint under way is written later and may have an older apply state, so it gets the present one as well. */
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

/* Store each history together with its kills, so that each counted kill is remembered exactly once. Each history is
 * written once for all its kills, because the history of ten thousand pods takes a quarter of a megabyte. */
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

/* Submit a batch, or free it where it has no rows; b NULL: there is no store. */
static void submit_rows(struct checkpointer *cp, struct store_batch *b)
{
        if (b && store_batch_rows(b) > 0)
                checkpointer_submit(cp, b);
        else
                store_batch_free(b);
}

/* Finish the checkpoint under way. Its rows may be older than the next batch's, so it must reach the database first. */
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

/* The checkpoint also deletes the kills that no pod can report again. */
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
        if (cp->callbacks.pack)
                cp->callbacks.pack(cp->callbacks.arg, cp->packing);
        submit_rows(cp, cp->packing);
        cp->packing = NULL;
        return true;
}

void checkpointer_forget_old(struct checkpointer *cp)
{
        int64_t now = clock_skew_earlier(cp->skew);
        struct target *t;
        struct store_batch *b = cp->store ? store_batch_new() : NULL;
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));) {
                if (!target_is_over(t, now, cp->live->retention_ms) || t->busy ||
                    (t->published && t->published->known) || !target_is_seen(cp->cache, t))
                        continue;
                struct store_key key = checkpointer_key_of(t, "");
                if (b)
                        store_batch_forget(b, &key);
                if (cp->callbacks.forgotten)
                        cp->callbacks.forgotten(cp->callbacks.arg, t);
                cp->displaced += t->surplus;
                target_free(cp->cache, t);
        }
        submit_rows(cp, b);
}

static bool starts_after(const struct history *h, int64_t at_ms)
{
        return h->usage.starts && usage_starts_after(h->usage.starts, (struct wall){at_ms});
}

/* The store has no earlier samples of starts, so samples ahead of the clocks are dated to the present. */
static void starts_back(struct history *h, int64_t latest_ms, int64_t ahead_ms)
{
        history_pull_back_starts(h, (struct wall){latest_ms});
        watermarks_back(h, ahead_ms);
        log_warn("samples of a container's starts were ahead of every clock: they count as of now",
                 KV("namespace", h->target->ns), KV("name", h->target->name), KV("container", h->container));
}

/* A history that is ahead of both clocks for three cycles in a row was learned while this machine's clock was wrong. */
void checkpointer_recall(struct checkpointer *cp)
{
        enum { AHEAD_MS = 5 * MINUTE_MS, PATIENCE = 3 };
        int64_t latest = clock_skew_later(cp->skew); /* by the API server's last Date too: usage may be away */
        int64_t ahead = latest + AHEAD_MS;
        struct target *t;
        for (size_t at = 0; (t = map_each(&cp->cache->targets, &at));)
                for (struct history *h = t->histories; h; h = h->next) {
                        bool learned = cp->store && h->usage.newest_ms > ahead, starts = starts_after(h, ahead);
                        h->jumped = learned || starts ? (uint8_t)(h->jumped + 1) : 0;
                        if (h->jumped < PATIENCE)
                                continue;
                        h->jumped = 0;
                        if (starts)
                                starts_back(h, latest, ahead);
                        struct store_key key = checkpointer_key_of(t, h->container);
                        if (learned)
                                store_recall(cp->store, &key, h);
                }
}

bool checkpointer_read_ledger(struct checkpointer *cp, struct ledger_report *r, checkpointer_reported *answered,
                              void *arg)
{
        enum { REPORTS_MOST = 4 };
        if (!cp->store) {
                answered(arg, r, &(struct err){0});
                return true;
        }
        if (cp->reports == REPORTS_MOST)
                return false;
        struct checkpoint_report *asked = MEM_NEW(struct checkpoint_report);
        *asked = (struct checkpoint_report){answered, arg};
        cp->reports++;
        store_read_ledger(cp->store, r, asked);
        return true;
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
                .displaced = cp->displaced,
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
                ; /* the checkpoint under way is finished: pack what is new since */
        int rc = store_close(cp->store, err);
        cp->store = NULL;
        return rc;
}
