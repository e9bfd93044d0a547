#include "manifest/pod_template.h"

#include <assert.h>
#include <stdio.h>

#include "document_private.h"
#include "template_readings.h"

static const char *const lists[] = {"containers", "initContainers"};

/* --- reading --- */

/* Is this an octal number of YAML 1.1? There 010 is eight, while the quantity 010 is ten. */
static bool is_octal(struct text t)
{
        size_t sign = t.len > 0 && (*t.p == '-' || *t.p == '+');
        return t.len > sign + 1 && t.p[sign] == '0' && t.p[sign + 1] >= '0' && t.p[sign + 1] <= '7';
}

static int amount_read(const struct doc *d, uint32_t at, enum resource r, struct amount *ret, struct err *err)
{
        enum doc_type type = doc_type(d, at);
        struct text t = doc_text(d, at);
        struct amount amount;
        if (type == DOC_ABSENT || type == DOC_NULL)
                return 0;
        if ((type != DOC_TEXT && type != DOC_NUMBER) || amount_parse(t, r, &amount) < 0)
                return fail_at(d, at, err, "'%.*s' is not a quantity", TEXT_ARG(t));
        if (type == DOC_NUMBER && is_octal(t))
                return fail_at(d, at, err, "'%.*s' is an octal number: write it as a decimal one", TEXT_ARG(t));
        *ret = amount;
        return 0;
}

static int amounts_read(const struct doc *d, uint32_t quantities, struct amount *ret, struct err *err)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                uint32_t at = DOC_NONE;
                int rc = doc_find(d, quantities, text_of(resource_name(r)), &at, err);
                if (rc == 0)
                        rc = amount_read(d, at, r, &ret[r], err);
                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int resources_read(const struct doc *d, uint32_t holder, struct amount *request, struct amount *limit,
                          struct err *err)
{
        uint32_t resources = DOC_NONE, requests = DOC_NONE, limits = DOC_NONE;
        int rc = doc_find(d, holder, TEXT("resources"), &resources, err);
        if (rc == 0)
                rc = doc_find(d, resources, TEXT("requests"), &requests, err);
        if (rc == 0)
                rc = doc_find(d, resources, TEXT("limits"), &limits, err);
        if (rc == 0)
                rc = amounts_read(d, requests, request, err);
        return rc < 0 ? rc : amounts_read(d, limits, limit, err);
}

static int container_read(const struct doc *d, uint32_t at, bool init, struct template_container *c, struct err *err)
{
        uint32_t name = DOC_NONE, policy = DOC_NONE;
        int rc = doc_find(d, at, TEXT("name"), &name, err);
        if (rc == 0)
                rc = doc_find(d, at, TEXT("restartPolicy"), &policy, err);
        if (rc < 0)
                return rc;
        c->name = doc_text(d, name);
        if (doc_type(d, name) != DOC_TEXT || c->name.len == 0)
                return fail_at(d, at, err, "the container has no name");
        c->role = !init ? ROLE_MAIN : text_is(doc_text(d, policy), "Always") ? ROLE_SIDECAR : ROLE_INIT;
        return resources_read(d, at, c->request, c->limit, err);
}

static bool template_is_known(const struct template_view *t, struct text name)
{
        for (int i = 0; i < t->containers; i++)
                if (text_equal(t->container[i].name, name))
                        return true;
        return false;
}

static int containers_read(const struct doc *d, uint32_t spec, bool init, struct template_view *t, struct err *err)
{
        uint32_t list = DOC_NONE, item[TEMPLATE_CONTAINERS];
        int rc = doc_find(d, spec, text_of(lists[init]), &list, err);
        int n = rc < 0 ? rc : doc_items(d, list, (size_t)(TEMPLATE_CONTAINERS - t->containers), item, err);
        if (n == ERR_TOOBIG)
                return fail_many(d, list, err, TEMPLATE_CONTAINERS,
                                 "containers and init containers, the most that halflife reads of a pod");
        for (int i = 0; i < n; i++) {
                struct template_container c = {.item = (size_t)i};
                rc = container_read(d, item[i], init, &c, err);
                if (rc < 0)
                        return rc;
                if (template_is_known(t, c.name))
                        return fail_at(d, item[i], err, "container '%.*s' is there twice", TEXT_ARG(c.name));
                t->container[t->containers++] = c;
        }
        return n < 0 ? n : 0;
}

/* Read the pod-level requests. Like the API server, take the pod-level limit if no container sets the resource. */
static int pod_asks_read(const struct doc *d, uint32_t spec, struct template_view *t, struct err *err)
{
        struct amount limit[RESOURCES] = {0};
        int rc = resources_read(d, spec, t->pod_asks, limit, err);
        for (enum resource r = CPU; rc == 0 && r < RESOURCES; r++) {
                bool asked = t->pod_asks[r].set;
                for (int i = 0; i < t->containers; i++)
                        asked |= t->container[i].request[r].set || t->container[i].limit[r].set;
                if (!asked)
                        t->pod_asks[r] = limit[r];
        }
        return rc;
}

/* Follow a JSON pointer to the template, and record its steps in t->path. */
static int walk_pointer(const struct doc *d, uint32_t root, const char *pointer, struct template_view *t, uint32_t *ret,
                        struct err *err)
{
        uint32_t at = root;
        while (*pointer == '/') {
                size_t len = strcspn(++pointer, "/");
                assert(t->steps < TEMPLATE_STEPS);
                t->path[t->steps].key = (struct text){pointer, len};
                int rc = doc_find(d, at, t->path[t->steps++].key, &at, err);
                if (rc < 0)
                        return rc;
                pointer += len;
        }
        *ret = at;
        return 0;
}

int template_read(const struct doc *d, size_t object, const char *template_path, struct template_view *ret,
                  struct err *err)
{
        uint32_t template = DOC_NONE, metadata = DOC_NONE, spec = DOC_NONE;
        struct template_view t = {0};
        int rc = walk_pointer(d, doc_object(d, object)->root, template_path, &t, &template, err);
        if (rc == 0)
                rc = doc_find(d, template, TEXT("spec"), &spec, err);
        if (rc == 0 && spec == DOC_NONE)
                return err_set(err, ERR_NOTFOUND, "there is no pod template at '%s/spec'", template_path);
        if (rc == 0)
                rc = doc_find(d, template, TEXT("metadata"), &metadata, err);
        if (rc == 0)
                rc = doc_find(d, metadata, TEXT("labels"), &t.labels, err);
        if (rc == 0)
                rc = doc_find(d, metadata, TEXT("annotations"), &t.annotations, err);
        if (rc == 0)
                rc = containers_read(d, spec, false, &t, err);
        if (rc == 0)
                rc = containers_read(d, spec, true, &t, err);
        if (rc == 0)
                rc = pod_asks_read(d, spec, &t, err);
        if (rc == 0)
                rc = template_readings(d, spec, &t, err);
        if (rc == 0)
                *ret = t;
        return rc;
}

/* Looks only at the mapping's own members: merged members belong to another mapping, which template_asks visits as
 * well. */
static bool template_asks_here(const struct doc *d, uint32_t mapping)
{
        uint32_t key = DOC_NONE, requests = DOC_NONE;
        bool asks = false;
        if (member_find(d, mapping, TEXT("resources"), &key, NULL) < 0 || key == DOC_NONE ||
            doc_find(d, node_next(d, key), TEXT("requests"), &requests, NULL) < 0)
                return false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                uint32_t at = DOC_NONE;
                asks |= doc_find(d, requests, text_of(resource_name(r)), &at, NULL) == 0 && at != DOC_NONE;
        }
        return asks;
}

bool template_asks(const struct doc *d, size_t object)
{
        uint32_t root = doc_object(d, object)->root;
        for (uint32_t at = root; root != DOC_NONE && at < d->node[root].skip; at++)
                if (d->node[at].type == NODE_MAPPING && template_asks_here(d, at))
                        return true;
        return false;
}

/* --- editing --- */

enum {
        PATH_STEPS = TEMPLATE_STEPS + 6, /* spec, containers, number, resources, requests, cpu */
        CHANGES_MAX = TEMPLATE_CONTAINERS * RESOURCES + 2 * TEMPLATE_NOTES
};

/* The changes of one edit, with storage for their paths and values. */
struct changes {
        struct doc_change item[CHANGES_MAX];
        struct doc_step path[CHANGES_MAX][PATH_STEPS];
        char quantity[TEMPLATE_CONTAINERS * RESOURCES][QUANTITY_TEXT_MAX];
        size_t count;
};

static void step_add(struct doc_change *c, struct doc_step *path, const char *key)
{
        assert(c->steps < PATH_STEPS);
        path[c->steps++] = (struct doc_step){.key = text_of(key)};
}

/* Add a change whose path begins with the first steps of the template's path; 0 steps begin at the object itself. */
static struct doc_change *change_new(struct changes *all, const struct template_view *t, size_t steps,
                                     struct doc_step **ret_path)
{
        struct doc_step *path = all->path[all->count];
        assert(all->count < CHANGES_MAX);
        memcpy(path, t->path, steps * sizeof *path);
        *ret_path = path;
        struct doc_change *c = &all->item[all->count++];
        *c = (struct doc_change){.path = path, .steps = steps};
        return c;
}

static bool request_differs(const struct template_container *c, const struct template_change *change, enum resource r)
{
        return change->write[r] && !amount_equal(c->request[r], change->to[r]);
}

static void add_request(struct changes *all, const struct template_view *t, const struct template_change *change,
                        enum resource r)
{
        const struct template_container *in = &t->container[change->container];
        char *text = all->quantity[all->count];
        struct doc_step *path;
        struct doc_change *c = change_new(all, t, t->steps, &path);
        step_add(c, path, "spec");
        step_add(c, path, lists[in->role != ROLE_MAIN]);
        path[c->steps++] = (struct doc_step){.item = in->item};
        step_add(c, path, "resources");
        step_add(c, path, "requests");
        step_add(c, path, resource_name(r));
        c->form = change->to[r].set ? DOC_QUANTITY : DOC_REMOVE;
        if (change->to[r].set)
                c->value = text_of(amount_print(r, change->to[r].value, text));
}

static void add_note(struct changes *all, const struct template_view *t, size_t steps, const struct template_note *note)
{
        struct doc_step *path;
        struct doc_change *c = change_new(all, t, steps, &path);
        step_add(c, path, "metadata");
        step_add(c, path, "annotations");
        step_add(c, path, note->key);
        c->form = note->value ? DOC_STRING : DOC_REMOVE;
        c->value = text_of(note->value);
}

int template_edit(struct doc *d, size_t object, const struct template_view *t, const struct template_change *change,
                  size_t changes, const struct template_note *note, size_t notes, struct err *err)
{
        assert(notes <= TEMPLATE_NOTES && changes <= TEMPLATE_CONTAINERS);
        struct changes *all AUTO(mem_free) = MEM_NEW(struct changes);
        for (size_t i = 0; i < changes; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (request_differs(&t->container[change[i].container], &change[i], r))
                                add_request(all, t, &change[i], r);
        if (all->count == 0)
                return 0;
        for (size_t i = 0; i < notes; i++) {
                add_note(all, t, t->steps, &note[i]);
                if (t->steps > 0)
                        add_note(all, t, 0, &note[i]);
        }
        return doc_edit(d, object, all->item, all->count, err);
}
