#include <string.h>

#include "cli/cmd.h"

static const char *name = "halflife";
static bool completes;

const char *program_name(void)
{
        return name;
}

bool program_completes(void)
{
        return completes;
}

void program_called(const char *argv0)
{
        const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
        const char *own = slash ? slash + 1 : argv0 ? argv0 : "";
        name = strncmp(own, "kubectl-", 8) == 0 ? "kubectl halflife" : "halflife";
        completes = strncmp(own, "kubectl_complete-", 17) == 0;
}
