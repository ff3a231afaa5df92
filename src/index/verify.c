/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - every byte of an index against its checksums, and what can be computed from the rest computed again.
 *
 * Sections are read through the descriptor, not through the map: a sector that cannot be read is then an error and no
 * signal. What follows looks at contents through the map.
 */
#include "index/index_impl.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/progress.h"
#include "code/encode.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

typedef struct verifier {
    thr_progress progress;
    uint64_t done, total; /* bytes */
    uint64_t n_items;     /* progress is told in items */
    uint8_t *piece;
    thr_error *err;
} verifier;

static thr_status read_all(verifier *v, const char *path, int fd, uint64_t offset, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t n = pread(fd, v->piece + got, size - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return thr_fail_errno(v->err, errno, "read", path);
        if (n == 0)
            return thr_fail(v->err, THR_ECHANGED, "%s: offset %" PRIu64 ": the file was cut since it was opened", path,
                            offset + got);
        got += (size_t)n;
    }
    return THR_OK;
}

static uint64_t items_done(const verifier *v) {
    return (uint64_t)((unsigned __int128)v->n_items * v->done / v->total);
}

/* The checksum of some bytes of a file. */
static thr_status sum_bytes(verifier *v, const char *path, int fd, uint64_t offset, uint64_t n, uint64_t *checksum) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    for (uint64_t at = 0; at < n;) {
        uint64_t left = n - at;
        size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        THR_TRY(read_all(v, path, fd, offset + at, size));
        thr_checksum_add(sum, v->piece, size);
        at += size;
        v->done += size;
        THR_TRY(thr_progress_step(&v->progress, items_done(v), v->err));
    }
    *checksum = thr_checksum_end(sum);
    return THR_OK;
}

static thr_status verify_section(verifier *v, const thr_mapped *mapped, const thr_section *section) {
    uint64_t checksum = 0;
    THR_TRY(sum_bytes(v, mapped->path, mapped->map.fd, section->offset, section->size, &checksum));
    if (checksum != section->checksum)
        return thr_fail(v->err, THR_ECORRUPT,
                        "%s: section %s, offset %" PRIu64 " to %" PRIu64
                        ": the checksum is wrong: the file is damaged; restore it or build the index again",
                        mapped->path, thr_section_name(section->kind), section->offset,
                        section->offset + section->size);
    return THR_OK;
}

/*
 * A block's norm is the length of its shortest code. One that is too large makes the scan pass over items, and its
 * checksum fits all the same when it was written like that.
 */
static thr_status verify_block_norms(const thr_index *index, const thr_segment_view *view, thr_error *err) {
    const thr_segment_shape *shape = &view->shape;
    const size_t block_size = thr_block_size(shape->n_dims, shape->bits);
    for (uint32_t first = 0; first < shape->n_items; first += THR_BLOCK_ITEMS) {
        const uint32_t block = first / THR_BLOCK_ITEMS, left = shape->n_items - first;
        uint32_t squares[THR_BLOCK_ITEMS];
        index->context->kernels->code_squares(squares, view->scan.codes + block * block_size, 1, shape->n_dims,
                                              shape->bits);
        uint32_t least = squares[0];
        for (uint32_t i = 1; i < THR_BLOCK_ITEMS && i < left; i++)
            least = squares[i] < least ? squares[i] : least;
        if (view->scan.block_norms[block] != least)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: section block norms: that of block %" PRIu32 " is %" PRIu32 ", its codes say %" PRIu32
                            ": build the index again",
                            view->path, block, view->scan.block_norms[block], least);
    }
    return THR_OK;
}

/* The header and table are read again too: a change that kept the file's size and time would show here. */
static thr_status verify_segment(verifier *v, const thr_index *index, uint32_t i) {
    const thr_mapped *mapped = &index->mapped[i];
    thr_segment_view again;
    THR_TRY(thr_map_check(&mapped->map, mapped->path, v->err));
    THR_TRY(thr_segment_parse(mapped->path, mapped->map.data, mapped->map.size, &mapped->view.shape,
                              &index->manifest.segments[i], &again, v->err));
    for (uint32_t s = 0; s < again.n_sections; s++)
        THR_TRY(verify_section(v, mapped, &again.sections[s]));
    THR_TRY(thr_segment_check_contents(&again, v->err));
    return again.scan.block_norms != NULL ? verify_block_norms(index, &again, v->err) : THR_OK;
}

static thr_status verify_model(verifier *v, const thr_index *index) {
    const thr_index_model *model = &index->model;
    uint64_t checksum = 0;
    THR_TRY(thr_map_check(&model->map, model->path, v->err));
    THR_TRY(sum_bytes(v, model->path, model->map.fd, 0, model->map.size, &checksum));
    return checksum == index->manifest.model.checksum ? THR_OK : thr_index_model_damaged(model->path, v->err);
}

static thr_status verify_manifest(const thr_index *index, thr_error *err) {
    thr_manifest now = {0};
    uint64_t checksum = 0;
    thr_status status = thr_manifest_read(index->context, index->manifest_path, &now, &checksum, NULL, err);
    thr_manifest_free(index->context, &now);
    if (status == THR_OK && checksum != index->manifest_checksum)
        return thr_fail(err, THR_ECHANGED, "%s: the index was replaced since it was opened: open it again",
                        index->manifest_path);
    return status;
}

thr_status thr_index_verify(thr_index *index, thr_error *err) {
    thr_status status = THR_OK;
    if (index == NULL)
        return thr_fail(err, THR_EINVAL, "there is no index to verify");
    verifier v = {.total = index->info.file_bytes, .n_items = index->info.n_items, .err = err};
    THR_TRY(verify_manifest(index, err));
    THR_TRY(thr_alloc(index->context, PIECE_BYTES, 1, &v.piece, "reading files", err));
    v.progress = thr_progress_start(index->context, "verify", v.n_items);
    for (uint32_t i = 0; i < index->n_segments; i++)
        THR_TRY_OUT(verify_segment(&v, index, i));
    if (index->model.tower != NULL)
        THR_TRY_OUT(verify_model(&v, index));
    THR_TRY_OUT(thr_progress_end(&v.progress, v.n_items, err));
out:
    thr_release(index->context, v.piece);
    return status;
}
