/*
 * base/yaml: any bytes give a value or an error that says where; a value written as JSON, which is YAML too, reads back
 * the same where libyaml takes it (it knows no surrogate escapes and bounds keys to 1 KiB).
 */
#include <string.h>

#include "base/yaml.h"
#include "fuzz.h"

enum { READ_BACK_MAX = 1 << 20 };

static void reads_back(const json_t *value)
{
        char *text AUTO(mem_free) = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        MUST(text);
        struct err err = {0};
        if (strlen(text) > READ_BACK_MAX)
                return;
        json_t *again AUTO(json_decref) = yaml_read(text, strlen(text), &err);
        MUST(again ? json_equal(again, value) : err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        struct err err = {0}, first_err = {0};
        json_t *all AUTO(json_decref) = yaml_read_all(text, size, &err);
        json_t *first AUTO(json_decref) = yaml_read(text, size, &first_err);
        MUST(all ? json_is_array(all) : err.code < 0 && err.text[0]);
        MUST(first || (first_err.code < 0 && first_err.text[0]));
        if (!all)
                MUST(!first); /* what one reader refuses the other refuses as well */
        size_t i;
        json_t *value;
        json_array_foreach(all, i, value) reads_back(value);
        return 0;
}
