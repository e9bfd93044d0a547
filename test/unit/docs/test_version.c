/*
 * The file VERSION has halflife's version, and all else that tells one says the same. `make docs` writes it into files
 * that cannot read another; the heading of CHANGELOG.md is written by hand, with what changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/halflife.h"
#include "../../support/page.h"
#include "base/mem.h"

#define DIGITS "0123456789"

/* Where the version stands: behind this text, which the file has once. */
static const struct {
        const char *path, *before;
} copies[] = {
        {"Dockerfile", "ARG VERSION="},
        {"charts/halflife/Chart.yaml", "\nversion: "},
        {"charts/halflife/Chart.yaml", "\nappVersion: "},
        {"manifests/base/kustomization.yaml", "newTag: "},
        {"manifests/components/admission/kustomization.yaml", "newTag: "},
};

/* Without the end of its line. */
static char *version_read(void)
{
        char *text = page_read("VERSION");
        text[strcspn(text, "\n")] = '\0';
        return text;
}

static size_t digits(const char *text)
{
        size_t count = strspn(text, DIGITS);
        return *text == '0' && count > 1 ? 0 : count;
}

static void version_is_three_numbers(void **state)
{
        (void)state;
        AUTO(mem_free) char *file = page_read("VERSION");
        AUTO(mem_free) char *version = version_read();
        AUTO(mem_free) char *line = mem_printf("%s\n", version);
        assert_string_equal(file, line);
        const char *rest = version;
        for (int i = 0; i < 3; i++) {
                size_t count = digits(rest);
                if (count == 0 || rest[count] != (i < 2 ? '.' : '\0'))
                        fail_msg("VERSION is '%s', not three numbers as 1.2.3", version);
                rest += count + 1;
        }
}

static void check_copy(const char *path, const char *before, const char *version)
{
        AUTO(mem_free) char *text = page_read(path);
        char *at = strstr(text, before);
        if (!at || strstr(at + 1, before))
                fail_msg("%s does not have '%s' once", path, before);
        at += strlen(before);
        size_t len = strcspn(at, " \n}");
        if (len == strlen(version) && memcmp(at, version, len) == 0)
                return;
        if (!page_is_to_be_written())
                fail_msg("%s: '%.*s' is not VERSION's '%s'; `make docs` writes it", path, (int)len, at, version);
        AUTO(mem_free) char *mended = mem_printf("%.*s%s%s", (int)(at - text), text, version, at + len);
        page_write(path, mended);
}

static void copies_are_equal(void **state)
{
        (void)state;
        AUTO(mem_free) char *version = version_read();
        for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
                check_copy(copies[i].path, copies[i].before, version);
}

static void newest_changes_are_of_it(void **state)
{
        (void)state;
        AUTO(mem_free) char *version = version_read();
        AUTO(mem_free) char *heading = mem_printf("\n## %s\n", version);
        AUTO(mem_free) char *changes = page_read("CHANGELOG.md");
        const char *stable = strstr(changes, "\n## What is stable"),
                   *next = stable ? strstr(stable + 1, "\n## ") : NULL;
        if (!next || strncmp(next, heading, strlen(heading)) != 0)
                fail_msg("the newest section of CHANGELOG.md is not '## %s'", version);
}

static void program_tells_it(void **state)
{
        (void)state;
        AUTO(mem_free) char *version = version_read();
        AUTO(mem_free) char *want = mem_printf("halflife %s (linux/", version);
        AUTO(mem_free) char *said = HALFLIFE_RUN(0, "version");
        if (strncmp(said, want, strlen(want)) != 0 || !strstr(said, "\ncommit "))
                fail_msg("halflife version prints '%s'", said);
}

/* Without making them. */
static void files_of_a_release_name_it(void **state)
{
        (void)state;
        AUTO(mem_free) char *version = version_read();
        AUTO(mem_free) char *want = mem_printf("halflife-%s", version);
        FILE *names = popen("deploy/release-files names amd64 arm64", "re");
        assert_non_null(names);
        char line[256];
        int count = 0;
        for (; fgets(line, sizeof line, names); count++)
                if (strcmp(line, "SHA256SUMS\n") != 0 && strncmp(line, want, strlen(want)) != 0)
                        fail_msg("a release has the file %s", line);
        assert_int_equal(pclose(names), 0);
        assert_true(count > 4);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(version_is_three_numbers),   cmocka_unit_test(copies_are_equal),
                cmocka_unit_test(newest_changes_are_of_it),   cmocka_unit_test(program_tells_it),
                cmocka_unit_test(files_of_a_release_name_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
