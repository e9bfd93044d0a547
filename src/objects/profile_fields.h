/*
 * Units, texts and a reader that the tables of a profile's fields share.
 */
#ifndef HALFLIFE_OBJECTS_PROFILE_FIELDS_H
#define HALFLIFE_OBJECTS_PROFILE_FIELDS_H

#include "core/policy.h"
#include "field_schema.h"

#define MINUTES(n) ((n)*INT64_C(60000))
#define HOURS(n)   ((n)*INT64_C(3600000))

/* What a valid value is, for messages (struct field). */
#define BOOL_CURE     "true or false (without quotes)"
#define DURATION_CURE ", such as 24h or 1h30m; there are no days, a week is 168h"
#define FACTOR_CURE   " with at most three decimals, such as \"1.15\""

/* decode_profile_resources.c: {"cpu": …, "memory": …} to struct resource_policy [RESOURCES] */
field_reader profile_read_resources;

#endif
