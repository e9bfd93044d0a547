/*
 * The way back: patches that put requests, and the targets of autoscalers, back as their owners had them, made from the
 * object alone. Its annotations tell what halflife set and what was there before; what somebody has changed since is
 * his, and stands.
 */
#ifndef HALFLIFE_OBJECTS_RESTORE_PATCH_H
#define HALFLIFE_OBJECTS_RESTORE_PATCH_H

#include <jansson.h>

#include "objects/decode.h"

enum { RESTORE_TEXT = 384 };

struct restore {
        bool noted;                 /* it carries our annotations, readable ones */
        int back;                   /* values that go back */
        int stand;                  /* values that we set and somebody changed since: his stand */
        char changes[RESTORE_TEXT]; /* "app cpu 454m -> 2, app memory 300Mi -> none", cut */
        char stands[RESTORE_TEXT];  /* "app cpu is 700m, not the 454m that halflife set", cut */
};

/*
 * Of a workload's JSON, template_path where its pod template is; "" : of a pod. *ret_patch: the requests go back and
 * our annotations go with them, in one patch that tests what was read; NULL where nothing goes back: the annotations
 * then stay, because taking them away alone would start a rollout. An owner's own utilization-basis stays: it is one
 * without a copy on the workload. 0; ERR_INVALID for what is no such object or whose
 * annotations cannot be read; ERR_INVALID as well where a limit is by now below the original.
 */
int restore_template(struct text object, const char *template_path, struct restore *ret, json_t **ret_patch,
                     struct err *err);

/* Of a running pod in two steps: the requests by themselves, for its `resize` subresource, which takes nothing else;
 * then the annotations (of a pod they start nothing). basis: its utilization-basis is halflife's and goes too; else it
 * is its template's and stays. Each NULL where there is nothing to do. */
int restore_pod_requests(struct text pod, struct restore *ret, json_t **ret_patch, struct err *err);
int restore_pod_notes(struct text pod, bool basis, json_t **ret_patch, struct err *err);

/* Of a HorizontalPodAutoscaler (autoscaling/v2), or (triggers) a ScaledObject: the targets as its owner had them, our
 * annotations gone. One that is not what we made of it is his. */
int restore_autoscaler(struct text object, bool triggers, struct restore *ret, json_t **ret_patch, struct err *err);

#endif
