#include "net/proxy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"

enum { HOST_MOST = 255, PORT_MOST = 65535, V4_BITS = 96 }; /* V4_BITS: the prefix of IPv4 addresses within IPv6 */

/* --- the settings --- */

static struct proxy_variable proxy_first_set(const char *(*variable)(const char *), const char *const name[2])
{
        for (int i = 0; i < 2; i++) {
                const char *value = variable(name[i]);
                if (value && *value)
                        return (struct proxy_variable){name[i], value};
        }
        return (struct proxy_variable){name[0], NULL};
}

void proxy_settings_read(struct proxy_settings *ret, const char *(*variable)(const char *name))
{
        const char *method = variable("REQUEST_METHOD");
        *ret = (struct proxy_settings){
                .https = proxy_first_set(variable, (const char *const[]){"HTTPS_PROXY", "https_proxy"}),
                .http = proxy_first_set(variable, (const char *const[]){"HTTP_PROXY", "http_proxy"}),
                .except = proxy_first_set(variable, (const char *const[]){"NO_PROXY", "no_proxy"}),
                .cgi = method && *method,
        };
}

static struct proxy_settings proxy_of_process;

static const char *proxy_getenv(const char *name)
{
        return getenv(name);
}

static void proxy_read_once(void)
{
        proxy_settings_read(&proxy_of_process, proxy_getenv);
}

const struct proxy_settings *proxy_settings_of_process(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, proxy_read_once);
        return &proxy_of_process;
}

/* --- addresses --- */

static bool proxy_cut(struct text *t, const char *sign, struct text *ret_before)
{
        const char *at = memmem(t->p, t->len, sign, strlen(sign));
        if (!at)
                return false;
        *ret_before = (struct text){t->p, (size_t)(at - t->p)};
        size_t used = ret_before->len + strlen(sign);
        *t = (struct text){t->p + used, t->len - used};
        return true;
}

static const char *proxy_last(struct text t, char sign)
{
        return t.len ? memrchr(t.p, sign, t.len) : NULL;
}

/* Read a port of digits; an empty text is the default port `usual`. false: the text is not a port. */
static bool proxy_read_port(struct text text, int usual, int *ret)
{
        int port = 0;
        for (size_t i = 0; i < text.len; i++) {
                if (!isdigit((unsigned char)text.p[i]) || port > PORT_MOST)
                        return false;
                port = port * 10 + (text.p[i] - '0');
        }
        *ret = text.len ? port : usual;
        return *ret <= PORT_MOST;
}

/* Split "host", "host:port", "[v6]" or "[v6]:port". */
static bool proxy_split(struct text place, struct text *ret_host, struct text *ret_port)
{
        struct text rest = {0};
        if (place.len && place.p[0] == '[') {
                const char *close = memchr(place.p, ']', place.len);
                if (!close)
                        return false;
                *ret_host = (struct text){place.p + 1, (size_t)(close - place.p - 1)};
                rest = (struct text){close + 1, (size_t)(place.p + place.len - close - 1)};
        } else {
                const char *colon = place.len ? memchr(place.p, ':', place.len) : NULL;
                size_t len = colon ? (size_t)(colon - place.p) : place.len;
                *ret_host = (struct text){place.p, len};
                rest = (struct text){place.p + len, place.len - len};
        }
        if (rest.len && rest.p[0] != ':')
                return false;
        *ret_port = rest.len ? (struct text){rest.p + 1, rest.len - 1} : rest;
        return ret_host->len > 0 && ret_host->len <= HOST_MOST &&
               !memchr(ret_port->p ? ret_port->p : "", ':', ret_port->len);
}

static const struct {
        const char *given, *used;
        int port;
} proxy_schemes[] = {
        {"http", "http", 80}, {"https", "https", 443}, {"socks5", "socks5h", 1080}, {"socks5h", "socks5h", 1080}};

/* Whether libcurl can use the login: the percent-encoding must be correct and must not hide a control character such as
 * NUL. */
static bool proxy_login_is_sound(struct text login)
{
        for (size_t i = 0; i < login.len; i++) {
                char hex[3] = "", *end;
                if ((unsigned char)login.p[i] <= ' ' || login.p[i] == 0x7f)
                        return false;
                if (login.p[i] != '%')
                        continue;
                if (i + 2 >= login.len)
                        return false;
                memcpy(hex, login.p + i + 1, 2);
                if (strtol(hex, &end, 16) < ' ' || *end || !isxdigit((unsigned char)hex[0]))
                        return false;
        }
        return true;
}

static bool proxy_host_is_sound(struct text host)
{
        for (size_t i = 0; i < host.len; i++)
                if (!isalnum((unsigned char)host.p[i]) && !memchr("-._:%", host.p[i], 5))
                        return false;
        return true;
}

int proxy_url_parse(const char *s, struct proxy_url *ret, struct err *err)
{
        struct text rest = text_of(s), scheme = TEXT("http"), port;
        size_t row = 0, rows = sizeof proxy_schemes / sizeof proxy_schemes[0];
        (void)proxy_cut(&rest, "://", &scheme);
        while (row < rows && (strlen(proxy_schemes[row].given) != scheme.len ||
                              strncasecmp(proxy_schemes[row].given, scheme.p, scheme.len) != 0))
                row++;
        if (row == rows)
                return err_set(err, ERR_INVALID, "a proxy begins with http://, https://, socks5:// or socks5h://");
        rest.len = strcspn(rest.p, "/?#");
        const char *at = proxy_last(rest, '@');
        struct proxy_url u = {.scheme = proxy_schemes[row].used};
        if (at) {
                u.login = (struct text){rest.p, (size_t)(at - rest.p)};
                rest = (struct text){at + 1, rest.len - u.login.len - 1};
        }
        if (!proxy_split(rest, &u.host, &port) || !proxy_host_is_sound(u.host))
                return err_set(err, ERR_INVALID, "its host and port are not such as proxy.example.com:3128");
        if (!proxy_read_port(port, proxy_schemes[row].port, &u.port))
                return err_set(err, ERR_INVALID, "its port is not a number up to %d", PORT_MOST);
        if (!proxy_login_is_sound(u.login))
                return err_set(err, ERR_INVALID,
                               "its user or password holds a character that has to be written as %%XX");
        *ret = u;
        return 0;
}

static char *proxy_url_print(const struct proxy_url *u, const char *login)
{
        bool v6 = memchr(u->host.p, ':', u->host.len) != NULL;
        return mem_printf("%s://%s%s%s%.*s%s:%d", u->scheme, login, *login ? "@" : "", v6 ? "[" : "", TEXT_ARG(u->host),
                          v6 ? "]" : "", u->port);
}

char *proxy_url_text(const struct proxy_url *u)
{
        return proxy_url_print(u, "");
}

/* Percent-encode the login anew, because libcurl and Go differ in which characters need no encoding. */
char *proxy_url_full(const struct proxy_url *u)
{
        char *login = mem_new(u->login.len * 3 + 1), *out = login;
        bool password = false;
        for (size_t i = 0; i < u->login.len; i++) {
                unsigned char c = (unsigned char)u->login.p[i];
                bool first_colon = c == ':' && !password;
                password |= c == ':';
                if (isalnum(c) || memchr("-._~%", c, 5) || first_colon)
                        *out++ = (char)c;
                else
                        out += snprintf(out, 4, "%%%02X", c);
        }
        char *full = proxy_url_print(u, login);
        mem_wipe(login);
        return full;
}

/* --- where a request goes --- */

struct proxy_destination {
        struct text host;
        int port;
        bool is_ip;
        struct in6_addr ip; /* IPv4 as ::ffff:a.b.c.d */
};

/* Read the text as an IP address without a zone; IPv4 becomes ::ffff:a.b.c.d. false: the text is not such an
 * address. */
static bool proxy_read_ip(struct text t, struct in6_addr *ret)
{
        char s[INET6_ADDRSTRLEN];
        struct in_addr v4;
        if (t.len >= sizeof s)
                return false;
        memcpy(s, t.p ? t.p : "", t.len);
        s[t.len] = '\0';
        if (inet_pton(AF_INET6, s, ret) == 1)
                return true;
        if (inet_pton(AF_INET, s, &v4) != 1)
                return false;
        *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        memcpy(ret->s6_addr + 12, &v4, sizeof v4);
        return true;
}

/* Read host and port of a request's URL, without the zone of an IPv6 address. false: the URL is malformed, and libcurl
 * will refuse it. */
static bool proxy_read_destination(const char *url, struct proxy_destination *ret)
{
        const char *from = strstr(url, "://");
        if (!from)
                return false;
        struct text place = {from + 3, strcspn(from + 3, "/?#")}, port;
        const char *at = proxy_last(place, '@');
        if (at)
                place = (struct text){at + 1, (size_t)(place.p + place.len - at - 1)};
        struct proxy_destination d = {0};
        if (!proxy_split(place, &d.host, &port) || !proxy_read_port(port, url[4] == 's' ? 443 : 80, &d.port))
                return false;
        const char *zone = memchr(d.host.p, '%', d.host.len);
        d.is_ip = proxy_read_ip((struct text){d.host.p, zone ? (size_t)(zone - d.host.p) : d.host.len}, &d.ip);
        *ret = d;
        return true;
}

static bool proxy_is_v4(const struct in6_addr *ip)
{
        return IN6_IS_ADDR_V4MAPPED(ip);
}

static bool proxy_is_local(const struct proxy_destination *d)
{
        if (!d->is_ip)
                return d->host.len == strlen("localhost") && strncasecmp(d->host.p, "localhost", d->host.len) == 0;
        return IN6_IS_ADDR_LOOPBACK(&d->ip) || (proxy_is_v4(&d->ip) && d->ip.s6_addr[12] == 127);
}

/* --- NO_PROXY --- */

/* Read an entry such as "10.0.0.0/8". false: the entry is not a network. */
static bool proxy_read_network(struct text entry, struct in6_addr *ret_ip, int *ret_bits)
{
        struct text bits = entry, address;
        if (!proxy_cut(&bits, "/", &address) || bits.len == 0 || !proxy_read_ip(address, ret_ip) ||
            !proxy_read_port(bits, 0, ret_bits))
                return false;
        bool v6 = memchr(address.p, ':', address.len) != NULL;
        *ret_bits += v6 ? 0 : V4_BITS;
        return *ret_bits <= 128;
}

static bool proxy_network_has(const struct in6_addr *network, int bits, const struct in6_addr *ip)
{
        if (proxy_is_v4(ip) != (bits >= V4_BITS && proxy_is_v4(network)))
                return false;
        for (int i = 0; i < bits; i++)
                if ((network->s6_addr[i / 8] ^ ip->s6_addr[i / 8]) >> (7 - i % 8) & 1)
                        return false;
        return true;
}

/* Whether a name of NO_PROXY covers the host: "example.com" covers that name and all names below, ".example.com" and
 * "*.example.com" only names below. */
static bool proxy_name_has(struct text name, struct text host)
{
        if (name.len > 1 && name.p[0] == '*' && name.p[1] == '.')
                name = (struct text){name.p + 1, name.len - 1};
        if (name.len == 0 || host.len < name.len || strncasecmp(host.p + host.len - name.len, name.p, name.len) != 0)
                return false;
        return name.p[0] == '.' || host.len == name.len || host.p[host.len - name.len - 1] == '.';
}

/* Split the port off an entry of NO_PROXY, as Go does: if the entry has one colon, or brackets and a port. */
static struct text proxy_entry_host(struct text entry, struct text *ret_port)
{
        struct text host, port;
        bool one = memchr(entry.p, ':', entry.len) == proxy_last(entry, ':');
        *ret_port = (struct text){0};
        if ((entry.p[0] != '[' && !one) || entry.p[entry.len - 1] == ']' || !proxy_split(entry, &host, &port))
                return entry;
        *ret_port = port;
        return host;
}

static bool proxy_entry_has(struct text entry, const struct proxy_destination *d)
{
        struct in6_addr ip;
        int bits, wanted;
        struct text port;
        if (text_is(entry, "*"))
                return true;
        if (proxy_read_network(entry, &ip, &bits))
                return d->is_ip && proxy_network_has(&ip, bits, &d->ip);
        struct text host = proxy_entry_host(entry, &port);
        if (port.len && (!proxy_read_port(port, 0, &wanted) || wanted != d->port))
                return false;
        if (proxy_read_ip(host, &ip))
                return d->is_ip && memcmp(&ip, &d->ip, sizeof ip) == 0;
        return !d->is_ip && proxy_name_has(host, d->host);
}

static struct text proxy_trim(struct text t)
{
        while (t.len && isspace((unsigned char)t.p[0]))
                t = (struct text){t.p + 1, t.len - 1};
        while (t.len && isspace((unsigned char)t.p[t.len - 1]))
                t.len--;
        return t;
}

/* The first entry of the list NO_PROXY that covers the destination; len 0: no entry does. */
static struct text proxy_excepts(const char *list, const struct proxy_destination *d)
{
        for (const char *p = list; p && *p;) {
                size_t len = strcspn(p, ",");
                struct text entry = proxy_trim((struct text){p, len});
                if (entry.len && proxy_entry_has(entry, d))
                        return entry;
                p += len + (p[len] == ',');
        }
        return (struct text){0};
}

/* --- the choice --- */

static int proxy_use(struct proxy_choice *c, const char *name, const char *proxy, struct err *err)
{
        int rc = proxy_url_parse(proxy, &c->url, err);
        return rc < 0 ? err_wrap(err, "%s cannot be used", name) : 0;
}

int proxy_choose(const struct proxy_settings *s, const char *given, const char *url, struct proxy_choice *ret,
                 struct err *err)
{
        bool tls = strncmp(url, "https:", 6) == 0;
        const struct proxy_variable *set = tls ? &s->https : &s->http;
        struct proxy_choice c = {.reason = PROXY_GIVEN};
        struct proxy_destination d;
        int rc = 0;
        if (given) {
                rc = proxy_use(&c, "the proxy-url", given, err);
        } else if (!set->value || !proxy_read_destination(url, &d)) {
                c.reason = PROXY_NONE;
        } else if (!tls && s->cgi) {
                rc = err_set(err, ERR_INVALID,
                             "%s is not used where REQUEST_METHOD is set: a CGI client could have sent it", set->name);
        } else {
                c.variable = set->name;
                c.entry = proxy_excepts(s->except.value, &d);
                c.except = c.entry.len ? s->except.name : NULL;
                c.reason = proxy_is_local(&d) ? PROXY_NOT_LOOPBACK : c.except ? PROXY_EXCEPTED : PROXY_BY_VARIABLE;
                if (c.reason == PROXY_BY_VARIABLE)
                        rc = proxy_use(&c, set->name, set->value, err);
        }
        if (rc == 0)
                *ret = c;
        return rc;
}

char *proxy_choice_text(const struct proxy_choice *c)
{
        AUTO(mem_free) char *proxy = proxy_is_used(c) ? proxy_url_text(&c->url) : NULL;
        switch (c->reason) {
        case PROXY_GIVEN:
                return mem_printf("through proxy %s (proxy-url of the kubeconfig)", proxy);
        case PROXY_BY_VARIABLE:
                return mem_printf("through proxy %s (%s)", proxy, c->variable);
        case PROXY_NOT_LOOPBACK:
                return mem_printf("directly in spite of %s (its address is of this machine)", c->variable);
        case PROXY_EXCEPTED:
                return mem_printf("directly in spite of %s (%s has '%.*s')", c->variable, c->except,
                                  TEXT_ARG(c->entry));
        case PROXY_NONE:
                break;
        }
        return NULL;
}
