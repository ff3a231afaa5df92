/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *test_emulator_path(void) {
#ifdef TEST_EMULATED_BACKEND
    return TEST_EMULATED_BACKEND;
#else
    return NULL;
#endif
}

const char *test_emulator_cublas(void) {
#ifdef TEST_EMULATED_CUBLAS
    return TEST_EMULATED_CUBLAS;
#else
    return "";
#endif
}

/* A function of the library to a pointer to functions, which C does not cast to. */
static void find(void *library, const char *path, const char *name, void *function_out) {
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        (void)fprintf(stderr, "%s: %s: %s\n", path, name, dlerror());
        exit(1);
    }
    memcpy(function_out, &found, sizeof found);
}

bool test_emulator_take(test_emulator *emulator, unsigned n_devices) {
    const char *path = test_emulator_path();
    char number[16];
    if (path == NULL)
        return false;
    (void)snprintf(number, sizeof number, "%u", n_devices);
    (void)setenv("THR_CUDA_LIBRARY", path, 1);
    (void)setenv("THR_CUBLAS_LIBRARY", test_emulator_cublas(), 1);
    (void)setenv("THR_SIMT_DEVICES", number, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    find(library, path, "simt_fail", &emulator->let_fail);
    find(library, path, "simt_allocated", &emulator->allocated);
    find(library, path, "simt_pinned", &emulator->pinned);
    find(library, path, "simt_launches", &emulator->launches);
    return true;
}
