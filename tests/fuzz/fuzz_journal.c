/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a journal, as they are and with its checksums recomputed, so that changes are read, too. */
#include "fuzz/io_fuzz.h"
#include "fuzz/journal_seal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thresher/matrix.h>

enum { N_DIMS_AT = 12, NAMES_AT = 16 };

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
    if (size >= FUZZ_BUILD_AT + 4)
        memcpy(&kind.build, bytes + FUZZ_BUILD_AT, sizeof kind.build);
    kind.n_dims = n_dims;
    kind.has_names = has_names != 0;
    if (n_dims >= 1 && n_dims <= THR_MAX_DIMS &&
        thr_index_journal_open(fuzz_context(), path, &kind, false, &journal, NULL) == THR_OK)
        (void)thr_index_journal_read(&journal, visit, &journal, NULL);
    if (n_dims >= 1 && n_dims <= THR_MAX_DIMS)
        thr_index_journal_close(&journal);
    (void)close(fd);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_journal(data, size);
    uint8_t *sealed = malloc(size + 1);
    if (sealed == NULL)
        return 0;
    if (size > 0)
        memcpy(sealed, data, size);
    fuzz_seal_journal(sealed, size);
    read_journal(sealed, size);
    free(sealed);
    return 0;
}
