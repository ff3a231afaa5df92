/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a journal, as they are and with its checksums recomputed, so that changes are read, too. */
#include "base/files/checksum.h"
#include "base/rng.h"
#include "index/journal/frame.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thresher/matrix.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_SUM = 56, N_DIMS_AT = 12, NAMES_AT = 16, BUILD_AT = 20, LEAST_END_AT = 24 };

static thr_context *context;

/* Read all that a change points to; a sum, so that nothing is optimised away. */
static thr_status visit(void *arg, const thr_journal_change *change, thr_error *err) {
    const thr_journal *journal = arg;
    uint64_t sum = 0;
    (void)err;
    for (uint32_t i = 0; i < change->n_removed; i++)
        sum += change->removed[i];
    for (uint32_t i = 0; i < change->n_added; i++)
        sum += change->ids[i];
    const uint8_t *vectors = (const uint8_t *)change->vectors;
    for (uint64_t i = 0; i < (uint64_t)change->n_added * journal->kind.n_dims * sizeof(float); i++)
        sum += vectors[i];
    const char *name = change->names;
    for (uint32_t i = 0; journal->kind.has_names && i < change->n_added; i++, name += strlen(name) + 1)
        sum += strlen(name);
    return sum == UINT64_MAX ? THR_EIO : THR_OK;
}

static void read_journal(const uint8_t *bytes, size_t size) {
    char path[] = "fuzz-journal-XXXXXX";
    uint32_t n_dims = 1, has_names = 0;
    thr_journal_kind kind = {.build = 0};
    thr_journal journal;
    const int fd = mkstemp(path);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    if (size >= NAMES_AT + 4) {
        memcpy(&n_dims, bytes + N_DIMS_AT, sizeof n_dims);
        memcpy(&has_names, bytes + NAMES_AT, sizeof has_names);
    }
    if (size >= BUILD_AT + 4)
        memcpy(&kind.build, bytes + BUILD_AT, sizeof kind.build);
    kind.n_dims = n_dims;
    kind.has_names = has_names != 0;
    if (n_dims >= 1 && n_dims <= THR_MAX_DIMS &&
        thr_index_journal_open(context, path, &kind, false, &journal, NULL) == THR_OK)
        (void)thr_index_journal_read(&journal, visit, &journal, NULL);
    if (n_dims >= 1 && n_dims <= THR_MAX_DIMS)
        thr_index_journal_close(&journal);
    (void)close(fd);
    (void)unlink(path);
}

/* Recompute the header's checksum, and that of every frame from the first on, as far as their sizes lead. */
static void seal(uint8_t *bytes, size_t size) {
    uint64_t previous, no_end = 0;
    uint32_t build;
    if (size < THR_JOURNAL_HEADER)
        return;
    memcpy(&build, bytes + BUILD_AT, sizeof build);
    memcpy(bytes + LEAST_END_AT, &no_end, sizeof no_end); /* frames follow the checksum of such a header */
    previous = thr_checksum_of(bytes, HEADER_SUM);
    memcpy(bytes + HEADER_SUM, &previous, sizeof previous);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (context == NULL && thr_context_create(NULL, &context, NULL) != THR_OK)
        abort();
    read_journal(data, size);
    uint8_t *sealed = malloc(size + 1);
    if (sealed == NULL)
        return 0;
    if (size > 0)
        memcpy(sealed, data, size);
    seal(sealed, size);
    read_journal(sealed, size);
    free(sealed);
    return 0;
}
