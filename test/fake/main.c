/* fake-apiserver: the test API server as a program, and a small client for it, so that a demo needs nothing else. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver.h"
#include "base/mem.h"
#include "client.h"

static const char usage[] =
        "usage: fake-apiserver --kubeconfig FILE [--listen 127.0.0.1:PORT] [--world empty|demo|size=N] [--day SECONDS] "
        "[--scrape SECONDS]\n"
        "                      [--seed N] [--tls] [--token TEXT] [--reader TOKEN=NAMESPACE]... [--load "
        "FILE|FOLDER]...\n"
        "A reader's token may get and list the recommendations of its namespace, or of all (TOKEN=*).\n"
        "It ends on SIGTERM; SIGUSR1 freezes usage as last scraped, SIGUSR2 lets it go on.\n"
        "       fake-apiserver apply --kubeconfig FILE FILE...     create or replace what the YAML files hold; -\n"
        "                                                     is standard input\n"
        "       fake-apiserver get --kubeconfig FILE PATH [FIELD]  print what is at a path of the API, or one field of "
        "it,\n"
        "                                                     as spec.template.spec.containers[0].name\n"
        "       fake-apiserver delete --kubeconfig FILE PATH       delete an object, or all of a collection\n"
        "       fake-apiserver patch --kubeconfig FILE PATH JSON   apply a merge patch\n";

struct settings {
        struct fake_options options;
        const char *kubeconfig, *cache;
        long day_s, scrape_s;             /* scrape_s 0: as metrics-server, every 15 s */
        const char *load[16], *reader[8]; /* reader: "TOKEN=NAMESPACE" */
        size_t loads, readers;
};

static bool listen_parse(const char *text, uint16_t *ret)
{
        const char *colon = strrchr(text, ':');
        char *end;
        long port = colon ? strtol(colon + 1, &end, 10) : -1;
        if (port < 0 || port > 65535 || *end || strncmp(text, "127.0.0.1:", 10) != 0)
                return false;
        *ret = (uint16_t)port;
        return true;
}

static bool settings_parse(int argc, char **argv, struct settings *s)
{
        static const struct option known[] = {
                {"kubeconfig", required_argument, NULL, 'k'},
                {"listen", required_argument, NULL, 'l'},
                {"world", required_argument, NULL, 'w'},
                {"seed", required_argument, NULL, 's'},
                {"day", required_argument, NULL, 'd'},
                {"scrape", required_argument, NULL, 'r'},
                {"load", required_argument, NULL, 'f'},
                {"tls", no_argument, NULL, 't'},
                {"token", required_argument, NULL, 'b'},
                {"reader", required_argument, NULL, 'p'},
                {0},
        };
        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                if (c == 'k')
                        s->kubeconfig = optarg;
                else if (c == 'w')
                        s->cache = optarg;
                else if (c == 's')
                        s->options.seed = strtoull(optarg, NULL, 10);
                else if (c == 'd')
                        s->day_s = strtol(optarg, NULL, 10);
                else if (c == 'r')
                        s->scrape_s = strtol(optarg, NULL, 10);
                else if (c == 'f' && s->loads < sizeof s->load / sizeof *s->load)
                        s->load[s->loads++] = optarg;
                else if (c == 't')
                        s->options.tls = true;
                else if (c == 'b')
                        s->options.token = optarg;
                else if (c == 'p' && strchr(optarg, '=') && s->readers < sizeof s->reader / sizeof *s->reader)
                        s->reader[s->readers++] = optarg;
                else if (c != 'l' || !listen_parse(optarg, &s->options.port))
                        return false;
        }
        return s->kubeconfig && optind == argc && s->day_s > 0 && s->scrape_s >= 0;
}

static bool world_make(struct fake *f, const char *cache, long day_s)
{
        if (strcmp(cache, "empty") == 0)
                return true;
        if (strcmp(cache, "demo") == 0)
                fake_world_demo(f, day_s * 1000);
        else if (strncmp(cache, "size=", 5) == 0 && strtoull(cache + 5, NULL, 10) > 0)
                fake_world_size(f, strtoull(cache + 5, NULL, 10));
        else
                return false;
        return true;
}

/* A pipeline's ServiceAccount, as far as others ask of it. */
static void reader_make(struct fake *f, const char *reader)
{
        const char *ns = strchr(reader, '=') + 1;
        bool all = strcmp(ns, "*") == 0;
        AUTO(mem_free) char *token = mem_string_n(reader, (size_t)(ns - 1 - reader));
        AUTO(mem_free) char *user = mem_printf("system:serviceaccount:%s:ci", all ? "default" : ns);
        ns = all ? NULL : ns;
        fake_person(f, token, user, NULL);
        fake_grant(f, &(struct fake_grant){user, "get", ns, NULL});
        fake_grant(f, &(struct fake_grant){user, "list", ns, NULL});
}

static int serve(int argc, char **argv)
{
        struct settings s = {.cache = "empty", .day_s = 40};
        sigset_t known;
        int signal = 0;
        if (!settings_parse(argc, argv, &s)) {
                fputs(usage, stderr);
                return 2;
        }
        sigemptyset(&known);
        sigaddset(&known, SIGTERM);
        sigaddset(&known, SIGINT);
        sigaddset(&known, SIGUSR1);
        sigaddset(&known, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &known, NULL);
        struct fake *f = fake_new(&s.options);
        if (!f)
                return 1;
        bool good = world_make(f, s.cache, s.day_s);
        if (s.scrape_s > 0)
                fake_scrape_every(f, s.scrape_s * 1000);
        for (size_t i = 0; i < s.readers; i++)
                reader_make(f, s.reader[i]);
        for (size_t i = 0; i < s.loads; i++)
                good = fake_load(f, s.load[i]) && good;
        if (good && fake_write_kubeconfig(f, s.kubeconfig)) {
                printf("%s\n", fake_url(f));
                fflush(stdout);
                while (signal != SIGTERM && signal != SIGINT) {
                        sigwait(&known, &signal);
                        if (signal == SIGUSR1 || signal == SIGUSR2)
                                fake_freeze_metrics(f, signal == SIGUSR1);
                }
        } else {
                good = false;
        }
        fake_free(f);
        return good ? 0 : 1;
}

int main(int argc, char **argv)
{
        return argc > 1 && argv[1][0] != '-' ? client_main(argc - 1, argv + 1, usage) : serve(argc, argv);
}
