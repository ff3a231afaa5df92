/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_codes.c - copies a slice's codes to its device. Runs of blocks go in pieces through pinned memory and are packed
 * into tiles on the device, which stay there or return to the host's pinned memory.
 */
#include "store/slices.h"

#include "base/blocks.h"
#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "scan/job.h"
#include "store/chunks.h"

#include <string.h>

enum {
    STAGING_BYTES = 8 << 20, /* of codes in transfer, twice: one piece is copied while another is packed */
    N_STAGES = 2
};

/* Blocks of a slice that are copied to contiguous tiles. */
typedef struct run {
    uint32_t first, n;
    thr_device_codes to;   /* has room for n blocks, rounded up to whole tiles */
    bool reports_progress; /* report progress */
} run;

/* The blocks of a run that one segment holds. */
typedef struct piece {
    const thr_segment *segment;
    uint64_t first; /* block of the segment */
    uint32_t to, n; /* blocks of the run */
} piece;

/* The piece that begins at block `at` of the run. */
static piece next_piece(const thr_scan_corpus *corpus, const thr_store_slice *slice, const run *r, uint32_t at) {
    const uint64_t block = slice->first_block + r->first + at;
    const thr_segment *segment = thr_scan_segment_of(corpus, block * THR_BLOCK_ITEMS);
    const uint64_t first = block - segment->first_row / THR_BLOCK_ITEMS;
    const uint64_t there = thr_blocks_of(segment->n_items) - first;
    const uint32_t left = r->n - at;
    return (piece){segment, first, at, there < left ? (uint32_t)there : left};
}

/*
 * Copy a piece of an array with tile_bytes bytes per tile; `from` is the segment's array. Does nothing where `to` is
 * NULL.
 */
static thr_status copy_array(const thr_store *store, const thr_store_slice *slice, const piece *p, const void *to,
                             const void *from, size_t tile_bytes, thr_error *err) {
    const size_t block_bytes = tile_bytes / THR_BLOCKS_A_TILE;
    if (to == NULL)
        return THR_OK;
    return store->backend->upload(slice->stream, (char *)to + p->to * block_bytes,
                                  (const char *)from + p->first * block_bytes, p->n * block_bytes, err);
}

static thr_status copy_numbers(const thr_store *store, const thr_store_slice *slice, const run *r, const piece *p,
                               thr_error *err) {
    const thr_segment *from = p->segment;
    const size_t size = slice->tile.numbers;
    THR_TRY(copy_array(store, slice, p, r->to.leads, from->leads, size, err));
    THR_TRY(copy_array(store, slice, p, r->to.block_norms, from->block_norms, size, err));
    THR_TRY(copy_array(store, slice, p, r->to.factors, from->factors, size, err));
    return copy_array(store, slice, p, r->to.offsets, from->offsets, slice->tile.offsets, err);
}

/* Staging memory for codes: pinned memory of the host, then blocks on the device. */
typedef struct stage {
    thr_stream *stream;
    void *host, *device;
    uint32_t n_blocks;
} stage;

static thr_status open_stage(const thr_backend *backend, thr_device *device, size_t size, stage *s, thr_error *err) {
    THR_TRY(backend->open_stream(device, &s->stream, err));
    THR_TRY(backend->alloc_pinned(device, size, &s->host, "copying codes", err));
    return backend->alloc(device, size, &s->device, "copying codes", err);
}

static void close_stage(const thr_backend *backend, thr_device *device, stage *s) {
    backend->close_stream(s->stream);
    backend->release_pinned(device, s->host);
    backend->release(device, s->device);
}

static thr_status copy_codes(const thr_store *store, const thr_store_slice *slice, const run *r, const piece *p,
                             const stage *stages, thr_error *err) {
    const thr_backend *backend = store->backend;
    const size_t block_size = slice->tile.codes / THR_BLOCKS_A_TILE;
    const uint32_t step = stages->n_blocks;
    for (uint32_t done = 0, turn = 0; done < p->n; done += step, turn++) {
        const stage *s = &stages[turn % N_STAGES];
        const uint32_t n = THR_MIN(p->n - done, step), end = r->first + p->to + done + n;
        THR_TRY(backend->wait(s->stream, err));
        memcpy(s->host, p->segment->codes + (p->first + done) * block_size, n * block_size);
        THR_TRY(backend->upload(s->stream, s->device, s->host, n * block_size, err));
        const thr_pack_op op = {s->device, (void *)r->to.tiles,         p->to + done,
                                n,         thr_code_rows(r->to.n_dims), r->to.n_planes};
        THR_TRY(backend->pack(s->stream, &op, err));
        if (r->reports_progress && store->context->progress != NULL &&
            !store->context->progress(store->context->progress_user, "copy to GPU", end, slice->n_blocks))
            return thr_fail(err, THR_ECANCELED, "copying codes to a GPU was stopped");
    }
    for (int i = 0; i < N_STAGES; i++)
        THR_TRY(backend->wait(stages[i].stream, err));
    return THR_OK;
}

/* Clear the run's last tile if its second half has no block; the run's layout includes it. */
static thr_status clear_rest(const thr_store *store, const thr_store_slice *slice, const run *r, thr_error *err) {
    const thr_tile_size tile = slice->tile;
    const void *arrays[] = {r->to.tiles, r->to.leads, r->to.block_norms, r->to.factors, r->to.offsets};
    const size_t sizes[] = {tile.codes, tile.numbers, tile.numbers, tile.numbers, tile.offsets};
    for (size_t i = 0; r->n % THR_BLOCKS_A_TILE != 0 && i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i] != NULL)
            THR_TRY(store->backend->clear(slice->stream, (char *)arrays[i] + r->n / THR_BLOCKS_A_TILE * sizes[i],
                                          sizes[i], err));
    return store->backend->wait(slice->stream, err); /* before other streams write beside it */
}

/* Copy and pack a run, and wait for it. */
static thr_status copy_run(const thr_store *store, const thr_scan_corpus *corpus, const thr_store_slice *slice,
                           const run *r, const stage *stages, thr_error *err) {
    THR_TRY(clear_rest(store, slice, r, err));
    for (uint32_t at = 0; at < r->n;) {
        const piece p = next_piece(corpus, slice, r, at);
        THR_TRY(copy_numbers(store, slice, r, &p, err));
        THR_TRY(copy_codes(store, slice, r, &p, stages, err));
        at += p.n;
    }
    return store->backend->wait(slice->stream, err);
}

/* The run of the slice's blocks from first_tile on that `codes` has room for. */
static run run_of(const thr_store_slice *slice, const thr_device_codes *codes, uint32_t first_tile) {
    const uint32_t first = first_tile * THR_BLOCKS_A_TILE, left = slice->n_blocks - first;
    const uint32_t n = (uint32_t)(thr_blocks_of(codes->n_items));
    return (run){first, THR_MIN(n, left), *codes, true};
}

static thr_status copy_sampled(const thr_store *store, const thr_scan_corpus *corpus, const thr_store_slice *slice,
                               const stage *stages, thr_error *err) {
    for (uint32_t i = 0; i < slice->n_samples; i++) {
        const thr_device_codes to =
            thr_store_tiles_view(slice, slice->chunks.sampled, slice->n_samples, i, 1, slice->n_tiles);
        run r = run_of(slice, &to, thr_store_sampled_tile(slice, i));
        r.reports_progress = false;
        THR_TRY(copy_run(store, corpus, slice, &r, stages, err));
    }
    return THR_OK;
}

/* Chunks are packed on the device too, and copied back: one while the next is packed. */
static thr_status copy_chunks(const thr_store *store, const thr_scan_corpus *corpus, const thr_store_slice *slice,
                              const stage *stages, thr_error *err) {
    for (uint32_t i = 0; i < slice->chunks.n; i++) {
        const thr_device_codes chunk = thr_store_chunk(slice, i);
        const run r = run_of(slice, &chunk, chunk.first_tile);
        size_t size;
        void *host = thr_store_chunk_host(slice, i, &size);
        THR_TRY(copy_run(store, corpus, slice, &r, stages, err));
        THR_TRY(store->backend->wait(slice->chunks.copies, err));
        THR_TRY(store->backend->download(slice->chunks.copies, host, chunk.tiles, size, err));
    }
    return store->backend->wait(slice->chunks.copies, err);
}

thr_status thr_store_copy_codes(thr_store *store, const thr_scan_corpus *corpus, thr_store_slice *slice,
                                thr_error *err) {
    const size_t block_size = slice->tile.codes / THR_BLOCKS_A_TILE, spare = slice->spare_bytes / (2 * N_STAGES);
    const uint32_t step = (uint32_t)(THR_MIN(spare, STAGING_BYTES) / block_size + 1);
    thr_status status = THR_OK;
    stage stages[N_STAGES] = {{0}};
    for (int i = 0; i < N_STAGES; i++) {
        stages[i].n_blocks = step;
        THR_TRY_OUT(open_stage(store->backend, slice->device, step * block_size, &stages[i], err));
    }
    if (slice->n_resident > 0) {
        const uint32_t n = slice->n_resident;
        const thr_device_codes resident = thr_store_tiles_view(slice, slice->resident, n, 0, n, 0);
        const run r = run_of(slice, &resident, 0);
        THR_TRY_OUT(copy_run(store, corpus, slice, &r, stages, err));
    }
    if (slice->chunks.n > 0) {
        THR_TRY_OUT(copy_sampled(store, corpus, slice, stages, err));
        THR_TRY_OUT(copy_chunks(store, corpus, slice, stages, err));
    }
out:
    for (int i = 0; i < N_STAGES; i++)
        close_stage(store->backend, slice->device, &stages[i]);
    return status;
}
