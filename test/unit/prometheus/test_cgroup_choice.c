/* A container that several cgroups tell of: which value is its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "prometheus/cgroup_choice.h"

#define POD   "/kubepods/burstable/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ab/"
#define OTHER "/kubepods/burstable/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ac/"
#define SLICE                                                                                                          \
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8e0b0b0e_7c1d_4f6a_9b3e_0123456789ab.slice/"
#define STATIC "/kubepods/pod0123456789abcdef0123456789abcdef/"

static const struct {
        struct {
                const char *id;
                double value;
        } of[5];
        double want;
        bool doubt;
} row[] = {
        {{{POD "a", 2}}, 2, false},
        /* nested: the innermost, at any depth; the label is missing where relabelling drops it */
        {{{POD "a", 2}, {POD "a/container", 1.5}}, 1.5, false},
        {{{POD "a/container", 1.5}, {POD "a", 2}}, 1.5, false},
        {{{POD "a", 3}, {POD "a/b", 2}, {POD "a/b/c", 1}}, 1, false},
        {{{POD "a", 3}, {POD "a/b/c", 1}}, 1, false},
        {{{"", 3}, {POD "a", 1}}, 3, false},
        /* parts stand in what holds them */
        {{{POD "a", 3}, {POD "a/b", 1.25}, {POD "a/c", 1.75}}, 3, false},
        {{{POD "a", 3}, {POD "a/s", 2.5}, {POD "a/s/b", 1.25}, {POD "a/s/c", 1.2}}, 2.5, false},
        /* a name that begins with another is not within it */
        {{{POD "a", 1}, {POD "ab", 2}}, 2, false},
        /* before and after a restart; also where each is nested */
        {{{POD "a", 0.5}, {POD "b", 0.75}}, 0.75, false},
        {{{POD "a", 3}, {POD "a/container", 1}, {POD "b", 4}, {POD "b/container", 2}}, 2, false},
        /* the same pod, as seen by another driver, or from outside of the node's own container */
        {{{POD "a", 1}, {SLICE "cri-containerd-a.scope", 2}}, 2, false},
        {{{POD "a", 1}, {"/docker/7/kubelet" POD "a", 2}}, 2, false},
        {{{STATIC "a", 1}, {STATIC "b", 2}}, 2, false},
        /* of several pods */
        {{{POD "a", 1}, {OTHER "a", 2}}, 2, true},
        {{{POD "a", 3}, {POD "a/b", 1}, {OTHER "a", 2}}, 3, true},
        {{{"", 3}, {STATIC "a", 1}, {SLICE "a", 2}}, 3, true},
        /* no pod is named: podman, or a path that was cut */
        {{{"/machine.slice/libpod-a.scope", 1}, {"/machine.slice/libpod-b.scope", 2}}, 2, false},
        {{{"/kubepods/pod8e0b0b0e-7c1d", 1}, {"/pod", 2}}, 2, false},
};

static void test_choice(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cgroup_value c[5];
                size_t count = 0;
                bool doubt;
                for (; count < 5 && row[i].of[count].id; count++)
                        c[count] = (struct cgroup_value){text_of(row[i].of[count].id), row[i].of[count].value};
                double got = cgroup_choose(c, count, &doubt);
                if (got != row[i].want || doubt != row[i].doubt)
                        fail_msg("row %zu: %g%s", i, got, doubt ? ", in doubt" : "");
        }
}

/* Any order gives the same, and too many are in doubt. */
static void test_many(void **state)
{
        (void)state;
        static char id[CGROUPS_MOST + 1][128];
        struct cgroup_value c[CGROUPS_MOST + 1];
        bool doubt;
        for (int i = 0; i <= CGROUPS_MOST; i++) {
                snprintf(id[i], sizeof id[i], POD "%.*s", 2 * i + 1,
                         "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a");
                c[i] = (struct cgroup_value){text_of(id[i]), 100 - i};
        }
        assert_true(cgroup_choose(c, CGROUPS_MOST, &doubt) == 100 - (CGROUPS_MOST - 1) && !doubt);
        for (int i = 0; i < CGROUPS_MOST / 2; i++) {
                struct cgroup_value kept = c[i];
                c[i] = c[CGROUPS_MOST - 1 - i];
                c[CGROUPS_MOST - 1 - i] = kept;
        }
        assert_true(cgroup_choose(c, CGROUPS_MOST, &doubt) == 100 - (CGROUPS_MOST - 1) && !doubt);
        assert_true(cgroup_choose(c, CGROUPS_MOST + 1, &doubt) == 100 && doubt);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_many)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
