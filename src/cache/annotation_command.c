/* What annotations on Recommendations ask for, as it was read. */
#include <string.h>

#include "cache/cache.h"

static const char *const asks_by[ANNOTATION_COMMANDS] = {
        [COMMAND_ADOPT] = ANNOTATION_ADOPT, [COMMAND_IMPORT] = ANNOTATION_IMPORT};

const char *annotation_command_key(enum annotation_command_name name)
{
        return asks_by[name];
}

void annotation_command_free(struct annotation_command *w)
{
        if (!w)
                return;
        mem_free(w->asks);
        mem_free(w->answer);
        mem_free(w);
}

void annotation_command_set(struct annotation_command **w, const char *asks)
{
        if (asks && *w && strcmp(asks, (*w)->asks) == 0)
                return;
        annotation_command_free(*w);
        *w = asks ? MEM_NEW(struct annotation_command) : NULL;
        if (asks)
                (*w)->asks = mem_string(asks);
}
