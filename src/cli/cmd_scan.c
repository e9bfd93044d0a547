/*
 * halflife scan: what the workloads of a cluster ask for, what they use, and what halflife would have them ask for.
 * The command needs nothing of halflife in the cluster, and writes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_read.h"
#include "base/log.h"
#include "base/noun.h"
#include "base/yaml.h"
#include "cli/session.h"
#include "cli/version.h"
#include "commands.h"
#include "objects/label_selector.h"
#include "scan/cluster_scan.h"
#include "scan/prometheus_service.h"
#include "scan_print.h"

enum { PROFILE_BYTES_MAX = 1 << 20, API_RATE = 200, API_CONCURRENCY = 8 };
enum { SINCE_LEAST_MS = HOUR_MS, STEP_LEAST_MS = 15 * SECOND_MS, STEP_MOST_MS = HOUR_MS };
#define SINCE_MOST_MS (90 * (int64_t)DAY_MS)

struct scanning {
        struct session session;
        struct session_options where;
        enum scan_format output;
        bool all;
        const char *ns, *labels, *profile, *source, *since, *step, *fail_over;
        int fail_percent; /* share of --fail-over; -1: not given */
        struct prometheus_options prometheus;
        struct prometheus_service service;
        struct cluster_scan_options options;
        json_t *profiles, *notes;
        struct scan_report report;
        struct terminal talk; /* properties of stderr */
        bool progressing;     /* the last line on stderr is a progress line */
};

/* --- arguments --- */

/* Read an option's duration, also in whole days: "14d". */
static int scan_read_duration(const char *name, const char *value, int64_t least_ms, int64_t most_ms, int64_t *ret_ms,
                              struct err *err)
{
        size_t len = strlen(value);
        char *end;
        int64_t ms = 0;
        long days = len > 1 && value[len - 1] == 'd' ? strtol(value, &end, 10) : 0;
        bool in_days = days > 0 && days <= most_ms / DAY_MS && end == value + len - 1;
        int rc = in_days ? 0 : duration_parse(value, len, &ms);
        if (in_days)
                ms = days * (int64_t)DAY_MS;
        if (rc == 0 && ms >= least_ms && ms <= most_ms) {
                *ret_ms = ms;
                return 0;
        }
        char least[DURATION_TEXT_MAX], most[DURATION_TEXT_MAX];
        return err_set(err, ERR_INVALID, "--%s '%s' is not a duration from %s to %s, such as 14d or 36h", name, value,
                       duration_print(least_ms, least), duration_print(most_ms, most));
}

static int scan_read_percent(struct scanning *s, struct err *err)
{
        char *end;
        long percent = strtol(s->fail_over, &end, 10);
        if (end == s->fail_over || (strcmp(end, "%") != 0 && *end) || percent < 0 || percent > 100)
                return err_set(err, ERR_INVALID, "--fail-over '%s' is not a share from 0%% to 100%%, in whole per cent",
                               s->fail_over);
        s->fail_percent = (int)percent;
        return 0;
}

static int scan_check_labels(const struct scanning *s, struct err *err)
{
        struct arena a = {0};
        struct selector *ignored;
        int rc = selector_parse(text_of(s->labels), &a, &ignored, err);
        arena_release(&a);
        return rc < 0 ? err_wrap(err, "--selector") : 0;
}

static int scan_read_profiles(struct scanning *s, struct err *err)
{
        size_t len;
        AUTO(mem_free) char *text = file_read_input(s->profile, PROFILE_BYTES_MAX, &len, err);
        s->profiles = text ? yaml_read_all(text, len, err) : NULL;
        if (!s->profiles)
                return err_wrap(err, "profile '%s'", s->profile);
        if (json_array_size(s->profiles) == 0)
                return err_set(err, ERR_INVALID, "profile '%s': the file contains no profile", s->profile);
        return 0;
}

/* Options that choose among the histories, or authorize their reading, require a Prometheus. */
static int scan_check_prometheus(const struct scanning *s, struct err *err)
{
        const struct prometheus_options *p = &s->prometheus;
        const char *credentials[] = {p->bearer_file, p->user,      p->password_file, p->headers_file,
                                     p->ca_file,     p->cert_file, p->key_file};
        bool any = false;
        for (size_t i = 0; i < sizeof credentials / sizeof credentials[0]; i++)
                any |= credentials[i] != NULL;
        if (!s->source && (any || p->matchers || s->since || s->step))
                return err_set(err, ERR_INVALID, "--since and --prometheus-… require --prometheus URL or auto");
        if (s->source && strcmp(s->source, "auto") == 0 && any)
                return err_set(err, ERR_INVALID,
                               "--prometheus auto asks through the API server, with its credentials: give the URL to "
                               "use others");
        return 0;
}

static int scan_check(void *state, const struct command_line *line, struct err *err)
{
        struct scanning *s = state;
        s->fail_percent = -1;
        s->notes = json_array();
        s->options.history_ms = 14 * (int64_t)DAY_MS;
        s->options.step_ms = MINUTE_MS;
        if (line->words.count)
                return err_set(err, ERR_INVALID, "takes no arguments, not '%s'", line->words.word[0]);
        if (s->all && s->ns)
                return err_set(err, ERR_INVALID, "-A and -n exclude each other");
        int rc = scan_check_prometheus(s, err);
        if (rc == 0 && s->labels)
                rc = scan_check_labels(s, err);
        if (rc == 0 && s->since)
                rc = scan_read_duration("since", s->since, SINCE_LEAST_MS, SINCE_MOST_MS, &s->options.history_ms, err);
        if (rc == 0 && s->step)
                rc = scan_read_duration("prometheus-step", s->step, STEP_LEAST_MS, STEP_MOST_MS, &s->options.step_ms,
                                        err);
        if (rc == 0 && s->fail_over)
                rc = scan_read_percent(s, err);
        return rc;
}

/* --- messages on stderr --- */

static void scan_end_progress(struct scanning *s)
{
        if (s->progressing)
                fputs("\r\033[K", stderr);
        s->progressing = false;
}

static void scan_say(void *arg, const char *line)
{
        struct scanning *s = arg;
        AUTO(mem_free) char *tamed = terminal_tame(mem_string(line));
        scan_end_progress(s);
        fprintf(stderr, "halflife scan: %s\n", tamed);
        json_array_append_new(s->notes, json_string(tamed));
}

/* Print which resources exceed --fail-over, so that a failed pipeline has the cause in its log. Returns whether any
 * does. */
static bool scan_exceeds(struct scanning *s)
{
        static const char *const name[RESOURCES] = {[CPU] = "CPU", [MEMORY] = "memory"};
        bool any = false;
        for (enum resource q = CPU; q < RESOURCES; q++) {
                if (!scan_report_exceeds(&s->report, q, s->fail_percent))
                        continue;
                AUTO(mem_free)
                char *line = mem_printf("more than %d%% of the requested %s could be saved", s->fail_percent, name[q]);
                scan_say(s, line);
                any = true;
        }
        return any;
}

static void scan_progress(void *arg, const struct cluster_scan_progress *p)
{
        struct scanning *s = arg;
        if (!s->talk.moves)
                return;
        fprintf(stderr, "\r\033[Kreading the past: %llu of %llu workloads, %s", (unsigned long long)p->targets_read,
                (unsigned long long)p->targets, NOUN_COUNT(p->points, "point"));
        fflush(stderr);
        s->progressing = true;
}

/* --- Prometheus --- */

/* Look for a Prometheus among the services. Returns 0 also if there is none, and the scan goes on with the metrics API.
 */
static int scan_find_prometheus(struct scanning *s, struct err *err)
{
        struct prometheus_service *p = &s->service;
        char line[ERR_TEXT_MAX + 128];
        int rc = prometheus_service_find(s->session.client, s->session.access, s->options.ns, p, err);
        if (rc == ERR_NOTFOUND || rc == ERR_DENIED) {
                snprintf(line, sizeof line, "%s: usage comes from the metrics API; --prometheus URL names one",
                         err->text);
                scan_say(s, line);
                return 0;
        }
        if (rc < 0)
                return session_advise(err);
        if (p->others)
                snprintf(line, sizeof line,
                         "took service %s/%s (%s), of %zu that look like one; --prometheus URL "
                         "names another",
                         p->ns, p->name, p->product, p->others + 1);
        else
                snprintf(line, sizeof line, "took service %s/%s (%s)", p->ns, p->name, p->product);
        scan_say(s, line);
        s->prometheus.url = p->url;
        s->prometheus.via = &p->via;
        return 0;
}

static int scan_choose_prometheus(struct scanning *s, struct err *err)
{
        int rc = 0;
        s->prometheus.rate_window_ms = 2 * MINUTE_MS;
        s->prometheus.queries = 2;
        s->prometheus.user_agent = version_user_agent();
        if (s->source && strcmp(s->source, "auto") == 0)
                rc = scan_find_prometheus(s, err);
        else
                s->prometheus.url = s->source;
        s->options.prometheus = s->prometheus.url ? &s->prometheus : NULL;
        return rc;
}

/* --- the answer --- */

static void scan_head(const struct scanning *s, struct scan_heading *ret, char worth[static 256], char next[static 128])
{
        char span[DURATION_TEXT_MAX];
        bool once = !s->options.prometheus;
        *ret = (struct scan_heading){.source = once ? "metrics API" : s->prometheus.url,
                                     .worth = worth,
                                     .next = next,
                                     .namespaces = !s->options.ns,
                                     .notes = s->notes};
        if (once)
                snprintf(worth, 256,
                         "Usage was read once, so this is a first look: peaks of other hours are not in it. Memory "
                         "keeps its request, because one reading says too little of it.");
        else
                snprintf(worth, 256, "Usage of the last %s, %s. A saving that a gate holds back is not in the totals.",
                         duration_print(s->options.history_ms, span),
                         s->prometheus.via ? "from the cluster's own Prometheus" : "from Prometheus");
        if (once)
                snprintf(next, 128, "%s scan%s%s%s --prometheus auto", program_name(), s->all ? " -A" : "",
                         s->ns ? " -n " : "", s->ns ? s->ns : "");
        else
                snprintf(next, 128, "kubectl apply -k manifests   (installs halflife, which then only recommends)");
}

static void scan_show(struct scanning *s)
{
        struct terminal t;
        struct scan_heading heading;
        char worth[256], next[128];
        terminal_read(stdout, &t);
        scan_head(s, &heading, worth, next);
        scan_print(stdout, &s->report, s->output, &heading, &t);
}

static void scan_say_empty(struct scanning *s)
{
        char line[256];
        snprintf(line, sizeof line, "no workload is selected%s%s", s->options.ns ? " in namespace " : "",
                 s->options.ns ? s->options.ns : "");
        scan_say(s, line);
}

static int scan_decide(struct scanning *s, struct err *err)
{
        struct cluster_scan *scan = NULL;
        int rc = cluster_scan_new(&s->options, &scan, err);
        if (rc == 0 && cluster_scan_list(scan, err) < 0)
                rc = session_advise(err);
        if (rc == 0)
                rc = cluster_scan_measure(scan, err);
        scan_end_progress(s);
        if (rc == 0) {
                s->report.once = !s->options.prometheus;
                cluster_scan_decide(scan, scan_report_add, &s->report);
                scan_report_finish(&s->report);
        }
        cluster_scan_free(scan);
        return rc;
}

static int scan_run(void *state, struct err *err)
{
        struct scanning *s = state;
        log_setup(LOG_ERROR, false); /* scan_say prints what halflife run would log */
        terminal_read(stderr, &s->talk);
        int rc = s->profile ? scan_read_profiles(s, err) : 0;
        if (rc == 0)
                rc = session_open_given(&s->session, &s->where, err);
        if (rc < 0)
                return rc;
        client_set_limits(s->session.client, API_RATE, API_CONCURRENCY);
        const char *ns = s->ns ? s->ns : access_namespace(s->session.access);
        s->options.client = s->session.client;
        s->options.ns = s->all ? NULL : ns;
        s->options.labels = s->labels;
        s->options.profiles = s->profiles;
        s->options.profiles_file = s->profile;
        s->options.profiles_ns = ns;
        s->options.tell = scan_say;
        s->options.progress = scan_progress;
        s->options.arg = s;
        rc = scan_choose_prometheus(s, err);
        if (rc == 0)
                rc = scan_decide(s, err);
        if (rc < 0)
                return rc;
        if (!s->report.rows)
                scan_say_empty(s);
        if (s->report.rows || s->output == SCAN_CSV || s->output == SCAN_JSON)
                scan_show(s);
        return s->fail_percent >= 0 && scan_exceeds(s) ? EXIT_CHANGES : EXIT_DONE;
}

static void scan_release(void *state)
{
        struct scanning *s = state;
        scan_report_release(&s->report);
        prometheus_service_release(&s->service);
        json_decref(s->profiles);
        json_decref(s->notes);
        session_release(&s->session);
}

/* clang-format off */
static const struct option_spec options[] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .shape = OPTION_NAMESPACE, OPTION_IN(struct scanning, ns),
         .help = "namespace; default: the context's"},
        {.name = "all-namespaces", .letter = 'A', OPTION_IN(struct scanning, all),
         .help = "every namespace that may be read"},
        {.name = "selector", .letter = 'l', .value = "LABELS", .shape = OPTION_LABELS,
         OPTION_IN(struct scanning, labels),
         .help = "only workloads with these labels, their own or their pods'"},
        {.name = "profile", .value = "FILE", OPTION_IN(struct scanning, profile),
         .help = "judge by the profiles of this file; default: the defaults of a ClusterProfile, and memory as well"},
        {.name = "prometheus", .value = "URL", .examples = "auto", OPTION_IN(struct scanning, source),
         .help = "read usage of the past from this Prometheus; auto: look for a well-known service, and ask it through "
                 "the API server"},
        {.name = "since", .value = "DURATION", .examples = "1d|7d|14d|30d", OPTION_IN(struct scanning, since),
         .help = "how far back usage is read from Prometheus, up to 90d (default 14d)"},
        {.name = "output", .letter = 'o', .value = "FORMAT", .choices = "table|wide|csv|md|json",
         OPTION_IN(struct scanning, output),
         .help = "table, wide, csv, md or json (default table)"},
        {.name = "fail-over", .value = "PERCENT", .examples = "10%|20%|50%", OPTION_IN(struct scanning, fail_over),
         .help = "exit with 3 if more than this share of the requested CPU, or memory, could be saved"},
        {.name = "prometheus-names", .value = "WHOSE", .choices = "cadvisor|kubelet",
         OPTION_IN(struct scanning, prometheus.names),
         .help = "which of the kubelet's series to read: those of /metrics/cadvisor, or of /metrics/resource"},
        {.name = "prometheus-matchers", .value = "MATCHERS", OPTION_IN(struct scanning, prometheus.matchers),
         .help = "additional PromQL label matchers, for a Prometheus that serves several clusters, such as "
                 "cluster=\"a\""},
        {.name = "prometheus-step", .value = "DURATION", OPTION_IN(struct scanning, step),
         .help = "time between two points (default 60s); longer is quicker, and flattens peaks of CPU"},
        {.name = "prometheus-token-file", .value = "FILE", OPTION_IN(struct scanning, prometheus.bearer_file),
         .help = "file with a bearer token for Prometheus"},
        {.name = "prometheus-user", .value = "NAME", OPTION_IN(struct scanning, prometheus.user),
         .help = "user for Prometheus' basic authentication"},
        {.name = "prometheus-password-file", .value = "FILE", OPTION_IN(struct scanning, prometheus.password_file),
         .help = "file with the password of --prometheus-user"},
        {.name = "prometheus-headers-file", .value = "FILE", OPTION_IN(struct scanning, prometheus.headers_file),
         .help = "file with further request headers for Prometheus, one 'Name: value' a line"},
        {.name = "prometheus-ca", .value = "FILE", OPTION_IN(struct scanning, prometheus.ca_file),
         .help = "CA (PEM) that verifies Prometheus' certificate; default: the system's CAs"},
        {.name = "prometheus-cert", .value = "FILE", OPTION_IN(struct scanning, prometheus.cert_file),
         .help = "client certificate for Prometheus (PEM)"},
        {.name = "prometheus-key", .value = "FILE", OPTION_IN(struct scanning, prometheus.key_file),
         .help = "private key of --prometheus-cert (PEM)"},
        SESSION_OPTIONS(struct scanning, where),
};
/* clang-format on */

const struct command command_scan = {
        .name = "scan",
        .help = "show what could be saved, without installing anything",
        .usage = {"[-A | -n NAMESPACE] [option]..."},
        .intro = "Reads the cluster once and shows, for each container, what it requests, what it uses, and what "
                 "halflife\n"
                 "would have it request. It needs nothing of halflife in the cluster, and writes nothing.\n",
        .outro = "Exit codes: 0 success; 1 failure, with nothing on standard output; 2 wrong usage; 3 with "
                 "--fail-over: more\n"
                 "could be saved. What may not be read is named on standard error, and the rest is shown.\n",
        COMMAND_OPTIONS(options),
        .size = sizeof(struct scanning),
        .check = scan_check,
        .run = scan_run,
        .release = scan_release,
};
