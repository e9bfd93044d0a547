#include "kube/kind_lookup.h"

enum { LOST_EVERY_MS = 5 * SECOND_MS };

enum lookup_event { SAW_KIND, SAW_NO_KIND, SAW_BEGIN, SAW_END, SAW_NO_PATH, SAW_OTHER, LOOKUP_EVENTS };

/* The next state, by state and event. A watch that works is believed, whatever discovery says of its kind. */
static const enum kind_lookup_state next[LOOKUP_STATES][LOOKUP_EVENTS] = {
        /* clang-format off */
        /*                   kind            no kind         begin           end             no path         other */
        [LOOKUP_UNKNOWN] = {LOOKUP_UNKNOWN, LOOKUP_MISSING, LOOKUP_WATCHED, LOOKUP_UNKNOWN, LOOKUP_UNKNOWN, LOOKUP_UNKNOWN},
        [LOOKUP_MISSING] = {LOOKUP_UNKNOWN, LOOKUP_MISSING, LOOKUP_WATCHED, LOOKUP_MISSING, LOOKUP_MISSING, LOOKUP_MISSING},
        [LOOKUP_WATCHED] = {LOOKUP_WATCHED, LOOKUP_WATCHED, LOOKUP_WATCHED, LOOKUP_UNKNOWN, LOOKUP_LOST,    LOOKUP_WATCHED},
        [LOOKUP_LOST]    = {LOOKUP_LOST,    LOOKUP_REMOVED, LOOKUP_WATCHED, LOOKUP_UNKNOWN, LOOKUP_LOST,    LOOKUP_WATCHED},
        [LOOKUP_REMOVED] = {LOOKUP_REMOVED, LOOKUP_REMOVED, LOOKUP_WATCHED, LOOKUP_MISSING, LOOKUP_REMOVED, LOOKUP_WATCHED},
        /* clang-format on */
};

static void kind_lookup_found(void *arg, const struct api_resource *r, const struct err *err)
{
        struct kind_lookup *l = arg;
        enum kind_lookup_state before = l->state;
        l->asking = false;
        if (err->code == 0 || err->code == ERR_NOTFOUND)
                l->state = next[before][err->code ? SAW_NO_KIND : SAW_KIND];
        l->answered(l, before, r, err);
}

void kind_lookup_ask(struct kind_lookup *l, struct client *c, const char *group, const char *kind,
                     kind_lookup_answer *answered, void *arg)
{
        bool watched = l->state != LOOKUP_UNKNOWN && l->state != LOOKUP_MISSING;
        if (l->asking || l->state == LOOKUP_WATCHED)
                return;
        if (l->state == LOOKUP_MISSING && client_discover_stands(c, group, l->asked))
                return;
        struct mono now = loop_now(client_loop(c)).mono;
        if (watched && (now.ns - l->asked.ns) / 1000000 < LOST_EVERY_MS)
                return;
        if (l->state == LOOKUP_LOST) /* the kind was lost, so the earlier answer of discovery is old */
                client_undiscover(c, group);
        *l = (struct kind_lookup){l->state, true, now, group, kind, answered, arg};
        l->asking = client_discover(c, group, kind, kind_lookup_found, l) == 0;
}

void kind_lookup_began(struct kind_lookup *l)
{
        l->state = next[l->state][SAW_BEGIN];
}

void kind_lookup_ended(struct kind_lookup *l)
{
        l->state = next[l->state][SAW_END];
}

void kind_lookup_heard(struct kind_lookup *l, int code)
{
        l->state = next[l->state][code == ERR_NOTFOUND ? SAW_NO_PATH : SAW_OTHER];
}
