#include "yaml_print.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/err.h"
#include "base/yaml.h"

/* Whether YAML 1.1, which other programs may read, takes the text for a boolean or null. Such a text is quoted. */
static bool is_word_of_others(const char *s)
{
        static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
                if (strcasecmp(s, words[i]) == 0)
                        return true;
        return false;
}

static bool yaml_is_plain(const char *s)
{
        if (!isalpha((unsigned char)*s) || is_word_of_others(s))
                return false;
        AUTO(json_decref) json_t *means = yaml_plain(s);
        return json_is_string(means) && strcmp(json_string_value(means), s) == 0;
}

static bool yaml_emit(yaml_emitter_t *e, yaml_event_t *event, int made)
{
        return made && yaml_emitter_emit(e, event);
}

static bool put_scalar(yaml_emitter_t *e, const char *text, yaml_scalar_style_t style)
{
        yaml_event_t event;
        return yaml_emit(e, &event,
                         yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                                      1, 1, style));
}

static bool yaml_put_string(yaml_emitter_t *e, const char *s)
{
        return put_scalar(e, s,
                          strchr(s, '\n')    ? YAML_LITERAL_SCALAR_STYLE
                          : yaml_is_plain(s) ? YAML_PLAIN_SCALAR_STYLE
                                             : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static bool yaml_put_node(yaml_emitter_t *e, const json_t *v);

static bool put_object(yaml_emitter_t *e, const json_t *v)
{
        yaml_event_t event;
        const char *key;
        json_t *member;
        yaml_mapping_style_t style = json_object_size(v) ? YAML_BLOCK_MAPPING_STYLE : YAML_FLOW_MAPPING_STYLE;
        bool ok = yaml_emit(e, &event, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style));
        json_object_foreach((json_t *)(uintptr_t)v, key, member) ok =
                ok && yaml_put_string(e, key) && yaml_put_node(e, member);
        return ok && yaml_emit(e, &event, yaml_mapping_end_event_initialize(&event));
}

static bool put_array(yaml_emitter_t *e, const json_t *v)
{
        yaml_event_t event;
        yaml_sequence_style_t style = json_array_size(v) ? YAML_BLOCK_SEQUENCE_STYLE : YAML_FLOW_SEQUENCE_STYLE;
        bool ok = yaml_emit(e, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style));
        for (size_t i = 0; ok && i < json_array_size(v); i++)
                ok = yaml_put_node(e, json_array_get(v, i));
        return ok && yaml_emit(e, &event, yaml_sequence_end_event_initialize(&event));
}

static bool yaml_put_node(yaml_emitter_t *e, const json_t *v)
{
        if (json_is_object(v))
                return put_object(e, v);
        if (json_is_array(v))
                return put_array(e, v);
        if (json_is_string(v))
                return yaml_put_string(e, json_string_value(v));
        char *plain = json_dumps(v, JSON_ENCODE_ANY);
        bool ok = plain && put_scalar(e, plain, YAML_PLAIN_SCALAR_STYLE);
        free(plain);
        return ok;
}

int yaml_print(FILE *to, const json_t *value)
{
        yaml_emitter_t e;
        yaml_event_t event;
        if (!yaml_emitter_initialize(&e))
                return ERR_IO;
        yaml_emitter_set_output_file(&e, to);
        yaml_emitter_set_unicode(&e, 1);
        yaml_emitter_set_width(&e, -1);
        bool ok = yaml_emit(&e, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
                  yaml_emit(&e, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
                  yaml_put_node(&e, value) && yaml_emit(&e, &event, yaml_document_end_event_initialize(&event, 1)) &&
                  yaml_emit(&e, &event, yaml_stream_end_event_initialize(&event));
        yaml_emitter_delete(&e);
        return ok ? 0 : ERR_IO;
}
