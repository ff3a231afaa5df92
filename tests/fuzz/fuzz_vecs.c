/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_vecs.c - bytes read as .fvecs and .bvecs. */
#include "fuzz/io_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_every_way("a.fvecs", data, size);
    fuzz_every_way("a.bvecs", data, size);
    return 0;
}
