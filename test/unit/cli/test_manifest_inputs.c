/* Manifests found in files and folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "base/mem.h"
#include "cli/manifest_inputs.h"

static void make_folder(const char *name)
{
        AUTO(mem_free) char *path = tmp_path(name);
        assert_int_equal(mkdir(path, 0700), 0);
}

static void make_link(const char *to, const char *name)
{
        AUTO(mem_free) char *path = tmp_path(name);
        assert_int_equal(symlink(to, path), 0);
}

/* "name=text " each, in order, names from the folder of the test on; or the error's text. */
static const char *found(const char *name)
{
        static char out[2048];
        struct inputs m = {0};
        struct err err = {0};
        AUTO(mem_free) char *path = tmp_path(name);
        char *to = out;
        *out = '\0';
        if (inputs_add(&m, path, &err) < 0)
                snprintf(out, sizeof out, "%s", err.text);
        for (size_t i = 0; !err.code && i < m.count; i++)
                to += sprintf(to, "%s=%.*s ", m.item[i].path + strlen(tmp_dir()) + 1, TEXT_ARG(m.item[i].text));
        inputs_release(&m);
        return out;
}

static void expect(const char *name, const char *want)
{
        if (strcmp(found(name), want) != 0)
                fail_msg("%s: '%s', not '%s'", name, found(name), want);
}

static void expect_error(const char *name, const char *want)
{
        if (!strstr(found(name), want))
                fail_msg("%s: '%s' has no '%s'", name, found(name), want);
}

static void folders_are_walked_by_name(void **state)
{
        (void)state;
        make_folder("a");
        make_folder("a/sub.yaml");
        make_folder("a/.git");
        mem_free(tmp_file("a/b.yml", "b"));
        mem_free(tmp_file("a/a.yaml", ""));
        mem_free(tmp_file("a/c.YAML", "no"));
        mem_free(tmp_file("a/.hidden.yaml", "no"));
        mem_free(tmp_file("a/.git/x.yaml", "no"));
        mem_free(tmp_file("a/sub.yaml/x.json", "x"));
        mem_free(tmp_file("a/notes", "n"));
        expect("a", "a/a.yaml= a/b.yml=b a/sub.yaml/x.json=x ");
        expect("a/", "a/a.yaml= a/b.yml=b a/sub.yaml/x.json=x ");
        expect("a/notes", "a/notes=n "); /* a file given by name is read, whatever its ending */
        make_folder("none");
        expect_error("none", "contains no *.yaml, *.yml or *.json");
        expect_error("nowhere", "No such file");
}

static void links_are_followed_but_not_back(void **state)
{
        (void)state;
        make_folder("b");
        make_folder("b/real");
        mem_free(tmp_file("b/real/x.yaml", "x"));
        make_link("real", "b/twice");
        make_link("real/x.yaml", "b/y.yaml");
        expect("b", "b/real/x.yaml=x b/twice/x.yaml=x b/y.yaml=x ");
        expect("b/twice", "b/twice/x.yaml=x ");
        make_link("nowhere", "b/notes");
        expect("b", "b/real/x.yaml=x b/twice/x.yaml=x b/y.yaml=x ");
        make_link("nowhere", "b/z.yaml");
        expect_error("b", "b/z.yaml': No such file");
        make_folder("loop");
        make_folder("loop/in");
        make_link(".", "loop/in/one");
        make_link("..", "loop/in/two");
        expect_error("loop", "folders more than 32 deep: does a link lead back?");
}

static void what_is_no_file_is_passed_over(void **state)
{
        (void)state;
        AUTO(mem_free) char *pipe = tmp_path("c/pipe.yaml");
        make_folder("c");
        assert_int_equal(mkfifo(pipe, 0600), 0);
        mem_free(tmp_file("c/x.yaml", "x"));
        expect("c", "c/x.yaml=x ");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(folders_are_walked_by_name),
                cmocka_unit_test(links_are_followed_but_not_back),
                cmocka_unit_test(what_is_no_file_is_passed_over),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
