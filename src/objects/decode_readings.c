/*
 * Finds the containers of a pod whose requests a variable or a file reads: env[].valueFrom.resourceFieldRef of the
 * pod's containers, and the items of its volumes downwardAPI and projected.sources[].downwardAPI.
 */
#include "decoder.h"

/* Searches raw JSON for a resourceFieldRef, so that the many pods without one need no parsing. The API server escapes
 * no letter of a key. */
static bool readings_mention_field(struct text raw)
{
        static const char key[] = "\"resourceFieldRef\"";
        return raw.len && memmem(raw.p, raw.len, key, sizeof key - 1);
}

/* A resourceFieldRef; its texts are empty where a member is absent. */
struct field_ref {
        struct text container, resource, divisor;
};

/* Where the value of a resourceFieldRef goes (`reader`, `volume`), and the containers that the reference may name. */
struct readings {
        struct decoder d;
        struct container_view *container;
        int containers;
        struct text reader, volume; /* the container with the variables, or the volume with the files */
        const char *error;          /* the JSON error of an earlier part of the pod; NULL: none */
};

/* Lets the decoder begin another part of the pod, and keeps the error of the part before. */
static void readings_begin(struct readings *to, struct text part)
{
        if (to->d.j.error)
                to->error = to->d.j.error;
        decoder_init(&to->d, part, to->d.arena);
}

static void readings_note(struct readings *to, const struct field_ref *ref, struct text name)
{
        enum resource r = request_reading_resource(ref->resource);
        struct text of = ref->container.len ? ref->container : to->reader;
        if (r == RESOURCES)
                return;
        const struct request_reading found = {
                .divisor = request_reading_divisor(r, ref->divisor),
                .container = to->reader,
                .name = name,
                .volume = to->volume,
        };
        for (int i = 0; i < to->containers; i++)
                if (text_equal(to->container[i].name, of))
                        request_reading_add(&to->container[i].read[r], &found);
}

static struct field_ref read_field_ref(struct decoder *d)
{
        struct field_ref ref = {{"", 0}, {"", 0}, {"", 0}};
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "containerName"))
                        ref.container = json_text(&d->j, d->arena);
                else if (text_is(key, "resource"))
                        ref.resource = json_text(&d->j, d->arena);
                else if (text_is(key, "divisor"))
                        ref.divisor = json_scalar(&d->j, d->arena);
                else
                        json_skip(&d->j);
        return ref;
}

static struct field_ref read_value_from(struct decoder *d)
{
        struct field_ref ref = {{"", 0}, {"", 0}, {"", 0}};
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "resourceFieldRef"))
                        ref = read_field_ref(d);
                else
                        json_skip(&d->j);
        return ref;
}

/* A variable: {"name":…,"valueFrom":{"resourceFieldRef":…}}. A file: {"path":…,"resourceFieldRef":…}. */
static void readings_of_item(struct readings *to)
{
        struct field_ref ref = {{"", 0}, {"", 0}, {"", 0}};
        struct text key, name = {"", 0};
        struct decoder *d = &to->d;
        DECODER_EACH (d, key)
                if (text_is(key, "name") || text_is(key, "path"))
                        name = json_text(&d->j, d->arena);
                else if (text_is(key, "valueFrom"))
                        ref = read_value_from(d);
                else if (text_is(key, "resourceFieldRef"))
                        ref = read_field_ref(d);
                else
                        json_skip(&d->j);
        readings_note(to, &ref, name);
}

static void readings_of_items(struct readings *to)
{
        if (json_enter(&to->d.j, '['))
                while (json_item(&to->d.j))
                        readings_of_item(to);
}

static void readings_of_downward(struct readings *to)
{
        struct text key;
        DECODER_EACH (&to->d, key)
                if (text_is(key, "items"))
                        readings_of_items(to);
                else
                        json_skip(&to->d.j);
}

static void readings_of_source(struct readings *to)
{
        struct text key;
        DECODER_EACH (&to->d, key)
                if (text_is(key, "downwardAPI"))
                        readings_of_downward(to);
                else
                        json_skip(&to->d.j);
}

static void readings_of_projected(struct readings *to)
{
        struct text key;
        DECODER_EACH (&to->d, key)
                if (!text_is(key, "sources"))
                        json_skip(&to->d.j);
                else if (json_enter(&to->d.j, '['))
                        while (json_item(&to->d.j))
                                readings_of_source(to);
}

/* Reads the volume's name in a pass of its own, because the name may come after the files. */
static void readings_name_volume(struct readings *to)
{
        struct text key;
        DECODER_EACH (&to->d, key)
                if (text_is(key, "name"))
                        to->volume = json_text(&to->d.j, to->d.arena);
                else
                        json_skip(&to->d.j);
}

static void readings_of_volume(struct readings *to, struct text volume)
{
        struct text key;
        readings_begin(to, volume);
        readings_name_volume(to);
        readings_begin(to, volume);
        DECODER_EACH (&to->d, key)
                if (text_is(key, "downwardAPI"))
                        readings_of_downward(to);
                else if (text_is(key, "projected"))
                        readings_of_projected(to);
                else
                        json_skip(&to->d.j);
}

static void readings_of_volumes(struct readings *to, struct text volumes)
{
        struct decoder list;
        decoder_init(&list, volumes, to->d.arena);
        if (json_enter(&list.j, '['))
                while (json_item(&list.j)) {
                        struct text volume = json_raw(&list.j);
                        if (readings_mention_field(volume))
                                readings_of_volume(to, volume);
                }
        if (list.j.error)
                to->error = list.j.error;
}

void decoder_readings(struct decoder *d, struct text volumes, struct container_view *c, int count)
{
        struct readings to = {.container = c, .containers = count};
        decoder_init(&to.d, (struct text){"", 0}, d->arena);
        for (int i = 0; i < count; i++) {
                if (!readings_mention_field(c[i].env))
                        continue;
                readings_begin(&to, c[i].env);
                to.reader = c[i].name;
                readings_of_items(&to);
        }
        to.reader = (struct text){"", 0};
        if (readings_mention_field(volumes))
                readings_of_volumes(&to, volumes);
        readings_begin(&to, (struct text){"", 0});
        if (to.error)
                decoder_refuse(d, ERR_INVALID, "env or volumes: %s", to.error);
}
