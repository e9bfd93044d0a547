#include <curl/curl.h>
#include <jansson.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/version.h"

#ifdef __aarch64__
#define ARCH "arm64"
#elif defined(__x86_64__)
#define ARCH "amd64"
#else
#define ARCH "unknown"
#endif

const char *version_text(void)
{
        return HALFLIFE_VERSION;
}

const char *version_user_agent(void)
{
        return "halflife/" HALFLIFE_VERSION " (linux/" ARCH ")";
}

int cmd_version(int argc, char **argv)
{
        if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
                printf("usage: %s version\n\nThe version, and those of the libraries it runs with.\n", program_name());
                return EXIT_DONE;
        }
        if (argc > 1) {
                fprintf(stderr, "halflife version: takes no arguments, not '%s'\n", argv[1]);
                return EXIT_MISUSED;
        }
        printf("halflife %s (linux/%s)\n", version_text(), ARCH);
        printf("libcurl %s, jansson %s, SQLite %s, libmicrohttpd %s\n", curl_version_info(CURLVERSION_NOW)->version,
               jansson_version_str(), sqlite3_libversion(), MHD_get_version());
        return EXIT_DONE;
}
