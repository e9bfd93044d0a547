/*
 * Import of histories. Only the controller writes histories, so the command sends each history as an annotation on the
 * Recommendation. The controller answers in another annotation. Permission to get and patch Recommendations suffices
 * where they exist (recommendation_ask.h).
 */
#ifndef HALFLIFE_CLI_IMPORT_H
#define HALFLIFE_CLI_IMPORT_H

#include "base/buf.h"
#include "cli/session.h"
#include "core/kind.h"
#include "store/transfer.h"
#include "target_arg.h"

enum {
        IMPORT_AT_ONCE = 64,      /* most Recommendations that wait for an answer */
        IMPORT_BYTES = 160 << 10, /* most bytes of one annotation; an object may have 256 KiB of them */
        IMPORT_WORDS = 32
};

/* The import request to the controller that is written on one Recommendation. */
struct import_ask {
        char *ns, *workload; /* workload: "Deployment/web" */
        char *group, *kind, *name;
        char recommendation[KIND_NAME_MAX], request[20];
        struct buf lines, containers; /* containers: names, one per line */
        int count;
        struct mono since;
};

struct importing {
        struct session session;
        int64_t timeout_ms; /* longest wait for an answer of the controller */
        bool dry_run;
        struct import_ask *open, *asked[IMPORT_AT_ONCE]; /* open: the request not sent yet; the next row may belong to
                                                            the same workload */
        int asks;
        size_t joined, known, refused, left; /* numbers of histories; left: no Recommendation can take them */
};

/* Import a history into the workload of its key, in namespace ns. Successive rows of one workload share an import
 * request to the controller. The call may print the results of earlier import requests. Returns 0, or the error that
 * ends the import; the controller may still carry out requests already sent. */
int import_put(struct importing *im, const struct transfer_row *row, const char *ns, struct err *err);
/* Send the last import request and wait for the answers to all. */
int import_finish(struct importing *im, struct err *err);
void import_release(struct importing *im);       /* releases the session too */
void import_wait_a_little(struct importing *im); /* wait before the next look for the controller's answer */
void import_sum(const struct importing *im);
/* Print and count a history that no Recommendation can take. */
void import_leave(struct importing *im, const char *ns, const char *workload, const char *container, const char *why);

/* The VPAs whose checkpoints are imported. */
struct import_vpa_scope {
        struct workload word[IMPORT_WORDS]; /* target workloads of the VPAs, in ns */
        int words;
        const char *ns, *labels;         /* ns NULL: all; labels: of the Recommendation; NULL: any */
        int64_t half_life_ms[RESOURCES]; /* the half-lives that the VPA was run with */
};
int import_vpa(struct importing *im, const struct import_vpa_scope *s, struct err *err);

/* Decode the status of a VerticalPodAutoscalerCheckpoint. Returns 0, or ERR_INVALID and the reason. */
struct vpa_checkpoint;
int import_vpa_read(const json_t *status, struct vpa_checkpoint *ret, struct err *err);

#endif
