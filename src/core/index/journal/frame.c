/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c - puts changes into a frame, and the checksum over one. */
#include "index/journal/frame.h"

#include "base/files/checksum.h"
#include "base/error.h"

#include <string.h>

uint32_t thr_index_frame_header_sum(const thr_frame_header *header, uint32_t build) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    thr_checksum_add(sum, header, offsetof(thr_frame_header, header_sum));
    thr_checksum_add(sum, &build, sizeof build);
    return (uint32_t)thr_checksum_end(sum);
}

uint64_t thr_index_frame_checksum(const thr_frame_header *header, const char *body) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    thr_checksum_add(sum, header, offsetof(thr_frame_header, checksum));
    thr_checksum_add(sum, body, (size_t)header->size - sizeof *header);
    return thr_checksum_end(sum);
}

void thr_index_frame_begin(thr_frame *frame) {
    frame->size = sizeof(thr_frame_header);
    frame->n_changes = 0;
}

uint64_t thr_index_frame_change_size(const thr_journal_change *change, uint32_t n_dims) {
    return sizeof(thr_change_header) + ((uint64_t)change->n_removed + change->n_added) * sizeof(uint64_t) +
           thr_frame_padded((uint64_t)change->n_added * n_dims * sizeof(float)) + thr_frame_padded(change->names_size);
}

/* Copy n bytes, and add zeros up to a multiple of 8. */
static char *put(char *to, const void *bytes, uint64_t n) {
    static const char zeros[8] = {0};
    if (n > 0)
        memcpy(to, bytes, (size_t)n);
    memcpy(to + n, zeros, (size_t)(thr_frame_padded(n) - n));
    return to + thr_frame_padded(n);
}

thr_status thr_index_frame_add(thr_frame *frame, const thr_journal_change *change, uint32_t n_dims, thr_error *err) {
    const thr_change_header header = {change->n_removed, change->n_added, change->names_size};
    const size_t size = (size_t)thr_index_frame_change_size(change, n_dims);
    THR_TRY(thr_grow(frame->context, &frame->bytes, &frame->capacity, frame->size + size, 1, "the journal", err));
    char *at = put(frame->bytes + frame->size, &header, sizeof header);
    at = put(at, change->removed, change->n_removed * sizeof(uint64_t));
    at = put(at, change->ids, change->n_added * sizeof(uint64_t));
    at = put(at, change->vectors, (uint64_t)change->n_added * n_dims * sizeof(float));
    (void)put(at, change->names, change->names_size);
    frame->size += size;
    frame->n_changes++;
    return THR_OK;
}
