/*
 * Histories handed to whoever learns: he alone writes them, so he is asked by an annotation on each Recommendation, and
 * answers beside it. Who may patch Recommendations may import into them.
 */
#ifndef HALFLIFE_CLI_IMPORT_H
#define HALFLIFE_CLI_IMPORT_H

#include "base/buf.h"
#include "cli/session.h"
#include "core/kind.h"
#include "store/transfer.h"
#include "target_arg.h"

enum {
        IMPORT_AT_ONCE = 64,      /* Recommendations whose answer is waited for */
        IMPORT_BYTES = 160 << 10, /* of an annotation; an object's all have 256 KiB */
        IMPORT_WORDS = 32
};

/* One Recommendation that is asked. */
struct import_ask {
        char *ns, *workload; /* "Deployment/web" */
        char recommendation[KIND_NAME_MAX], request[20];
        struct buf lines, containers; /* names, one a line */
        int count;
        struct mono since;
};

struct importing {
        struct session session;
        int64_t timeout_ms; /* for an answer */
        bool dry_run;
        struct import_ask *open, *asked[IMPORT_AT_ONCE]; /* open: not sent yet, the next row may be of it as well */
        int asks;
        size_t joined, known, refused, left; /* histories; left: nobody is there to ask */
};

/* Hand over a history to the workload of its key in namespace ns. Rows of one workload in a row go together. What
 * became of those before may be printed. 0, or the error that ends it: what was asked for may still be done. */
int import_put(struct importing *im, const struct transfer_row *row, const char *ns, struct err *err);
/* All answers. */
int import_finish(struct importing *im, struct err *err);
void import_release(struct importing *im); /* the session as well */
void import_sum(const struct importing *im);
/* One that nobody is there to take. */
void import_leave(struct importing *im, const char *ns, const char *workload, const char *container, const char *why);
extern const char import_nobody[]; /* because there is no Recommendation */

/* Which VPAs' checkpoints are meant. */
struct import_vpa_scope {
        struct workload word[IMPORT_WORDS]; /* targets of theirs, in ns */
        int words;
        const char *ns, *labels;         /* ns NULL: all; labels: of the Recommendation; NULL: any */
        int64_t half_life_ms[RESOURCES]; /* that the VPA runs with */
};
int import_vpa(struct importing *im, const struct import_vpa_scope *s, struct err *err);

/* A VerticalPodAutoscalerCheckpoint's status as it says it. 0, or ERR_INVALID and why it cannot be read. */
struct vpa_checkpoint;
int import_vpa_read(const json_t *status, struct vpa_checkpoint *ret, struct err *err);

#endif
