#include "controller_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "live_defaults.h"
#include "tmp.h"

static void stage_start(struct controller_stage *s, const char *kubeconfig)
{
        struct access_options where = {.kubeconfig = kubeconfig};
        struct err err = {0};
        struct controller_options options = {.live = live_defaults(),
                                             .ns = "halflife-system",
                                             .identity = "test",
                                             .database = s->database,
                                             .user_agent = "halflife-test"};
        options.live.interval_ms = options.live.checkpoint_ms = options.live.status_ms = SECOND_MS;
        options.live.api_rate = 1000;
        if (s->retention_ms)
                options.live.retention_ms = s->retention_ms;
        s->loop = loop_new();
        if (access_load(&where, &s->access, &err) < 0 ||
            controller_new(s->loop, s->access, &options, &s->controller, &err) < 0)
                fail_msg("%s", err.text);
        s->parts = controller_parts(s->controller);
}

void controller_stage_begin(struct controller_stage *s, struct story *cast)
{
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig");
        s->story = (struct story){.name = cast->name};
        s->fake = stories_server(NULL, 0);
        assert_true(stories_run(s->fake, cast, 1, CONTROLLER_STAGE_MS));
        assert_true(fake_write_kubeconfig(s->fake, kubeconfig));
        s->database = tmp_path("halflife.db");
        if (s->prepare)
                s->prepare(s->database);
        stage_start(s, kubeconfig);
}

void controller_stage_turn(struct controller_stage *s)
{
        if (s->server_steps)
                fake_set_wall(s->fake, now_read().wall.ms);
        loop_turn(s->loop, 20);
}

void controller_stage_cycles(struct controller_stage *s, int more)
{
        uint64_t cycles = s->parts->pass.cycles + (uint64_t)more + 1;
        int64_t until = mono_read().ns + CONTROLLER_STAGE_MS * INT64_C(1000000);
        while (s->parts->pass.cycles < cycles && mono_read().ns < until)
                controller_stage_turn(s);
        assert_true(s->parts->pass.cycles >= cycles);
}

void controller_stage_end(struct controller_stage *s)
{
        controller_stop(s->controller);
        loop_run(s->loop);
        controller_free(s->controller);
        loop_free(s->loop);
        access_free(s->access);
        fake_free(s->fake);
}
