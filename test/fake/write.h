/* A write in progress, between the files that serve writes. */
#ifndef HALFLIFE_TEST_FAKE_WRITE_H
#define HALFLIFE_TEST_FAKE_WRITE_H

#include "fake.h"

struct writing {
        struct fake *f;
        const struct request *rq;
        const struct target *t;
        struct reply *rp;
        const char *manager;
        char *manager_memory;
        bool dry, apply;
};

void write_conflict(struct writing *w); /* 409: the object has been modified */
void write_reply(const struct target *t, struct reply *rp, int status, const struct version *v);
/* An update of a pod that is not of its status; false: refused. A resize keeps everything but resources as it was. */
bool pod_update(struct writing *w, const json_t *before, json_t *after);
void object_remove(struct fake *f, struct kind *k, const json_t *object); /* with what it owns */
void delete_serve(struct writing *w, struct version *before);             /* before: NULL for a whole collection */

#endif
