/*
 * The controller in the test's own thread, against a test API server with one namespace: between two turns of the loop
 * the test may read whatever the controller has. Failures fail the test.
 */
#ifndef HALFLIFE_TEST_SUPPORT_CONTROLLER_STAGE_H
#define HALFLIFE_TEST_SUPPORT_CONTROLLER_STAGE_H

#include "control/parts.h"
#include "story.h"

enum { CONTROLLER_STAGE_MS = 60000 }; /* the longest wait for anything */

struct controller_stage {
        struct fake *fake;
        struct loop *loop;
        struct access *access;
        struct controller *controller;
        struct parts *parts;                   /* of the controller */
        struct story story;                    /* has the namespace, and no step: for further steps */
        char *database;                        /* its path */
        bool server_steps;                     /* the server's clock follows that of this thread */
        int64_t retention_ms;                  /* 0: the default */
        void (*prepare)(const char *database); /* fills the database before the controller opens it; NULL */
};

/* The last three members are the caller's. cast: what the namespace has at the start; it is played and released. */
void controller_stage_begin(struct controller_stage *s, struct story *cast);
void controller_stage_turn(struct controller_stage *s);
void controller_stage_cycles(struct controller_stage *s, int more); /* so many whole cycles pass */
void controller_stage_end(struct controller_stage *s);              /* the database stays, and its path */

#endif
