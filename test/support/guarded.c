#include "guarded.h"

void guarded_set(struct guarded *s, enum apply_mode mode, int pods, int64_t created_ms)
{
        *s = (struct guarded){.profile = {.key = s->key, .spec = &s->spec},
                              .wl = {.digest = 1},
                              .t = {.ns = "web",
                                    .group = "apps",
                                    .version = "v1",
                                    .kind = "Deployment",
                                    .name = "shop",
                                    .workload = &s->wl,
                                    .profile = &s->profile,
                                    .pods = s->pod,
                                    .apply_state = {.changed_ms = changed_ms, .digest = 1}},
                              .plan = {.target = &s->t, .carries = true}};
        rig_begin(&s->c);
        rig_follow(&s->c);
        s->c.live.fuse_guards = 9;
        s->spec.apply.mode = mode;
        s->spec.apply.guard = (struct guard_policy){.enabled = true, .restarts = 2, .watch_ms = HOUR_MS};
        for (int i = 0; i < pods; i++)
                s->pod[i] = (struct pod){.uid = {(uint8_t)(i + 1)},
                                         .created_ms = created_ms,
                                         .running = true,
                                         .ours = true,
                                         .ready = true,
                                         .next_of_target = i + 1 < pods ? &s->pod[i + 1] : NULL};
}

void guarded_clear(struct guarded *s)
{
        target_drop_guard_state(&s->t);
        rig_end(&s->c);
}
