#include "objects/target_key.h"

#include "base/mem.h"

/* Copies by hand instead of printf, because halflife's start makes some hundred thousand keys. */
char *target_key_new(struct text ns, struct text group, struct text kind, struct text name)
{
        const struct text part[] = {ns, group, kind, name};
        char *key = mem_new(ns.len + group.len + kind.len + name.len + 4), *at = key;
        for (int i = 0; i < 4; i++) {
                if (part[i].len)
                        memcpy(at, part[i].p, part[i].len);
                at += part[i].len;
                *at++ = i < 3 ? '/' : '\0';
        }
        return key;
}
