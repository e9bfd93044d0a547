#include "replica_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tmp.h"

enum { LONG_MS = 60000 };

struct halflife *replica_stage_serve(const struct replica_stage *s, const char *upstream_url, const char *upstream_ca)
{
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig-replica");
        assert_true(fake_write_kubeconfig(s->fake, kubeconfig));
        const char *const args[] = {"serve",
                                    "--kubeconfig",
                                    kubeconfig,
                                    "--listen",
                                    "127.0.0.1:0",
                                    "--serve-listen",
                                    "127.0.0.1:0",
                                    "--namespace",
                                    "halflife-system",
                                    "--interval",
                                    "10m",
                                    upstream_url ? "--upstream-url" : NULL,
                                    upstream_url,
                                    upstream_ca ? "--upstream-ca" : NULL,
                                    upstream_ca,
                                    NULL};
        return halflife_command(args);
}

void replica_stage_begin(struct replica_stage *s, bool upstream)
{
        s->fake = fake_new(&(struct fake_options){.seed = 3});
        assert_true(fake_load(s->fake, "crds"));
        fake_world_demo(s->fake, 60 * SECOND_MS);
        fake_scrape_every(s->fake, 1000);
        fake_put(
                s->fake, "kubectl",
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"all\"},"
                "\"spec\":{\"overcommit\":\"StaticThenDynamic\",\"static\":{\"cpu\":\"0.5\"},\"apply\":{\"mode\":"
                "\"OnDeploy\",\"minHistory\":\"2s\"}}}");
        s->learner =
                halflife_start(s->fake, "learner.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        s->learner_address = halflife_rest_address(s->learner);
        assert_true(halflife_await_cycles(s->learner, s->fake, 3, LONG_MS));
        AUTO(mem_free) char *url = mem_printf("http://%s", s->learner_address);
        s->replica = replica_stage_serve(s, upstream ? url : NULL, NULL);
        s->address = halflife_rest_address(s->replica);
        assert_non_null(s->address);
        assert_true(halflife_await_log(s->replica, "caches synced", 1, LONG_MS));
}

int replica_stage_end(struct replica_stage *s)
{
        int result = s->replica ? halflife_stop(s->replica) : 0;
        if (result != 0) {
                AUTO(mem_free) char *log = halflife_log(s->replica);
                fprintf(stderr, "%s", log);
        }
        halflife_free(s->replica);
        halflife_free(s->learner);
        fake_free(s->fake);
        mem_free(s->address);
        mem_free(s->learner_address);
        *s = (struct replica_stage){0};
        return result;
}
