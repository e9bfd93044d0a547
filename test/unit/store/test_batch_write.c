/* One transaction on an open database: all of a batch is in the file, or nothing of it. */
#include "store/batch_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "../../support/store_image.h"
#include "../../support/tmp.h"
#include "base/mem.h"
#include "store/repair.h"

static int write_image(struct checkpoint *c, const struct image *i, struct err *err)
{
        struct store_batch *b = store_batch_new();
        image_put(i, b);
        int rc = checkpoint_write(c, b, err);
        store_batch_free(b);
        return rc;
}

/* SQLite rolls back by itself after an I/O error or on a full disk, but not after a refused row. The next batch on the
 * same connection must find no open transaction. */
static void test_a_refused_batch_is_rolled_back(void **state)
{
        (void)state;
        static const char refuse[] =
                "CREATE TEMP TRIGGER refuse BEFORE INSERT ON note BEGIN SELECT RAISE(ABORT, 'no'); END";
        char note[MEND_NOTE] = "";
        struct err err = {0};
        struct checkpoint c = {0};
        struct image refused = {0}, put = {0}, got = {0};
        AUTO(mem_free) char *path = tmp_path("refused.db");
        image_fill(&refused, 3, 1);
        image_fill(&put, 2, 2);
        index_init(&c.index);
        assert_int_equal(repair_open(&c.db, path, false, now_read().wall, note, &err), 0);
        assert_int_equal(db_exec(&c.db, refuse, &err), 0);
        assert_true(write_image(&c, &refused, &err) < 0);
        assert_true(sqlite3_get_autocommit(c.db.sql));
        assert_int_equal(db_number(&c.db, "SELECT count(*) FROM target"), 0);
        assert_int_equal(db_exec(&c.db, "DROP TRIGGER refuse", &err), 0);
        if (write_image(&c, &put, &err) < 0)
                fail_msg("the next batch: %s", err.text);
        assert_int_equal(checkpoint_finish(&c, &err), 0);
        checkpoint_release(&c);
        image_load(&got, path);
        image_assert_equal(&got, &put);
        image_release(&refused);
        image_release(&put);
        image_release(&got);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_refused_batch_is_rolled_back)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
