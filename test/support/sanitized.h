/*
 * How much a test runs. Sanitizers look for lost memory, races and overflow, which a part of the cases shows as well as
 * all of them do.
 */
#ifndef HALFLIFE_TEST_SANITIZED_H
#define HALFLIFE_TEST_SANITIZED_H

#ifdef SANITIZED
#define UNLESS_SANITIZED(all, part) (part)
#else
#define UNLESS_SANITIZED(all, part) (all)
#endif

#endif
