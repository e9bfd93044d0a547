/*
 * Reports failing watches. The log has one line for all watches that fail by the same cause, and one when the last of
 * them works again. The metric, the conditions and readiness use the trouble of each watch.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "error_causes.h"
#include "notices_private.h"

/* How long the log line waits after the first failure, so that it names all watches that fail by the same cause. */
enum { GATHER_MS = 700 };

/* Do two watches fail by the same cause? Missing RBAC rules count as one cause: the role is missing. */
static bool outage_alike(const struct watch_health *a, const struct watch_health *b)
{
        return a->trouble.code && (a->cause == b->cause || (a->rule_missing && b->rule_missing));
}

static void add_name(char *list, size_t size, const char *name)
{
        size_t at = strlen(list);
        if (at + strlen(name) + 8 < size)
                snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
        else if (at >= 3 && strcmp(list + at - 3, "...") != 0)
                snprintf(list + at, size - at, ", ...");
}

static void outage_resize(struct notices *notices, uint64_t outage, int size)
{
        for (int i = 0; i < notices->watches; i++)
                if (notices->watch[i]->outage == outage)
                        notices->watch[i]->outage_size = size;
}

static void outage_tell(struct notices *notices, struct watch_health *first)
{
        char what[512] = "";
        int count = 0;
        uint64_t outage = ++notices->outages;
        const struct err err = first->trouble;
        for (int i = 0; i < notices->watches; i++)
                if (!notices->watch[i]->outage && outage_alike(notices->watch[i], first)) {
                        notices->watch[i]->outage = outage;
                        add_name(what, sizeof what, notices->watch[i]->what);
                        count++;
                }
        outage_resize(notices, outage, count);
        log_warn("watch fails, will try again", KV("what", what), KV_INT("watches", count),
                 KV_INT("of", notices->watches), KV("server", access_peer(notices->access)->base_url),
                 KV("code", err_name(err.code)), KV("error", cause_text(err.text)), KV("cure", cause_cure(&err)));
}

static void outage_gathered(void *arg)
{
        struct notices *notices = arg;
        for (int i = 0; i < notices->watches; i++)
                if (notices->watch[i]->trouble.code && !notices->watch[i]->outage)
                        outage_tell(notices, notices->watch[i]);
}

/* Add the watch to an outage with the same cause that the log has reported already. False: there is no such outage. */
static bool outage_joins(struct notices *notices, struct watch_health *w)
{
        for (int i = 0; i < notices->watches; i++) {
                const struct watch_health *other = notices->watch[i];
                if (other != w && other->outage && other->cause == w->cause) {
                        w->outage = other->outage;
                        outage_resize(notices, w->outage, other->outage_size + 1);
                        return true;
                }
        }
        return false;
}

void notice_watch_fails(struct notices *notices, struct watch_health *w, const struct err *err)
{
        if (w->trouble.code == 0)
                w->failing = loop_now(notices->loop).mono;
        w->trouble = *err;
        w->cause = cause_digest(err, NULL);
        w->rule_missing = cause_is_missing_rule(err);
        if (w->outage) /* leave the former outage: the watch may fail by another cause now */
                outage_resize(notices, w->outage, w->outage_size - 1);
        w->outage = 0;
        if (!outage_joins(notices, w) && !notices->outage_timer.place)
                loop_timer_set(notices->loop, &notices->outage_timer, GATHER_MS, outage_gathered, notices);
}

/* When a watch works again, its outage may be over, so all other watches of the outage try again at once. When the last
 * of them works, the log reports the recovery. */
void notice_watch_works(struct notices *notices, struct watch_health *w)
{
        uint64_t outage = w->outage;
        int others = 0;
        w->trouble.code = 0;
        w->outage = 0;
        for (int i = 0; outage && i < notices->watches; i++)
                if (notices->watch[i]->outage == outage) {
                        others++;
                        informer_hurry(notices->watch[i]->informer);
                }
        if (outage && !others)
                log_info("watch works again", KV("what", w->outage_size > 1 ? "all that failed" : w->what),
                         KV_INT("watches", w->outage_size),
                         KV_INT("seconds", (loop_now(notices->loop).mono.ns - w->failing.ns) / 1000000000));
}

bool notice_outage_told(const struct notices *notices, const struct err *err)
{
        uint64_t cause = cause_digest(err, NULL);
        for (int i = 0; i < notices->watches; i++)
                if (notices->watch[i]->outage && notices->watch[i]->cause == cause)
                        return true;
        return false;
}

void notice_watch(struct notices *notices, struct watch_health *w)
{
        assert(notices->watches < WATCHES_MAX);
        notices->watch[notices->watches++] = w;
}

const struct watch_health *notice_failing_watch(const struct notices *notices)
{
        for (int i = 0; i < notices->watches; i++)
                if (notices->watch[i]->trouble.code && !notices->watch[i]->named)
                        return notices->watch[i];
        return NULL;
}

int notice_failing_watches(const struct notices *notices)
{
        int count = 0;
        for (int i = 0; i < notices->watches; i++)
                count += notices->watch[i]->trouble.code != 0;
        return count;
}
