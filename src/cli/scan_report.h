/*
 * What halflife scan reports: a row for each container, totals by namespace, and the sum of all.
 */
#ifndef HALFLIFE_SRC_CLI_SCAN_REPORT_H
#define HALFLIFE_SRC_CLI_SCAN_REPORT_H

#include "plan/plan.h"

/* One container of a workload. Amounts are millicores or bytes of one pod; the saving is that of all pods. */
struct scan_row {
        char *ns, *workload, *container, *profile; /* workload: "deployment/web" */
        const char *state;
        int64_t replicas, samples;
        int confidence_percent;
        struct amount now[RESOURCES], then[RESOURCES], used[RESOURCES];
        struct amount lower[RESOURCES], upper[RESOURCES];
        int64_t saving[RESOURCES];
        bool held[RESOURCES];  /* a gate would hold the change back, so the saving is out of reach */
        bool lacks[RESOURCES]; /* the container uses more of the resource than it requests */
        enum reason why[RESOURCES];
        double weight,
                held_weight; /* the row's saving, and the part of it that is held back, as shares of all requests */
};

/* The sum of the rows of a namespace, or of all rows. */
struct scan_total {
        const char *ns; /* NULL: all namespaces */
        int64_t workloads;
        int64_t now[RESOURCES], saving[RESOURCES], held[RESOURCES]; /* saving: without the part in `held` */
};

struct scan_report {
        bool once; /* usage was read once: only CPU is judged */
        struct scan_row *row;
        size_t rows, cap;
        struct scan_total *total; /* one total for each namespace */
        size_t totals;
        struct scan_total all;
};

/* The callback for cluster_scan_decide: add the rows of a plan. arg: the struct scan_report. */
void scan_report_add(void *arg, const struct plan *p);
/* Sort the rows by saving, the largest first, then by the held part, and sum them up. Call once, after the last plan.
 */
void scan_report_finish(struct scan_report *r);
void scan_report_release(struct scan_report *r);

/* Whether more than `percent` of all requests for a resource could be saved. */
bool scan_report_exceeds(const struct scan_report *r, enum resource of, int percent);

#endif
