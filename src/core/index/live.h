/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - the bitmap of live rows: those with an item that was not removed. Other rows hold a removed item, or lie
 * between two segments, whose first rows are multiples of 64.
 *
 * The file live-BUILD.bits holds ceil(n_rows / 64) little-endian words and nothing else; the manifest has its checksum.
 */
#pragma once

#include "base/files/file.h"
#include "index/build/directory.h"
#include "index/manifest.h"

typedef struct thr_live {
    const uint64_t *words; /* NULL: every row is live */
    thr_map map;
    char *path;
    bool copied; /* words are those of the file and of the journal, not the file's */
} thr_live;

/*
 * Map the bitmap that the manifest names, if it names one. Reads all of it. THR_ECORRUPT if its checksum or the number
 * of live rows is wrong, or if a row is live that no segment has; THR_ENOTFOUND; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_live_open(thr_context *context, const char *dir, const thr_manifest *manifest, thr_live *live,
                               thr_error *err);
void thr_index_live_close(thr_context *context, thr_live *live);

/* THR_ECHANGED if the file was changed on disk. */
thr_status thr_index_live_check_unchanged(const thr_live *live, thr_error *err);

static inline bool thr_live_has(const thr_live *live, uint64_t row) {
    return live->words == NULL || (live->words[row / 64] >> row % 64 & 1) != 0;
}

/* Set the bits of all rows that a segment of the manifest has; words has room for n_rows bits. */
void thr_index_live_fill(const thr_manifest *manifest, uint64_t *words);

/* Write the bitmap as a file of this build, and note it in the manifest. THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_index_live_write(const thr_build_dir *dir, const uint64_t *words, thr_manifest *manifest,
                                thr_error *err);
