#include "query.h"

#include <string.h>

/* --- matchers from the settings --- */

/* The byte after the string that begins at p, or NULL if the string does not end. */
static const char *skip_string(const char *p)
{
        for (char quote = *p++; *p; p++) {
                if (*p == '\\' && quote != '`' && p[1])
                        p++;
                else if (*p == quote)
                        return p + 1;
        }
        return NULL;
}

int query_check_matchers(const char *matchers, struct err *err)
{
        const char *p = matchers ? matchers : "";
        char last = ',';
        while (p && *p) {
                if (strchr("{}()[]#", *p))
                        return err_set(err, ERR_INVALID,
                                       "matchers '%s': '%c' is not allowed; give label matchers such as "
                                       "cluster=\"a\",job=~\"kubelet.*\"",
                                       matchers, *p);
                if (*p == ',' && last == ',')
                        return err_set(err, ERR_INVALID, "matchers '%s': a comma with nothing before it", matchers);
                last = *p == ' ' ? last : *p;
                p = strchr("\"'`", *p) ? skip_string(p) : p + 1;
        }
        if (!p)
                return err_set(err, ERR_INVALID, "matchers '%s': a quote is not closed", matchers);
        if (matchers && *matchers && last == ',')
                return err_set(err, ERR_INVALID, "matchers '%s': nothing after the last comma", matchers);
        return 0;
}

/* --- PromQL --- */

static void query_add_quoted(struct buf *out, const char *s)
{
        (void)buf_add_text(out, "\"");
        for (; *s; s++) {
                if (*s == '"' || *s == '\\')
                        (void)buf_add_text(out, "\\");
                (void)buf_add(out, s, 1);
        }
        (void)buf_add_text(out, "\"");
}

static void add_selector(struct buf *out, const struct prometheus_options *o, enum prometheus_names names,
                         const char *ns)
{
        (void)buf_add_text(out, names == PROMETHEUS_CADVISOR
                                        ? "{container!=\"\",container!=\"POD\",metrics_path=~\"(.*/cadvisor)?\""
                                        : "{container!=\"\",metrics_path=~\"(.*/resource)?\"");
        if (ns) {
                (void)buf_add_text(out, ",namespace=");
                query_add_quoted(out, ns);
        }
        if (o->matchers && *o->matchers)
                (void)buf_printf(out, ",%s", o->matchers);
        (void)buf_add_text(out, "}");
}

static long long query_window_s(const struct prometheus_options *o, enum resource r, const struct prometheus_slice *s)
{
        bool longer = s->step_ms > o->rate_window_ms;
        return (r == CPU && !longer ? o->rate_window_ms : s->step_ms) / SECOND_MS;
}

void query_promql(struct buf *out, const struct prometheus_options *o, enum resource r,
                  const struct prometheus_slice *s)
{
        (void)buf_add_text(out, "max by (namespace, pod, container, id) (");
        (void)buf_add_text(out, r == CPU ? "sum without (cpu) (rate(container_cpu_usage_seconds_total"
                                         : "max_over_time(container_memory_working_set_bytes");
        add_selector(out, o, o->names, s->ns);
        (void)buf_printf(out, "[%llds])%s", query_window_s(o, r, s), r == CPU ? "))" : ")");
}

void query_promql_nodes(struct buf *out, const struct prometheus_options *o, enum resource r,
                        const struct prometheus_slice *s)
{
        static const char *const counter[][RESOURCES] = {
                [PROMETHEUS_CADVISOR] =
                        {"container_cpu_usage_seconds_total{id=\"/\",metrics_path=~\"(.*/cadvisor)?\"",
                         "container_memory_working_set_bytes{id=\"/\",metrics_path=~\"(.*/cadvisor)?\""},
                [PROMETHEUS_KUBELET] = {"node_cpu_usage_seconds_total{metrics_path=~\"(.*/resource)?\"",
                                        "node_memory_working_set_bytes{metrics_path=~\"(.*/resource)?\""},
        };
        bool more = o->matchers && *o->matchers;
        (void)buf_printf(out, "max by (node, instance) (%s(%s%s%s}[%llds])%s",
                         r == CPU ? "sum without (cpu) (rate" : "max_over_time", counter[o->names][r], more ? "," : "",
                         more ? o->matchers : "", query_window_s(o, r, s), r == CPU ? "))" : ")");
}

void query_promql_prices(struct buf *out, const struct prometheus_options *o, enum resource r)
{
        (void)buf_printf(out, "max by (node) (%s{%s})", r == CPU ? "node_cpu_hourly_cost" : "node_ram_hourly_cost",
                         o->matchers ? o->matchers : "");
}

static void query_add_increase(struct buf *out, const struct prometheus_options *o, const char *counter, const char *ns)
{
        (void)buf_printf(out, "sum by (namespace, pod, container) (increase(%s", counter);
        add_selector(out, o, PROMETHEUS_CADVISOR, ns);
        (void)buf_add_text(out, "[1h]))");
}

void query_promql_throttling(struct buf *out, const struct prometheus_options *o, const struct prometheus_slice *s)
{
        query_add_increase(out, o, "container_cpu_cfs_throttled_periods_total", s->ns);
        (void)buf_add_text(out, " / ");
        query_add_increase(out, o, "container_cpu_cfs_periods_total", s->ns);
        (void)buf_printf(out, " >= 0.%d", PROMETHEUS_THROTTLED_LEAST);
}

int query_add_escaped(struct buf *out, const char *s)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
        int rc = 0;
        for (; *s && rc == 0; s++)
                rc = strchr(plain, *s) ? buf_add(out, s, 1) : buf_printf(out, "%%%02X", (unsigned)(unsigned char)*s);
        return rc;
}

void query_form(struct buf *out, const char *promql, const struct prometheus_slice *s)
{
        (void)buf_add_text(out, "query=");
        query_add_escaped(out, promql);
        (void)buf_printf(out, "&start=%lld.%03lld&end=%lld.%03lld&step=%lld", (long long)(s->from.ms / SECOND_MS),
                         (long long)(s->from.ms % SECOND_MS), (long long)(s->to.ms / SECOND_MS),
                         (long long)(s->to.ms % SECOND_MS), (long long)(s->step_ms / SECOND_MS));
}
