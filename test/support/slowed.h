/*
 * How much a test runs where each instruction takes many times as long. Sanitizers look for lost memory, races and
 * overflow, an emulator for what another processor does otherwise: a part of the cases shows it as well as all of them.
 */
#ifndef HALFLIFE_TEST_SLOWED_H
#define HALFLIFE_TEST_SLOWED_H

#ifdef SLOWED
#define UNLESS_SLOWED(all, part) (part)
#else
#define UNLESS_SLOWED(all, part) (all)
#endif

#endif
