#include "live_defaults.h"

#include <stdlib.h>

#include "cli/settings.h"

struct live_settings live_defaults(void)
{
        struct settings s = {0};
        struct err err = {0};
        if (settings_read(NULL, &s, &err) < 0)
                abort();
        struct live_settings live = s.controller.live;
        settings_release(&s);
        return live;
}
