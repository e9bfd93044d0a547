#include <curl/curl.h>
#include <jansson.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>

#include "cli/version.h"
#include "commands.h"

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

static int version_check(void *state, const struct command_line *line, struct err *err)
{
        (void)state;
        return line->words.count == 0 ? 0
                                      : err_set(err, ERR_INVALID, "takes no arguments, not '%s'", line->words.word[0]);
}

static int version_run(void *state, struct err *err)
{
        (void)state, (void)err;
        printf("halflife %s (linux/%s)\ncommit %s\n", version_text(), ARCH, HALFLIFE_REVISION);
        printf("libcurl %s, jansson %s, SQLite %s, libmicrohttpd %s\n", curl_version_info(CURLVERSION_NOW)->version,
               jansson_version_str(), sqlite3_libversion(), MHD_get_version());
        return EXIT_DONE;
}

const struct command command_version = {
        .name = "version",
        .help = "print the version",
        .usage = {""},
        .intro = "Prints the version of halflife, the commit that it was built from, and the versions of the\n"
                 "libraries that it runs with.\n",
        .check = version_check,
        .run = version_run,
};
