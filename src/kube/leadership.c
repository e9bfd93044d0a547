#include "kube/leadership.h"

#include "base/mem.h"

struct leadership {
        const struct lease *lease; /* NULL: not set yet, or none is needed */
        bool elects;
        bool lost;    /* this process held the Lease and lost it */
        bool rereads; /* lost and regained the Lease: no writes until everything was read again */
        bool stops;
        int writes; /* writes to the API server under way */
        void (*changed)(void *arg);
        void *arg;
};

struct leadership *leadership_new(bool elects, void (*changed)(void *arg), void *arg)
{
        struct leadership *l = MEM_NEW(struct leadership);
        *l = (struct leadership){.elects = elects, .changed = changed, .arg = arg};
        return l;
}

void leadership_free(struct leadership *l)
{
        mem_free(l);
}

void leadership_set_lease(struct leadership *l, const struct lease *lease)
{
        l->lease = lease;
}

bool leads(const struct leadership *l)
{
        return !l->stops && (!l->elects || (l->lease && lease_holds(l->lease)));
}

bool may_write(const struct leadership *l)
{
        return leads(l) && !l->rereads;
}

void schedule_pass(struct leadership *l)
{
        if (!l->stops)
                l->changed(l->arg);
}

bool leadership_gained(struct leadership *l)
{
        l->rereads |= l->lost;
        l->lost = false;
        return l->rereads;
}

void leadership_lost(struct leadership *l)
{
        l->lost = true;
}

bool leadership_reads_again(const struct leadership *l)
{
        return l->rereads;
}

void leadership_read_again(struct leadership *l)
{
        l->rereads = false;
}

void leadership_write_begun(struct leadership *l)
{
        l->writes++;
}

void leadership_write_ended(struct leadership *l)
{
        l->writes--;
}

int leadership_writes(const struct leadership *l)
{
        return l->writes;
}

void leadership_stop(struct leadership *l)
{
        l->stops = true;
}

bool leadership_stops(const struct leadership *l)
{
        return l->stops;
}
