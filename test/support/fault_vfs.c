#include "fault_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

struct file {
        sqlite3_file base;
        sqlite3_file *real; /* follows in memory */
};

static sqlite3_vfs *real_vfs;
static struct {
        pthread_mutex_t mutex;
        pthread_cond_t fired_once;
        bool armed, lasting;
        enum fault_kind kind;
        int code;
        unsigned left, fired;
} fault = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fired_once = PTHREAD_COND_INITIALIZER};

void fault_arm(enum fault_kind kind, int code, unsigned nth, bool lasting)
{
        pthread_mutex_lock(&fault.mutex);
        fault.armed = true;
        fault.lasting = lasting;
        fault.kind = kind;
        fault.code = code;
        fault.left = nth;
        fault.fired = 0;
        pthread_mutex_unlock(&fault.mutex);
}

bool fault_disarm(void)
{
        pthread_mutex_lock(&fault.mutex);
        fault.armed = false;
        bool fired = fault.fired > 0;
        pthread_mutex_unlock(&fault.mutex);
        return fired;
}

bool fault_fired(unsigned at_least)
{
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 100;
        pthread_mutex_lock(&fault.mutex);
        while (fault.fired < at_least && pthread_cond_timedwait(&fault.fired_once, &fault.mutex, &until) == 0)
                ;
        bool enough = fault.fired >= at_least;
        pthread_mutex_unlock(&fault.mutex);
        return enough;
}

/* The code to fail with, or 0. */
static int strikes(enum fault_kind kind)
{
        int code = 0;
        pthread_mutex_lock(&fault.mutex);
        if (fault.armed && fault.kind == kind) {
                if (fault.left > 0) {
                        fault.left--;
                } else if (fault.lasting || fault.fired == 0) {
                        fault.fired++;
                        code = fault.code;
                        pthread_cond_broadcast(&fault.fired_once);
                }
        }
        pthread_mutex_unlock(&fault.mutex);
        return code;
}

static sqlite3_file *real_of(sqlite3_file *f)
{
        return ((struct file *)f)->real;
}

#define CALL(f, method, ...) real_of(f)->pMethods->method(real_of(f) __VA_OPT__(, ) __VA_ARGS__)

static int on_close(sqlite3_file *f)
{
        return CALL(f, xClose);
}

static int on_read(sqlite3_file *f, void *p, int len, sqlite3_int64 at)
{
        int code = strikes(FAULT_READ);
        return code ? code : CALL(f, xRead, p, len, at);
}

static int on_write(sqlite3_file *f, const void *p, int len, sqlite3_int64 at)
{
        int code = strikes(FAULT_WRITE);
        if (code)
                return code;
        code = strikes(FAULT_SHORT_WRITE);
        if (code)
                CALL(f, xWrite, p, len / 2, at);
        return code ? code : CALL(f, xWrite, p, len, at);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
        int code = strikes(FAULT_TRUNCATE);
        return code ? code : CALL(f, xTruncate, size);
}

static int on_sync(sqlite3_file *f, int flags)
{
        int code = strikes(FAULT_SYNC);
        return code ? code : CALL(f, xSync, flags);
}

static int on_size(sqlite3_file *f, sqlite3_int64 *size)
{
        return CALL(f, xFileSize, size);
}

static int on_lock(sqlite3_file *f, int level)
{
        return CALL(f, xLock, level);
}

static int on_unlock(sqlite3_file *f, int level)
{
        return CALL(f, xUnlock, level);
}

static int on_reserved(sqlite3_file *f, int *ret)
{
        return CALL(f, xCheckReservedLock, ret);
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
        return CALL(f, xFileControl, op, arg);
}

static int on_sector(sqlite3_file *f)
{
        return CALL(f, xSectorSize);
}

static int on_traits(sqlite3_file *f)
{
        return CALL(f, xDeviceCharacteristics);
}

static int on_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
        int code = strikes(FAULT_SHM);
        return code ? code : CALL(f, xShmMap, region, size, extend, ret);
}

static int on_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
        return CALL(f, xShmLock, offset, n, flags);
}

static void on_shm_barrier(sqlite3_file *f)
{
        CALL(f, xShmBarrier);
}

static int on_shm_unmap(sqlite3_file *f, int remove)
{
        return CALL(f, xShmUnmap, remove);
}

static const sqlite3_io_methods methods = {
        .iVersion = 2,
        .xClose = on_close,
        .xRead = on_read,
        .xWrite = on_write,
        .xTruncate = on_truncate,
        .xSync = on_sync,
        .xFileSize = on_size,
        .xLock = on_lock,
        .xUnlock = on_unlock,
        .xCheckReservedLock = on_reserved,
        .xFileControl = on_control,
        .xSectorSize = on_sector,
        .xDeviceCharacteristics = on_traits,
        .xShmMap = on_shm_map,
        .xShmLock = on_shm_lock,
        .xShmBarrier = on_shm_barrier,
        .xShmUnmap = on_shm_unmap,
};

static int on_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *ret_flags)
{
        (void)vfs;
        struct file *file = (struct file *)f;
        file->base.pMethods = NULL;
        file->real = (sqlite3_file *)(void *)(file + 1);
        int code = strikes(FAULT_OPEN);
        int rc = code ? code : real_vfs->xOpen(real_vfs, name, file->real, flags, ret_flags);
        if (rc == SQLITE_OK)
                file->base.pMethods = &methods;
        return rc;
}

void fault_install(void)
{
        static sqlite3_vfs vfs;
        if (real_vfs)
                return;
        real_vfs = sqlite3_vfs_find(NULL);
        vfs = *real_vfs;
        vfs.zName = "faults";
        vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
        vfs.pNext = NULL;
        vfs.xOpen = on_open;
        sqlite3_vfs_register(&vfs, 1);
}
