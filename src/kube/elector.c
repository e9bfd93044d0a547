#include "elector.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/mem.h"

enum { DURATION_MOST_S = 86400 };

void elector_init(struct elector *e, const char *ns, const char *name, const char *identity)
{
        *e = (struct elector){.ns = ns, .name = name, .identity = identity, .ask = ELECTOR_GET};
}

void elector_release(struct elector *e)
{
        json_decref(e->lease);
        e->lease = NULL;
        mem_free(e->note);
        e->note = NULL;
}

static int64_t elector_elapsed_ms(struct mono since, struct mono now)
{
        return (now.ns - since.ns) / 1000000;
}

/* --- the Lease as last seen --- */

static const json_t *elector_spec_of(const struct elector *e)
{
        return json_object_get(e->lease, "spec");
}

const char *elector_holder(const struct elector *e)
{
        const char *holder = json_string_value(json_object_get(elector_spec_of(e), "holderIdentity"));
        return holder ? holder : "";
}

static bool is_mine(const struct elector *e)
{
        return strcmp(elector_holder(e), e->identity) == 0;
}

/* Is the Lease held and not expired? Clocks of other machines do not matter: the duration counts on this process's
 * clock from when the present spec was first seen. */
static bool elector_is_valid(const struct elector *e, struct mono now)
{
        int64_t seconds = json_integer_value(json_object_get(elector_spec_of(e), "leaseDurationSeconds"));
        if (seconds > DURATION_MOST_S)
                seconds = DURATION_MOST_S;
        return elector_holder(e)[0] && elector_elapsed_ms(e->seen_at, now) < seconds * SECOND_MS;
}

bool elector_holds(const struct elector *e, struct mono now)
{
        return e->leading && elector_elapsed_ms(e->renewed, now) < RENEW_MS;
}

bool elector_expire(struct elector *e, struct mono now)
{
        if (!e->leading || elector_holds(e, now))
                return false;
        e->leading = e->optimistic = false;
        e->ask = ELECTOR_GET;
        return true;
}

/* Take in a Lease; false if the text is not one. A changed spec restarts the time until expiry. */
static bool elector_observe(struct elector *e, struct text body, struct mono now)
{
        json_t *lease = json_loadb(body.p, body.len, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(lease) || !json_is_object(json_object_get(lease, "metadata"))) {
                json_decref(lease);
                return false;
        }
        if (!e->lease || !json_equal(elector_spec_of(e), json_object_get(lease, "spec")))
                e->seen_at = now;
        json_decref(e->lease);
        e->lease = lease;
        return true;
}

/* --- requests --- */

static char *elector_dump(json_t *lease)
{
        char *text = json_dumps(lease, JSON_COMPACT), *ours = mem_string(text);
        free(text); /* allocated by jansson */
        json_decref(lease);
        return ours;
}

static char *first_record(const struct elector *e, const char *time)
{
        return elector_dump(json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:i, s:s, s:s, s:i}}", "apiVersion",
                                      "coordination.k8s.io/v1", "kind", "Lease", "metadata", "name", e->name,
                                      "namespace", e->ns, "spec", "holderIdentity", e->identity, "leaseDurationSeconds",
                                      LEASE_MS / SECOND_MS, "acquireTime", time, "renewTime", time, "leaseTransitions",
                                      0));
}

static const json_t *metadata_of(const struct elector *e)
{
        return json_object_get(e->lease, "metadata");
}

const char *elector_uid(const struct elector *e)
{
        return json_string_value(json_object_get(metadata_of(e), "uid"));
}

const char *elector_note(const struct elector *e)
{
        const json_t *notes = json_object_get(metadata_of(e), "annotations");
        return e->note_key ? json_string_value(json_object_get(notes, e->note_key)) : NULL;
}

void elector_set_note(struct elector *e, const char *note)
{
        char *kept = mem_string(note);
        mem_free(e->note);
        e->note = kept;
}

static void write_note(const struct elector *e, json_t *lease)
{
        json_t *metadata = json_object_get(lease, "metadata"), *notes = json_object_get(metadata, "annotations");
        if (!e->note)
                return;
        if (!json_is_object(notes))
                json_object_set_new(metadata, "annotations", notes = json_object());
        json_object_set_new(notes, e->note_key, json_string(e->note));
}

/* The Lease as last read, with holder and times set anew. Its resourceVersion stays, so that the server refuses the
 * write if another process has written the Lease since. */
static char *next_record(const struct elector *e, const char *holder, int seconds, const char *time)
{
        json_t *lease = json_deep_copy(e->lease), *spec = json_object_get(lease, "spec");
        if (!json_is_object(spec))
                json_object_set_new(lease, "spec", spec = json_object());
        if (!is_mine(e)) {
                json_int_t before = json_integer_value(json_object_get(spec, "leaseTransitions"));
                json_object_set_new(spec, "leaseTransitions", json_integer(before + 1));
                json_object_set_new(spec, "acquireTime", json_string(time));
        }
        json_object_set_new(spec, "holderIdentity", json_string(holder));
        json_object_set_new(spec, "leaseDurationSeconds", json_integer(seconds));
        json_object_set_new(spec, "renewTime", json_string(time));
        write_note(e, lease);
        return elector_dump(lease);
}

enum elector_ask elector_begin(struct elector *e, struct now now, char **ret_body)
{
        char time[WALL_TEXT_MAX];
        wall_print_micro(now.wall, time);
        e->sent = now.mono;
        e->under_way = e->ask;
        if (e->ask == ELECTOR_POST)
                *ret_body = first_record(e, time);
        else if (e->ask == ELECTOR_PUT)
                *ret_body = next_record(e, e->identity, LEASE_MS / SECOND_MS, time);
        else
                *ret_body = NULL;
        return e->ask;
}

char *elector_resign(struct elector *e, struct now now)
{
        char time[WALL_TEXT_MAX];
        e->leading = false;
        return is_mine(e) ? next_record(e, "", 1, wall_print_micro(now.wall, time)) : NULL;
}

/* --- answers --- */

/* A random wait in [2 s, 4.4 s), so that candidates do not all write at once. */
static int64_t candidate_wait_ms(void)
{
        uint16_t bits = 0;
        if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
                bits = 0;
        return TRY_MS + bits % (TRY_MS * 12 / 10);
}

static enum elector_change stop_leading(struct elector *e)
{
        bool was = e->leading;
        e->leading = false;
        return was ? ELECTOR_LOST : ELECTOR_SAME;
}

static void ask_again(struct elector *e, enum elector_ask ask, int64_t *ret_wait_ms)
{
        e->ask = ask;
        e->optimistic = false;
        *ret_wait_ms = e->leading ? TRY_MS : candidate_wait_ms();
}

static enum elector_change after_get(struct elector *e, int code, struct text body, struct mono now,
                                     int64_t *ret_wait_ms)
{
        if (code == ERR_NOTFOUND) {
                json_decref(e->lease);
                e->lease = NULL;
                e->ask = ELECTOR_POST;
                return ELECTOR_SAME;
        }
        if (code < 0 || !elector_observe(e, body, now)) {
                ask_again(e, ELECTOR_GET, ret_wait_ms);
                return ELECTOR_SAME;
        }
        if (!is_mine(e) && elector_is_valid(e, now)) {
                enum elector_change change = stop_leading(e);
                ask_again(e, ELECTOR_GET, ret_wait_ms);
                return change;
        }
        e->ask = ELECTOR_PUT;
        return ELECTOR_SAME;
}

/* Count the renewal from when the request was sent, since no other process can have seen the change earlier. */
static enum elector_change after_success(struct elector *e, struct mono now, int64_t *ret_wait_ms)
{
        bool was = e->leading;
        e->renewed = e->sent;
        e->leading = elector_elapsed_ms(e->sent, now) < RENEW_MS;
        ask_again(e, e->leading ? ELECTOR_PUT : ELECTOR_GET, ret_wait_ms);
        e->optimistic = e->leading;
        return was == e->leading ? ELECTOR_SAME : was ? ELECTOR_LOST : ELECTOR_GAINED;
}

static enum elector_change after_write(struct elector *e, int code, struct text body, struct mono now,
                                       int64_t *ret_wait_ms)
{
        if (code == 0 && elector_observe(e, body, now) && is_mine(e))
                return after_success(e, now, ret_wait_ms);
        bool look = e->optimistic && (code == ERR_STALE || code == ERR_CONFLICT || code == ERR_NOTFOUND);
        /* A renewal that got no answer may be repeated as it is; in all other cases read the Lease first. */
        bool keep = e->optimistic && code == ERR_RETRY;
        ask_again(e, keep ? ELECTOR_PUT : ELECTOR_GET, ret_wait_ms);
        e->optimistic = keep;
        if (look)
                *ret_wait_ms = 0;
        return ELECTOR_SAME;
}

enum elector_change elector_end(struct elector *e, int code, struct text body, struct mono now, int64_t *ret_wait_ms)
{
        *ret_wait_ms = 0;
        if (e->under_way == ELECTOR_GET)
                return after_get(e, code, body, now, ret_wait_ms);
        return after_write(e, code, body, now, ret_wait_ms);
}
