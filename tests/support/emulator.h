/* SPDX-License-Identifier: Apache-2.0 */
/* emulator.h - the GPUs of tests/simt in place of real ones, with faults and counters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_emulator {
    void (*let_fail)(const char *what); /* "alloc 3", "none", ...: tests/simt/simt_control.h */
    size_t (*allocated)(void);          /* bytes of all devices */
    size_t (*pinned)(void);
    uint64_t (*launches)(void);
} test_emulator;

/*
 * From now on the backend that this process loads is the one compiled for the emulator, with so many devices; before
 * any other is loaded. False: it was not built, for lack of a C++ compiler.
 */
bool test_emulator_take(test_emulator *emulator, unsigned n_devices);

/* Where that backend is, or NULL; and the library that it takes for cuBLAS. */
const char *test_emulator_path(void);
const char *test_emulator_cublas(void);
