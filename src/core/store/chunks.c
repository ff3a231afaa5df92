/* SPDX-License-Identifier: Apache-2.0 */
/* chunks.c - divides a slice's tiles between device memory and chunks on the host, and enqueues passes over them. */
#include "store/chunks.h"

#include "base/error.h"
#include "base/minmax.h"

#include <string.h>

static const size_t CHUNK_BYTES = (size_t)64 << 20; /* a copy takes a ms or two, long compared with a launch */
static const uint64_t SPARE_BYTES = UINT64_C(1) << 30;

enum {
    SPARE_SHARE = 4,    /* or this part of free memory, 1 / SPARE_SHARE, if that is smaller */
    CHUNK_SHARE = 8,    /* of the memory for codes: the two buffers take at most a quarter */
    SAMPLE_ONE_IN = 32, /* tiles; with fewer than 8 there is no sample, and every row passes */
    SAMPLE_LEAST = 8,
    SAMPLE_MOST = 1024
};

/* ----------------------------------------------------------------------------------------------- runs */

thr_device_codes thr_store_tiles_view(const thr_store_slice *slice, const void *memory, uint32_t n_places, uint32_t at,
                                      uint32_t n, uint32_t first_tile) {
    const thr_tile_size tile = slice->tile;
    const char *numbers = (const char *)memory + n_places * tile.codes, *offsets = numbers + n_places * tile.numbers;
    const uint64_t before = (uint64_t)first_tile * THR_DEVICE_TILE, most = (uint64_t)n * THR_DEVICE_TILE;
    thr_device_codes codes = slice->codes;
    codes.first_tile = first_tile;
    codes.n_items = most; /* sampled tiles, which have the last numbers, are full */
    if (first_tile < slice->n_tiles && slice->codes.n_items - before < most)
        codes.n_items = slice->codes.n_items - before;
    codes.tiles = (const char *)memory + at * tile.codes;
    numbers += at * tile.numbers;
    switch (slice->number_kind) {
    case THR_NUMBERS_LEADS:
        codes.leads = (const uint16_t *)numbers;
        break;
    case THR_NUMBERS_NORMS:
        codes.block_norms = (const uint32_t *)numbers;
        break;
    case THR_NUMBERS_FACTORS:
        codes.factors = (const float *)numbers;
    }
    if (tile.offsets > 0)
        codes.offsets = (const float *)(offsets + at * tile.offsets);
    return codes;
}

thr_device_codes thr_store_sampled(const thr_store_slice *slice) {
    if (slice->chunks.n == 0)
        return thr_store_tiles_view(slice, slice->resident, slice->n_tiles, 0, slice->n_tiles, 0);
    return thr_store_tiles_view(slice, slice->chunks.sampled, slice->n_samples, 0, slice->n_samples, slice->n_tiles);
}

/* The number of tiles in chunk i. */
static uint32_t chunk_tiles(const thr_store_slice *slice, uint32_t i) {
    const uint32_t left = slice->n_tiles - slice->n_resident - i * slice->chunks.n_tiles;
    return THR_MIN(left, slice->chunks.n_tiles);
}

void *thr_store_chunk_host(const thr_store_slice *slice, uint32_t i, size_t *size) {
    *size = chunk_tiles(slice, i) * slice->tile.all;
    return slice->chunks.host + (size_t)i * slice->chunks.n_tiles * slice->tile.all;
}

thr_device_codes thr_store_chunk(const thr_store_slice *slice, uint32_t i) {
    const uint32_t n = chunk_tiles(slice, i);
    return thr_store_tiles_view(slice, slice->chunks.buffers[i % 2], n, 0, n,
                                slice->n_resident + i * slice->chunks.n_tiles);
}

/* ---------------------------------------------------------------------------------------------- memory */

/* Allocate n tiles on the device, and count them in code_bytes. */
static thr_status alloc_tiles(thr_store *store, thr_store_slice *slice, uint32_t n, void **memory, const char *what,
                              thr_error *err) {
    THR_TRY(store->backend->alloc(slice->device, n * slice->tile.all, memory, what, err));
    store->code_bytes += n * slice->tile.all;
    return THR_OK;
}

/*
 * Allocate up to n resident tiles, halving n while allocation fails: free memory may be fragmented, or taken meanwhile.
 */
static thr_status alloc_resident(thr_store *store, thr_store_slice *slice, uint64_t n, thr_error *err) {
    for (; n > 0; n /= 2) {
        const thr_status status = alloc_tiles(store, slice, (uint32_t)n, &slice->resident, "codes", err);
        if (status == THR_OK)
            slice->n_resident = (uint32_t)n;
        if (status != THR_ENOMEM)
            return status;
    }
    return THR_OK;
}

/*
 * Allocate for codes that are not all resident: buffers, samples and pinned memory, and resident tiles in the rest of
 * `room` bytes.
 */
static thr_status place_chunks(thr_store *store, thr_store_slice *slice, uint64_t room, thr_error *err) {
    const size_t tile = slice->tile.all;
    const uint64_t chunk = THR_MIN(room / CHUNK_SHARE, CHUNK_BYTES);
    thr_store_chunks *chunks = &slice->chunks;
    chunks->n_tiles = (uint32_t)(chunk / tile);
    chunks->n_tiles = chunks->n_tiles == 0 ? 1 : THR_MIN(chunks->n_tiles, slice->n_tiles);
    for (int i = 0; i < 2; i++)
        THR_TRY(alloc_tiles(store, slice, chunks->n_tiles, &chunks->buffers[i], "a chunk of codes", err));
    if (slice->n_samples > 0)
        THR_TRY(alloc_tiles(store, slice, slice->n_samples, &chunks->sampled, "a sample of codes", err));
    THR_TRY(store->backend->open_stream(slice->device, &chunks->copies, err));
    const uint64_t taken = (2 * (uint64_t)chunks->n_tiles + slice->n_samples) * tile;
    THR_TRY(alloc_resident(store, slice, room > taken ? (room - taken) / tile : 0, err));
    const uint32_t n_streamed = slice->n_tiles - slice->n_resident;
    const size_t size = n_streamed * tile;
    void *host = NULL;
    THR_TRY(store->backend->alloc_pinned(slice->device, size, &host,
                                         "codes that do not fit the GPU: use more GPUs, or the CPU", err));
    chunks->host = host;
    chunks->n = THR_CEIL_DIV(n_streamed, chunks->n_tiles);
    store->host_code_bytes += size;
    return THR_OK;
}

static uint32_t count_samples(uint32_t n_tiles) {
    const uint32_t n = n_tiles / SAMPLE_ONE_IN;
    return n < SAMPLE_LEAST ? 0 : n < SAMPLE_MOST ? n : SAMPLE_MOST;
}

thr_status thr_store_place_codes(thr_store *store, thr_store_slice *slice, thr_error *err) {
    const uint64_t wanted = (uint64_t)slice->n_tiles * slice->tile.all;
    uint64_t free_bytes, all_bytes;
    THR_TRY(store->backend->free_memory(slice->device, &free_bytes, &all_bytes, err));
    uint64_t spare = THR_MIN(free_bytes / SPARE_SHARE, SPARE_BYTES);
    spare = spare > slice->spare_bytes ? spare : slice->spare_bytes < free_bytes ? slice->spare_bytes : free_bytes;
    slice->spare_bytes = (size_t)spare;
    spare += (uint64_t)slice->n_tiles * (THR_DEVICE_TILE / 8); /* for a filter */
    const uint64_t room = free_bytes > spare ? free_bytes - spare : 0;
    slice->n_samples = count_samples(slice->n_tiles);
    if (wanted > room)
        return place_chunks(store, slice, room, err);
    const thr_status status = alloc_tiles(store, slice, slice->n_tiles, &slice->resident, "codes", err);
    if (status == THR_OK)
        slice->n_resident = slice->n_tiles;
    return status == THR_ENOMEM ? place_chunks(store, slice, wanted / 2, err) : status;
}

void thr_store_free_codes(thr_store *store, thr_store_slice *slice) {
    thr_store_chunks *chunks = &slice->chunks;
    const thr_backend *backend = store->backend;
    const struct {
        void *memory;
        uint32_t n_tiles;
    } there[] = {{slice->resident, slice->n_resident},
                 {chunks->buffers[0], chunks->n_tiles},
                 {chunks->buffers[1], chunks->n_tiles},
                 {chunks->sampled, slice->n_samples}};
    backend->close_stream(chunks->copies);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        backend->release(slice->device, there[i].memory);
        store->code_bytes -= there[i].memory == NULL ? 0 : there[i].n_tiles * slice->tile.all;
    }
    backend->release_pinned(slice->device, chunks->host);
    store->host_code_bytes -= chunks->host == NULL ? 0 : (slice->n_tiles - slice->n_resident) * slice->tile.all;
    *chunks = (thr_store_chunks){0};
    slice->resident = NULL;
    slice->n_resident = 0;
}

/* --------------------------------------------------------------------------------------------- passes */

uint32_t thr_store_n_steps(const thr_store_slice *slice) {
    return slice->chunks.n > 0 ? slice->chunks.n : 1;
}

static thr_status copy_chunk(thr_store *store, thr_store_slice *slice, uint32_t i, thr_error *err) {
    size_t size;
    const void *host = thr_store_chunk_host(slice, i, &size);
    THR_TRY(store->backend->after(slice->chunks.copies, slice->stream, err));
    return store->backend->upload(slice->chunks.copies, slice->chunks.buffers[i % 2], host, size, err);
}

/*
 * The copy of chunk i + 1 is enqueued before the scoring of chunk i. So it waits, through the slice's stream, for chunk
 * i - 1, whose buffer it reuses, and for the run scored with that, but not for chunk i. If copies take longer than
 * scoring, they follow each other without a gap.
 */
thr_status thr_store_step(thr_store *store, thr_store_slice *slice, uint32_t step, thr_store_visit visit, void *arg,
                          thr_error *err) {
    const uint32_t n_steps = thr_store_n_steps(slice), n_chunks = slice->chunks.n;
    const uint32_t first = (uint32_t)((uint64_t)step * slice->n_resident / n_steps);
    const uint32_t end = (uint32_t)((step + (uint64_t)1) * slice->n_resident / n_steps);
    if (n_chunks > 0 && step == 0)
        THR_TRY(copy_chunk(store, slice, 0, err));
    if (first < end) {
        const thr_device_codes run =
            thr_store_tiles_view(slice, slice->resident, slice->n_resident, first, end - first, first);
        THR_TRY(visit(arg, slice, &run, err));
    }
    if (n_chunks == 0)
        return THR_OK;
    THR_TRY(store->backend->after(slice->stream, slice->chunks.copies, err));
    if (step + 1 < n_chunks)
        THR_TRY(copy_chunk(store, slice, step + 1, err));
    const thr_device_codes chunk = thr_store_chunk(slice, step);
    return visit(arg, slice, &chunk, err);
}
