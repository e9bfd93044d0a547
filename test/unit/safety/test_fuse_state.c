/* Guards are counted, the fuse blows, and what the Lease says of it is held together with what is known here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"
#include "cache/profile_fuse.h"

struct fixture {
        struct rig c;
        int counted;
        char key[16];
        struct profile profile; /* of target, once give_profile gave it */
        struct target target;   /* last: its names follow it */
};

static int set_up(void **state)
{
        struct fixture *f = MEM_NEW(struct fixture);
        rig_begin(&f->c);
        rig_follow(&f->c);
        f->c.live.fuse_guards = 3;
        strcpy(f->key, "shop/team");
        f->target =
                (struct target){.ns = "shop", .group = "apps", .version = "v1", .kind = "Deployment", .name = "web"};
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;
        map_drop(&f->c.cache.profiles, text_of(f->key));
        profile_fuses_release(&f->profile);
        rig_end(&f->c);
        mem_free(f);
        return 0;
}

/* One more guard of a workload in a namespace; the names are kept. Its profile, if any, stays. */
static void count_in(struct fixture *f, const char *ns, const char *name)
{
        f->target.ns = ns;
        f->target.name = name;
        fuse_count(f->c.safety, &f->target, false);
}

/* One more guard, of a namespace of its own. */
static void count_one(struct fixture *f)
{
        static const char *const ns[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        count_in(f, ns[f->counted++ % 8], "web");
}

static void test_notes_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *note;
                enum fuse_word want;
                int64_t at_ms;
        } row[] = {
                {"", FUSE_NOTHING, 0},
                {"2025-11-21T04:40:00Z: 6 guards within an hour: a/b/c", FUSE_BLOWN, 1763700000000},
                {"somebody's words", FUSE_BLOWN, 0},
                {"reset 2025-11-21T04:40:00Z", FUSE_RESET, 1763700000000},
                {"reset now", FUSE_RESET, 0},
                {"reset ", FUSE_RESET, 0},
                {"reset", FUSE_BLOWN, 0},
                {"resetting it", FUSE_BLOWN, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int64_t at_ms = -1;
                enum fuse_word got = fuse_read(text_of(row[i].note), &at_ms);
                if (got != row[i].want || at_ms != row[i].at_ms)
                        fail_msg("'%s': %d, %lld", row[i].note, (int)got, (long long)at_ms);
        }
}

/* What lies behind the end of a text is no part of it. */
static void test_notes_end(void **state)
{
        (void)state;
        static const char whole[] = "reset 2025-11-21T04:40:00Z";
        int64_t at_ms = -1;
        assert_int_equal(fuse_read((struct text){whole, strlen("reset")}, &at_ms), FUSE_BLOWN);
        assert_int_equal(fuse_read((struct text){whole, strlen(whole) - 1}, &at_ms), FUSE_RESET);
        assert_int_equal(at_ms, 0);
}

/* Four members a guard; what a former version wrote has two, and what no version writes counts for the cluster. */
static void test_guards_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *name, *profile;
                enum fuse_scope reach;
        } want[] = {
                {"shop/Job/a", "shop/team", FUSE_SHARE},
                {"shop/Job/b", "/all", FUSE_PROFILE},
                {"shop/Job/c", "/all", FUSE_CLUSTER},
                {"shop/Job/d", "", FUSE_CLUSTER},
                {"shop/Job/e", "/all", FUSE_CLUSTER},
                {"shop/Job/f", "/all", FUSE_CLUSTER},
                {"", "", FUSE_CLUSTER},
        };
        static const char text[] = "[[1, \"shop/Job/a\", \"shop/team\", 1], [2, \"shop/Job/b\", \"/all\", 2], "
                                   "[3, \"shop/Job/c\", \"/all\", 3], [4, \"shop/Job/d\"], "
                                   "[5, \"shop/Job/e\", \"/all\", 0], [6, \"shop/Job/f\", \"/all\", 4], [7]]";
        struct fuse f = {0};
        AUTO(json_decref) json_t *list = json_loads(text, 0, NULL);
        fuse_guards_read(&f, list);
        for (int i = 0; i < f.guards; i++) {
                const struct fuse_guard *g = &f.guard[i];
                if (g->at_ms != i + 1 || strcmp(g->name, want[i].name) != 0 ||
                    strcmp(g->profile, want[i].profile) != 0 || g->reach != want[i].reach)
                        fail_msg("%d: %lld, '%s', '%s', %d", i, (long long)g->at_ms, g->name, g->profile,
                                 (int)g->reach);
        }
        assert_int_equal(f.guards, sizeof want / sizeof want[0]);
        struct fuse again = {0};
        AUTO(json_decref) json_t *stored = fuse_guards_json(&f);
        fuse_guards_read(&again, stored);
        AUTO(json_decref) json_t *twice = fuse_guards_json(&again);
        assert_true(json_equal(stored, twice));
        fuse_guards_release(&f);
        fuse_guards_release(&again);
}

/* Of a namespace that has its thousand, the oldest goes that the cluster's fuse does not count, else its oldest. */
static void test_which_guard_goes(void **state)
{
        (void)state;
        enum { SHARE = FUSE_GUARDS_MOST };
        static const struct {
                const char *what;
                bool other; /* a guard of another namespace is older than all */
                int narrow; /* the number of the one that only the profile's fuse counts; -1: none */
                int64_t want;
        } row[] = {
                {"its oldest", true, -1, 0},
                {"the profile's, not the oldest", true, 7, 7},
                {"the profile's, which is the oldest", false, 0, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fuse f = {0};
                if (row[i].other)
                        fuse_guards_add(&f, -1, "mall/Job/a", "/all", FUSE_CLUSTER);
                for (int n = 0; n < SHARE; n++)
                        fuse_guards_add(&f, n, "shop/Job/a", "/all", n == row[i].narrow ? FUSE_PROFILE : FUSE_CLUSTER);
                int before = f.guards;
                assert_int_equal(before, SHARE + row[i].other);
                fuse_guards_add(&f, SHARE, "shop/Job/a", "/all", FUSE_CLUSTER);
                assert_int_equal(f.guards, before);
                assert_string_equal(f.guard[0].name, row[i].other ? "mall/Job/a" : "shop/Job/a");
                for (int64_t n = 0, at = row[i].other; n <= SHARE; n++)
                        if (n == row[i].want)
                                continue;
                        else if (f.guard[at++].at_ms != n)
                                fail_msg("%s: %lld went", row[i].what, (long long)n);
                fuse_guards_release(&f);
        }
}

/* A reset of a profile's fuse ends what it counts, and only that; what the cluster counts stays there. */
static void test_guards_of_a_profile_end(void **state)
{
        (void)state;
        static const struct {
                const char *ns;
                int left;
                const char *names;
        } row[] = {{NULL, 3, "shop/Job/b shop/Job/c mall/Job/e "},
                   {"mall", 4, "shop/Job/a shop/Job/b shop/Job/c mall/Job/e "},
                   {"shop", 4, "shop/Job/b shop/Job/c mall/Job/d mall/Job/e "}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fuse f = {0};
                char names[128] = "";
                fuse_guards_add(&f, 1, "shop/Job/a", "/all", FUSE_PROFILE);
                fuse_guards_add(&f, 2, "shop/Job/b", "/all", FUSE_CLUSTER);
                fuse_guards_add(&f, 3, "shop/Job/c", "/else", FUSE_PROFILE);
                fuse_guards_add(&f, 4, "mall/Job/d", "/all", FUSE_SHARE);
                fuse_guards_add(&f, 5, "mall/Job/e", "/else", FUSE_SHARE);
                fuse_guards_end(&f, "/all", row[i].ns);
                for (int n = 0; n < f.guards; n++)
                        strcat(strcat(names, f.guard[n].name), " ");
                assert_string_equal(names, row[i].names);
                assert_int_equal(f.guards, row[i].left);
                bool ended = !row[i].ns || strcmp(row[i].ns, "shop") == 0;
                assert_string_equal(f.guard[ended ? 0 : 1].profile, ended ? "" : "/all");
                fuse_guards_release(&f);
        }
}

/* The words have at most 600 bytes, and end before the first name that does not fit. */
static void test_names_that_are_long(void **state)
{
        (void)state;
        enum { MOST = 600 };
        char name[MOST];
        int prefix = (int)strlen("3 guards within an hour: ");
        for (int more = 0; more < 2; more++) {
                struct fuse f = {0};
                fuse_guards_add(&f, 1, "c", "", FUSE_CLUSTER);
                int len = MOST - prefix - (int)strlen("a, ") + more;
                memset(name, 'b', (size_t)len);
                name[len] = '\0';
                fuse_guards_add(&f, 2, name, "", FUSE_CLUSTER);
                fuse_guards_add(&f, 3, "a", "", FUSE_CLUSTER);
                AUTO(mem_free) char *words = fuse_guards_words(&f, &f.guard[0], FUSE_CLUSTER, true);
                assert_int_equal(strlen(words), more ? prefix + 1 : MOST);
                fuse_guards_release(&f);
        }
}

static void test_the_one_above_blows_it(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 10; i++)
                fuse_count(f->c.safety, &f->target, true); /* its owner's own doing */
        for (int i = 0; i < 3; i++)
                count_one(f);
        assert_null(f->c.safety->fuse.blown);
        f->c.safety->fuse.guard[0].at_ms -= HOUR_MS; /* one is forgotten by now */
        count_one(f);
        assert_null(f->c.safety->fuse.blown);
        count_one(f);
        assert_non_null(strstr(f->c.safety->fuse.blown, "Z: 4 guards within an hour: e/Deployment/web, "));
        assert_true(f->c.safety->fuse.blown_ms > 0);
        AUTO(mem_free) char *before = mem_string(f->c.safety->fuse.blown);
        for (int i = 0; i < 10; i++)
                count_one(f);
        assert_string_equal(f->c.safety->fuse.blown, before); /* blown once, and told once */
        assert_int_equal(f->c.safety->fuse.guards, 4);
}

static void test_a_namespace_counts_twice(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 20; i++)
                count_in(f, "shop", "web");
        assert_null(f->c.safety->fuse.blown);
        assert_int_equal(f->c.safety->fuse.guards, 2);
        count_in(f, "mall", "web");
        assert_null(f->c.safety->fuse.blown);
        count_in(f, "mall", "web");
        assert_non_null(strstr(f->c.safety->fuse.blown, ": 4 guards within an hour: mall/Deployment/web, "));
}

static void test_the_newest_are_named(void **state)
{
        static const struct {
                int guards;
                const char *want;
        } row[] = {
                {2, ": 2 guards within an hour: b/Deployment/web, a/Deployment/web"},
                {5, ": 5 guards within an hour: e/Deployment/web, d/Deployment/web, c/Deployment/web, "
                    "b/Deployment/web, a/Deployment/web"},
                {6, ": 6 guards within an hour: f/Deployment/web, e/Deployment/web, d/Deployment/web, "
                    "c/Deployment/web, b/Deployment/web, …"},
        };
        struct fixture *f = *state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                f->c.live.fuse_guards = row[i].guards - 1;
                f->counted = 0;
                for (int n = 0; n < row[i].guards; n++)
                        count_one(f);
                assert_string_equal(f->c.safety->fuse.blown + strlen("2026-11-22T02:00:00Z"), row[i].want);
                fuse_release(&f->c.safety->fuse);
        }
}

/* --- fuses of profiles --- */

/* The fixture's target gets a profile of this key; ns NULL: a ClusterProfile. */
static struct profile *give_profile(struct fixture *f, char *key, const char *ns)
{
        f->profile.key = key;
        f->profile.ns = ns;
        f->profile.generation = 1;
        map_put(&f->c.cache.profiles, text_of(key), &f->profile);
        f->target.profile = &f->profile;
        return &f->profile;
}

static void test_a_namespace_blows_its_profile(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        for (int i = 0; i < 7; i++)
                count_in(f, "shop", "web");
        assert_null(f->c.safety->fuse.blown);
        assert_true(target_fused(&f->target));
        assert_string_equal(profile_fuse_first(p)->ns, "shop");
        assert_memory_equal(profile_fuse_first(p)->why, "4 guards within an hour: shop/Deployment/web, ", 43);
        assert_int_equal(f->c.safety->fuse.guards, 2); /* what the cluster's fuse has counted */
        assert_null(profile_fuse_of(p, "mall"));
        count_in(f, "mall", "web");
        assert_false(target_fused(&f->target));
        assert_int_equal(fuse_profiles_blown(f->c.safety), 1);
}

static void test_a_team_blows_its_own(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, "shop");
        for (int i = 0; i < 7; i++)
                count_in(f, "shop", "web");
        assert_null(f->c.safety->fuse.blown);
        assert_string_equal(profile_fuse_first(p)->ns, "");
        assert_true(target_fused(&f->target));
}

static void test_namespaces_blow_their_profile(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        for (int i = 0; i < 6; i++)
                count_one(f);
        assert_null(f->c.safety->fuse.blown);
        assert_string_equal(profile_fuse_first(p)->ns, "");
        f->target.ns = "another";
        assert_true(target_fused(&f->target));
        assert_int_equal(p->fuses.count, 1); /* harm behind it blows nothing further */
}

/* A ClusterProfile's status has a bound, so that many blown namespaces are one blown profile. */
static void test_many_namespaces_are_the_profile(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        for (int i = 0; i < PROFILE_FUSES_MOST; i++) {
                char ns[16];
                snprintf(ns, sizeof ns, "ns-%d", i);
                profile_fuse_blow(p, ns, 1, 1, "x");
        }
        for (int i = 0; i < 4; i++)
                count_in(f, "shop", "web");
        assert_string_equal(profile_fuse_of(p, "shop")->ns, "");
}

static void test_a_change_of_the_spec_resets_it(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, "shop");
        for (int i = 0; i < 7; i++)
                count_in(f, "shop", "web");
        fuse_settle(f->c.safety);
        assert_true(target_fused(&f->target));
        p->generation++;
        fuse_settle(f->c.safety);
        assert_false(target_fused(&f->target));
        for (int i = 0; i < 3; i++) /* the count begins anew, but not the cluster's */
                count_in(f, "shop", "web");
        assert_false(target_fused(&f->target));
        count_in(f, "shop", "web");
        assert_true(target_fused(&f->target));
        int of_cluster = 0;
        for (int i = 0; i < f->c.safety->fuse.guards; i++)
                of_cluster += f->c.safety->fuse.guard[i].reach == FUSE_CLUSTER;
        assert_int_equal(of_cluster, 2);
}

static void test_a_reset_resets_all(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        profile_fuse_blow(p, "shop", 1763700000000, 1, "x");
        profile_fuse_blow(p, "mall", 1763800000000, 1, "x"); /* since */
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        fuse_settle(f->c.safety);
        assert_null(profile_fuse_of(p, "shop"));
        assert_non_null(profile_fuse_of(p, "mall"));
        f->c.live.fuse_guards = 0;
        fuse_settle(f->c.safety);
        assert_int_equal(fuse_profiles_blown(f->c.safety), 0);
        assert_true(f->c.safety->fuse.reset_ms > 1763800000000);
}

/* The status is what another leader left; what was reset since does not come back with it. */
static void test_the_status_of_a_former_leader(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        AUTO(json_decref)
        json_t *status = json_pack("{s:[{s:s, s:i, s:s, s:s}, {s:s, s:i, s:s}, {s:s}]}", "fuses", "since",
                                   "2025-11-21T04:40:00Z", "generation", 1, "message", "4 guards", "namespace", "shop",
                                   "since", "2025-11-21T04:40:00Z", "generation", 2, "message", "of a later spec",
                                   "message", "of no time");
        profile_fuses_read(p, status);
        assert_null(profile_fuse_of(p, "shop"));
        fuse_settle(f->c.safety);
        assert_string_equal(profile_fuse_of(p, "shop")->why, "4 guards");
        assert_int_equal(p->fuses.count, 1);
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        fuse_settle(f->c.safety);
        fuse_settle(f->c.safety);
        assert_int_equal(p->fuses.count, 0);
}

static void test_profiles_are_stored(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        struct err err = {0};
        AUTO(mem_free) char *path = tmp_path("profile-fuse.db");
        rig_open_database(&f->c, path);
        for (int i = 0; i < 5; i++)
                count_in(f, "shop", "web");
        count_in(f, "mall", "web");
        AUTO(mem_free) char *why = mem_string(profile_fuse_of(p, "shop")->why);
        rig_kill_database(&f->c);
        fuse_release(&f->c.safety->fuse);
        profile_fuses_release(p);
        rig_open_database(&f->c, path);
        count_in(f, "mall", "web"); /* before the profiles are known: nothing of it is lost */
        fuse_settle(f->c.safety);
        assert_string_equal(profile_fuse_of(p, "shop")->why, why);
        assert_null(profile_fuse_of(p, "mall"));
        assert_int_equal(f->c.safety->fuse.guards, 4);
        assert_string_equal(f->c.safety->fuse.guard[3].profile, f->key);
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
}

/* --- the list has a bound --- */

/* A namespace with very many guards makes the list forget none of another namespace, and counts for the cluster no
 * more often. A full list forgets first what the cluster's fuse does not count. */
static void test_a_namespace_has_its_share(void **state)
{
        struct fixture *f = *state;
        struct fuse *fuse = &f->c.safety->fuse;
        int64_t now_ms = loop_now(f->c.loop).wall.ms;
        for (int i = 0; i < 2; i++)
                count_in(f, "shop", "web");
        count_in(f, "mall", "web");
        fuse->guard[2].reach = FUSE_SHARE;
        for (int i = 0; i < FUSE_GUARDS_MOST + 100; i++)
                fuse_guards_add(fuse, now_ms, "shop/Deployment/web", "shop/team", FUSE_PROFILE);
        assert_int_equal(fuse->guards, FUSE_GUARDS_MOST + 1);
        assert_int_equal(fuse->guard[1].reach, FUSE_CLUSTER);
        assert_string_equal(fuse->guard[2].name, "mall/Deployment/web");
        count_in(f, "shop", "web");
        assert_int_equal(fuse->guards, FUSE_GUARDS_MOST + 1); /* it counts nowhere any more */
        for (int i = 0; i < 2 * FUSE_GUARDS_MOST; i++)
                fuse_guards_add(fuse, now_ms, i % 2 ? "a/Deployment/web" : "b/Deployment/web", "x", FUSE_SHARE);
        assert_int_equal(fuse->guards, 2 * FUSE_GUARDS_MOST);
        assert_string_equal(fuse->guard[1].name, "shop/Deployment/web");
        assert_string_not_equal(fuse->guard[2].name, "mall/Deployment/web");
}

static void test_the_oldest_are_forgotten(void **state)
{
        struct fixture *f = *state;
        const struct fuse *fuse = &f->c.safety->fuse;
        count_in(f, "a", "web");
        f->c.safety->fuse.guard[0].at_ms -= HOUR_MS;
        count_in(f, "b", "web");
        count_in(f, "c", "web");
        assert_int_equal(fuse->guards, 2);
        assert_string_equal(fuse->guard[0].name, "b/Deployment/web");
}

static void test_the_setting_resets_it(void **state)
{
        struct fixture *f = *state;
        f->c.live.fuse_guards = 1;
        count_one(f);
        count_one(f);
        assert_non_null(f->c.safety->fuse.blown);
        fuse_settle(f->c.safety);
        assert_non_null(f->c.safety->fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "uid", said));
        f->c.live.fuse_guards = 0;
        fuse_settle(f->c.safety);
        assert_null(f->c.safety->fuse.blown);
        assert_int_equal(f->c.safety->fuse.guards, 0);
        assert_memory_equal(fuse_noted(f->c.safety, "uid", said), "reset 2", 7); /* what the Lease is to say by now */
        count_one(f);
        assert_int_equal(f->c.safety->fuse.guards, 0);
}

static void test_who_comes_after_takes_it(void **state)
{
        static const char said[] = "2025-11-21T04:40:00Z: 6 guards within an hour: shop/Deployment/web";
        struct fixture *f = *state;
        assert_null(fuse_noted(f->c.safety, "uid", NULL));
        assert_null(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "uid", said));
        assert_string_equal(f->c.safety->fuse.blown, said);
        assert_string_equal(fuse_noted(f->c.safety, "made again", NULL), said); /* another Lease: it is written again */
        assert_null(fuse_noted(f->c.safety, "made again", said));
        assert_memory_equal(fuse_noted(f->c.safety, "made again", NULL), "reset 2", 7); /* taken off by a person */
        assert_null(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "made again", "reset 2026-01-01T00:00:00Z"));
        assert_memory_equal(fuse_noted(f->c.safety, "made again", said), "reset 2", 7); /* of before the reset */
}

/* A missing annotation means a reset only on a Lease that has reported the fuse as blown before. */
static void test_a_lease_that_said_otherwise_is_told(void **state)
{
        struct fixture *f = *state;
        f->c.live.fuse_guards = 1;
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        count_one(f);
        count_one(f);
        assert_string_equal(fuse_noted(f->c.safety, "uid", NULL), f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, NULL, f->c.safety->fuse.blown)); /* of which it is not known */
        assert_string_equal(fuse_noted(f->c.safety, "uid", NULL), f->c.safety->fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "uid", said));
        assert_memory_equal(fuse_noted(f->c.safety, "uid", NULL), "reset 2", 7);
}

/* What was counted by a clock that was ahead counts for an hour from when that is seen, not for a year. */
static void test_guards_ahead_pass(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 3; i++)
                count_one(f);
        for (int i = 0; i < 3; i++)
                f->c.safety->fuse.guard[i].at_ms += 365 * (int64_t)DAY_MS; /* as of a clock that is set right by now */
        f->c.live.fuse_guards = 4;
        count_one(f);
        assert_int_equal(f->c.safety->fuse.guards, 4);
        for (int i = 0; i < 4; i++)
                f->c.safety->fuse.guard[i].at_ms -= HOUR_MS; /* an hour goes by */
        count_one(f);
        assert_int_equal(f->c.safety->fuse.guards, 1);
        assert_null(f->c.safety->fuse.blown);
}

/* A reset of a time that has not come, of a clock that is ahead or of a hand that means well, resets what is blown now
 * and nothing after. */
static void test_a_reset_is_for_once(void **state)
{
        static const char ahead[] = "reset 2126-01-01T00:00:00Z";
        struct fixture *f = *state;
        assert_memory_equal(fuse_noted(f->c.safety, "uid", ahead), "reset 202", 9); /* whole: it is dated */
        f->c.live.fuse_guards = 1;
        count_one(f);
        count_one(f);
        assert_non_null(f->c.safety->fuse.blown);
        assert_memory_equal(fuse_noted(f->c.safety, "uid", ahead), "reset 202", 9);
        assert_null(f->c.safety->fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.safety->fuse.reset);
        count_one(f);
        count_one(f);
        assert_non_null(f->c.safety->fuse.blown);
        assert_string_equal(fuse_noted(f->c.safety, "uid", said), f->c.safety->fuse.blown);
        assert_non_null(f->c.safety->fuse.blown);
}

/* Blown while this clock was a century ahead: a person's reset of today counts. */
static void test_what_blew_ahead_is_reset(void **state)
{
        static const char said[] = "2126-01-01T00:00:00Z: 6 guards within an hour: shop/Deployment/web";
        struct fixture *f = *state;
        assert_null(fuse_noted(f->c.safety, "uid", said));
        assert_string_equal(f->c.safety->fuse.blown, said);
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        assert_null(f->c.safety->fuse.blown);
        assert_memory_equal(fuse_noted(f->c.safety, "uid", said), "reset 2025", 10); /* the reset was not written yet */
        assert_null(f->c.safety->fuse.blown);
}

/* Another process after a kill: it knows what was stored. */
static void die(struct fixture *f, const char *path)
{
        rig_kill_database(&f->c);
        fuse_release(&f->c.safety->fuse);
        profile_fuses_release(&f->profile);
        rig_open_database(&f->c, path);
        f->c.nudged = false;
}

/* What the Lease says is stored at once, and asks for a pass. */
static void test_what_the_lease_says_is_kept(void **state)
{
        struct fixture *f = *state;
        struct fuse *fuse = &f->c.safety->fuse;
        AUTO(mem_free) char *path = tmp_path("kept.db");
        rig_open_database(&f->c, path);
        count_one(f);
        count_one(f);
        assert_false(f->c.nudged);
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        assert_true(f->c.nudged);
        assert_int_equal(fuse->guards, 0);
        die(f, path);
        assert_int_equal(fuse->guards, 0);
        assert_int_equal(fuse->reset_ms, 1763700000000);
        assert_int_equal(fuse->blown_ms, 0);
        assert_null(fuse_noted(f->c.safety, "uid", "2025-11-21T04:40:01Z: 6 guards within an hour: a/b/c"));
        assert_true(f->c.nudged);
        die(f, path);
        assert_string_equal(fuse->blown, "2025-11-21T04:40:01Z: 6 guards within an hour: a/b/c");
        assert_int_equal(fuse->blown_ms, 1763700001000);
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:02Z"));
        assert_true(f->c.nudged);
        assert_int_equal(fuse->blown_ms, 0);
        die(f, path);
        assert_null(fuse->blown);
        assert_int_equal(fuse->reset_ms, 1763700002000);
}

/* Whoever blows a fuse asks for a pass, which then holds what it would have changed. */
static void test_to_blow_asks_for_a_pass(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 4; i++) {
                assert_false(f->c.nudged);
                count_one(f);
        }
        assert_true(f->c.nudged);
        fuse_release(&f->c.safety->fuse);
        f->c.nudged = false;
        (void)give_profile(f, f->key, "shop");
        for (int i = 0; i < 4; i++) {
                assert_false(f->c.nudged);
                count_in(f, "shop", "web");
        }
        assert_true(f->c.nudged);
}

/* Before a pass only what changed is stored: a fuse that the status tells of, and one that is over. */
static void test_what_settles_is_stored(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        AUTO(mem_free) char *path = tmp_path("settled.db");
        rig_open_database(&f->c, path);
        count_in(f, "shop", "web");
        count_in(f, "shop", "web");
        count_in(f, "shop", "web");
        AUTO(json_decref)
        json_t *status = json_pack("{s:[{s:s, s:i, s:s, s:s}]}", "fuses", "since", "2025-11-21T04:40:00Z", "generation",
                                   1, "message", "4 guards", "namespace", "shop");
        profile_fuses_read(p, status);
        fuse_settle(f->c.safety);
        assert_non_null(profile_fuse_of(p, "shop"));
        uint64_t sent = f->c.checkpointer->batch_sent;
        fuse_settle(f->c.safety);
        assert_int_equal(f->c.checkpointer->batch_sent, sent);
        die(f, path);
        f->c.live.fuse_guards = 1;
        fuse_settle(f->c.safety);
        assert_non_null(profile_fuse_of(p, "shop"));
        p->generation++;
        fuse_settle(f->c.safety);
        assert_int_equal(p->fuses.count, 0);
        for (int i = 0; i < f->c.safety->fuse.guards; i++) /* the count begins anew, but not the cluster's */
                assert_int_equal(f->c.safety->fuse.guard[i].reach, FUSE_CLUSTER);
        assert_int_equal(f->c.safety->fuse.guards, 2);
        die(f, path);
        p->generation--;
        fuse_settle(f->c.safety);
        assert_int_equal(p->fuses.count, 0);
}

/* So is a fuse that comes in the same pass in which another goes: there are as many as before. */
static void test_one_for_another_is_stored(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        AUTO(mem_free) char *path = tmp_path("exchanged.db");
        rig_open_database(&f->c, path);
        profile_fuse_blow(p, "shop", 1763700000000, 1, "x");
        fuse_store(f->c.safety);
        p->generation = 2;
        AUTO(json_decref)
        json_t *status = json_pack("{s:[{s:s, s:i, s:s, s:s}]}", "fuses", "since", "2025-11-21T04:40:00Z", "generation",
                                   2, "message", "4 guards", "namespace", "mall");
        profile_fuses_read(p, status);
        fuse_settle(f->c.safety);
        assert_int_equal(p->fuses.count, 1);
        die(f, path);
        fuse_settle(f->c.safety);
        assert_null(profile_fuse_of(p, "shop"));
        assert_non_null(profile_fuse_of(p, "mall"));
}

/* Turned off, no fuse holds, whoever tells of it; and no pass writes that it is off. */
static void test_turned_off(void **state)
{
        struct fixture *f = *state;
        struct profile *p = give_profile(f, f->key, NULL);
        AUTO(mem_free) char *path = tmp_path("off.db");
        rig_open_database(&f->c, path);
        f->c.live.fuse_guards = 0;
        AUTO(json_decref)
        json_t *status = json_pack("{s:[{s:s, s:i, s:s, s:s}]}", "fuses", "since", "2125-11-21T04:40:00Z", "generation",
                                   1, "message", "4 guards", "namespace", "shop");
        profile_fuses_read(p, status);
        uint64_t sent = f->c.checkpointer->batch_sent;
        fuse_settle(f->c.safety);
        assert_int_equal(p->fuses.count, 0);
        assert_int_equal(f->c.checkpointer->batch_sent, sent);
        assert_int_equal(f->c.safety->fuse.reset_ms, 0);
        assert_false(f->c.nudged);
}

static void test_it_is_stored(void **state)
{
        struct fixture *f = *state;
        struct err err = {0};
        AUTO(mem_free) char *path = tmp_path("fuse.db");
        rig_open_database(&f->c, path);
        assert_non_null(f->c.checkpointer->store);
        for (int i = 0; i < 4; i++)
                count_one(f);
        AUTO(mem_free) char *before = mem_string(f->c.safety->fuse.blown);
        assert_non_null(before);
        int64_t at_ms = f->c.safety->fuse.guard[3].at_ms;
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
        fuse_release(&f->c.safety->fuse);
        rig_open_database(&f->c, path);
        assert_string_equal(f->c.safety->fuse.blown, before);
        assert_int_equal(f->c.safety->fuse.guards, 4);
        assert_int_equal(f->c.safety->fuse.guard[3].at_ms, at_ms);
        assert_string_equal(f->c.safety->fuse.guard[3].name, "d/Deployment/web");
        AUTO(mem_free) char *reset = mem_printf("reset %.20s", before); /* while it was away */
        assert_null(fuse_noted(f->c.safety, "uid", reset));
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
        fuse_release(&f->c.safety->fuse);
        rig_open_database(&f->c, path);
        assert_null(f->c.safety->fuse.blown);
        assert_true(f->c.safety->fuse.reset_ms > 0);
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_notes_are_read),
                cmocka_unit_test(test_notes_end),
                cmocka_unit_test(test_guards_are_read),
                cmocka_unit_test(test_which_guard_goes),
                cmocka_unit_test(test_guards_of_a_profile_end),
                cmocka_unit_test(test_names_that_are_long),
                cmocka_unit_test_setup_teardown(test_the_one_above_blows_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_newest_are_named, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_namespace_counts_twice, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_namespace_blows_its_profile, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_team_blows_its_own, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_namespaces_blow_their_profile, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_many_namespaces_are_the_profile, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_change_of_the_spec_resets_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_reset_resets_all, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_status_of_a_former_leader, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_profiles_are_stored, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_namespace_has_its_share, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_oldest_are_forgotten, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_lease_that_said_otherwise_is_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_setting_resets_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_who_comes_after_takes_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_guards_ahead_pass, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_reset_is_for_once, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_blew_ahead_is_reset, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_it_is_stored, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_the_lease_says_is_kept, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_to_blow_asks_for_a_pass, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_settles_is_stored, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_one_for_another_is_stored, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_turned_off, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
