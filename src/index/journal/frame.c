/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c - puts calls into a frame, and the checksum over one. */
#include "index/journal/frame.h"

#include "base/files/checksum.h"
#include "base/error.h"

#include <string.h>

uint64_t thr_index_frame_checksum(const thr_frame_header *header, const char *body) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    thr_checksum_add(sum, header, offsetof(thr_frame_header, checksum));
    thr_checksum_add(sum, body, (size_t)header->size - sizeof *header);
    return thr_checksum_end(sum);
}

void thr_index_frame_begin(thr_frame *frame) {
    frame->size = sizeof(thr_frame_header);
    frame->n_calls = 0;
}

uint64_t thr_index_frame_call_size(const thr_journal_call *call, uint32_t n_dims) {
    return sizeof(thr_call_header) + ((uint64_t)call->n_removed + call->n_added) * sizeof(uint64_t) +
           thr_call_padded((uint64_t)call->n_added * n_dims * sizeof(float)) + thr_call_padded(call->names_size);
}

/* Copy n bytes, and add zeros up to a multiple of 8. */
static char *put(char *to, const void *bytes, uint64_t n) {
    static const char zeros[8] = {0};
    if (n > 0)
        memcpy(to, bytes, (size_t)n);
    memcpy(to + n, zeros, (size_t)(thr_call_padded(n) - n));
    return to + thr_call_padded(n);
}

thr_status thr_index_frame_add(thr_frame *frame, const thr_journal_call *call, uint32_t n_dims, thr_error *err) {
    const thr_call_header header = {call->n_removed, call->n_added, call->names_size};
    const size_t size = (size_t)thr_index_frame_call_size(call, n_dims);
    THR_TRY(thr_grow(frame->context, &frame->bytes, &frame->capacity, frame->size + size, 1, "the journal", err));
    char *at = put(frame->bytes + frame->size, &header, sizeof header);
    at = put(at, call->removed, call->n_removed * sizeof(uint64_t));
    at = put(at, call->ids, call->n_added * sizeof(uint64_t));
    at = put(at, call->vectors, (uint64_t)call->n_added * n_dims * sizeof(float));
    (void)put(at, call->names, call->names_size);
    frame->size += size;
    frame->n_calls++;
    return THR_OK;
}
