/*
 * The heap of a container's runtime, as its environment, command and arguments bound it: the JVM's (-Xms, -Xmx,
 * -XX:MaxRAMPercentage …), Go's (GOMEMLIMIT) and Node's (--max-old-space-size).
 *
 * - Kubernetes replaces $(NAME) by variables, and $$ by $. A script of `sh -c` replaces $NAME and ${NAME} as well, so
 *   JAVA_OPTS counts where a command line refers to it. Variables that only the image has are not known.
 * - The JVM reads JAVA_TOOL_OPTIONS, then JDK_JAVA_OPTIONS and the command line, then _JAVA_OPTIONS. The last value
 *   wins. A size beats every percentage.
 * - What follows the program's own name or the class is the program's, and no option of the runtime.
 * - Percentages are of the container's memory limit, never of its request. Without a limit they are of the node's
 *   memory, which is not known here.
 */
#ifndef HALFLIFE_CORE_RUNTIME_HEAP_H
#define HALFLIFE_CORE_RUNTIME_HEAP_H

#include "core/amount.h"

struct runtime_variable {
        struct text name, value;
        bool known; /* false: the value is not in the template (a Secret, a field of the pod …) */
};

/* What a container is started with; texts are as in the template. */
struct runtime_command {
        const struct runtime_variable *variable; /* in the template's order */
        size_t variables;
        const struct text *word; /* command, then args */
        size_t words;
        size_t commands; /* how many of the words are the command; 0: the image's entrypoint runs */
};

enum runtime_cap { CAP_NONE, CAP_JVM_SIZE, CAP_JVM_PERCENTAGE, CAP_GO, CAP_NODE };

struct runtime_heap {
        int64_t start, most;                                /* the heap's start and bound in bytes; 0: not given */
        int32_t start_percent, most_percent, small_percent; /* shares of the memory limit, in thousandths of a per cent;
                                                               0: not given. small_percent: MinRAMPercentage */
        uint8_t cap;                                        /* enum runtime_cap: the option that bounds the heap */
        bool incomplete; /* options come from where they cannot be read: an @file, a variable without a known value */
};

/* Read the bounds of the heap from a container's variables and command. *ret is {0} where they give none. */
void runtime_heap_read(const struct runtime_command *c, struct runtime_heap *ret);
static inline bool runtime_heap_given(const struct runtime_heap *h)
{
        return h->start || h->most || h->start_percent || h->most_percent || h->small_percent;
}

/* The heap that the JVM begins with (-Xms), in bytes: it is or will be in use, whatever the usage was so far. Unset:
 * the heap's start is not given, or is a share of an unknown amount. */
struct amount runtime_heap_start(const struct runtime_heap *h, struct amount limit);
/* The most bytes that the heap can grow to. Unset: no option gives a bound, or options that might change the bound
 * cannot be read. */
struct amount runtime_heap_most(const struct runtime_heap *h, struct amount limit);
const char *runtime_cap_name(enum runtime_cap cap); /* "-Xmx", "GOMEMLIMIT", …; "" for CAP_NONE */

#endif
