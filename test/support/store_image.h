/* All that a database says, as a value: filled with something, saved, loaded, compared bit by bit. */
#ifndef HALFLIFE_TEST_SUPPORT_STORE_IMAGE_H
#define HALFLIFE_TEST_SUPPORT_STORE_IMAGE_H

#include "store/store.h"

enum { IMAGE_CONTAINERS = 2, IMAGE_NAME = 256 };

struct image_key {
        char part[5][IMAGE_NAME];
        size_t len[5];
};
struct image_usage {
        struct image_key key;
        struct usage usage; /* its weights are the image's */
        struct store_watermark *watermark;
        size_t watermarks;
};
struct image_target {
        struct image_key key;
        char *record;
        int64_t gone_ms;
};
struct image_kill {
        struct image_key key;
        struct store_kill kill;
};
struct image_page { /* of the ledger */
        struct ledger_page_key key;
        char *packed;
        size_t len;
};
struct image_change {
        int64_t id, at_ms;
        char *record;
};
enum { IMAGE_PAGES = 16, IMAGE_CHANGES = 8 };
struct image {
        struct image_change change[IMAGE_CHANGES];
        size_t changes;
        struct image_page page[IMAGE_PAGES];
        size_t pages;
        struct image_usage *usage;
        struct image_target *target;
        struct image_kill *kill;
        struct image_key **loaded; /* names of the targets loaded */
        size_t usages, targets, kills, loads;
        char *note;        /* the one called "turn" */
        size_t refused;    /* rows */
        char refusal[512]; /* the last one's reason */
};
void image_release(struct image *i);

/* IMAGE_CONTAINERS histories a target; all values depend on turn. */
void image_fill(struct image *i, int targets, int turn);
void image_add_usage(struct image *i, const struct store_key *key, int turn);
struct store_key image_key(const struct image_key *k);
const struct image_usage *image_find(const struct image *i, const struct image_key *key);
void image_put(const struct image *i, struct store_batch *b);

bool image_usage_equal(const struct image_usage *a, const struct image_usage *b);
/* What differs, in words (until the next call); NULL: nothing. */
const char *image_difference(const struct image *a, const struct image *b);
#define image_assert_equal(a, b)                                                                                       \
        do {                                                                                                           \
                const char *what_ = image_difference(a, b);                                                            \
                if (what_)                                                                                             \
                        fail_msg("%s", what_);                                                                         \
        } while (0)

/* A store whose results are kept here; image_close ends the program unless all is on disk. */
extern struct store_result image_told;
extern int64_t image_most_rows; /* in any result, since image_open */
struct store *image_open(const char *path);
void image_close(struct store *s);
void image_wait(int results); /* since image_open */
int image_results(void);
void image_note_result(void *arg, const struct store_result *r); /* what image_open gives as told */
extern char image_note[512];                                     /* of the last open */

/* Open, load, write, close. */
void image_save(const struct image *i, const char *path);
void image_load(struct image *i, const char *path);
void image_load_from(struct image *i, struct store *s);
int image_try_load(struct image *i, struct store *s, struct err *err);

void image_remove(const char *path); /* and all whose names begin with it */
char *image_read_file(const char *path);

#endif
