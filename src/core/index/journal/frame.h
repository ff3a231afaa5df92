/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - the bytes of a journal's frames. */
#pragma once

#include "index/journal/journal.h"

#include <unistd.h>

#define THR_FRAME_MAGIC UINT64_C(0x454d415246524854) /* "THRFRAME" */

typedef struct thr_frame_header {
    uint64_t magic;
    uint64_t size;     /* of the frame, with this header: a multiple of 8 */
    uint64_t position; /* in the file */
    uint64_t previous; /* the checksum of the frame before */
    uint32_t n_changes;
    uint32_t header_sum; /* of the bytes before, and of the journal's build */
    uint64_t checksum;   /* of the bytes before, and of those after this header */
} thr_frame_header;

_Static_assert(sizeof(thr_frame_header) == THR_FRAME_HEADER, "no padding");

/*
 * The checksum of a frame's header. It depends on the build, a random number, so bytes in a vector or a name
 * cannot pass for a header.
 */
uint32_t thr_index_frame_header_sum(const thr_frame_header *header, uint32_t build);

/* The checksum of a frame; body is what follows its header. */
uint64_t thr_index_frame_checksum(const thr_frame_header *header, const char *body);

/* The fixed part of a change in a frame; the arrays follow, each with zeros up to a multiple of 8. */
typedef struct thr_change_header {
    uint32_t n_removed, n_added;
    uint64_t names_size;
} thr_change_header;

/* Close the descriptor, if it is open. */
static inline void thr_journal_close_file(thr_journal *journal) {
    if (journal->path != NULL && journal->fd >= 0)
        (void)close(journal->fd);
    journal->fd = -1;
}

static inline uint64_t thr_frame_padded(uint64_t size) {
    return (size + 7) / 8 * 8;
}
