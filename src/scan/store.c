/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a store: a target's blocks are cut into a run a device, copied there in pieces, and packed into tiles. */
#include "scan/store_impl.h"

#include "base/error.h"
#include "code/encode.h"
#include "scan/lane.h"

#include <string.h>

enum {
    BLOCKS_A_TILE = THR_DEVICE_TILE / THR_BLOCK_ITEMS,
    STAGING_BYTES = 8 << 20, /* of codes on their way, twice: one piece is copied while another is packed */
    N_STAGES = 2
};

/* ------------------------------------------------------------------------------------------------ memory */

static bool is_pinned(thr_room_name name) {
    return name >= THR_ROOM_HOST_WORDS;
}

static void release_room(const thr_backend *backend, thr_store_part *part, thr_room_name name) {
    (is_pinned(name) ? backend->release_pinned : backend->release)(part->device, part->rooms[name].memory);
    part->rooms[name] = (thr_room){0};
}

thr_status thr_store_grow(thr_store *store, thr_store_part *part, thr_room_name name, size_t size, void *memory_out,
                          thr_error *err) {
    static const char what[] = "a search";
    thr_room *room = &part->rooms[name];
    if (room->size < size) {
        release_room(store->backend, part, name);
        THR_TRY((is_pinned(name) ? store->backend->alloc_pinned : store->backend->alloc)(part->device, size,
                                                                                         &room->memory, what, err));
        room->size = size;
    }
    memcpy(memory_out, &room->memory, sizeof room->memory);
    return THR_OK;
}

static void free_part(const thr_backend *backend, thr_store_part *part) {
    const void *arrays[] = {part->codes.tiles, part->codes.factors, part->codes.offsets, part->codes.leads,
                            part->codes.block_norms};
    backend->close_stream(part->stream);
    thr_store_free_rows(backend, part);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        backend->release(part->device, (void *)arrays[i]);
    for (int name = 0; name < THR_N_ROOMS; name++)
        release_room(backend, part, (thr_room_name)name);
}

void thr_store_free(thr_store *store) {
    if (store == NULL)
        return;
    for (uint32_t i = 0; i < store->n_parts; i++)
        free_part(store->backend, &store->parts[i]);
    (void)pthread_mutex_destroy(&store->mutex);
    thr_release(store->context, store);
}

thr_store_size thr_store_get_size(thr_store *store) {
    thr_store_size size = {.code_bytes = store->code_bytes, .row_bytes = store->row_bytes};
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->n_parts; i++)
        for (int name = 0; name < THR_N_ROOMS; name++)
            size.workspace_bytes += is_pinned((thr_room_name)name) ? 0 : store->parts[i].rooms[name].size;
    (void)pthread_mutex_unlock(&store->mutex);
    return size;
}

/* --------------------------------------------------------------------------------------------- copying */

/* An array of a part: so many bytes a block, padded with zeros to whole tiles. */
static thr_status alloc_array(thr_store *store, thr_store_part *part, size_t block_bytes, void *array_out,
                              thr_error *err) {
    void *array = NULL;
    const size_t size = (size_t)part->n_tiles * BLOCKS_A_TILE * block_bytes, used = part->n_blocks * block_bytes;
    THR_TRY(store->backend->alloc(part->device, size, &array, "codes", err));
    memcpy(array_out, &array, sizeof array);
    store->code_bytes += size;
    if (size == used)
        return THR_OK;
    return store->backend->clear(part->stream, (char *)array + used, size - used, err);
}

/* A run of blocks of one segment that belongs to a part. */
typedef struct piece {
    const thr_segment *segment;
    uint64_t first; /* block of the segment */
    uint32_t to, n; /* blocks of the part */
} piece;

/* The piece that begins at block `at` of the part. */
static piece next_piece(const thr_scan_target *target, const thr_store_part *part, uint32_t at) {
    const uint64_t block = part->first_block + at;
    const thr_segment *segment = thr_segment_of(target, block * THR_BLOCK_ITEMS);
    const uint64_t first = block - segment->first_row / THR_BLOCK_ITEMS;
    const uint64_t there = (segment->n_items + (uint64_t)THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS - first;
    const uint32_t left = part->n_blocks - at;
    return (piece){segment, first, at, there < left ? (uint32_t)there : left};
}

/* Copy a piece of an array of so many bytes a block; from is the segment's. */
static thr_status copy_numbers(const thr_store *store, const thr_store_part *part, const piece *p, const void *to,
                               const void *from, size_t block_bytes, thr_error *err) {
    if (from == NULL)
        return THR_OK;
    return store->backend->upload(part->stream, (char *)to + p->to * block_bytes,
                                  (const char *)from + p->first * block_bytes, p->n * block_bytes, err);
}

/* Where codes wait on their way: in pinned memory of the host, then as blocks on the device. */
typedef struct stage {
    thr_stream *stream;
    void *host, *device;
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

static thr_status copy_codes(const thr_store *store, const thr_store_part *part, const piece *p, size_t block_size,
                             uint32_t step, stage *stages, thr_error *err) {
    const thr_backend *backend = store->backend;
    const uint32_t n_planes = part->codes.n_planes;
    for (uint32_t done = 0, turn = 0; done < p->n; done += step, turn++) {
        const stage *s = &stages[turn % N_STAGES];
        const uint32_t n = p->n - done < step ? p->n - done : step;
        THR_TRY(backend->wait(s->stream, err));
        memcpy(s->host, p->segment->codes + (p->first + done) * block_size, n * block_size);
        THR_TRY(backend->upload(s->stream, s->device, s->host, n * block_size, err));
        const thr_pack_op op = {s->device, (void *)part->codes.tiles,         p->to + done,
                                n,         thr_code_rows(part->codes.n_dims), n_planes};
        THR_TRY(backend->pack(s->stream, &op, err));
        if (store->context->progress != NULL &&
            !store->context->progress(store->context->progress_user, "copy to GPU", p->to + done + n, part->n_blocks))
            return thr_fail(err, THR_ECANCELED, "copying codes to a GPU was stopped");
    }
    for (int i = 0; i < N_STAGES; i++)
        THR_TRY(backend->wait(stages[i].stream, err));
    return THR_OK;
}

static thr_status copy_part(thr_store *store, const thr_scan_target *target, thr_store_part *part, thr_error *err) {
    const thr_segment *kind = target->segments;
    const size_t block_size = thr_block_size(part->codes.n_dims, part->codes.n_planes);
    const size_t lead_size = THR_BLOCK_ITEMS * sizeof(uint16_t) * (kind->lead_offsets ? 2 : 1);
    const size_t float_size = THR_BLOCK_ITEMS * sizeof(float);
    const uint32_t step = (uint32_t)(STAGING_BYTES / block_size + 1);
    thr_status status = THR_OK;
    stage stages[N_STAGES] = {{0}};
    THR_TRY(alloc_array(store, part, block_size, &part->codes.tiles, err));
    if (kind->records != NULL)
        THR_TRY(alloc_array(store, part, lead_size, &part->codes.leads, err));
    else if (kind->factors == NULL)
        THR_TRY(alloc_array(store, part, sizeof(uint32_t), &part->codes.block_norms, err));
    else
        THR_TRY(alloc_array(store, part, float_size, &part->codes.factors, err));
    if (kind->records == NULL && kind->offsets != NULL)
        THR_TRY(alloc_array(store, part, float_size, &part->codes.offsets, err));
    THR_TRY(store->backend->wait(part->stream, err)); /* what is cleared is, before other streams write beside it */
    for (int i = 0; i < N_STAGES; i++)
        THR_TRY_OUT(open_stage(store->backend, part->device, step * block_size, &stages[i], err));
    for (uint32_t at = 0; at < part->n_blocks;) {
        const piece p = next_piece(target, part, at);
        const thr_device_codes *codes = &part->codes;
        if (codes->leads != NULL)
            THR_TRY_OUT(copy_numbers(store, part, &p, codes->leads, p.segment->leads, lead_size, err));
        if (codes->block_norms != NULL)
            THR_TRY_OUT(
                copy_numbers(store, part, &p, codes->block_norms, p.segment->block_norms, sizeof(uint32_t), err));
        if (codes->factors != NULL)
            THR_TRY_OUT(copy_numbers(store, part, &p, codes->factors, p.segment->factors, float_size, err));
        if (codes->offsets != NULL)
            THR_TRY_OUT(copy_numbers(store, part, &p, codes->offsets, p.segment->offsets, float_size, err));
        THR_TRY_OUT(copy_codes(store, part, &p, block_size, step, stages, err));
        at += p.n;
    }
    status = store->backend->wait(part->stream, err);
out:
    for (int i = 0; i < N_STAGES; i++)
        close_stage(store->backend, part->device, &stages[i]);
    return status;
}

/* --------------------------------------------------------------------------------------------- creating */

static thr_status open_part(thr_store *store, const thr_scan_target *target, thr_store_part *part, thr_error *err) {
    const uint64_t first_row = part->first_block * THR_BLOCK_ITEMS, n_rows = (uint64_t)part->n_blocks * THR_BLOCK_ITEMS;
    part->n_tiles = (part->n_blocks + BLOCKS_A_TILE - 1) / BLOCKS_A_TILE;
    part->codes =
        (thr_device_codes){.n_items = target->n_items - first_row < n_rows ? target->n_items - first_row : n_rows,
                           .n_dims = target->quantiser->n_dims,
                           .n_planes = target->lead,
                           .lead_offsets = target->segments->lead_offsets};
    THR_TRY(store->backend->open_stream(part->device, &part->stream, err));
    THR_TRY(copy_part(store, target, part, err));
    return thr_store_copy_rows(store, target, part, err);
}

thr_status thr_store_create(thr_context *context, const thr_devices *devices, const thr_scan_target *target,
                            thr_store **store_out, thr_error *err) {
    const uint64_t n_blocks = (target->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS;
    const uint64_t n_tiles = (n_blocks + BLOCKS_A_TILE - 1) / BLOCKS_A_TILE;
    const uint32_t n_parts = n_tiles < devices->n ? (uint32_t)n_tiles : devices->n;
    thr_store *store = NULL;
    *store_out = NULL;
    if (n_parts == 0 || (n_tiles + n_parts - 1) / n_parts >= (UINT64_C(1) << 32) / THR_DEVICE_TILE)
        return thr_fail(err, THR_EUNSUPPORTED, "%llu items are 2^32 or more for each of %u GPUs",
                        (unsigned long long)target->n_items, devices->n);
    THR_TRY(thr_alloc_zero(context, 1, sizeof *store + n_parts * sizeof *store->parts, &store, "a store", err));
    store->context = context;
    store->backend = devices->backend;
    store->n_parts = n_parts;
    (void)pthread_mutex_init(&store->mutex, NULL);
    for (uint32_t i = 0; i < n_parts; i++) {
        thr_store_part *part = &store->parts[i];
        const uint64_t end = (i + 1) * n_tiles / n_parts * BLOCKS_A_TILE;
        part->device = devices->devices[i];
        part->first_block = i * n_tiles / n_parts * BLOCKS_A_TILE;
        part->n_blocks = (uint32_t)((end < n_blocks ? end : n_blocks) - part->first_block);
        const thr_status status = open_part(store, target, part, err);
        if (status != THR_OK) {
            store->n_parts = i + 1; /* the others have no devices yet */
            thr_store_free(store);
            return status;
        }
    }
    *store_out = store;
    return THR_OK;
}
