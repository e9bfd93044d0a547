#include "core/rollout.h"

bool rollout_is_done(const struct rollout *r)
{
        if (r->phased)
                return r->observed >= r->generation && r->healthy;
        bool tells = r->observed > 0 || r->pods > 0;
        if (!tells && !r->told)
                return true;
        return r->observed >= r->generation && r->updated == r->pods && r->available == r->pods && r->pods == r->wanted;
}
