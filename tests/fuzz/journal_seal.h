/* SPDX-License-Identifier: Apache-2.0 */
/* journal_seal.h - the checksums of a journal that was changed in memory, made right again. */
#pragma once

#include "base/files/checksum.h"
#include "index/journal/frame.h"

#include <string.h>

enum { FUZZ_HEADER_SUM = 56, FUZZ_BUILD_AT = 20, FUZZ_LEAST_END_AT = 24 };

/* Recompute the header's checksum, and that of every frame from the first on, as far as their sizes lead. */
static inline void fuzz_seal_journal(uint8_t *bytes, size_t size) {
    uint64_t previous, no_end = 0;
    uint32_t build;
    if (size < THR_JOURNAL_HEADER)
        return;
    memcpy(&build, bytes + FUZZ_BUILD_AT, sizeof build);
    memcpy(bytes + FUZZ_LEAST_END_AT, &no_end, sizeof no_end); /* frames follow the checksum of such a header */
    previous = thr_checksum_of(bytes, FUZZ_HEADER_SUM);
    memcpy(bytes + FUZZ_HEADER_SUM, &previous, sizeof previous);
    for (size_t at = THR_JOURNAL_HEADER; size - at >= THR_FRAME_HEADER;) {
        thr_frame_header h;
        memcpy(&h, bytes + at, sizeof h);
        if (h.size % 8 != 0 || h.size < sizeof h || h.size > size - at)
            return;
        h.magic = THR_FRAME_MAGIC;
        h.position = at;
        h.previous = previous;
        h.header_sum = thr_index_frame_header_sum(&h, build);
        previous = h.checksum = thr_index_frame_checksum(&h, (const char *)bytes + at + sizeof h);
        memcpy(bytes + at, &h, sizeof h);
        at += (size_t)h.size;
    }
}
