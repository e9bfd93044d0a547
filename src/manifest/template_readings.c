#include "template_readings.h"

#include "document_private.h"

/* The state of the search for variables and files that read requests: the view that gets the results, and the container
 * or volume that is being searched. */
struct template_reading {
        const struct doc *d;
        struct template_view *t;
        struct text reader, volume; /* the container with the variables, or the volume with the files */
};

/* The value of `key` in the node `at`; DOC_NONE: the key is absent, or `at` is no mapping. */
static int reading_find(const struct doc *d, uint32_t at, const char *key, uint32_t *ret, struct err *err)
{
        *ret = DOC_NONE;
        return doc_type(d, at) == DOC_MAPPING ? doc_find(d, at, text_of(key), ret, err) : 0;
}

static int reading_text(const struct doc *d, uint32_t at, const char *key, struct text *ret, struct err *err)
{
        uint32_t found;
        int rc = reading_find(d, at, key, &found, err);
        if (rc == 0)
                *ret = doc_text(d, found);
        return rc;
}

/* The items of the list `key` in the mapping `at`, an array that the caller frees; *ret is NULL where there is no such
 * list. Returns their number. */
static int reading_items(const struct doc *d, uint32_t at, const char *key, uint32_t **ret, struct err *err)
{
        uint32_t list;
        int rc = reading_find(d, at, key, &list, err);
        *ret = NULL;
        if (rc < 0 || doc_type(d, list) != DOC_SEQUENCE)
                return rc;
        *ret = mem_new_array(TEMPLATE_LIST_MAX, sizeof **ret);
        return doc_items(d, list, TEMPLATE_LIST_MAX, *ret, err);
}

typedef int reading_item(struct template_reading *to, uint32_t item, struct err *err);

/* Call `each` for every item of the list `key` in the mapping `at`. */
static int reading_each(struct template_reading *to, uint32_t at, const char *key, reading_item *each, struct err *err)
{
        uint32_t *item AUTO(mem_free) = NULL;
        int n = reading_items(to->d, at, key, &item, err), rc = n < 0 ? n : 0;
        for (int i = 0; i < n && rc == 0; i++)
                rc = each(to, item[i], err);
        return rc;
}

static int reading_note(struct template_reading *to, uint32_t ref, struct text name, struct err *err)
{
        struct text container, resource, divisor;
        int rc = reading_text(to->d, ref, "containerName", &container, err);
        if (rc == 0)
                rc = reading_text(to->d, ref, "resource", &resource, err);
        if (rc == 0)
                rc = reading_text(to->d, ref, "divisor", &divisor, err);
        enum resource r = rc == 0 ? request_reading_resource(resource) : RESOURCES;
        if (r == RESOURCES)
                return rc;
        const struct request_reading found = {
                .divisor = request_reading_divisor(r, divisor),
                .container = to->reader,
                .name = name,
                .volume = to->volume,
        };
        for (int i = 0; i < to->t->containers; i++)
                if (text_equal(to->t->container[i].name, container.len ? container : to->reader))
                        request_reading_add(&to->t->container[i].read[r], &found);
        return 0;
}

static int reading_of_variable(struct template_reading *to, uint32_t item, struct err *err)
{
        uint32_t from, ref = DOC_NONE;
        struct text name = {"", 0};
        int rc = reading_find(to->d, item, "valueFrom", &from, err);
        if (rc == 0)
                rc = reading_find(to->d, from, "resourceFieldRef", &ref, err);
        if (rc == 0 && ref != DOC_NONE)
                rc = reading_text(to->d, item, "name", &name, err);
        return rc < 0 || ref == DOC_NONE ? rc : reading_note(to, ref, name, err);
}

static int reading_of_file(struct template_reading *to, uint32_t item, struct err *err)
{
        uint32_t ref;
        struct text path = {"", 0};
        int rc = reading_find(to->d, item, "resourceFieldRef", &ref, err);
        if (rc == 0 && ref != DOC_NONE)
                rc = reading_text(to->d, item, "path", &path, err);
        return rc < 0 || ref == DOC_NONE ? rc : reading_note(to, ref, path, err);
}

/* `at` is a volume, or a source of a projected volume. */
static int reading_of_downward(struct template_reading *to, uint32_t at, struct err *err)
{
        uint32_t files;
        int rc = reading_find(to->d, at, "downwardAPI", &files, err);
        return rc < 0 ? rc : reading_each(to, files, "items", reading_of_file, err);
}

static int reading_of_volume(struct template_reading *to, uint32_t item, struct err *err)
{
        uint32_t projected = DOC_NONE;
        int rc = reading_text(to->d, item, "name", &to->volume, err);
        if (rc == 0)
                rc = reading_of_downward(to, item, err);
        if (rc == 0)
                rc = reading_find(to->d, item, "projected", &projected, err);
        return rc < 0 ? rc : reading_each(to, projected, "sources", reading_of_downward, err);
}

/* --- heaps --- */

static int heap_variable(const struct doc *d, uint32_t item, struct runtime_variable *ret, struct err *err)
{
        uint32_t from = DOC_NONE;
        int rc = reading_text(d, item, "name", &ret->name, err);
        if (rc == 0)
                rc = reading_text(d, item, "value", &ret->value, err);
        if (rc == 0)
                rc = reading_find(d, item, "valueFrom", &from, err);
        ret->known = from == DOC_NONE;
        return rc;
}

/* What bounds the heap of the container whose node is `item`. */
static int heap_of(const struct doc *d, uint32_t item, struct runtime_heap *ret, struct err *err)
{
        uint32_t *env AUTO(mem_free) = NULL, *command AUTO(mem_free) = NULL, *args AUTO(mem_free) = NULL;
        int variables = reading_items(d, item, "env", &env, err), commands = 0, words = 0, rc = 0;
        if (variables >= 0)
                commands = reading_items(d, item, "command", &command, err);
        if (variables >= 0 && commands >= 0)
                words = reading_items(d, item, "args", &args, err);
        if (variables < 0 || commands < 0 || words < 0)
                return variables < 0 ? variables : commands < 0 ? commands : words;
        struct runtime_variable *variable AUTO(mem_free) = mem_new_array((size_t)variables + 1, sizeof *variable);
        struct text *word AUTO(mem_free) = mem_new_array((size_t)(commands + words + 1), sizeof *word);
        for (int i = 0; i < variables && rc == 0; i++)
                rc = heap_variable(d, env[i], &variable[i], err);
        for (int i = 0; i < commands + words; i++)
                word[i] = doc_text(d, i < commands ? command[i] : args[i - commands]);
        const struct runtime_command all = {
                .variable = variable,
                .variables = (size_t)variables,
                .word = word,
                .words = (size_t)(commands + words),
                .commands = (size_t)commands,
        };
        if (rc == 0)
                runtime_heap_read(&all, ret);
        return rc;
}

static int reading_of_container(struct template_reading *to, uint32_t item, struct err *err)
{
        int rc = reading_text(to->d, item, "name", &to->reader, err);
        for (int i = 0; i < to->t->containers && rc == 0; i++)
                if (text_equal(to->t->container[i].name, to->reader))
                        rc = heap_of(to->d, item, &to->t->container[i].heap, err);
        return rc < 0 ? rc : reading_each(to, item, "env", reading_of_variable, err);
}

int template_readings(const struct doc *d, uint32_t spec, struct template_view *t, struct err *err)
{
        struct template_reading to = {.d = d, .t = t};
        int rc = reading_each(&to, spec, "containers", reading_of_container, err);
        if (rc == 0)
                rc = reading_each(&to, spec, "initContainers", reading_of_container, err);
        to.reader = (struct text){"", 0};
        return rc < 0 ? rc : reading_each(&to, spec, "volumes", reading_of_volume, err);
}
