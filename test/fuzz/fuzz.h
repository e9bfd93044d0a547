/*
 * Fuzz targets: MODE=fuzz with clang links libFuzzer, any other build links replay.c, which runs a target over the
 * files of its corpus, test/data/<name>/.
 */
#ifndef HALFLIFE_TEST_FUZZ_H
#define HALFLIFE_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input; ends the program where it does not. */
#define MUST(what)                                                                                                     \
        do {                                                                                                           \
                if (!(what)) {                                                                                         \
                        fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                      \
                        abort();                                                                                       \
                }                                                                                                      \
        } while (0)

#endif
