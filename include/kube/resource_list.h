/*
 * Look-ups in an APIResourceList, discovery's answer about a group and version.
 */
#ifndef HALFLIFE_KUBE_RESOURCE_LIST_H
#define HALFLIFE_KUBE_RESOURCE_LIST_H

#include <jansson.h>

/* The name of the first resource with this name ("deployments", "pods/resize"; NULL: any name, but no subresource) and
 * this kind (NULL: any). Points into the list; NULL: there is none, or the JSON is not such a list. */
const char *resource_list_find(const json_t *list, const char *name, const char *kind);

#endif
