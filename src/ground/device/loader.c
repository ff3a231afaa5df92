/* SPDX-License-Identifier: Apache-2.0 */
/* Find and load a backend's library once; the public functions about its devices. */
#define _GNU_SOURCE /* dladdr */
#include "base/error.h"
#include "device/device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char LIBRARY[] = "libthresher_cuda.so";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;
static const thr_backend *loaded;

/* The thread that held the lock may exist in the parent only. */
static void unlock_in_child(void) {
    (void)pthread_mutex_init(&lock, NULL);
}

static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, unlock_in_child);
}

/* Load the library of this name from the directory that contains this library. */
static void *open_beside(void) {
    Dl_info info;
    char path[4096];
    static const char here = 0;
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash == NULL || (size_t)(slash - info.dli_fname) + sizeof LIBRARY + 1 > sizeof path)
        return NULL;
    (void)snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, LIBRARY);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static thr_status load(const thr_backend **backend, thr_error *err) {
    const char *named = getenv("THR_CUDA_LIBRARY");
    const bool is_named = named != NULL && *named != '\0';
    void *library = is_named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : open_beside();
    if (library == NULL && !is_named)
        library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return thr_fail(err, THR_EDEVICE, "no GPU can be used: %s could not be loaded (%s)", is_named ? named : LIBRARY,
                        is_named ? dlerror() : "was this built where CUDA's compiler is?");
    thr_backend_get_fn get = NULL;
    void *symbol = dlsym(library, THR_BACKEND_SYMBOL);
    memcpy(&get, &symbol, sizeof get); /* C has no cast from void * to a function pointer */
    const thr_backend *found = get == NULL ? NULL : get();
    if (found == NULL || found->version != THR_BACKEND_VERSION || found->size != sizeof *found) {
        (void)dlclose(library);
        return thr_fail(err, THR_EDEVICE, "no GPU can be used: %s is of another version than this library",
                        is_named ? named : LIBRARY);
    }
    *backend = found; /* never unloaded */
    return THR_OK;
}

thr_status thr_device_backend_load(const thr_backend **backend, thr_error *err) {
    thr_status status = THR_OK;
    (void)pthread_once(&forks_are_watched, watch_forks);
    (void)pthread_mutex_lock(&lock);
    if (loaded == NULL)
        status = load(&loaded, err);
    *backend = loaded;
    (void)pthread_mutex_unlock(&lock);
    return status;
}

thr_status thr_device_count(uint32_t *n, thr_error *err) {
    const thr_backend *backend;
    *n = 0;
    THR_TRY(thr_device_backend_load(&backend, err));
    return backend->count(n, err);
}

thr_status thr_device_describe(uint32_t number, thr_device_info *info, thr_error *err) {
    const thr_backend *backend;
    uint32_t n;
    THR_TRY(thr_device_backend_load(&backend, err));
    THR_TRY(backend->count(&n, err));
    if (number >= n)
        return thr_fail(err, THR_EINVAL, "there is no cuda:%u: this machine has %u GPU%s", number, n,
                        n == 1 ? "" : "s");
    return backend->describe(number, info, err);
}
