#include "store_image.h"

#include <assert.h>
#include <glob.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_read.h"
#include "base/mem.h"

static _Noreturn void give_up(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void give_up(const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        vfprintf(stderr, fmt, args);
        va_end(args);
        fputc('\n', stderr);
        abort();
}

/* --- keys --- */

static struct image_key key_copy(const struct store_key *k)
{
        const struct text part[5] = {k->ns, k->group, k->kind, k->name, k->container};
        struct image_key copy = {0};
        for (int i = 0; i < 5; i++) {
                assert(part[i].len <= IMAGE_NAME);
                if (part[i].len)
                        memcpy(copy.part[i], part[i].p, copy.len[i] = part[i].len);
        }
        return copy;
}

struct store_key image_key(const struct image_key *k)
{
        return (struct store_key){{k->part[0], k->len[0]},
                                  {k->part[1], k->len[1]},
                                  {k->part[2], k->len[2]},
                                  {k->part[3], k->len[3]},
                                  {k->part[4], k->len[4]}};
}

static int key_compare(const void *a, const void *b)
{
        return memcmp(a, b, sizeof(struct image_key));
}

/* --- filling --- */

void image_release(struct image *i)
{
        for (size_t n = 0; n < i->usages; n++) {
                mem_free(i->usage[n].usage.of[CPU].w);
                mem_free(i->usage[n].usage.of[MEMORY].w);
                mem_free(i->usage[n].watermark);
        }
        for (size_t n = 0; n < i->targets; n++)
                mem_free(i->target[n].record);
        for (size_t n = 0; n < i->loads; n++)
                mem_free(i->loaded[n]);
        for (size_t n = 0; n < i->pages; n++)
                mem_free(i->page[n].packed);
        for (size_t n = 0; n < i->changes; n++)
                mem_free(i->change[n].record);
        mem_free(i->loaded);
        mem_free(i->usage);
        mem_free(i->target);
        mem_free(i->kill);
        mem_free(i->note);
        *i = (struct image){0};
}

static void own_weights(struct usage *u)
{
        for (int r = 0; r < RESOURCES; r++) {
                double *w = mem_new_array(HISTOGRAM_SUM_BUCKETS, sizeof *w);
                histogram_lend(&u->of[r], w, HISTOGRAM_SUM_BUCKETS);
        }
}

static void learn(struct usage *u, int turn)
{
        static const struct resource_policy policy[RESOURCES] = {
                {.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS, .window_ms = HOUR_MS, .oom_bump = 1200}};
        struct sample_watermark watermark = {0};
        enum sample_verdict verdict;
        struct usage_room room;
        usage_init(u, policy);
        own_weights(u);
        for (int n = 0; n < 5 + turn % 7; n++) {
                struct wall at = {DAY_MS * INT64_C(20000) + (int64_t)(n + turn) * 61234};
                struct sample s = {.at = at, .has = {true, true}, .cpu_weight = 0.1 * (turn % 5 + 1)};
                s.value[CPU] = 0.013 * (n + 1) * (turn % 11 + 1) / 3;
                s.value[MEMORY] = 1.7e7 * (n + 1) + 12345.0 * turn;
                usage_running(u, at);
                int rc = usage_add(u, &watermark, &s, at, &verdict, &room);
                assert(rc == 0);
        }
}

static void *more(void *list, size_t count, size_t size)
{
        return count & (count - 1) ? list : mem_resize(list, count ? 2 * count : 1, size);
}

static struct image_usage *usage_slot(struct image *i, const struct store_key *key)
{
        i->usage = more(i->usage, i->usages, sizeof *i->usage);
        struct image_usage *u = &i->usage[i->usages++];
        *u = (struct image_usage){.key = key_copy(key)};
        return u;
}

void image_add_usage(struct image *i, const struct store_key *key, int turn)
{
        struct image_usage *u = usage_slot(i, key);
        learn(&u->usage, turn);
        u->watermarks = (size_t)turn % 4;
        u->watermark = mem_new_array(u->watermarks + 1, sizeof *u->watermark);
        for (size_t d = 0; d < u->watermarks; d++)
                u->watermark[d] = (struct store_watermark){{(uint8_t)d, (uint8_t)turn, 7}, turn * 1000 + (int64_t)d};
}

static void add_target(struct image *i, const struct store_key *key, struct text record, int64_t gone_ms)
{
        i->target = more(i->target, i->targets, sizeof *i->target);
        i->target[i->targets++] = (struct image_target){key_copy(key), mem_string_n(record.p, record.len), gone_ms};
}

static void add_kill(struct image *i, const struct store_key *key, const struct store_kill *kill)
{
        i->kill = more(i->kill, i->kills, sizeof *i->kill);
        i->kill[i->kills++] = (struct image_kill){key_copy(key), *kill};
}

static void add_page(struct image *i, const struct ledger_page_key *key, struct text packed)
{
        assert(i->pages < IMAGE_PAGES);
        i->page[i->pages++] = (struct image_page){*key, mem_string_n(packed.p, packed.len), packed.len};
}

static void add_change(void *image, int64_t id, struct wall at, struct text record)
{
        struct image *i = image;
        assert(i->changes < IMAGE_CHANGES);
        i->change[i->changes++] = (struct image_change){id, at.ms, mem_string_n(record.p, record.len)};
}

static void fill_changes(struct image *i, int turn)
{
        char record[48];
        for (int id = 1; id <= IMAGE_CHANGES; id++) {
                snprintf(record, sizeof record, "{\"turn\":%d,\"change\":%d}", turn, id);
                add_change(i, id, (struct wall){1000 * turn + id}, text_of(record));
        }
}

/* Two pages of each span and of the axes that are always booked; the values are those of the turn. */
static void fill_pages(struct image *i, int turn)
{
        static uint8_t packed[LEDGER_PAGE_BYTES];
        for (enum ledger_axis a = 0; a <= LEDGER_WORKLOAD; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++)
                        for (int64_t n = 0; n < 2 && ledger_keeps(a, s); n++) {
                                struct ledger_sum sum = {.pod_ms = (uint64_t)turn << 20, .events = {(uint64_t)n}};
                                sum.of[LEDGER_USED][CPU] = (unsigned __int128)turn << 90;
                                size_t len = ledger_page_begin(packed);
                                for (int account = 0; account < 20; account++)
                                        len = ledger_page_add(packed, len, TEXT("team-1/apps/Deployment/web"), &sum);
                                add_page(i, &(struct ledger_page_key){a, s, 20000 * INT64_C(86400000), n},
                                         (struct text){(const char *)packed, len});
                        }
}

void image_fill(struct image *i, int targets, int turn)
{
        static const char *const container[IMAGE_CONTAINERS] = {"app", "proxy"};
        char ns[32], name[48], record[64];
        for (int t = 0; t < targets; t++) {
                snprintf(ns, sizeof ns, "team-%d", t % 7);
                snprintf(name, sizeof name, "workload-%d", t);
                snprintf(record, sizeof record, "{\"turn\":%d,\"target\":%d}", turn, t);
                struct store_key key = {text_of(ns), TEXT("apps"), TEXT("Deployment"), text_of(name), TEXT("")};
                add_target(i, &key, text_of(record), t % 3 ? 0 : turn * 100 + t);
                for (int c = 0; c < IMAGE_CONTAINERS; c++) {
                        key.container = text_of(container[c]);
                        image_add_usage(i, &key, turn + t + c);
                }
                struct store_kill kill = {.uid = {(uint8_t)t}, .restarts = t, .at = {t * 1000}, .bytes = 1e8 + t};
                add_kill(i, &key, &kill);
        }
        fill_pages(i, turn);
        fill_changes(i, turn);
        i->note = mem_printf("turn %d", turn);
}

void image_put(const struct image *i, struct store_batch *b)
{
        for (size_t n = 0; n < i->targets; n++) {
                struct store_key key = image_key(&i->target[n].key);
                store_batch_target(b, &key, text_of(i->target[n].record), (struct wall){i->target[n].gone_ms});
        }
        for (size_t n = 0; n < i->usages; n++) {
                struct store_key key = image_key(&i->usage[n].key);
                store_batch_usage(b, &key, &i->usage[n].usage, i->usage[n].watermark, i->usage[n].watermarks);
        }
        for (size_t n = 0; n < i->kills; n++) {
                struct store_key key = image_key(&i->kill[n].key);
                store_batch_kill(b, &key, &i->kill[n].kill);
        }
        for (size_t n = 0; n < i->pages; n++)
                store_batch_ledger(b, &i->page[n].key, (struct text){i->page[n].packed, i->page[n].len});
        for (size_t n = 0; n < i->changes; n++)
                store_batch_change(b, i->change[n].id, (struct wall){i->change[n].at_ms}, text_of(i->change[n].record));
        if (i->note)
                store_batch_note(b, "turn", text_of(i->note));
}

/* --- comparing --- */

const struct image_usage *image_find(const struct image *i, const struct image_key *key)
{
        for (size_t n = 0; n < i->usages; n++)
                if (key_compare(&i->usage[n].key, key) == 0)
                        return &i->usage[n];
        return NULL;
}

bool image_usage_equal(const struct image_usage *a, const struct image_usage *b)
{
        uint8_t x[USAGE_PACK_MAX], y[USAGE_PACK_MAX];
        size_t len = usage_pack(&a->usage, x);
        return key_compare(&a->key, &b->key) == 0 && usage_pack(&b->usage, y) == len && memcmp(x, y, len) == 0 &&
               a->watermarks == b->watermarks &&
               (a->watermarks == 0 || memcmp(a->watermark, b->watermark, a->watermarks * sizeof *a->watermark) == 0);
}

static bool target_equal(const struct image_target *a, const struct image_target *b)
{
        return key_compare(&a->key, &b->key) == 0 && strcmp(a->record, b->record) == 0 && a->gone_ms == b->gone_ms;
}

static bool kill_equal(const struct image_kill *a, const struct image_kill *b)
{
        return key_compare(&a->key, &b->key) == 0 && memcmp(&a->kill, &b->kill, sizeof a->kill) == 0;
}

/* Both are in the order in which pages are filled and loaded. */
static bool pages_equal(const struct image *a, const struct image *b)
{
        for (size_t n = 0; n < a->pages && n < b->pages; n++) {
                const struct image_page *x = &a->page[n], *y = &b->page[n];
                if (memcmp(&x->key, &y->key, sizeof x->key) != 0 || x->len != y->len ||
                    memcmp(x->packed, y->packed, x->len) != 0)
                        return false;
        }
        return a->pages == b->pages;
}

static bool changes_equal(const struct image *a, const struct image *b)
{
        for (size_t n = 0; n < a->changes && n < b->changes; n++) {
                const struct image_change *x = &a->change[n], *y = &b->change[n];
                if (x->id != y->id || x->at_ms != y->at_ms || strcmp(x->record, y->record) != 0)
                        return false;
        }
        return a->changes == b->changes;
}

static const char *difference(const struct image *a, const struct image *b)
{
        static _Thread_local char text[600];
        snprintf(text, sizeof text, "targets %zu and %zu, histories %zu and %zu, kills %zu and %zu", a->targets,
                 b->targets, a->usages, b->usages, a->kills, b->kills);
        if (a->targets != b->targets || a->usages != b->usages || a->kills != b->kills)
                return text;
        snprintf(text, sizeof text, "note '%s' and '%s'", a->note ? a->note : "", b->note ? b->note : "");
        if (strcmp(a->note ? a->note : "", b->note ? b->note : "") != 0)
                return text;
        if (!pages_equal(a, b))
                return snprintf(text, sizeof text, "pages of the ledger: %zu and %zu", a->pages, b->pages), text;
        if (!changes_equal(a, b))
                return snprintf(text, sizeof text, "changes: %zu and %zu", a->changes, b->changes), text;
        for (size_t n = 0; n < a->targets; n++)
                if (!target_equal(&a->target[n], &b->target[n]))
                        return snprintf(text, sizeof text, "target %zu (%s): %s, gone %lld and %s, gone %lld", n,
                                        a->target[n].key.part[3], a->target[n].record, (long long)a->target[n].gone_ms,
                                        b->target[n].record, (long long)b->target[n].gone_ms),
                               text;
        for (size_t n = 0; n < a->usages; n++)
                if (!image_usage_equal(&a->usage[n], &b->usage[n]))
                        return snprintf(text, sizeof text, "history %zu (%s/%s)", n, a->usage[n].key.part[3],
                                        a->usage[n].key.part[4]),
                               text;
        for (size_t n = 0; n < a->kills; n++)
                if (!kill_equal(&a->kill[n], &b->kill[n]))
                        return snprintf(text, sizeof text, "kill %zu (%s)", n, a->kill[n].key.part[3]), text;
        return NULL;
}

static int kill_compare(const void *a, const void *b)
{
        const struct image_kill *x = a, *y = b;
        int way = key_compare(&x->key, &y->key);
        return way ? way : (x->kill.restarts > y->kill.restarts) - (x->kill.restarts < y->kill.restarts);
}

static void sort(struct image *i)
{
        if (i->usages)
                qsort(i->usage, i->usages, sizeof *i->usage, key_compare); /* a key is what each begins with */
        if (i->targets)
                qsort(i->target, i->targets, sizeof *i->target, key_compare);
        if (i->kills)
                qsort(i->kill, i->kills, sizeof *i->kill, kill_compare);
}

/* Sorted copies of the lists; what they point to is shared. */
static struct image sorted(const struct image *i)
{
        struct image copy = *i;
        copy.usage = mem_resize(NULL, i->usages + 1, sizeof *i->usage);
        copy.target = mem_resize(NULL, i->targets + 1, sizeof *i->target);
        copy.kill = mem_resize(NULL, i->kills + 1, sizeof *i->kill);
        for (size_t n = 0; n < i->usages; n++)
                copy.usage[n] = i->usage[n];
        for (size_t n = 0; n < i->targets; n++)
                copy.target[n] = i->target[n];
        for (size_t n = 0; n < i->kills; n++)
                copy.kill[n] = i->kill[n];
        sort(&copy);
        return copy;
}

const char *image_difference(const struct image *a, const struct image *b)
{
        struct image x = sorted(a), y = sorted(b);
        const char *what = difference(&x, &y);
        struct image *each[] = {&x, &y};
        for (int i = 0; i < 2; i++) {
                mem_free(each[i]->usage);
                mem_free(each[i]->target);
                mem_free(each[i]->kill);
        }
        return what;
}

/* --- a store --- */

struct store_result image_told;
int64_t image_most_rows;
char image_note[512];
static int results;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

void image_note_result(void *arg, const struct store_result *r)
{
        (void)arg;
        pthread_mutex_lock(&mutex);
        image_told = *r;
        image_most_rows = r->rows > image_most_rows ? r->rows : image_most_rows;
        results++;
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&mutex);
}

void image_wait(int want)
{
        pthread_mutex_lock(&mutex);
        while (results < want)
                pthread_cond_wait(&wake, &mutex);
        pthread_mutex_unlock(&mutex);
}

int image_results(void)
{
        pthread_mutex_lock(&mutex);
        int n = results;
        pthread_mutex_unlock(&mutex);
        return n;
}

struct store *image_open(const char *path)
{
        struct store_options o = {.path = path, .told = image_note_result, .now = {1700000000000}};
        struct store *s = NULL;
        struct err err;
        results = 0;
        image_most_rows = 0;
        if (store_open(&o, &s, image_note, &err) < 0)
                give_up("open: %s", err.text);
        return s;
}

void image_close(struct store *s)
{
        struct err err;
        if (store_close(s, &err) < 0)
                give_up("close: %s", err.text);
}

/* --- loading --- */

static void *load_target(void *arg, const struct store_key *key)
{
        struct image *i = arg;
        struct image_key *kept = MEM_NEW(struct image_key);
        *kept = key_copy(key);
        i->loaded = more(i->loaded, i->loads, sizeof *i->loaded);
        return i->loaded[i->loads++] = kept;
}

static struct store_key key_in(const struct image_key *target, struct text container)
{
        struct store_key key = image_key(target);
        key.container = container;
        return key;
}

static void load_record(void *arg, void *target, struct text record, struct wall gone)
{
        struct store_key key = image_key(target);
        add_target(arg, &key, record, gone.ms);
}

static void load_usage(void *arg, void *target, struct text container, const struct usage *u,
                       const struct store_watermark *watermark, size_t watermarks)
{
        struct store_key key = key_in(target, container);
        struct image_usage *slot = usage_slot(arg, &key);
        slot->usage = *u;
        own_weights(&slot->usage);
        slot->watermarks = watermarks;
        slot->watermark = mem_new_array(watermarks + 1, sizeof *watermark);
        if (watermarks)
                memcpy(slot->watermark, watermark, watermarks * sizeof *watermark);
}

static void load_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        struct store_key key = key_in(target, container);
        add_kill(arg, &key, kill);
}

static void load_note(void *arg, struct text name, struct text value)
{
        struct image *i = arg;
        if (!text_is(name, "turn"))
                return;
        mem_free(i->note);
        i->note = mem_string_n(value.p, value.len);
}

static void load_ledger(void *arg, const struct ledger_page_key *key, struct text packed)
{
        add_page(arg, key, packed);
}

static void load_refused(void *arg, void *target, struct text container, const struct err *why)
{
        (void)target, (void)container;
        struct image *i = arg;
        i->refused++;
        snprintf(i->refusal, sizeof i->refusal, "%s", why->text);
}

int image_try_load(struct image *i, struct store *s, struct err *err)
{
        struct store_reader r = {load_target, load_record, load_usage, load_kill, load_note, load_refused, i};
        int pages, changes;
        *i = (struct image){0};
        struct err why = {0};
        int rc = store_load(s, &r, err);
        if (rc == 0 && store_load_ledger(s, load_ledger, i, &pages, &why) < 0)
                pages++; /* it stops no start */
        if (rc == 0 && store_load_changes(s, add_change, i, &changes, &why) < 0)
                changes++;
        i->refused += rc == 0 ? (size_t)pages + (size_t)changes : 0;
        return rc;
}

void image_load_from(struct image *i, struct store *s)
{
        struct err err;
        if (image_try_load(i, s, &err) < 0)
                give_up("load: %s", err.text);
}

void image_load(struct image *i, const char *path)
{
        struct store *s = image_open(path);
        image_load_from(i, s);
        image_close(s);
}

void image_save(const struct image *i, const char *path)
{
        struct store *s = image_open(path);
        struct store_batch *b = store_batch_new();
        struct image old;
        image_load_from(&old, s);
        image_release(&old);
        image_put(i, b);
        store_submit(s, b);
        image_close(s);
}

/* --- files --- */

void image_remove(const char *path)
{
        char *pattern AUTO(mem_free) = mem_printf("%s*", path);
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0)
                for (size_t n = 0; n < found.gl_pathc; n++)
                        unlink(found.gl_pathv[n]);
        globfree(&found);
}

char *image_read_file(const char *path)
{
        struct err err;
        size_t len;
        char *text = file_read(path, 64u << 20, &len, &err);
        if (!text)
                give_up("%s", err.text);
        return text;
}
