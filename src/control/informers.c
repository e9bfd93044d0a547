#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "informers_private.h"

enum { UNREAD_EVERY_MS = HOUR_MS, HINT_WAIT_MS = 10 * SECOND_MS };

/* Most log lines about missing kinds, so that a user who names kinds without end does not fill the log. The conditions
 * of the profiles name the missing kinds too. */
#define MISSING_LINES_PER_SECOND 0.1

static void watch_trouble(void *arg, const struct err *err)
{
        struct watch *w = arg;
        if (w->lookup)
                kind_lookup_heard(w->lookup, err->code);
        if (err->code == 0)
                notice_watch_works(w->all->parts->notices, &w->health);
        else if (!w->kind || !w->lookup || err->code != ERR_NOTFOUND)
                notice_watch_fails(w->all->parts->notices, &w->health, err);
        /* A 404 of a workload kind is no failure to report: its CRD was removed, or another version is served. */
        schedule_pass(w->all->parts->leadership);
}

/* --- starting --- */

/* The place of a watch that ended, else a new place. There always is one: informers_new asserts that all fit. */
static struct watch *watch_free(struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (!all->watch[i].health.informer)
                        return &all->watch[i];
        assert(all->watches < WATCHES_MAX);
        struct watch *w = &all->watch[all->watches++];
        notice_watch(all->parts->notices, &w->health);
        return w;
}

/* Start a watch of the objects at a path. `path` is allocated, and freed here. */
static struct watch *watch_add(struct informers *all, const struct watch_row *row, const char *what, char *path)
{
        struct watch *w = watch_free(all);
        *w = (struct watch){.all = all, .row = row, .health.what = what, .begun = loop_now(all->parts->loop).mono};
        struct informer_owner owner = watch_owner(w);
        owner.trouble = watch_trouble;
        w->health.informer = informer_new(all->parts->client, path, row->selector, &owner);
        mem_free(path);
        return w;
}

static void workloads_watch(struct informers *all, struct watched_kind *k)
{
        AUTO(mem_free) char *what = *k->group ? mem_printf("%s.%s", k->plural, k->group) : mem_string(k->plural);
        struct watch *w = watch_add(all, &watch_row_workloads, intern_text(all->parts->cache.names, text_of(what)),
                                    path_of(k->group, k->version, NULL, k->plural, NULL, NULL));
        w->kind = k;
        w->lookup = watched_kind_is_standard(k) ? NULL : &k->lookup;
        w->health.named = !k->built_in;
        watched_kind_set_informer(k, w->health.informer, &w->health.trouble);
        kind_lookup_began(&k->lookup);
}

void informers_start(struct informers *all)
{
        bool replica = all->parts->options.replica;
        informers_discover(all);
        for (const struct watch_row *row = watch_rows; row < watch_rows + watch_rows_count; row++)
                if (!replica || row->flags & WATCH_BY_REPLICA)
                        watch_add(all, row, row->what ? row->what : known_resources[row->of].name,
                                  known_resource_path(row->of, NULL, NULL, NULL));
        for (struct watched_kind *k = all->parts->cache.kinds; k; k = k->next)
                if (!replica && watched_kind_is_standard(k))
                        workloads_watch(all, k);
}

/* --- kinds that come and go --- */

static void watch_close(struct watch *w)
{
        struct informers *all = w->all;
        all->unread_ended += informer_stats(w->health.informer)->refused;
        informer_free(w->health.informer);
        *w = (struct watch){.all = all};
}

/* End the watches of a kind and forget its workloads, as if the kind had never been watched. */
static void watch_end(struct informers *all, struct watched_kind *k, const char *why)
{
        for (int i = 0; i < all->watches; i++) {
                struct watch *w = &all->watch[i];
                if (w->kind != k || !w->health.informer)
                        continue;
                log_info("kind is no longer watched", KV("what", w->health.what), KV("why", why));
                watch_close(w);
        }
        watched_kind_set_informer(k, NULL, NULL);
        kind_lookup_ended(&k->lookup);
        workload_forget(&all->parts->cache, k);
}

/* Make a place for the watch of a kind that a profile names. If all places are taken, the watch of the kind with the
 * highest rank ends, unless `k` ranks no lower. Ranks keep one namespace from taking every place. False: no place. */
static bool watch_place(struct informers *all, const struct watched_kind *k)
{
        struct watched_kind *last = NULL;
        int taken = 0;
        for (int i = 0; i < all->watches; i++) {
                struct watched_kind *its = all->watch[i].kind;
                if (!its || its->built_in)
                        continue;
                taken++;
                if (!last || its->rank > last->rank)
                        last = its;
        }
        if (taken < WATCHES_NAMED)
                return true;
        if (last->rank <= k->rank)
                return false;
        watch_end(all, last, "a kind that comes before it gets its watch");
        return true;
}

/* Watch a kind by the version that the API server has now, as another version has another path. A kind found unchanged
 * keeps its watch: its informer retries, and a later discovery may still report the kind removed. */
static void watch_found(struct informers *all, struct watched_kind *k, const struct api_resource *r)
{
        if (k->informer && strcmp(k->version, r->version) == 0 && strcmp(k->plural, r->plural) == 0)
                return;
        if (k->informer)
                watch_end(all, k, "the server has another version of it");
        bool placed = k->built_in || watch_place(all, k);
        watched_kind_set_unplaced(k, !placed);
        if (placed) {
                watched_kind_set_version(&all->parts->cache, k, r->version, r->plural);
                workloads_watch(all, k);
        } else if (!all->named_full) {
                all->named_full = true;
                log_warn("profiles name more kinds than can be watched: their changes are held", KV("first", k->key),
                         KV_INT("most", WATCHES_NAMED));
        }
}

static void watch_discovered(struct kind_lookup *l, enum kind_lookup_state before, const struct api_resource *r,
                             const struct err *err)
{
        struct informers *all = l->arg;
        struct watched_kind *k = watched_kind_find(&all->parts->cache, text_of(l->group), text_of(l->kind));
        if (err->code == 0 && watched_kind_is_wanted(k))
                watch_found(all, k, r);
        else if (l->state == LOOKUP_REMOVED)
                watch_end(all, k, "the server no longer has it; asking again each cycle");
        else if (before == LOOKUP_UNKNOWN && l->state == LOOKUP_MISSING && !k->built_in &&
                 rate_limit_has(&all->missing_lines, 1, loop_now(all->parts->loop).mono)) {
                rate_limit_take(&all->missing_lines);
                log_warn("a profile names a kind that the server does not have; asking again each cycle",
                         KV("group", k->group), KV("kind", k->kind));
        }
}

void informers_kinds(struct informers *all)
{
        watched_kinds_settle(&all->parts->cache);
        for (struct watched_kind *k = all->parts->cache.kinds; k; k = k->next)
                if (watched_kind_is_wanted(k))
                        kind_lookup_ask(&k->lookup, all->parts->client, k->group, k->kind, watch_discovered, all);
                else if (k->informer) {
                        watch_end(all, k, "nothing names it any more");
                        all->named_full = false;
                }
}

/* --- kinds of other projects, which come and go with their CRDs --- */

/* Watch another project's kind at a path, instead of any earlier path. `path` is allocated, and freed here. */
static void foreign_watch(struct foreign_kind *g, char *path)
{
        struct informers *all = g->all;
        bool anew = g->watch != NULL;
        if (anew) {
                watch_sweep(g->watch, 0);
                notice_watch_works(all->parts->notices, &g->watch->health);
                watch_close(g->watch);
                kind_lookup_ended(&g->lookup);
        }
        g->watch = watch_add(all, g->row, known_resources[g->row->of].name, path);
        g->watch->lookup = &g->lookup;
        g->watch->anew = anew;
        kind_lookup_began(&g->lookup);
        log_info("watches a kind of another project", KV("what", g->watch->health.what),
                 KV("path", informer_path(g->watch->health.informer)));
}

static void foreign_discovered(struct kind_lookup *l, enum kind_lookup_state before, const struct api_resource *r,
                               const struct err *err)
{
        struct foreign_kind *g = l->arg;
        bool known = g->known;
        g->known |= !err->code || err->code == ERR_NOTFOUND;
        if (!known && g->known)
                schedule_pass(g->all->parts->leadership);
        snprintf(g->trouble, sizeof g->trouble, "%s", g->known ? "" : err->text);
        if (l->state == LOOKUP_REMOVED && before != LOOKUP_REMOVED)
                watch_sweep(g->watch, 0); /* its objects were removed with the CRD */
        if (err->code)
                return;
        char *path = path_of(r->group, r->version, NULL, r->plural, NULL, NULL);
        if (!g->watch || strcmp(path, informer_path(g->watch->health.informer)) != 0)
                foreign_watch(g, path);
        else
                mem_free(path); /* the path is unchanged: the watch goes on, and retries by itself */
}

/* --- halflife's own kinds --- */

static void own_discovered(void *arg, const struct api_resource *r, const struct err *err)
{
        struct informers *all = arg;
        bool late = all->own.lacking;
        all->own.asking = false;
        all->own.present = r != NULL;
        all->own.lacking = err->code == ERR_NOTFOUND || (late && !r);
        if (late && r) {
                log_info("halflife's CRDs are of this version now: reads everything again", KV("version", r->version));
                informers_again(all);
        } else if (!late && all->own.lacking) {
                log_warn("halflife's CRDs are missing, or older than this halflife: the API server drops fields that "
                         "they lack; kubectl apply -k crds",
                         KV("lacks", OWN_GROUP "/" OWN_PRESENT_VERSION));
        }
}

/* Ask the API server whether the CRDs are those of this version. Older CRDs serve OWN_VERSION too, so the watches work,
 * but they drop newer fields, which have to be written again once the CRDs are updated. */
static void own_ask(struct informers *all)
{
        static const char *const versions[] = {OWN_PRESENT_VERSION, NULL};
        struct client *c = all->parts->client;
        if (all->own.asking || all->own.present ||
            (all->own.lacking && client_discover_stands(c, OWN_GROUP, all->own.asked)))
                return;
        all->own.asked = loop_now(all->parts->loop).mono;
        all->own.asking = client_discover_version(c, OWN_GROUP, known_resources[KNOWN_RECOMMENDATIONS].kind, versions,
                                                  own_discovered, all) == 0;
}

void informers_discover(struct informers *all)
{
        own_ask(all);
        for (struct foreign_kind *g = all->foreign; g < all->foreign + FOREIGN_KINDS; g++)
                kind_lookup_ask(&g->lookup, all->parts->client, known_resources[g->row->of].group,
                                known_resources[g->row->of].kind, foreign_discovered, g);
}

struct informers *informers_new(struct parts *parts)
{
        struct informers *all = MEM_NEW(struct informers);
        assert(watch_rows_count + kinds_count + FOREIGN_KINDS + WATCHES_NAMED <= WATCHES_MAX);
        all->parts = parts;
        rate_limit_init(&all->missing_lines, MISSING_LINES_PER_SECOND, KINDS_OF_PROFILES, loop_now(parts->loop).mono);
        for (int i = 0; i < FOREIGN_KINDS; i++)
                all->foreign[i] = (struct foreign_kind){.all = all, .row = &watch_rows_foreign[i]};
        return all;
}

void informers_free(struct informers *all)
{
        mem_free(all);
}

/* --- state --- */

/* Is this a watch that is denied, missing or fails again and again, so that the start does not wait for its list? The
 * other watches work, and the log and conditions report the failure. */
static bool given_up(const struct watch *w)
{
        bool lasting = w->health.trouble.code != ERR_RETRY || informer_stats(w->health.informer)->failures >= 2;
        return w->health.trouble.code && lasting && (w->kind || w->row->flags & (WATCH_NEEDED | WATCH_HINT));
}

/* Is the list of a WATCH_HINT overdue, so that the start goes on without it? A request that is never answered would
 * fail only after minutes. */
static bool is_late(const struct watch *w)
{
        int64_t waited_ms = (loop_now(w->all->parts->loop).mono.ns - w->begun.ns) / 1000000;
        return w->row->flags & WATCH_HINT && !informer_stats(w->health.informer)->synced && waited_ms >= HINT_WAIT_MS;
}

bool informers_synced(struct informers *all, char *ret_waiting, size_t size)
{
        bool synced = true;
        size_t at = 0;
        *ret_waiting = '\0';
        for (int i = 0; i < all->watches; i++) {
                const struct watch *w = &all->watch[i];
                if (!w->health.informer || informer_stats(w->health.informer)->synced || given_up(w) || is_late(w))
                        continue;
                synced = false;
                int n = snprintf(ret_waiting + at, size - at, "%s%s", at ? ", " : "", w->health.what);
                at = n > 0 && at + (size_t)n < size ? at + (size_t)n : size - 1;
        }
        for (int i = 0; synced && i < FOREIGN_KINDS; i++)
                if (!all->foreign[i].known && !all->foreign[i].trouble[0]) {
                        snprintf(ret_waiting, size, "%s", known_resources[all->foreign[i].row->of].name);
                        synced = false;
                }
        return synced;
}

void informers_tell_late(const struct informers *all)
{
        for (int i = 0; i < all->watches; i++) {
                const struct watch *w = &all->watch[i];
                if (w->health.informer && is_late(w) && !w->health.trouble.code)
                        log_warn("its list has not arrived: starts without it, and the cause of an OOM kill may stay "
                                 "unknown until it arrives",
                                 KV("what", w->health.what));
        }
}

/* Does this watch keep changes from being applied, since its objects are not known? A kind whose CRD was installed
 * later is not blind before its first list. */
static bool is_blind(const struct watch *w)
{
        if (!w->row || !(w->row->flags & WATCH_NEEDED) || (w->lookup && w->lookup->state == LOOKUP_REMOVED))
                return false;
        return w->health.trouble.code || ((!w->lookup || w->anew) && !informer_stats(w->health.informer)->synced);
}

const char *informers_blind(const struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (is_blind(&all->watch[i]))
                        return all->watch[i].health.trouble.code ? all->watch[i].health.trouble.text
                                                                 : all->watch[i].health.what;
        for (int i = 0; i < FOREIGN_KINDS; i++)
                if (!all->foreign[i].known)
                        return all->foreign[i].trouble[0] ? all->foreign[i].trouble
                                                          : known_resources[all->foreign[i].row->of].name;
        return NULL;
}

void informers_again(struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (all->watch[i].health.informer) {
                        all->watch[i].begun = loop_now(all->parts->loop).mono;
                        informer_relist(all->watch[i].health.informer);
                }
}

const char *informers_unanswered(const struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (all->watch[i].health.trouble.code == ERR_RETRY)
                        return all->watch[i].health.trouble.text;
        return NULL;
}

uint64_t informers_unread(const struct informers *all)
{
        uint64_t count = all->unread_ended;
        for (int i = 0; i < all->watches; i++)
                if (all->watch[i].health.informer)
                        count += informer_stats(all->watch[i].health.informer)->refused;
        return count;
}

void informers_tick(struct informers *all)
{
        struct mono now = loop_now(all->parts->loop).mono;
        for (int i = 0; i < all->watches; i++) {
                struct watch *w = &all->watch[i];
                if (!w->health.informer)
                        continue;
                const struct informer_stats *is = informer_stats(w->health.informer);
                bool lately = w->unread_told > 0 && (now.ns - w->unread_said.ns) / 1000000 < UNREAD_EVERY_MS;
                if (is->refused == w->unread_told || lately)
                        continue;
                log_warn("objects cannot be read: the last readable state of each is used", KV("what", w->health.what),
                         KV_INT("times", is->refused - w->unread_told), KV("last", is->refusal.text));
                w->unread_told = is->refused;
                w->unread_said = now;
        }
}

void informers_stop(struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                informer_free(all->watch[i].health.informer);
        all->watches = 0;
}
