/* Certificates and keys as files in memory: what is in them, what is refused, and that they go. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "net/tls_files.h"
#include "peer.h"

static int open_files(void)
{
        DIR *d = opendir("/proc/self/fd");
        int count = 0;
        assert_non_null(d);
        while (readdir(d))
                count++;
        closedir(d);
        return count;
}

static void holds(const struct tls_file *f, const char *pem)
{
        struct err err = {0};
        size_t len;
        if (!pem) {
                assert_string_equal(f->path, "");
                return;
        }
        for (int again = 0; again < 2; again++) { /* each reader begins at the start */
                AUTO(mem_free) char *text = file_read(f->path, 1 << 20, &len, &err);
                assert_non_null(text);
                assert_string_equal(text, pem);
        }
}

static void test_made_and_released(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10), *one = identity_new(ca, "someone", 10);
        const struct {
                struct http_peer peer;
                bool ca, cert;
        } row[] = {
                {{.base_url = "https://a"}, false, false},
                {{.ca_pem = ca->crt_pem}, true, false},
                {{.ca_pem = ca->crt_pem, .cert_pem = one->crt_pem, .key_pem = one->key_pem}, true, true},
                {{.cert_pem = one->crt_pem, .key_pem = one->key_pem}, false, true},
                {{.cert_pem = one->crt_pem}, false, false},
                {{.ca_pem = ca->crt_pem, .insecure = true}, false, false},
                {{.ca_pem = "none", .insecure = true}, false, false}, /* it verifies nothing */
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct tls_files f = {0};
                struct err err = {0};
                int before = open_files();
                assert_int_equal(tls_files_make(&f, &row[i].peer, &err), 0);
                int made = open_files();
                assert_int_equal(tls_files_make(&f, &row[i].peer, &err), 0); /* once */
                assert_int_equal(open_files(), made);
                assert_int_equal(made - before, row[i].ca + 2 * row[i].cert);
                holds(&f.ca, row[i].ca ? row[i].peer.ca_pem : NULL);
                holds(&f.cert, row[i].cert ? row[i].peer.cert_pem : NULL);
                holds(&f.key, row[i].cert ? row[i].peer.key_pem : NULL);
                tls_files_release(&f);
                assert_int_equal(open_files(), before);
        }
        identity_free(one);
        identity_free(ca);
}

#define BLOCK(what) "-----BEGIN " what "-----\nbm9uZQ==\n-----END " what "-----\n"

static void test_refused(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10), *one = identity_new(ca, "someone", 10);
        struct identity *other = identity_new(ca, "another", 10);
        const struct {
                struct http_peer peer;
                const char *says;
        } row[] = {
                {{.ca_pem = ""}, "no readable PEM certificate"},
                {{.ca_pem = BLOCK("CERTIFICATE")}, "no readable PEM certificate"},
                {{.ca_pem = one->key_pem}, "no readable PEM certificate"},
                {{.cert_pem = one->crt_pem, .key_pem = other->key_pem}, "belong together"},
                {{.cert_pem = one->crt_pem, .key_pem = BLOCK("PRIVATE KEY")}, "belong together"},
                {{.cert_pem = one->key_pem, .key_pem = one->key_pem}, "belong together"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct tls_files f = {0};
                struct err err = {0};
                int before = open_files();
                if (tls_files_make(&f, &row[i].peer, &err) != ERR_INVALID || !strstr(err.text, row[i].says))
                        fail_msg("row %zu: %d %s", i, err.code, err.text);
                assert_int_equal(open_files(), before);
        }
        identity_free(other);
        identity_free(one);
        identity_free(ca);
}

enum { LIMIT = 256 };

/* Open files until no descriptor is free. Returns how many. */
static int fill(int fd[static LIMIT])
{
        int count = 0;
        while (count < LIMIT && (fd[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
                count++;
        return count;
}

/* Without a descriptor nothing is made, and later all is. */
static void test_no_descriptor(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10);
        const struct http_peer peer = {.ca_pem = ca->crt_pem, .cert_pem = ca->crt_pem, .key_pem = ca->key_pem};
        struct rlimit was;
        struct tls_files f = {0};
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){LIMIT, was.rlim_max}), 0);
        for (int room = 0; room <= 3; room++) { /* three are needed */
                struct err err = {0};
                int fd[LIMIT], free_again, count = fill(fd);
                for (int i = 0; i < room; i++)
                        close(fd[--count]);
                int rc = tls_files_make(&f, &peer, &err);
                assert_int_equal(f.made, room == 3);
                tls_files_release(&f);
                free_again = open("/dev/null", O_RDONLY | O_CLOEXEC);
                if (rc != (room == 3 ? 0 : ERR_RETRY) || (rc && !strstr(err.text, "Too many open files")) ||
                    (free_again >= 0) != (room > 0))
                        fail_msg("room for %d: %d %s", room, rc, err.text);
                if (free_again >= 0)
                        close(free_again);
                while (count > 0)
                        close(fd[--count]);
        }
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        identity_free(ca);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_made_and_released),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_no_descriptor),
        };
        return cmocka_run_group_tests_name("TLS files", tests, NULL, NULL);
}
