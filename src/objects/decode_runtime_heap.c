/*
 * Finds what bounds a container's heap, in the raw env, command and args that the container's view keeps.
 */
#include "decoder.h"

#include "core/runtime_heap.h"

/* Whether raw JSON has one of the marks that every heap option has (core/runtime_heap.h). Most containers have none,
 * and their JSON is not parsed. */
static bool mentions_heap(struct text raw)
{
        static const char *const marks[] = {"-X", "space", "GOMEMLIMIT"};
        for (size_t i = 0; raw.len && i < sizeof marks / sizeof marks[0]; i++)
                if (memmem(raw.p, raw.len, marks[i], strlen(marks[i])))
                        return true;
        return false;
}

static struct runtime_variable read_heap_variable(struct decoder *d)
{
        struct runtime_variable v = {.name = {"", 0}, .value = {"", 0}, .known = true};
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        v.name = json_text(&d->j, d->arena);
                else if (text_is(key, "value"))
                        v.value = json_text(&d->j, d->arena);
                else if (text_is(key, "valueFrom")) {
                        v.known &= json_peek(&d->j) == 'n';
                        json_skip(&d->j);
                } else
                        json_skip(&d->j);
        return v;
}

static size_t count_items(struct text list)
{
        struct json j;
        size_t count = 0;
        json_init(&j, list.p, list.len);
        if (list.len > 0 && json_peek(&j) == '[' && json_enter(&j, '['))
                for (; json_item(&j); count++)
                        json_skip(&j);
        return j.error ? 0 : count;
}

static bool enter_list(struct decoder *d, struct text list, struct arena *a)
{
        decoder_init(d, list, a);
        return count_items(list) && json_enter(&d->j, '[');
}

static size_t read_heap_words(struct text list, struct arena *a, struct text *ret)
{
        struct decoder d;
        size_t count = 0;
        if (enter_list(&d, list, a))
                while (json_item(&d.j))
                        ret[count++] = json_text(&d.j, a);
        return d.j.error ? 0 : count;
}

static size_t read_heap_variables(struct text list, struct arena *a, struct runtime_variable *ret)
{
        struct decoder d;
        size_t count = 0;
        if (enter_list(&d, list, a))
                while (json_item(&d.j))
                        ret[count++] = read_heap_variable(&d);
        return d.j.error ? 0 : count;
}

void decode_runtime_heap(const struct container_view *c, struct arena *a, struct runtime_heap *ret)
{
        *ret = (struct runtime_heap){0};
        if (!mentions_heap(c->env) && !mentions_heap(c->command) && !mentions_heap(c->args))
                return;
        struct text *word = arena_new(a, (count_items(c->command) + count_items(c->args) + 1) * sizeof *word);
        struct runtime_variable *variable = arena_new(a, (count_items(c->env) + 1) * sizeof *variable);
        struct runtime_command command = {.variable = variable, .word = word};
        command.variables = read_heap_variables(c->env, a, variable);
        command.commands = read_heap_words(c->command, a, word);
        command.words = command.commands + read_heap_words(c->args, a, word + command.commands);
        runtime_heap_read(&command, ret);
}
