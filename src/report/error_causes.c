#include "error_causes.h"

#include <string.h>

#include "cache/cache.h"

/* --- the text --- */

/* Behind the path: paths hold no space. */
static const char *cause_behind(const char *path)
{
        const char *space = strchr(path, ' ');
        return space && space[-1] == ':' ? space + 1 : NULL;
}

const char *cause_text(const char *error)
{
        static const char *const asked[] = {"list '/", "watch '/", "GET /", "PUT /", "POST /", "PATCH /", "DELETE /"};
        const char *found = error;
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
                const char *at = strstr(found, asked[i]);
                const char *rest = at ? cause_behind(strchr(at, '/')) : NULL;
                if (rest)
                        found = rest;
        }
        return found;
}

/* --- sameness --- */

static bool in_name(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* How long the subject is that stands at p as a word of its own; 0: none does. before: the byte in front of it. */
static size_t subject_at(const char *p, char before, const char *const *subject)
{
        for (; subject && *subject && !in_name(before); subject++) {
                size_t len = strlen(*subject);
                if (len > 0 && strncmp(p, *subject, len) == 0 && !in_name(p[len]))
                        return len;
        }
        return 0;
}

/* A number that says nothing of the cause: a time, a port, a stream; not that of an HTTP status. */
static size_t number_at(const char *p, const char *text)
{
        bool inside = p > text && p[-1] >= '0' && p[-1] <= '9'; /* of one that is kept */
        bool status = p - text >= 5 && memcmp(p - 5, "HTTP ", 5) == 0;
        return inside || status ? 0 : strspn(p, "0123456789");
}

uint64_t cause_digest(const struct err *err, const char *const *subject)
{
        uint64_t digest = digest_bytes(0, &err->code, sizeof err->code);
        const char *text = cause_text(err->text);
        char before = ' ';
        for (const char *p = text; *p;) {
                size_t skip = subject_at(p, before, subject);
                if (skip == 0)
                        skip = number_at(p, text);
                if (skip == 0)
                        digest = digest_bytes(digest, p, 1);
                p += skip ? skip : 1;
                before = p[-1];
        }
        return digest;
}

/* --- what it is --- */

bool cause_is_missing_rule(const struct err *err)
{
        return err->code == ERR_DENIED && strstr(err->text, "HTTP 403") && strstr(err->text, " cannot ");
}

bool cause_is_going_namespace(const struct err *err)
{
        return err->code == ERR_DENIED && strstr(err->text, "because it is being terminated");
}

const char *cause_cure(const struct err *err)
{
        switch (err->code) {
        case ERR_DENIED:
                if (cause_is_missing_rule(err))
                        return "grant the rule, manifests/base/rbac.yaml has them all; 'halflife check' names what is "
                               "missing";
                if (strstr(err->text, "HTTP 401"))
                        return "renew the credentials; files of them are read again by themselves";
                if (strstr(err->text, "HTTP 403"))
                        return "ask who set the policy that refuses it";
                return "correct the certificate authority or the server's certificate";
        case ERR_NOTFOUND:
                return "install what is missing: kubectl apply -k manifests for halflife's own kinds";
        case ERR_RETRY:
                if (strstr(err->text, "too many files are open"))
                        return "raise the limit of open files (ulimit -n, LimitNOFILE)";
                return "does the server run, and can it be reached from here? It is tried again until it answers";
        case ERR_CONFLICT:
                return "another manager owns it: see the condition of the Recommendation";
        default:
                return "the text tells; it is tried again";
        }
}
