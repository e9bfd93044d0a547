/*
 * The source from which usage is read in each cycle. The values have the order of the words of the setting
 * usage-source.
 */
#ifndef HALFLIFE_LEARN_USAGE_FROM_H
#define HALFLIFE_LEARN_USAGE_FROM_H

enum usage_from { USAGE_FROM_METRICS_SERVER, USAGE_FROM_PROMETHEUS };

#endif
