/* Runs a fuzz target over the files named, one line of TAP each. */
#include <string.h>

#include "base/err.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "fuzz.h"

enum { FILE_MAX = 64 << 20 };

static bool replay(int number, const char *path)
{
        struct err err = {0};
        size_t len;
        char *text AUTO(mem_free) = file_read(path, FILE_MAX, &len, &err);
        if (!text) {
                printf("not ok %d - %s: %s\n", number, path, err.text);
                return false;
        }
        /* the block ends where the input does, so that sanitizers see the first byte read behind it */
        uint8_t *exact AUTO(mem_free) = memcpy(mem_new(len), text, len);
        LLVMFuzzerTestOneInput(exact, len);
        const char *slash = strrchr(path, '/');
        printf("ok %d - %s\n", number, slash ? slash + 1 : path);
        fflush(stdout);
        return true;
}

int main(int argc, char **argv)
{
        bool good = argc > 1;
        for (int i = 1; i < argc; i++)
                good = replay(i, argv[i]) && good;
        if (argc < 2)
                fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        printf("1..%d\n", argc - 1);
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
