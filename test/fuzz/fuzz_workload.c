/*
 * Workloads, autoscalers, LimitRanges and what we recorded on a template: bounds hold, errors are clear.
 */
#include "fuzz.h"
#include "objects/decode.h"

static void check_code(int rc, const struct err *err)
{
        MUST(rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG);
        MUST(rc == 0 || (err->code == rc && err->text[0]));
}

static void check_amounts(const struct amount a[RESOURCES])
{
        for (int r = 0; r < RESOURCES; r++)
                MUST(!a[r].set || a[r].value >= 0);
}

static int check_recorded(void *arg, const struct recorded *r)
{
        int *left = arg;
        check_amounts(r->request);
        check_amounts(r->limit);
        MUST((*left)-- > 0);
        return 0;
}

static void check_workload(const struct workload_view *w, struct arena *a)
{
        MUST(w->meta.name.len > 0);
        MUST(w->containers >= 0 && w->containers <= VIEW_CONTAINERS);
        MUST(w->owners >= 0 && w->owners <= VIEW_OWNERS);
        MUST(w->template_labels >= 0 && w->template_labels <= VIEW_LABELS);
        for (int i = 0; i < w->containers; i++) {
                check_amounts(w->container[i].request);
                check_amounts(w->container[i].limit);
        }
        for (int i = 0; i < w->owners; i++)
                MUST(w->owner[i].of[CPU] || w->owner[i].of[MEMORY]);
        int left = VIEW_CONTAINERS;
        record_read(w->template_annotation.original, a, check_recorded, &left, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char *const path[] = {"/spec/template", "/spec/jobTemplate/spec/template"};
        static struct workload_view w;
        static struct autoscaler_view hpa;
        static struct limit_range_view range;
        struct arena a = {0};
        struct text in = {(const char *)data, size};
        for (int i = 0; i < 2; i++) {
                struct err err = {0};
                int rc = decode_workload(in, path[i], "halflife", &a, &w, &err);
                check_code(rc, &err);
                if (rc == 0)
                        check_workload(&w, &a);
        }
        struct err err = {0};
        int rc = decode_hpa(in, "halflife", &a, &hpa, &err);
        check_code(rc, &err);
        MUST(rc < 0 || (hpa.metrics >= 0 && hpa.metrics <= VIEW_METRICS + 1));
        rc = decode_scaled_object(in, "halflife", &a, &hpa, &err);
        check_code(rc, &err);
        MUST(rc < 0 || (hpa.metrics >= 0 && hpa.metrics <= VIEW_METRICS + 1));
        rc = decode_limit_range(in, &a, &range, &err);
        check_code(rc, &err);
        if (rc == 0) {
                check_amounts(range.min);
                check_amounts(range.max);
        }
        int left = VIEW_CONTAINERS;
        rc = record_read(in, &a, check_recorded, &left, &err);
        check_code(rc, &err);
        arena_release(&a);
        return 0;
}
