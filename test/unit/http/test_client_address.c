#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "http/client_address.h"

static struct client_address *come(struct map *m, const char *ip, in_port_t port)
{
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port};
        assert_int_equal(inet_pton(AF_INET, ip, &a.sin_addr), 1);
        return client_address_come(m, (const struct sockaddr *)(const void *)&a);
}

/* Connections of one address count together, whatever their ports, until the last is gone. */
static void test_counts(void **state)
{
        (void)state;
        struct map m = {0};
        struct client_address *one = come(&m, "10.0.0.1", 1), *other = come(&m, "10.0.0.2", 1);
        assert_ptr_equal(come(&m, "10.0.0.1", 2), one);
        assert_string_equal(one->text, "10.0.0.1");
        assert_int_equal(one->connections, 2);
        assert_int_equal(one->open, 2);
        assert_int_equal(other->connections, 1);
        one->open--;
        client_address_leave(&m, one);
        assert_int_equal(one->connections, 1);
        assert_int_equal(one->open, 1);
        client_address_leave(&m, one);
        client_address_leave(&m, other);
        assert_int_equal(m.count, 0);
        map_release(&m);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_counts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
