#include "job.h"

#include "base/mem.h"
#include "deploy/admission_review.h"

enum { ARENA_KEPT = 64 << 10, REVIEW_MAX = 8 << 20 };

struct job *job_new(void)
{
        return MEM_NEW(struct job);
}

void job_reset(struct job *j)
{
        struct arena arena = j->arena;
        buf_release(&j->body);
        buf_release(&j->answer.body);
        snapshot_drop(j->view);
        mem_free(j->learned);
        node_table_drop(j->nodes);
        percentile_table_drop(j->percentiles);
        ledger_report_free(j->report);
        mem_free(j->owner);
        if (arena.used > ARENA_KEPT)
                arena_release(&arena);
        else
                arena_reset(&arena);
        *j = (struct job){.arena = arena};
}

void job_free(struct job *j)
{
        if (!j)
                return;
        job_reset(j);
        arena_release(&j->arena);
        mem_free(j);
}

static void read_review(struct job *j)
{
        struct err err = {0};
        struct admission *a = arena_new(&j->arena, sizeof *a);
        j->review = false;
        if (admission_read(buf_text(&j->body), &j->arena, a, &err) == 0)
                j->admission = a;
        else
                answer_problem(&j->answer, PROBLEM_INVALID_BODY, "%s", err.text);
}

static void job_admit(struct job *j)
{
        j->answer = (struct answer){.status = 200, .type = "application/json"};
        buf_init(&j->answer.body, REVIEW_MAX);
        admission_answer(j->admission, j->view, j->owner, j->own_user, &j->arena, &j->answer.body, &j->admitted);
}

void job_do(struct job *j, struct gzip *g)
{
        j->request.body = buf_text(&j->body);
        if (j->review)
                read_review(j);
        else if (j->admission)
                job_admit(j);
        else if (j->route.name == ROUTE_RENDER)
                route_render(&j->route, &j->request, j->view, &j->arena, &j->answer);
        else if (j->route.name == ROUTE_NODES)
                route_nodes(&j->route, &j->request, j->view, j->nodes, j->names, &j->arena, &j->answer);
        else if (j->route.name == ROUTE_WHAT_IF)
                route_what_if(&j->route, &j->request, j->view, j->percentiles, &j->arena, &j->answer);
        else if (j->route.name == ROUTE_REPORT)
                route_report(&j->route, &j->request, j->view, j->report, &j->arena, &j->answer);
        else if (j->route.name == ROUTE_DAYS)
                route_days(&j->route, &j->request, j->view, j->report, &j->arena, &j->answer);
        else
                route_answer(&j->route, &j->request, j->view, j->learned, j->learned_count, &j->arena, &j->answer);
        j->gzipped = j->gzip && gzip_body(g, &j->answer.body);
}
