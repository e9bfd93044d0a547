/*
 * For benches: the controller with its REST listener in this process, against a test API server of any size in a
 * process of its own (five replicas a Deployment, one container a pod). What goes wrong ends the process with a line on
 * stderr.
 */
#ifndef HALFLIFE_TEST_SUPPORT_CROWD_H
#define HALFLIFE_TEST_SUPPORT_CROWD_H

#include <sys/types.h>

#include "control/controller.h"

/* A token whose user may read everything through the REST API. */
#define CROWD_TOKEN "reader"

struct crowd {
        pid_t server;
        char *kubeconfig;
        struct loop *loop;
        struct access *access;
        struct controller *controller;
};

/* self: argv[0], beside whose folder the test API server lies. more: a file of objects that the server has besides;
 * NULL: none. */
void crowd_begin(struct crowd *c, const char *self, int containers, int64_t interval_ms, const char *more);
void crowd_end(struct crowd *c);

const char *crowd_rest_address(const struct crowd *c); /* its address */
uint64_t crowd_writes(const struct crowd *c);          /* to the API server so far */
void crowd_next_cycle(struct crowd *c);                /* turn the loop until one more cycle has ended */
/* Until every Recommendation is written: a whole cycle without a write, and none waiting. Returns the seconds it took.
 */
double crowd_publish_all(struct crowd *c);
void crowd_set_interval(struct crowd *c, int64_t interval_ms);

#endif
