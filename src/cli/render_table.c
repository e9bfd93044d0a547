#include "render_table.h"

#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "table.h"

static const char *const titles[] = {"PLACE", "NAMESPACE", "OBJECT", "CONTAINER", "RESOURCE", "FROM", "TO", "REASON"};
enum { COLUMNS = sizeof titles / sizeof titles[0] };

static const char *table_field(const json_t *of, const char *key, const char *absent)
{
        const char *text = json_string_value(json_object_get(of, key));
        return text ? text : absent;
}

static void add_object(struct table *t, const char *path, const json_t *row)
{
        const char *kind = table_field(row, "kind", NULL), *name = table_field(row, "name", "");
        table_add(t, mem_printf("%s:%lld", path, (long long)json_integer_value(json_object_get(row, "line"))));
        table_add(t, mem_string(table_field(row, "namespace", "")));
        table_add(t, kind ? mem_printf("%s/%s", kind, name) : mem_string(""));
}

static void add_reason(struct table *t, const json_t *of)
{
        table_add(t, mem_printf("%s: %s", table_field(of, "reason", ""), table_field(of, "detail", "")));
}

static void add_left(struct table *t, const char *path, const json_t *row, const json_t *left)
{
        const char *request = table_field(left, "request", "none");
        add_object(t, path, row);
        table_add(t, mem_string(table_field(left, "container", "")));
        table_add(t, mem_string(table_field(left, "resource", "")));
        table_add(t, mem_string(request));
        table_add(t, mem_string(request));
        add_reason(t, left);
}

/* Add a row for each CPU or memory request of an object; with one reason for the whole object, a single row. */
static void table_add_row(struct table *t, const char *path, const json_t *row)
{
        size_t i;
        json_t *change, *left;
        const json_t *changes = json_object_get(row, "changes"), *lefts = json_object_get(row, "left");
        if (!changes && !lefts) {
                add_object(t, path, row);
                for (int k = 0; k < 4; k++)
                        table_add(t, mem_string(""));
                add_reason(t, row);
        }
        json_array_foreach((json_t *)(uintptr_t)changes, i, change)
        {
                add_object(t, path, row);
                table_add(t, mem_string(table_field(change, "container", "")));
                table_add(t, mem_string(table_field(change, "resource", "")));
                table_add(t, mem_string(table_field(change, "from", "none")));
                table_add(t, mem_string(table_field(change, "to", "none")));
                table_add(t, mem_string(table_field(change, "reason", "")));
        }
        json_array_foreach((json_t *)(uintptr_t)lefts, i, left) add_left(t, path, row, left);
}

void render_table_print(const struct inputs *in, json_t *const *report)
{
        struct table t;
        size_t rows = 0;
        table_init(&t, COLUMNS);
        for (int i = 0; i < COLUMNS; i++)
                table_add(&t, mem_string(titles[i]));
        for (size_t i = 0; i < in->count; i++) {
                size_t k;
                json_t *row;
                json_array_foreach(report[i], k, row) table_add_row(&t, in->item[i].path, row);
                rows += json_array_size(report[i]);
        }
        if (rows)
                table_print(stdout, &t);
        table_release(&t);
}
