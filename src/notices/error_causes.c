#include "error_causes.h"

#include <string.h>

#include "cache/cache.h"

/* --- the text --- */

/* The text that follows "PATH: ", where path points to PATH, which contains no space. NULL: there is no such text. */
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

/* The length of the name in subject that stands at p as a whole word; 0: none does. before: the byte before p. */
static size_t subject_at(const char *p, char before, const char *const *subject)
{
        for (; subject && *subject && !in_name(before); subject++) {
                size_t len = strlen(*subject);
                if (len > 0 && strncmp(p, *subject, len) == 0 && !in_name(p[len]))
                        return len;
        }
        return 0;
}

/* The length of a number at p that does not belong to the cause, such as a time or port; 0: no such number, or an HTTP
 * status. */
static size_t number_at(const char *p, const char *text)
{
        bool inside = p > text && p[-1] >= '0' && p[-1] <= '9'; /* p is inside a number that belongs to the cause */
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

/* --- kinds of causes --- */

bool cause_is_missing_rule(const struct err *err)
{
        return err->code == ERR_DENIED && err->http_status == 403 && strstr(err->text, " cannot ");
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
                        return "grant the missing RBAC rule: manifests/base/rbac.yaml has all rules, 'halflife check' "
                               "names the missing ones";
                if (err->http_status == 401)
                        return "renew the credentials; halflife reads credential files again by itself";
                if (err->http_status == 403)
                        return "ask the owner of the policy that refuses it";
                return "correct the certificate authority or the server's certificate";
        case ERR_NOTFOUND:
                return "install what is missing: kubectl apply -k manifests for halflife's own kinds";
        case ERR_RETRY:
                if (strstr(err->text, "too many files are open"))
                        return "raise the limit of open files (ulimit -n, LimitNOFILE)";
                return "does the server run, and can it be reached from here? halflife tries again until it answers";
        case ERR_CONFLICT:
                return "another manager owns the field: see the condition of the Recommendation";
        default:
                return "see the error text; halflife tries again";
        }
}
