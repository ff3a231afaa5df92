/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c - bytes read as .txt. */
#include "fuzz/io_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_every_way("a.txt", data, size);
    return 0;
}
