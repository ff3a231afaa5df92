/* SPDX-License-Identifier: Apache-2.0 */
#include "head/head_file.h"

#include <thresher/head.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "head/head_kinds.h"

const uint8_t thr_head_magic[8] = {'T', 'H', 'R', 'H', 'E', 'A', 'D', 1};

const char *thr_head_section_name(uint32_t kind) {
    static const char *const names[THR_HEAD_LAST + 1] = {"?",         "hashes", "bias",    "order",   "slots", "lists",
                                                         "quantiser", "codes",  "factors", "weights", "scales"};
    return names[kind <= THR_HEAD_LAST ? kind : 0];
}

/* ------------------------------------------------------------------------------------------------ write */

static thr_status write_all(thr_section_writer *writer, const thr_head_contents *c, thr_error *err) {
    const size_t n = c->n_words;
    const bool hashes = c->shape.n_bands > 0;
    thr_head_header header = {.version = thr_head_format_of(c->dtype),
                              .n_words = c->n_words,
                              .n_dims = c->n_dims,
                              .dtype = (uint32_t)c->dtype,
                              .n_planes = c->planes.n_planes};
    memcpy(header.magic, thr_head_magic, sizeof header.magic);
    header.has = (c->bias != NULL ? THR_HEAD_HAS_BIAS : 0u) | (c->order != NULL ? THR_HEAD_HAS_ORDER : 0u) |
                 (hashes ? THR_HEAD_HAS_HASHES : 0u);
    const thr_cuckoo *table = &c->lsh.table;
    const thr_head_hashes how = {.n_places = c->shape.n_places,
                                 .n_bands = c->shape.n_bands,
                                 .n_hashes = c->shape.n_hashes,
                                 .n_slots = table->n_slots,
                                 .n_stash = table->n_stash,
                                 .seed = c->shape.seed,
                                 .table_seed = table->seed,
                                 .n_codes = c->n_codes};
    if (hashes)
        THR_TRY(thr_sections_put(writer, THR_HEAD_HASHES, &how, sizeof how, err));
    if (c->bias != NULL)
        THR_TRY(thr_sections_put(writer, THR_HEAD_BIAS, c->bias, n * sizeof *c->bias, err));
    if (c->order != NULL)
        THR_TRY(thr_sections_put(writer, THR_HEAD_ORDER, c->order, n * sizeof *c->order, err));
    if (hashes) {
        THR_TRY(thr_sections_put(writer, THR_HEAD_SLOTS, table->slots,
                                 ((size_t)table->n_slots + table->n_stash) * sizeof *table->slots, err));
        THR_TRY(thr_sections_put(writer, THR_HEAD_LISTS, c->lsh.words, n * how.n_bands * sizeof *c->lsh.words, err));
    }
    if (c->planes.n_planes > 0) {
        const size_t padded = (size_t)thr_head_padded(c->n_words);
        const size_t block_size = thr_block_size(thr_head_coded_dims(c), c->planes.n_planes);
        THR_TRY(thr_sections_put(writer, THR_HEAD_QUANTISER, &c->planes.how, sizeof c->planes.how, err));
        THR_TRY(thr_sections_put(writer, THR_HEAD_CODES, c->planes.codes, padded / THR_BLOCK_ITEMS * block_size, err));
        THR_TRY(thr_sections_put(writer, THR_HEAD_FACTORS, c->planes.factors, padded * sizeof(float), err));
    }
    THR_TRY(thr_sections_put(writer, THR_HEAD_WEIGHTS, c->weights, n * thr_head_row_size(c), err));
    if (c->scales != NULL)
        THR_TRY(thr_sections_put(writer, THR_HEAD_SCALES, c->scales, n * sizeof *c->scales, err));
    return thr_sections_finish(writer, &header, err);
}

thr_status thr_head_write(thr_context *context, const char *path, const thr_head_contents *contents, thr_error *err) {
    thr_section_writer writer;
    thr_status status = thr_sections_open(context, path, &writer, err);
    if (status == THR_OK)
        status = write_all(&writer, contents, err);
    thr_sections_drop(&writer);
    return status;
}

/* ------------------------------------------------------------------------------------------------ parse */

static thr_status damaged(const char *path, uint64_t offset, const char *what, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: offset %" PRIu64 ": %s: " THR_HEAD_REMEDY, path, offset, what);
}

static thr_status check_header(const char *path, const thr_head_header *h, uint64_t size, thr_error *err) {
    if (memcmp(h->magic, thr_head_magic, sizeof h->magic) != 0)
        return thr_fail(err, THR_EFORMAT, "%s: is no head: build one with thresher head build", path);
    if (h->version > THR_HEAD_FORMAT)
        return thr_fail(err, THR_EVERSION,
                        "%s: written by a newer Thresher (format %" PRIu32 "; this one reads %d): update Thresher",
                        path, h->version, THR_HEAD_FORMAT);
    if (h->n_words == 0 || h->n_words > THR_HEAD_MAX_WORDS || h->n_dims == 0 || h->n_dims > THR_MAX_DIMS ||
        thr_head_format_of(h->dtype) == 0 || h->version != thr_head_format_of(h->dtype) || h->has > THR_HEAD_HAS_ALL ||
        h->n_planes > THR_MAX_BITS || h->zero != 0 || h->zero_too != 0)
        return damaged(path, 8, "the header holds wrong numbers", err);
    if (h->n_sections > THR_HEAD_LAST || h->table_offset % THR_SECTION_ALIGN != 0 || h->table_offset > size ||
        size - h->table_offset != (uint64_t)h->n_sections * sizeof(thr_section))
        return damaged(path, 40, "the section table does not end the file", err);
    return THR_OK;
}

/* What decides which sections there are and how large they are. */
typedef struct shape {
    const thr_head_header *header;
    const thr_head_hashes *hashes;
} shape;

/* None of the sizes overflows. */
static thr_section_rule rule_of(const void *user, uint32_t kind, uint64_t *size) {
    const thr_head_header *h = ((const shape *)user)->header;
    const thr_head_hashes *how = ((const shape *)user)->hashes;
    const uint64_t word = sizeof(uint32_t), n = h->n_words;
    const bool hashes = (h->has & THR_HEAD_HAS_HASHES) != 0;
    const thr_section_rule planes = h->n_planes > 0 ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    switch ((thr_head_section)kind) {
    case THR_HEAD_HASHES:
        *size = sizeof *how;
        return hashes ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    case THR_HEAD_BIAS:
        *size = n * sizeof(float);
        return (h->has & THR_HEAD_HAS_BIAS) != 0 ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    case THR_HEAD_ORDER:
        *size = n * word;
        return (h->has & THR_HEAD_HAS_ORDER) != 0 ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    case THR_HEAD_SLOTS:
        *size = ((uint64_t)how->n_slots + how->n_stash) * sizeof(thr_cuckoo_slot);
        return hashes ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    case THR_HEAD_LISTS:
        *size = n * how->n_bands * word;
        return hashes ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    case THR_HEAD_QUANTISER:
        *size = sizeof(thr_head_quantiser);
        return planes;
    case THR_HEAD_CODES:
        *size = thr_head_padded(h->n_words) / THR_BLOCK_ITEMS *
                thr_block_size(h->n_dims + (h->has & THR_HEAD_HAS_BIAS), h->n_planes);
        return planes;
    case THR_HEAD_FACTORS:
        *size = thr_head_padded(h->n_words) * sizeof(float);
        return planes;
    case THR_HEAD_WEIGHTS:
        *size = n * h->n_dims * thr_dtype_size((thr_dtype)h->dtype);
        return THR_SECTION_EXACT;
    case THR_HEAD_SCALES:
        *size = n * sizeof(float);
        return h->dtype == THR_DTYPE_I8 ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
    }
    return THR_SECTION_ABSENT;
}

/* The first section says how large others are, so its place is checked before the table is. */
static bool read_hashes(const uint8_t *data, const thr_head_header *h, thr_head_hashes *how) {
    thr_wta_shape complete;
    if ((h->has & THR_HEAD_HAS_HASHES) == 0)
        return true;
    if (h->table_offset < sizeof *h + sizeof *how)
        return false;
    memcpy(how, data + sizeof *h, sizeof *how);
    complete = (thr_wta_shape){h->n_dims, how->n_places, how->n_bands, how->n_hashes, how->seed};
    return how->n_hashes > 0 && how->n_slots > 0 && how->n_slots <= INT32_MAX && how->n_stash <= THR_CUCKOO_STASH &&
           how->reserved == 0 && (uint64_t)h->n_words * how->n_bands <= UINT32_MAX &&
           thr_wta_complete(&complete, NULL) == THR_OK;
}

static void point(thr_head_view *view, const thr_head_header *h, const thr_head_hashes *how) {
    const void *at[THR_HEAD_LAST + 1] = {NULL};
    for (uint32_t i = 0; i < view->n_sections; i++)
        at[view->sections[i].kind] = view->data + view->sections[i].offset;
    view->contents = (thr_head_contents){
        .n_words = h->n_words,
        .n_dims = h->n_dims,
        .dtype = (thr_dtype)h->dtype,
        .weights = at[THR_HEAD_WEIGHTS],
        .scales = at[THR_HEAD_SCALES],
        .bias = at[THR_HEAD_BIAS],
        .order = at[THR_HEAD_ORDER],
        .shape = {h->n_dims, how->n_places, how->n_bands, how->n_hashes, how->seed},
        .lsh = {.n_words = h->n_words,
                .n_bands = how->n_bands,
                .table = {at[THR_HEAD_SLOTS], how->n_slots, how->n_stash, how->table_seed},
                .words = at[THR_HEAD_LISTS]},
        .n_codes = how->n_codes,
        .planes = {.n_planes = h->n_planes, .codes = at[THR_HEAD_CODES], .factors = at[THR_HEAD_FACTORS]}};
    if (h->n_planes > 0)
        memcpy(&view->contents.planes.how, at[THR_HEAD_QUANTISER], sizeof view->contents.planes.how);
}

static const char *check_order(thr_context *context, const thr_head_contents *c, thr_status *status, thr_error *err) {
    uint8_t *seen = NULL;
    *status = thr_alloc_zero(context, c->n_words, 1, &seen, "words", err);
    bool good = *status == THR_OK;
    for (uint32_t i = 0; i < c->n_words && good; i++) {
        good = c->order[i] < c->n_words && seen[c->order[i]] == 0;
        if (good)
            seen[c->order[i]] = 1;
    }
    thr_release(context, seen);
    return good || *status != THR_OK ? NULL : "the order of words does not have every word once";
}

static thr_status check_contents(thr_context *context, const char *path, const thr_head_contents *c, thr_error *err) {
    thr_status status = THR_OK;
    const char *wrong = NULL;
    for (uint32_t w = 0; c->bias != NULL && w < c->n_words && wrong == NULL; w++)
        wrong = isfinite(c->bias[w]) ? NULL : "a bias is not finite";
    for (uint32_t w = 0; c->scales != NULL && w < c->n_words && wrong == NULL; w++)
        wrong = isfinite(c->scales[w]) && c->scales[w] >= 0 ? NULL : "a scale is negative or not finite";
    if (wrong == NULL && c->order != NULL)
        wrong = check_order(context, c, &status, err);
    if (wrong == NULL && status == THR_OK && c->shape.n_bands > 0)
        wrong = thr_lsh_check(&c->lsh);
    if (wrong == NULL && status == THR_OK && c->planes.n_planes > 0)
        wrong = thr_head_planes_check(&c->planes, c->n_words);
    return wrong == NULL ? status : damaged(path, 0, wrong, err);
}

thr_status thr_head_parse(thr_context *context, const char *path, const void *data, uint64_t size, thr_head_view *view,
                          thr_error *err) {
    thr_head_header h;
    thr_head_hashes how = {.n_bands = 0};
    *view = (thr_head_view){.path = path, .data = data, .size = size};
    if (size < sizeof h)
        return thr_fail(err, THR_EFORMAT, "%s: %" PRIu64 " bytes are no head: build one with thresher head build", path,
                        size);
    memcpy(&h, data, sizeof h);
    THR_TRY(check_header(path, &h, size, err));
    view->n_sections = h.n_sections;
    memcpy(view->sections, view->data + h.table_offset, h.n_sections * sizeof(thr_section));
    if (thr_sections_checksum(&h, view->sections, h.n_sections) != h.checksum)
        return damaged(path, 56, "the checksum of the header and the section table is wrong", err);
    const shape wanted = {&h, &how};
    if (!read_hashes(view->data, &h, &how) ||
        !thr_sections_fit(view->sections, view->n_sections, h.table_offset, THR_HEAD_LAST, rule_of, &wanted))
        return damaged(path, h.table_offset, "the section table is wrong", err);
    point(view, &h, &how);
    return check_contents(context, path, &view->contents, err);
}
