/*
 * For tests and benches that build a controller's options themselves: the settings that may change while halflife runs,
 * as the table of settings has their defaults. A setting that is added then has its default there, too.
 */
#ifndef HALFLIFE_TEST_SUPPORT_LIVE_DEFAULTS_H
#define HALFLIFE_TEST_SUPPORT_LIVE_DEFAULTS_H

#include "cache/live_settings.h"

struct live_settings live_defaults(void);

#endif
