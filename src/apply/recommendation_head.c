/*
 * The head of a Recommendation: its target, its profile, and the workload's labels. Labels by which a deployment tool
 * finds what it manages are not copied: the tool would delete the Recommendation as an object that it did not deploy.
 */
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"
#include "core/ownership_label.h"
#include "kube/known_resource.h"

static bool label_is_copied(const struct applier *applier, struct text key)
{
        return !ownership_label(key, applier->options.ownership_labels);
}

json_t *publish_build_head(const struct applier *applier, const struct target *t)
{
        json_t *labels = json_object();
        struct labels own = workload_own_labels(t->workload);
        for (size_t i = 0; i < own.count; i++) {
                if (!label_is_copied(applier, own.pair[i].key))
                        continue;
                char *key = mem_string_n(own.pair[i].key.p, own.pair[i].key.len);
                json_object_set_new(labels, key, json_stringn(own.pair[i].value.p, own.pair[i].value.len));
                mem_free(key);
        }
        char *api_version = *t->group ? mem_printf("%s/%s", t->group, t->version) : mem_string(t->version);
        json_t *head = json_pack("{s:s, s:s, s:{s:s, s:s, s:o}, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s}, s:s}}",
                                 "apiVersion", OWN_API_VERSION, "kind", "Recommendation", "metadata", "name",
                                 t->recommendation, "namespace", t->ns, "labels", labels, "spec", "targetRef",
                                 "apiVersion", api_version, "kind", t->kind, "name", t->name, "profileRef", "kind",
                                 t->profile     ? profile_kind(t->profile)
                                 : t->published ? profile_kind_name(t->published->of_profile)
                                                : "",
                                 "name",
                                 t->profile     ? t->profile->name
                                 : t->published ? t->published->profile_name
                                                : "",
                                 "dimension", dimension_name(t->dimension));
        mem_free(api_version);
        return head;
}

static bool label_stands(const struct labels *there, struct label_pair want)
{
        for (size_t i = 0; i < there->count; i++)
                if (text_equal(there->pair[i].key, want.key))
                        return text_equal(there->pair[i].value, want.value);
        return false;
}

static uint64_t owned_label_digest(struct label_pair l)
{
        return digest_bytes(digest_bytes(0, l.key.p, l.key.len), l.value.p, l.value.len);
}

uint64_t publish_labels_digest(const struct applier *applier, const struct workload *wl)
{
        struct labels own = workload_own_labels(wl);
        uint64_t sum = 1;
        for (size_t i = 0; i < own.count; i++)
                if (label_is_copied(applier, own.pair[i].key))
                        sum += owned_label_digest(own.pair[i]);
        return sum;
}

/* Whether the Recommendation's labels are as halflife sets them. Each cycle asks this for each target, so each key is
 * looked up once. An ownership label still on the object was copied by a former version, or before the setting named
 * it. */
static bool labels_stand(const struct applier *applier, const struct published *p, struct labels own)
{
        uint64_t sum = 1;
        for (size_t i = 0; i < own.count; i++) {
                bool copied = label_is_copied(applier, own.pair[i].key);
                if ((copied || !p->labels_written) && label_stands(&p->labels, own.pair[i]) != copied)
                        return false;
                if (copied && p->labels_written)
                        sum += owned_label_digest(own.pair[i]);
        }
        return !p->labels_written || p->labels_written == sum;
}

bool publish_head_stands(const struct applier *applier, const struct target *t)
{
        const struct published *p = t->published;
        if (!p || !p->known)
                return false;
        if (t->profile && (strcmp(p->profile_name, t->profile->name) != 0 || p->of_profile != (t->profile->ns != NULL)))
                return false;
        return labels_stand(applier, p, workload_own_labels(t->workload));
}
