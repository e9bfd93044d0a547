/*
 * Checkpoints: what was learned and done, packed a slice at a time on the loop and written by the store's thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "cache/pod_canary.h"
#include "controller_private.h"

enum { RECORD_MAX = 64 << 10, TRIM_ROWS = 100 };

static struct store_key persist_key_of(const struct target *t, const char *container)
{
        return (struct store_key){text_of(t->ns), text_of(t->group), text_of(t->kind), text_of(t->name),
                                  text_of(container)};
}

/* --- deeds as text --- */

static char *apply_state_print(const struct target *t)
{
        const struct apply_state *d = &t->apply_state;
        char digest[20];
        snprintf(digest, sizeof digest, "%016llx", (unsigned long long)d->digest);
        json_t *o = json_pack("{s:I, s:s, s:i, s:I, s:I, s:I, s:I, s:s, s:b, s:b}", "changed",
                              (json_int_t)d->changed_ms, "digest", digest, "resets", d->resets, "resetSeen",
                              (json_int_t)d->reset_seen_ms, "contestedUntil", (json_int_t)d->contested_ms,
                              "contestStep", (json_int_t)d->contest_step_ms, "killed", (json_int_t)t->kill_ms,
                              "version", t->version ? t->version : "", "rolling", t->rolling, "inPlace", d->in_place);
        if (t->backfilled)
                json_object_set_new(o, "backfilled", json_true());
        if (t->limit_of) {
                json_object_set_new(o, "killedByLimit", json_integer(t->limit_ms));
                json_object_set_new(o, "limitOf", json_string(t->limit_of));
        }
        if (d->containers)
                json_object_set_new(o, "containers", json_string(d->containers));
        if (d->stood_ms)
                json_object_set_new(o, "stood", json_integer(d->stood_ms));
        if (d->followed_ms)
                json_object_set_new(o, "followed", json_integer(d->followed_ms));
        if (d->pod_canary)
                json_object_set_new(o, "trial", json_string(d->pod_canary->containers));
        if (d->contest)
                json_object_set_new(o, "contest", json_string(d->contest));
        if (d->admitted)
                json_object_set_new(o, "admitted", json_string(d->admitted));
        if (t->imported)
                json_object_set_new(o, "imported", import_print(t));
        if (d->guard)
                json_object_set_new(o, "guard", guard_state_print(d->guard));
        char *text = json_dumps(o, JSON_COMPACT);
        json_decref(o);
        return text;
}

static void apply_state_read(struct controller *c, struct target *t, struct text record)
{
        AUTO(json_decref) json_t *o = json_loadb(record.p, record.len, 0, NULL);
        struct apply_state *d = &t->apply_state;
        const char *digest = json_string_value(json_object_get(o, "digest"));
        const char *version = json_string_value(json_object_get(o, "version"));
        d->changed_ms = time_kept(o, "changed");
        d->digest = digest ? strtoull(digest, NULL, 16) : 0;
        d->resets = time_kept(o, "resets") > 0;
        d->reset_seen_ms = time_kept(o, "resetSeen");
        d->contested_ms = time_kept(o, "contestedUntil");
        d->contest_step_ms = contest_step_bound(time_kept(o, "contestStep"));
        target_set_applied(&c->cache, t, mem_string(json_string_value(json_object_get(o, "containers"))),
                           json_is_true(json_object_get(o, "inPlace")));
        d->stood_ms = json_integer_value(json_object_get(o, "stood")) < 0 ? -1 : time_kept(o, "stood");
        d->followed_ms = time_kept(o, "followed");
        const char *rest = json_string_value(json_object_get(o, "trial"));
        if (rest && d->in_place)
                pod_canary_begin(&c->cache, t, mem_string(rest));
        d->contest = mem_string(json_string_value(json_object_get(o, "contest")));
        target_set_admitted(&c->cache, t, json_string_value(json_object_get(o, "admitted")));
        guard_state_read(t, json_object_get(o, "guard"));
        t->kill_ms = time_kept(o, "killed");
        t->limit_ms = time_kept(o, "killedByLimit");
        const char *limit_of = json_string_value(json_object_get(o, "limitOf"));
        if (limit_of)
                t->limit_of = intern_text(c->cache.names, text_of(limit_of));
        t->rolling = json_is_true(json_object_get(o, "rolling"));
        t->backfilled = json_is_true(json_object_get(o, "backfilled"));
        import_read(c, t, json_object_get(o, "imported"));
        if (version)
                t->version = intern_text(c->cache.names, text_of(version));
}

/* --- loading --- */

static void *persist_load_target(void *arg, const struct store_key *key)
{
        struct controller *c = arg;
        return target_get(&c->cache, key->ns, key->group, key->kind, key->name);
}

static void load_record(void *arg, void *target, struct text record, struct wall gone)
{
        struct target *t = target;
        apply_state_read(arg, t, record);
        t->gone_ms = gone.ms;
}

static void load_usage(void *arg, void *target, struct text name, const struct usage *u,
                       const struct store_watermark *door, size_t doors)
{
        static const struct resource_policy none[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};
        struct controller *c = arg;
        const char *container = intern_text(c->cache.names, name);
        struct history *h = history_get(target, container, none);
        h->usage = *u; /* its doubles are the reader's: copied into memory of our own */
        for (int r = 0; r < RESOURCES; r++) {
                int cap = h->usage.of[r].count;
                histogram_lend(&h->usage.of[r], cap ? mem_new_array((size_t)cap, sizeof(double)) : NULL, cap);
        }
        h->door = mem_resize(NULL, doors, sizeof *door);
        h->doors = doors;
        if (doors)
                memcpy(h->door, door, doors * sizeof *door);
        intern_drop(c->cache.names, container);
}

static void persist_load_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        struct controller *c = arg;
        struct target *t = target;
        t->killed = mem_resize(t->killed, (size_t)t->kills + 1, sizeof *t->killed);
        struct loaded_kill *k = &t->killed[t->kills++];
        memcpy(k->uid, kill->uid, UID_BYTES);
        k->container = intern_text(c->cache.names, container);
        k->restarts = kill->restarts;
}

static void persist_load_note(void *arg, struct text name, struct text value)
{
        struct controller *c = arg;
        if (text_is(name, "fuse"))
                fuse_load(c, value);
        if (!text_is(name, "budget"))
                return;
        AUTO(json_decref) json_t *list = json_loadb(value.p, value.len, 0, NULL);
        size_t i;
        json_t *row;
        c->spent = mem_resize(c->spent, json_array_size(list) + 1, sizeof *c->spent);
        json_array_foreach(list, i, row)
        {
                const char *profile = json_string_value(json_array_get(row, 2));
                c->spent[c->spendings++] = (struct spending){
                        .at_ms = (int64_t)json_integer_value(json_array_get(row, 0)),
                        .millicores = (int64_t)json_integer_value(json_array_get(row, 1)),
                        .profile = mem_string(profile ? profile : ""),
                };
        }
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

struct told {
        struct controller *controller;
        struct store_result result;
};

/* The doors of a pod's containers are those of its workload; histories of other dimensions are their own doors. */
static struct pod *doored_pods(const struct target *t)
{
        return t->dimension == DIMENSION_WORKLOAD ? t->pods : NULL;
}

/* Doors that closed ahead of the clock would refuse every sample until then. */
static void doors_back(const struct history *h)
{
        for (struct pod *p = doored_pods(h->target); p; p = p->next_of_target)
                for (int i = 0; i < p->containers; i++)
                        if (p->container[i].name == h->container && p->container[i].door.last_ms > h->usage.newest_ms)
                                p->container[i].door.last_ms = h->usage.newest_ms;
}

static void persist_recalled(struct controller *c, const struct store_result *r)
{
        struct target *t;
        double room[2 * HISTOGRAM_BUCKETS];
        struct usage u;
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));)
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
                        doors_back(h);
                        log_warn("a history was ahead of every clock: taken back to the checkpoint before",
                                 KV("namespace", t->ns), KV("name", t->name), KV("container", h->container));
                }
}

/* To be stored with h: a kill that it holds. */
static void counted_add(struct controller *c, struct history *h, const uint8_t *uid, int64_t restarts, double bytes)
{
        struct counted *all = &c->counted;
        struct store_key key = persist_key_of(h->target, h->container);
        struct store_kill kill = {.restarts = restarts, .at = loop_now(c->loop).wall, .bytes = bytes};
        if (!c->store)
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
static void counted_add_known(struct controller *c, struct history *h)
{
        struct target *t = h->target;
        for (struct pod *p = t->pods; p; p = target_next_pod(t, p))
                for (int i = 0; i < p->containers; i++) {
                        const struct pod_container *pc = &p->container[i];
                        if (pc->name == h->container && pc->role != ROLE_INIT && pod_ended(pc).kills_counted >= 0)
                                counted_add(c, h, p->uid, pod_ended(pc).kills_counted, 0);
                }
        for (int i = 0; i < t->kills; i++)
                if (t->killed[i].container == h->container)
                        counted_add(c, h, t->killed[i].uid, t->killed[i].restarts, 0);
}

/* A damaged database was replaced. What could not be carried over is lost to the next start unless it is written anew,
 * and what that is nobody knows: so all that is known is. */
static void persist_replaced(struct controller *c, const struct err *why)
{
        struct target *t;
        log_error("the database was damaged: all that is known is written to a new one", KV("note", why->text));
        c->count.store_errors++;
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));) {
                t->apply_state_dirty = true;
                for (struct history *h = t->histories; h; h = h->next) {
                        h->dirty = true;
                        counted_add_known(c, h);
                }
        }
        persist_kills(c);
        persist_budget(c);
        fuse_store(c);
}

static void on_loop(void *arg)
{
        struct told *told = arg;
        struct controller *c = told->controller;
        const struct store_result *r = &told->result;
        if (r->recall) {
                persist_recalled(c, r);
        } else if (r->err.code == ERR_DAMAGED && r->batch == 0) {
                persist_replaced(c, &r->err);
        } else if (r->err.code != 0) {
                c->count.store_errors++;
                if (strcmp(c->store_error, r->err.text) != 0)
                        log_error("checkpoint not written; what was learned stays in memory and is written with the "
                                  "next one",
                                  KV("error", r->err.text));
                snprintf(c->store_error, sizeof c->store_error, "%.250s", r->err.text);
        } else {
                if (c->store_error[0])
                        log_info("checkpoints are written again", KV_INT("rows", r->rows));
                c->store_error[0] = '\0';
                c->batch_done = r->batch;
                c->file_bytes = r->file_bytes;
                metric_observe(&c->count.checkpoint_seconds, (double)r->took_ms / 1e3);
        }
        mem_free(told);
}

/* On the store's thread. After a checkpoint, what it took and what the cycles before it left over is not kept. */
static void store_told(void *arg, const struct store_result *r)
{
        if (r->rows >= TRIM_ROWS)
                mem_trim();
        struct told *told = MEM_NEW(struct told);
        told->controller = arg;
        told->result = *r;
        loop_post(told->controller->loop, on_loop, told);
}

void persist_open(struct controller *c, struct err *err)
{
        if (!c->options.database) {
                log_warn("no database: what is learned is lost at the next restart", KV("cure", "set --database FILE"));
                return;
        }
        char note[512] = "";
        struct store_options o = {
                .path = c->options.database,
                .now = loop_now(c->loop).wall,
                .told = store_told,
                .arg = c,
        };
        struct store_reader reader = {
                .target = persist_load_target,
                .record = load_record,
                .usage = load_usage,
                .kill = persist_load_kill,
                .note = persist_load_note,
                .refused = load_refused,
                .arg = c,
        };
        if (store_open(&o, &c->store, note, err) < 0 || store_load(c->store, &reader, err) < 0) {
                if (err->code == ERR_CONFLICT)
                        return;
                snprintf(c->store_error, sizeof c->store_error, "%.250s", err->text);
                log_error("no checkpoints: what is learned is lost at the next restart", KV("error", err->text));
                *err = (struct err){0};
                return;
        }
        if (note[0])
                log_warn("database", KV("note", note));
        log_info("database opened", KV("file", c->options.database), KV_INT("targets", c->cache.targets.count));
}

/* --- writing --- */

static void put_apply_state(struct store_batch *b, struct target *t)
{
        struct store_key key = persist_key_of(t, "");
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

static void persist_submit(struct controller *c, struct store_batch *b)
{
        c->batch_sent = store_submit(c->store, b);
}

/* The doors of a history: those of its pods, and those loaded whose pods have not come yet. */
static size_t doors_of(const struct history *h, struct store_watermark **ret)
{
        const struct target *t = h->target;
        size_t count = 0;
        struct store_watermark *door = mem_new_array((size_t)t->pod_count + h->doors + 1, sizeof *door);
        for (const struct pod *p = doored_pods(t); p; p = p->next_of_target)
                for (int i = 0; i < p->containers; i++)
                        if (p->container[i].name == h->container && p->container[i].door.last_ms) {
                                memcpy(door[count].uid, p->uid, UID_BYTES);
                                door[count++].last_ms = p->container[i].door.last_ms;
                        }
        if (h->doors)
                memcpy(door + count, h->door, h->doors * sizeof *door);
        *ret = door;
        return count + h->doors;
}

static void persist_put_usage(struct store_batch *b, const struct history *h)
{
        struct store_key key = persist_key_of(h->target, h->container);
        struct store_watermark *door;
        size_t doors = doors_of(h, &door);
        store_batch_usage(b, &key, &h->usage, door, doors);
        mem_free(door);
}

/* What is stored at once goes before a checkpoint under way, which may hold rows of before: that has it as well. */
void persist_apply_state(struct controller *c, struct target *t)
{
        if (!c->store)
                return;
        struct store_batch *b = store_batch_new();
        put_apply_state(b, t);
        if (c->packing)
                put_apply_state(c->packing, t);
        persist_submit(c, b);
}

void persist_kill(struct controller *c, struct history *h, const struct pod *p, const struct pod_container *pc,
                  double bytes)
{
        counted_add(c, h, p->uid, pod_ended(pc).kills_counted, bytes);
}

static void put_counted(struct store_batch *b, const struct counted *all)
{
        for (size_t i = 0; i < all->histories; i++) {
                persist_put_usage(b, all->history[i]);
                put_apply_state(b, all->history[i]->target);
        }
}

/* Each history that holds some is stored with them, and once: what is counted once must be remembered once, and one of
 * ten thousand pods is a quarter of a megabyte. */
void persist_kills(struct controller *c)
{
        struct counted *all = &c->counted;
        if (!all->batch)
                return;
        put_counted(all->batch, all);
        if (c->packing)
                put_counted(c->packing, all);
        persist_submit(c, all->batch);
        for (size_t i = 0; i < all->histories; i++)
                all->history[i]->counted = false;
        mem_free(all->history);
        *all = (struct counted){0};
}

void persist_note(struct controller *c, const char *name, struct text value)
{
        if (!c->store)
                return;
        struct store_batch *b = store_batch_new();
        store_batch_note(b, name, value);
        persist_submit(c, b);
}

void persist_budget(struct controller *c)
{
        json_t *list = json_array();
        for (size_t i = 0; i < c->spendings; i++)
                json_array_append_new(list, json_pack("[I, I, s]", (json_int_t)c->spent[i].at_ms,
                                                      (json_int_t)c->spent[i].millicores, c->spent[i].profile));
        char *text = json_dumps(list, JSON_COMPACT);
        persist_note(c, "budget", text_of(text));
        free(text);
        json_decref(list);
}

static int pack_target(struct store_batch *b, struct target *t)
{
        int rows = 0;
        if (t->apply_state_dirty)
                put_apply_state(b, t);
        for (struct history *h = t->histories; h; h = h->next) {
                if (!h->dirty)
                        continue;
                persist_put_usage(b, h);
                h->dirty = false;
                rows++;
        }
        return rows;
}

/* Nothing is written where nothing is to be said; b NULL: there is no store. */
static void submit_rows(struct controller *c, struct store_batch *b)
{
        if (b && store_batch_rows(b) > 0)
                persist_submit(c, b);
        else
                store_batch_free(b);
}

/* A checkpoint under way may hold rows of before: it goes first. */
static void finish_packing(struct controller *c)
{
        while (c->packing && !persist_pack(c))
                ;
}

void persist_target(struct controller *c, struct target *t)
{
        if (!c->store)
                return;
        finish_packing(c);
        struct store_batch *b = store_batch_new();
        (void)pack_target(b, t);
        submit_rows(c, b);
}

void persist_adopted(struct controller *c, struct target *t, struct target *old)
{
        if (!c->store)
                return;
        finish_packing(c);
        struct store_batch *b = store_batch_new();
        struct store_key key = persist_key_of(old, "");
        (void)pack_target(b, t);
        store_batch_forget(b, &key);
        persist_submit(c, b);
}

void persist_namespace(struct controller *c, const char *ns)
{
        struct target *t;
        if (!c->store)
                return;
        finish_packing(c);
        struct store_batch *b = store_batch_new();
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));)
                if (t->ns == ns)
                        (void)pack_target(b, t);
        submit_rows(c, b);
}

/* With it go the kills that no pod can tell of any more. */
bool persist_pack(struct controller *c)
{
        struct target *t;
        int rows = 0;
        if (!c->store)
                return true;
        if (!c->packing) {
                c->packing = store_batch_new();
                c->pack_at = 0;
        }
        while ((t = map_each(&c->cache.targets, &c->pack_at))) {
                rows += pack_target(c->packing, t);
                if (rows >= CHECKPOINT_SLICE)
                        return false;
        }
        if (store_batch_rows(c->packing) > 0)
                store_batch_forget_kills(c->packing, (struct wall){clocks_earlier(c) - c->options.retention_ms});
        submit_rows(c, c->packing);
        c->packing = NULL;
        return true;
}

/* What vanished longer ago than the retention time is forgotten. */
void persist_retention(struct controller *c)
{
        int64_t now = clocks_earlier(c);
        struct target *t;
        struct store_batch *b = c->store ? store_batch_new() : NULL;
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));) {
                bool over = t->gone_ms && now - t->gone_ms >= c->options.retention_ms;
                if (!over || t->busy || (t->published && t->published->known) || !watch_sees(c, t))
                        continue;
                struct store_key key = persist_key_of(t, "");
                if (b)
                        store_batch_forget(b, &key);
                queue_forget(c->work, t);
                target_free(&c->cache, t);
        }
        submit_rows(c, b);
}

/* Three cycles in a row ahead of our clock and of the server's: our clock was wrong when it was learned. */
void persist_recall(struct controller *c)
{
        enum { AHEAD_MS = 5 * MINUTE_MS, PATIENCE = 3 };
        int64_t latest = clocks_later(c); /* also of the server as it told last: usage may be away */
        struct target *t;
        for (size_t at = 0; c->store && (t = map_each(&c->cache.targets, &at));)
                for (struct history *h = t->histories; h; h = h->next) {
                        bool ahead = h->usage.newest_ms > latest + AHEAD_MS;
                        h->jumped = ahead ? (uint8_t)(h->jumped + 1) : 0;
                        if (h->jumped < PATIENCE)
                                continue;
                        h->jumped = 0;
                        struct store_key key = persist_key_of(t, h->container);
                        store_recall(c->store, &key, h);
                }
}

int persist_close(struct controller *c, struct err *err)
{
        if (!c->store)
                return 0;
        finish_packing(c);
        while (!persist_pack(c))
                ; /* and what came since */
        int rc = store_close(c->store, err);
        c->store = NULL;
        return rc;
}
