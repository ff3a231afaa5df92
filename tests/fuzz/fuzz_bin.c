/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_bin.c - bytes read as .f16bin, .u8bin, and both halves of .ibin. */
#include "fuzz/io_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_every_way("a.f16bin", data, size);
    fuzz_every_way("a.u8bin", data, size);
    fuzz_every_way("a.ibin", data, size);
    fuzz_every_way("a.ibin:distances", data, size);
    return 0;
}
