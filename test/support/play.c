#include "play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "base/mem.h"

void play_say_log(struct halflife *h)
{
        AUTO(mem_free) char *log = halflife_log(h);
        fprintf(stderr, "%s", log);
}

void play(struct fake *f, struct halflife *h, struct story *story, int64_t timeout_ms)
{
        bool good = stories_run(f, story, 1, timeout_ms);
        AUTO(mem_free) char *failure = mem_string(story->failure);
        story_release(story);
        if (good)
                return;
        play_say_log(h);
        fail_msg("%s: %s", story->name, failure);
}
