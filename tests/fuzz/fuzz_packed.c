/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_packed.c - bytes read through gzip and xz. */
#include "fuzz/io_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)fuzz_read("a.fvecs.gz", data, size, true, 7);
    (void)fuzz_read("a.fvecs.xz", data, size, false, 7);
    (void)fuzz_read("a.txt.gz", data, size, false, 1);
    return 0;
}
