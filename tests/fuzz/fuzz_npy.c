/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c - bytes read as .npy. */
#include "fuzz/io_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_every_way("a.npy", data, size);
    return 0;
}
