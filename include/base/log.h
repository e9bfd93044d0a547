/*
 * Structured logs on stderr, as text or JSON. A log line is a constant message and then keys with values. The modules
 * below cache (base, core, net, objects, kube, store, http and others) return errors and log nothing.
 *
 * Each line is written whole, so that lines of several threads do not mix. Writing waits for a slow reader of stderr;
 * when the reader is gone, the line is lost.
 *
 * Values are quoted and escaped as needed and cut at 1 KiB: neither a control character nor invalid UTF-8 reaches a
 * terminal. A NULL text shows as - (text) or null (JSON).
 *
 *     2026-11-21T11:54:02.123Z WARN  patch refused pod=web-0 http=409 why="no longer there"
 *     {"time":"2026-11-21T11:54:02.123Z","level":"warn","message":"patch refused","pod":"web-0","http":409}
 */
#ifndef HALFLIFE_BASE_LOG_H
#define HALFLIFE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct kv {
        const char *key;
        enum { KV_IS_TEXT, KV_IS_INT, KV_IS_REAL } kind;
        const char *text;
        int64_t integer;
        double real;
};
#define KV(k, v)      ((struct kv){.key = (k), .kind = KV_IS_TEXT, .text = (v)})
#define KV_INT(k, v)  ((struct kv){.key = (k), .kind = KV_IS_INT, .integer = (int64_t)(v)})
#define KV_REAL(k, v) ((struct kv){.key = (k), .kind = KV_IS_REAL, .real = (v)})

void log_setup(enum log_level least, bool json);
void log_write(enum log_level level, const char *message, const struct kv *kv, int count);

#define LOG_KVS_(...)                                                                                                  \
        (const struct kv[])                                                                                            \
        {                                                                                                              \
                __VA_ARGS__                                                                                            \
        }
#define LOG_(level, msg, ...)                                                                                          \
        log_write(level, msg, LOG_KVS_(__VA_ARGS__), (int)(sizeof(LOG_KVS_(__VA_ARGS__)) / sizeof(struct kv)))
#define log_debug(msg, ...) LOG_(LOG_DEBUG, msg, __VA_ARGS__)
#define log_info(msg, ...)  LOG_(LOG_INFO, msg, __VA_ARGS__)
#define log_warn(msg, ...)  LOG_(LOG_WARN, msg, __VA_ARGS__)
#define log_error(msg, ...) LOG_(LOG_ERROR, msg, __VA_ARGS__)

#endif
