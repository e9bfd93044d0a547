/* The scripted faults: which request is hit next. What then happens is done where answers are sent (http.c). */
#include <string.h>

#include "fake.h"

static const char *keep_text(const char *s)
{
        return mem_string(s);
}

void fake_fault(struct fake *f, const struct fake_fault *fault)
{
        struct fault *new = MEM_NEW(struct fault);
        new->is = *fault;
        new->is.verb = keep_text(fault->verb);
        new->is.path = keep_text(fault->path);
        new->is.body = keep_text(fault->body);
        new->is.type = keep_text(fault->type);
        new->is.garbage = keep_text(fault->garbage);
        new->is.warning = keep_text(fault->warning);
        if (new->is.times == 0)
                new->is.times = 1;
        fake_lock(f);
        struct fault **end = &f->fault;
        while (*end)
                end = &(*end)->next;
        *end = new;
        fake_unlock(f);
}

static void free_text(const char *s)
{
        mem_free((char *)(uintptr_t)s);
}

void faults_release(struct fake *f)
{
        while (f->fault) {
                struct fault *first = f->fault;
                f->fault = first->next;
                free_text(first->is.verb);
                free_text(first->is.path);
                free_text(first->is.body);
                free_text(first->is.type);
                free_text(first->is.garbage);
                free_text(first->is.warning);
                mem_free(first);
        }
}

/* Answers being sent may still read a fault's texts, so they live on until the end. */
void fake_faults_clear(struct fake *f)
{
        fake_lock(f);
        for (struct fault *at = f->fault; at; at = at->next)
                at->hit = (unsigned)(at->is.times = 0);
        fake_unlock(f);
}

bool fault_match(struct fake *f, const struct request *rq, struct fake_fault *ret)
{
        for (struct fault *at = f->fault; at; at = at->next) {
                const struct fake_fault *is = &at->is;
                if (!verb_matches(is->verb, rq->method, rq->verb) ||
                    (is->path && strncmp(rq->path, is->path, strlen(is->path)) != 0))
                        continue;
                if (is->times != FAKE_ALWAYS && at->hit >= (unsigned)is->times)
                        continue;
                if (at->seen++ < is->nth)
                        continue;
                at->hit++;
                *ret = *is;
                return true;
        }
        return false;
}
