/*
 * Intrusive lists: <sys/queue.h>, and BSD's _SAFE loops, which glibc leaves out. The body of such a loop may remove var
 * from the list and free it. The caller declares next; the element after var must stay in the list.
 */
#ifndef HALFLIFE_BASE_LIST_H
#define HALFLIFE_BASE_LIST_H

#include <sys/queue.h>

#define LIST_FOREACH_SAFE(var, head, field, next)                                                                      \
        for ((var) = LIST_FIRST(head); (var) && ((next) = LIST_NEXT(var, field), 1); (var) = (next))

#define STAILQ_FOREACH_SAFE(var, head, field, next)                                                                    \
        for ((var) = STAILQ_FIRST(head); (var) && ((next) = STAILQ_NEXT(var, field), 1); (var) = (next))

#define TAILQ_FOREACH_SAFE(var, head, field, next)                                                                     \
        for ((var) = TAILQ_FIRST(head); (var) && ((next) = TAILQ_NEXT(var, field), 1); (var) = (next))

#endif
