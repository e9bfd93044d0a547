#include "field_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/quantity.h"

enum { VALUE_SHOWN = 60 };

static const struct field *find_field(const struct field *table, const char *name)
{
        for (; table->name; table++)
                if (strcmp(table->name, name) == 0)
                        return table;
        return NULL;
}

static int schema_refuse_unknown(const struct field *table, const json_t *json, struct err *err)
{
        const char *key;
        json_t *value;
        char known[256] = "";
        json_object_foreach((json_t *)(uintptr_t)json, key, value)
        {
                if (find_field(table, key))
                        continue;
                for (size_t len = 0; table->name; table++, len = strlen(known))
                        snprintf(known + len, sizeof known - len, "%s%s", len ? ", " : "", table->name);
                return err_set(err, ERR_INVALID, "unknown field '%.64s': the fields are %s", key, known);
        }
        return 0;
}

int field_object(const struct field *table, const json_t *json, void *at, struct err *err)
{
        if (!json || json_is_null(json))
                return 0;
        if (!json_is_object(json))
                return err_set(err, ERR_INVALID, "is not an object");
        int rc = schema_refuse_unknown(table, json, err);
        for (const struct field *f = table; rc == 0 && f->name; f++) {
                const json_t *v = json_object_get(json, f->name);
                if (!v || json_is_null(v))
                        continue;
                rc = f->read(f, v, (char *)at + f->at, err);
                if (rc < 0)
                        err_wrap(err, "%s", f->name);
        }
        return rc;
}

/* --- readers of one value --- */

int field_refuse(const struct field *f, const json_t *v, struct err *err)
{
        char *dump = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        int rc = err_set(err, ERR_INVALID, "%.*s is not %s", VALUE_SHOWN, dump ? dump : "it", f->cure);
        free(dump);
        return rc;
}

int field_bool(const struct field *f, const json_t *v, void *at, struct err *err)
{
        if (!json_is_boolean(v))
                return field_refuse(f, v, err);
        *(bool *)at = json_is_true(v);
        return 0;
}

int field_integer(const struct field *f, const json_t *v, void *at, struct err *err)
{
        json_int_t n = json_integer_value(v);
        if (!json_is_integer(v) || n < f->least || n > f->most)
                return field_refuse(f, v, err);
        *(int *)at = (int)n;
        return 0;
}

/* The profile gives per cent; halflife uses tenths of a per cent. */
int field_percentile(const struct field *f, const json_t *v, void *at, struct err *err)
{
        int rc = field_integer(f, v, at, err);
        if (rc == 0)
                *(int *)at *= 10;
        return rc;
}

/* The profile gives cores; halflife uses millicores. */
int field_cores(const struct field *f, const json_t *v, void *at, struct err *err)
{
        int cores = 0;
        int rc = field_integer(f, v, &cores, err);
        if (rc == 0)
                *(int64_t *)at = INT64_C(1000) * cores;
        return rc;
}

/* The text after a leading decimal, which has at most `whole` digits before the point and `fraction` digits after it.
 * NULL: `s` does not begin with such a decimal. */
static const char *skip_decimal(const char *s, size_t whole, size_t fraction)
{
        size_t n = strspn(s, "0123456789");
        if (n < 1 || n > whole)
                return NULL;
        s += n;
        if (*s != '.')
                return s;
        n = strspn(s + 1, "0123456789");
        return n < 1 || n > fraction ? NULL : s + 1 + n;
}

static bool is_decimal(const char *s, size_t whole, size_t fraction, const char *suffix)
{
        const char *rest = skip_decimal(s, whole, fraction);
        return rest && strcmp(rest, suffix) == 0;
}

int field_factor(const struct field *f, const json_t *v, void *at, struct err *err)
{
        const char *s = json_string_value(v);
        int64_t thousandths = 0;
        if (!s || !is_decimal(s, 3, 3, "") || quantity_parse(s, strlen(s), QUANTITY_MILLI, &thousandths, NULL) < 0 ||
            thousandths < f->least || thousandths > f->most)
                return field_refuse(f, v, err);
        *(int *)at = (int)thousandths;
        return 0;
}

int field_duration(const struct field *f, const json_t *v, void *at, struct err *err)
{
        const char *s = json_string_value(v);
        int64_t ms = 0;
        if (!s || s[strspn(s, "0123456789.hms")] || duration_parse(s, strlen(s), &ms) < 0 || ms < f->least ||
            ms > f->most)
                return field_refuse(f, v, err);
        *(int64_t *)at = ms;
        return 0;
}

int field_duration_or_zero(const struct field *f, const json_t *v, void *at, struct err *err)
{
        const char *s = json_string_value(v);
        int64_t ms = -1;
        if (s && duration_parse(s, strlen(s), &ms) == 0 && ms == 0) {
                *(int64_t *)at = 0;
                return 0;
        }
        return field_duration(f, v, at, err);
}

static bool is_cpu(const char *s)
{
        return is_decimal(s, 8, 0, "m") || is_decimal(s, 5, 3, "");
}

static bool is_memory(const char *s)
{
        static const char *const suffix[] = {"k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"};
        for (size_t i = 0; i < sizeof suffix / sizeof suffix[0]; i++)
                if (is_decimal(s, 6, 3, suffix[i]))
                        return true;
        return is_decimal(s, 15, 0, "");
}

static int read_amount(const struct field *f, const json_t *v, bool shape(const char *), int digits, void *at,
                       struct err *err)
{
        char number[32];
        const char *s = json_string_value(v);
        int64_t amount = 0;
        if (json_is_integer(v)) {
                snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
                s = number;
        }
        if (!s || !shape(s) || quantity_parse(s, strlen(s), digits, &amount, NULL) < 0 || amount < f->least ||
            amount > f->most)
                return field_refuse(f, v, err);
        *(int64_t *)at = amount;
        return 0;
}

int field_cpu(const struct field *f, const json_t *v, void *at, struct err *err)
{
        return read_amount(f, v, is_cpu, QUANTITY_MILLI, at, err);
}

int field_memory(const struct field *f, const json_t *v, void *at, struct err *err)
{
        return read_amount(f, v, is_memory, QUANTITY_WHOLE, at, err);
}

int field_choice(const struct field *f, const json_t *v)
{
        const char *s = json_string_value(v);
        for (int i = 0; s && f->word[i]; i++)
                if (strcmp(s, f->word[i]) == 0)
                        return i;
        return -1;
}

int field_text(const struct field *f, const json_t *v, void *at, struct err *err)
{
        const char *s = json_string_value(v);
        if (!s || !f->shape(s))
                return field_refuse(f, v, err);
        mem_free(*(char **)at);
        *(char **)at = mem_string(s);
        return 0;
}
