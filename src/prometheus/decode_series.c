#include "decode_series.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

enum { NUMBER_MAX = 64 };

/* --- numbers --- */

/* Parse a whole text as a number; "NaN" and "+Inf" are numbers too. */
static bool series_number_of(struct text t, double *ret)
{
        char copy[NUMBER_MAX], *end;
        if (t.len == 0 || t.len >= sizeof copy)
                return false;
        memcpy(copy, t.p, t.len);
        copy[t.len] = '\0';
        *ret = strtod(copy, &end);
        return *end == '\0';
}

static struct wall series_time_of(double seconds)
{
        return (struct wall){isfinite(seconds) && fabs(seconds) < 1e12 ? (int64_t)llround(seconds * 1e3) : -1};
}

/* --- a series --- */

struct series_labels {
        struct prometheus_series of;
        struct text id, node, instance;
};

static void series_read_labels(struct json *j, struct arena *a, struct series_labels *ret)
{
        static const struct {
                const char *name;
                size_t at;
        } label[] = {
                {"namespace", offsetof(struct series_labels, of.ns)},
                {"pod", offsetof(struct series_labels, of.pod)},
                {"container", offsetof(struct series_labels, of.container)},
                {"id", offsetof(struct series_labels, id)},
                {"node", offsetof(struct series_labels, node)},
                {"instance", offsetof(struct series_labels, instance)},
        };
        enum { LABELS = sizeof label / sizeof label[0] };
        struct text key;
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key)) {
                int i = 0;
                while (i < LABELS && !text_is(key, label[i].name))
                        i++;
                if (i < LABELS)
                        *(struct text *)((char *)ret + label[i].at) = json_text(j, a);
                else
                        json_skip(j);
        }
}

/* The node of a series: its label node, which kube-prometheus adds, else the address that was scraped. */
static struct text series_node(const struct series_labels *l)
{
        const char *port = l->instance.len ? memrchr(l->instance.p, ':', l->instance.len) : NULL;
        return l->node.len ? l->node
               : port      ? (struct text){l->instance.p, (size_t)(port - l->instance.p)}
                           : l->instance;
}

/* Refuse an empty name and one with '/' or NUL: names are joined by '/' into keys, and none in Kubernetes has one. */
static bool series_is_name(struct text t)
{
        return t.len > 0 && !memchr(t.p, '/', t.len) && !memchr(t.p, '\0', t.len);
}

/* Tell by its labels which container or node a series is about, and its cgroup (of a node: the label instance). False:
 * a label is missing, or is no name. */
static bool series_name(const struct series_labels *l, bool nodes, struct prometheus_series *ret,
                        struct text *ret_cgroup)
{
        *ret = nodes ? (struct prometheus_series){{"", 0}, series_node(l), {"", 0}} : l->of;
        *ret_cgroup = nodes ? l->instance : l->id;
        return series_is_name(ret->pod) && !memchr(ret_cgroup->p, '\0', ret_cgroup->len) &&
               (nodes || (series_is_name(ret->ns) && series_is_name(ret->container)));
}

/* Read [seconds, "value"]. The JSON reader records a syntax error, which json_done reports. */
static int read_point(struct json *j, struct arena *a, const struct series_reader *r, uint64_t *refused)
{
        double seconds = (double)NAN, value = (double)NAN;
        bool sound = true;
        if (!json_enter(j, '['))
                return 0;
        for (int i = 0; json_item(j); i++) {
                struct text t = json_scalar(j, a);
                if (i < 2)
                        sound &= series_number_of(t, i == 0 ? &seconds : &value);
        }
        struct wall at = series_time_of(seconds);
        if (!sound || at.ms < 0 || !isfinite(value) || value < 0) {
                ++*refused;
                return 0;
        }
        return r->point(r->arg, at, value);
}

static int read_points(struct text values, struct arena *a, const struct series_reader *r, uint64_t *refused,
                       struct err *err)
{
        struct json j;
        int rc = 0;
        json_init(&j, values.p, values.len);
        if (json_enter(&j, '['))
                while (rc == 0 && json_item(&j))
                        rc = read_point(&j, a, r, refused);
        if (rc < 0)
                return err_set(err, rc,
                               "the answer holds more points than allowed: does --prometheus-matchers choose this "
                               "cluster alone?");
        return json_done(&j, err);
}

int series_decode(struct text json, struct arena *a, const struct series_reader *r, uint64_t *refused, struct err *err)
{
        struct series_labels labels = {{{"", 0}, {"", 0}, {"", 0}}, {"", 0}, {"", 0}, {"", 0}};
        struct prometheus_series s;
        struct text key, values = {"", 0}, cgroup;
        struct json j;

        json_init(&j, json.p, json.len);
        bool entered = json_enter(&j, '{');
        while (entered && json_key(&j, &key))
                if (text_is(key, "metric"))
                        series_read_labels(&j, a, &labels);
                else if (text_is(key, "values"))
                        values = json_raw(&j); /* kept for later, since the labels may follow */
                else
                        json_skip(&j);
        if (json_done(&j, err) < 0)
                return err->code;
        if (!series_name(&labels, r->nodes, &s, &cgroup)) {
                ++*refused;
                return 0;
        }
        if (values.len == 0 || !r->series(r->arg, &s, cgroup))
                return 0;
        return read_points(values, a, r, refused, err);
}

/* --- refusals --- */

void series_tame(char *s)
{
        for (; *s; s++)
                if ((unsigned char)*s < ' ' || *s == 0x7f)
                        *s = ' ';
}

char *query_error(struct text body, char *out, size_t size)
{
        AUTO(json_decref) json_t *o = json_loadb(body.p, body.len, 0, NULL);
        const char *said = json_string_value(json_object_get(o, "error"));
        if (!said)
                said = json_string_value(json_object_get(o, "message"));
        if (said)
                snprintf(out, size, "%s", said);
        else
                snprintf(out, size, "%.*s", (int)(body.len > 120 ? 120 : body.len), body.p);
        series_tame(out);
        return out;
}
