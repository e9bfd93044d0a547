/* A test API server, and halflife's commands as people type them at it: each is run by a shell, to its end. */
#ifndef HALFLIFE_TEST_SUPPORT_SHELL_H
#define HALFLIFE_TEST_SUPPORT_SHELL_H

#include "halflife.h"

struct shell {
        struct fake *fake;
        char *kubeconfig, *program; /* paths */
};

/* Fails the test where the kubeconfig cannot be written. */
void shell_begin(struct shell *s, const struct fake_options *options);
void shell_put(struct shell *s, const char *const *objects, size_t count); /* as kubectl */
void shell_end(struct shell *s);

struct shell_run {
        int result; /* the exit code; -1: it did not end by itself */
        char *out, *err;
        size_t len; /* of out */
};
/* "halflife COMMAND WORDS", with the server's kubeconfig; the words may redirect. */
struct shell_run shell_run(const struct shell *s, const char *command, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
void shell_run_release_auto(struct shell_run *r);

/* An object of a kind's definition that takes any spec. */
#define SHELL_CRD(group, version, kind, singular)                                                                      \
        "{\"apiVersion\":\"apiextensions.k8s.io/"                                                                      \
        "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"" singular "s." group                     \
        "\"},\"spec\":{\"group\":\"" group "\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"" singular             \
        "s\",\"singular\":\"" singular "\",\"kind\":\"" kind "\"},\"versions\":[{\"name\":\"" version                  \
        "\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","                    \
        "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"

#endif
