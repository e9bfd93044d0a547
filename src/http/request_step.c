#include "request_step.h"

#include "spare_jobs.h"
#include "turns.h"

void http_request_refuse(struct http_request *v, enum problem p, const char *why)
{
        struct answer *a = &v->job->answer;
        buf_release(&a->body);
        *a = (struct answer){0};
        v->job->gzipped = false; /* the answer that this one replaces may have been compressed */
        answer_problem(a, p, "%s", why);
        v->step = STEP_ANSWER;
}

void http_request_overloaded(struct http_request *v, const char *why)
{
        atomic_fetch_add(&v->listener->shed, 1);
        http_request_refuse(v, PROBLEM_OVERLOADED, why);
}

void http_request_refuse_at_the_end(struct http_request *v)
{
        http_request_overloaded(v, "this instance is shutting down: try again");
}

void http_request_suspend(struct http_request *v, enum http_request_step step)
{
        v->step = step;
        if (!v->suspended)
                MHD_suspend_connection(v->connection);
        v->suspended = true;
}

void http_request_resume(struct http_request *v)
{
        v->suspended = false;
        MHD_resume_connection(v->connection);
}

void http_request_give_up(struct http_request *v, enum problem p, const char *why)
{
        struct job *was = v->job;
        if (v->step == STEP_VERDICT)
                auth_leave(v->listener->auth, &v->key, &v->waiter);
        turns_leave(v);
        if (!v->lent) {
                was->ticket = 0;
        } else { /* the worker thread still has the job, and returns the job when done */
                v->lent = false;
                v->job = spare_jobs_take(v->listener);
                v->job->id = arena_text(&v->job->arena, text_of(was->id));
        }
        http_request_refuse(v, p, why);
        http_request_resume(v);
}
