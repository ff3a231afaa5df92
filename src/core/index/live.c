/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - opens, checks and writes the bitmap of live rows. */
#include "index/live.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/out.h"
#include "index/impl.h"
#include "select/bitmap.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------ the file */

static void set_range(uint64_t *words, uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end;) {
        const uint64_t n = 64 - row % 64 < end - row ? 64 - row % 64 : end - row;
        words[row / 64] |= (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << row % 64;
        row += n;
    }
}

void thr_index_live_fill(const thr_manifest *manifest, uint64_t *words) {
    uint64_t first_row = 0;
    for (uint32_t i = 0; i < manifest->n_segments; i++) {
        set_range(words, first_row, first_row + manifest->segments[i].n_items);
        first_row += thr_padded_items(manifest->segments[i].n_items);
    }
}

/* The number of set bits of a segment's rows; UINT64_MAX if a bit between its last row and the next block is set. */
static uint64_t count_segment(const uint64_t *words, uint64_t first_row, uint32_t n_items) {
    const uint64_t end = first_row + n_items;
    if (end % 64 != 0 && words[end / 64] >> end % 64 != 0)
        return UINT64_MAX;
    return thr_select_bitmap_count_range(words, first_row, end);
}

static thr_status damaged(const thr_live *live, const char *what, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: %s: " THR_SEGMENT_REMEDY, live->path, what);
}

static thr_status check(const thr_live *live, const thr_manifest *m, thr_error *err) {
    const uint64_t *words = (const uint64_t *)(const void *)live->map.data;
    uint64_t first_row = 0, n = 0;
    if (live->map.size != thr_bitmap_words(m->n_rows) * sizeof *words)
        return damaged(live, "its size does not fit the number of rows", err);
    if (thr_checksum_of(words, live->map.size) != m->live.checksum)
        return damaged(live, "its checksum is not the MANIFEST's", err);
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const uint64_t here = count_segment(words, first_row, m->segments[i].n_items);
        if (here == UINT64_MAX)
            return damaged(live, "a row is live that does not exist", err);
        n += here;
        first_row += thr_padded_items(m->segments[i].n_items);
    }
    return n == m->n_items ? THR_OK : damaged(live, "it does not have as many rows as the MANIFEST has items", err);
}

thr_status thr_index_live_open(thr_context *context, const char *dir, const thr_manifest *manifest, thr_live *live,
                               thr_error *err) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    *live = (thr_live){.path = NULL};
    if (!manifest->live.there)
        return THR_OK;
    thr_index_file_name_print(THR_INDEX_FILE_LIVE, manifest->live.build, name);
    THR_TRY(thr_path_join(context, dir, name, &live->path, err));
    THR_TRY(thr_map_open(live->path, &live->map, err));
    thr_map_guard(&live->map);
    THR_TRY(check(live, manifest, err));
    live->words = (const uint64_t *)(const void *)live->map.data;
    return THR_OK;
}

thr_status thr_index_live_check_unchanged(const thr_live *live, thr_error *err) {
    return live->path == NULL ? THR_OK : thr_map_check(&live->map, live->path, err);
}

void thr_index_live_close(thr_context *context, thr_live *live) {
    if (live->path != NULL)
        thr_map_close(&live->map);
    thr_release(context, live->path);
    *live = (thr_live){.path = NULL};
}

thr_status thr_index_live_write(const thr_build_dir *dir, const uint64_t *words, thr_manifest *manifest,
                                thr_error *err) {
    const size_t size = thr_bitmap_words(manifest->n_rows) * sizeof *words;
    thr_out out = {.context = NULL};
    char *path = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_index_build_dir_file_path(dir, THR_INDEX_FILE_LIVE, &path, err));
    THR_TRY_OUT(thr_out_open(dir->context, path, &out, err));
    out.directory_later = true;
    THR_TRY_OUT(thr_out_write(&out, words, size, err));
    THR_TRY_OUT(thr_out_publish(&out, err));
    manifest->live = (thr_manifest_live){.there = true, .build = dir->build, .checksum = thr_checksum_of(words, size)};
out:
    thr_out_drop(&out);
    thr_release(dir->context, path);
    return status;
}
