#include "base/yaml.h"

#include "document_private.h"

enum { MERGES_MAX = 64, PLAIN_MAX = 64, LOOKS_A_NODE = 32, LOOKS_LEAST = 1 << 20 };

static const char merge_key[] = "<<";

/* --- nodes --- */

uint32_t node_resolve(const struct doc *d, uint32_t at)
{
        return d->node[at].type == NODE_ALIAS ? d->node[at].of : at;
}

void doc_place(const struct doc *d, uint32_t node, uint32_t *ret_line, uint32_t *ret_column)
{
        *ret_line = d->node[node].line;
        *ret_column = d->node[node].column;
}

struct text doc_text(const struct doc *d, uint32_t node)
{
        const struct node *n = &d->node[node_resolve(d, node)];
        if (node == DOC_NONE || n->type != NODE_SCALAR)
                return (struct text){"", 0};
        if (n->value)
                return d->value[n->value - 1];
        unsigned quote = n->style == STYLE_SINGLE || n->style == STYLE_DOUBLE;
        return (struct text){d->text + n->begin + quote, n->end - n->begin - 2 * quote};
}

static bool is_no_number(struct text t)
{
        char lower[6] = "";
        struct text rest = t.len && (*t.p == '-' || *t.p == '+') ? (struct text){t.p + 1, t.len - 1} : t;
        if (rest.len != 4)
                return false;
        for (size_t i = 0; i < rest.len; i++)
                lower[i] = (char)(rest.p[i] | 0x20);
        return strcmp(lower, ".inf") == 0 || strcmp(lower, ".nan") == 0;
}

enum doc_type plain_type(struct text t)
{
        char s[PLAIN_MAX];
        if (is_no_number(t))
                return DOC_NUMBER;
        if (t.len >= sizeof s || memchr(t.p, '\0', t.len))
                return DOC_TEXT;
        memcpy(s, t.p, t.len);
        s[t.len] = '\0';
        json_t *value AUTO(json_decref) = yaml_plain(s);
        switch (json_typeof(value)) {
        case JSON_NULL:
                return DOC_NULL;
        case JSON_TRUE:
        case JSON_FALSE:
                return DOC_BOOL;
        case JSON_INTEGER:
        case JSON_REAL:
                return DOC_NUMBER;
        default:
                return DOC_TEXT;
        }
}

enum doc_type doc_type(const struct doc *d, uint32_t node)
{
        uint32_t at = node_resolve(d, node);
        const struct node *n = &d->node[at];
        if (node == DOC_NONE)
                return DOC_ABSENT;
        if (n->type != NODE_SCALAR)
                return n->type == NODE_MAPPING ? DOC_MAPPING : DOC_SEQUENCE;
        bool text = (n->flags & NODE_STRING) || (n->style != STYLE_PLAIN && !(n->flags & NODE_TAGGED));
        return text ? DOC_TEXT : plain_type(doc_text(d, at));
}

/* --- members --- */

/* Limit the members that all look-ups may visit, in proportion to the nodes of the text. Otherwise thousands of aliases
 * of a mapping with thousands of members would cost the product of both. */
static int check_looks(const struct doc *d, uint32_t mapping, struct err *err)
{
        if (*d->looked <= LOOKS_LEAST + (uint64_t)d->nodes * LOOKS_A_NODE)
                return 0;
        return fail_at(d, mapping, err, "aliases of large mappings make the text too large to look through");
}

static bool is_merge(const struct doc *d, uint32_t key)
{
        const struct node *n = &d->node[key];
        return n->type == NODE_SCALAR && n->style == STYLE_PLAIN && !(n->flags & (NODE_TAGGED | NODE_JSON)) &&
               text_is(doc_text(d, key), merge_key);
}

static bool find_is_key(const struct doc *d, uint32_t node, struct text key)
{
        return d->node[node_resolve(d, node)].type == NODE_SCALAR && text_equal(doc_text(d, node), key);
}

int member_find(const struct doc *d, uint32_t mapping, struct text key, uint32_t *ret_key, struct err *err)
{
        uint32_t found = DOC_NONE;
        for (uint32_t at = mapping + 1; at < d->node[mapping].skip; at = node_next(d, node_next(d, at))) {
                ++*d->looked;
                if (!find_is_key(d, at, key))
                        continue;
                if (found)
                        return fail_at(d, at, err, "key '%.*s' is there twice", TEXT_ARG(key));
                found = at;
        }
        *ret_key = found;
        return 0;
}

uint32_t merge_find(const struct doc *d, uint32_t mapping)
{
        for (uint32_t at = mapping + 1; at < d->node[mapping].skip; at = node_next(d, node_next(d, at)))
                if (is_merge(d, at))
                        return at;
        return DOC_NONE;
}

/* A search for a key through merged mappings; `budget` is how many more mappings the search may visit. */
struct search {
        const struct doc *d;
        struct text key;
        int budget;
        struct err *err;
};

static int find_search(struct search *s, uint32_t mapping, uint32_t *ret);

/* Search the value of a merge key: a mapping, or a sequence of mappings. */
static int search_merged(struct search *s, uint32_t value, uint32_t *ret)
{
        const struct doc *d = s->d;
        uint32_t of = node_resolve(d, value);
        if (d->node[of].type != NODE_SEQUENCE)
                return find_search(s, of, ret);
        int rc = 0;
        for (uint32_t at = of + 1; at < d->node[of].skip && rc == 0 && !*ret; at = node_next(d, at))
                rc = find_search(s, node_resolve(d, at), ret);
        return rc;
}

static int find_search(struct search *s, uint32_t mapping, uint32_t *ret)
{
        const struct doc *d = s->d;
        uint32_t key;
        if (d->node[mapping].type != NODE_MAPPING)
                return fail_at(d, mapping, s->err, "the value of a merge key (<<) must be a mapping");
        if (s->budget-- == 0)
                return fail_at(d, mapping, s->err, "more than %d mappings are merged", MERGES_MAX);
        int rc = check_looks(d, mapping, s->err);
        if (rc == 0)
                rc = member_find(d, mapping, s->key, &key, s->err);
        if (rc < 0)
                return rc;
        if (key != DOC_NONE) {
                *ret = node_next(d, key);
                return 0;
        }
        uint32_t merge = merge_find(d, mapping);
        return merge ? search_merged(s, node_next(d, merge), ret) : 0;
}

/* Whether a node is {} or []. Generators write either for an empty collection of any type, since their language knows
 * only one. */
static bool find_is_empty(const struct doc *d, uint32_t node)
{
        uint32_t at = node_resolve(d, node);
        return d->node[at].type != NODE_SCALAR && d->node[at].skip == at + 1;
}

/* Resolve a node that must be a collection of type `want`; *ret is DOC_NONE if the node is absent, null or empty. */
static int mapping_of(const struct doc *d, uint32_t node, enum doc_type want, uint32_t *ret, struct err *err)
{
        enum doc_type type = doc_type(d, node);
        *ret = DOC_NONE;
        if (type == DOC_ABSENT || type == DOC_NULL || find_is_empty(d, node))
                return 0;
        if (type != want)
                return fail_at(d, node, err, "a %s is expected here", want == DOC_MAPPING ? "mapping" : "sequence");
        *ret = node_resolve(d, node);
        return 0;
}

int doc_find(const struct doc *d, uint32_t mapping, struct text key, uint32_t *ret, struct err *err)
{
        uint32_t in, found = DOC_NONE;
        int rc = mapping_of(d, mapping, DOC_MAPPING, &in, err);
        if (rc == 0 && in != DOC_NONE) {
                struct search s = {d, key, MERGES_MAX, err};
                rc = find_search(&s, in, &found);
        }
        if (rc == 0)
                *ret = found;
        return rc;
}

/* Members collected so far; `budget` is how many more mappings may be visited. */
struct gather {
        const struct doc *d;
        struct doc_member *out;
        size_t count, max;
        int budget;
        struct err *err;
};

static bool is_gathered(const struct gather *g, size_t count, struct text key)
{
        for (size_t i = 0; i < count; i++)
                if (text_equal(g->out[i].key, key))
                        return true;
        return false;
}

static int find_gather(struct gather *g, uint32_t mapping);

static int gather_merged(struct gather *g, uint32_t value)
{
        const struct doc *d = g->d;
        uint32_t of = node_resolve(d, value);
        if (d->node[of].type != NODE_SEQUENCE)
                return find_gather(g, of);
        int rc = 0;
        for (uint32_t at = of + 1; at < d->node[of].skip && rc == 0; at = node_next(d, at))
                rc = find_gather(g, node_resolve(d, at));
        return rc;
}

static int find_gather(struct gather *g, uint32_t mapping)
{
        const struct doc *d = g->d;
        size_t before = g->count; /* the members collected before hide members of the same key here */
        if (d->node[mapping].type != NODE_MAPPING)
                return fail_at(d, mapping, g->err, "the value of a merge key (<<) must be a mapping");
        if (g->budget-- == 0)
                return fail_at(d, mapping, g->err, "more than %d mappings are merged", MERGES_MAX);
        if (check_looks(d, mapping, g->err) < 0)
                return ERR_INVALID;
        for (uint32_t at = mapping + 1; at < d->node[mapping].skip; at = node_next(d, node_next(d, at))) {
                struct text key = doc_text(d, at);
                ++*d->looked;
                if (is_merge(d, at) || is_gathered(g, before, key))
                        continue;
                if (d->node[node_resolve(d, at)].type != NODE_SCALAR)
                        return fail_at(d, at, g->err, "a key must be a text");
                if (is_gathered(g, g->count, key))
                        return fail_at(d, at, g->err, "key '%.*s' is there twice", TEXT_ARG(key));
                if (g->count == g->max)
                        return fail_many(d, at, g->err, g->max, "keys");
                g->out[g->count++] = (struct doc_member){key, node_next(d, at)};
        }
        uint32_t merge = merge_find(d, mapping);
        return merge ? gather_merged(g, node_next(d, merge)) : 0;
}

int doc_members(const struct doc *d, uint32_t mapping, size_t max, struct doc_member *ret, struct err *err)
{
        uint32_t in;
        int rc = mapping_of(d, mapping, DOC_MAPPING, &in, err);
        if (rc < 0 || in == DOC_NONE)
                return rc;
        struct gather g = {.d = d, .out = ret, .max = max, .budget = MERGES_MAX, .err = err};
        rc = find_gather(&g, in);
        return rc < 0 ? rc : (int)g.count;
}

int doc_items(const struct doc *d, uint32_t sequence, size_t max, uint32_t *ret, struct err *err)
{
        uint32_t in;
        int rc = mapping_of(d, sequence, DOC_SEQUENCE, &in, err);
        if (rc < 0 || in == DOC_NONE)
                return rc;
        size_t count = 0;
        for (uint32_t at = in + 1; at < d->node[in].skip; at = node_next(d, at)) {
                if (count == max)
                        return fail_many(d, at, err, max, "items");
                ret[count++] = at;
        }
        return (int)count;
}
