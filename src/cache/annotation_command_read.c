/* Annotation commands on Recommendations, as read from the API server, and their answers until these are written. */
#include <string.h>

#include "cache/cache.h"

/* The most bytes of all waiting commands. A person who may annotate Recommendations can write 256 KiB on each. */
enum { COMMANDS_BYTES = 32 << 20 };

static const char *const asks_by[ANNOTATION_COMMANDS] = {
        [COMMAND_ADOPT] = ANNOTATION_ADOPT, [COMMAND_IMPORT] = ANNOTATION_IMPORT};

const char *annotation_command_key(enum annotation_command_name name)
{
        return asks_by[name];
}

static void annotation_command_forget_text(struct cache *w, struct annotation_command *c)
{
        struct ns *ns = STEAL(&c->ns);
        mem_free(STEAL(&c->asks));
        if (!ns)
                return;
        ns->command_bytes -= c->bytes;
        w->ns_gone |= !ns->known; /* the namespace may have been kept for this command alone */
}

void annotation_command_free(struct cache *w, struct annotation_command *c)
{
        if (!c)
                return;
        annotation_command_forget_text(w, c);
        mem_free(c->answer);
        mem_free(c);
}

static void annotation_command_keep_text(struct annotation_command *c, struct ns *ns, const char *asks)
{
        c->asks = mem_string(asks);
        c->ns = ns;
        ns->command_bytes += c->bytes;
}

static size_t annotation_commands_bytes(const struct cache *w)
{
        const struct ns *ns;
        size_t bytes = 0;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                bytes += ns->command_bytes;
        return bytes;
}

/* A namespace's commands may take as many bytes as they leave free for others. A command without room is refused, its
 * text not kept. */
static struct annotation_command *annotation_command_new(struct cache *w, struct text ns_name, struct text asks)
{
        struct annotation_command *c = MEM_NEW(struct annotation_command);
        struct ns *ns = ns_get(w, ns_name);
        c->bytes = asks.len;
        c->hash = map_hash(asks);
        if (ns->command_bytes + annotation_commands_bytes(w) + 2 * c->bytes <= COMMANDS_BYTES)
                annotation_command_keep_text(c, ns, asks.p);
        else
                c->answer = mem_string("refused: too many commands wait at once: try again");
        return c;
}

void annotation_command_set(struct cache *w, struct text ns, struct annotation_command **c, const char *asks)
{
        struct text t = text_of(asks ? asks : "");
        if (asks && *c && (*c)->bytes == t.len && (*c)->hash == map_hash(t))
                return;
        annotation_command_free(w, *c);
        *c = asks ? annotation_command_new(w, ns, t) : NULL;
}

void annotation_command_answered(struct annotation_command *w, char *answer, uint64_t batch)
{
        w->answer = answer;
        w->batch = batch;
}

void annotation_command_failed(struct annotation_command *w, uint64_t pass)
{
        w->failed_in = pass;
}

void annotation_command_set_answering(struct annotation_command *w, bool answering)
{
        w->answering = answering;
}
