/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - a head's sections: sizes, order, writing and parsing. */
#include "head/file.h"

#include <thresher/head.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "head/weight_formats.h"

static const char *const section_names[THR_HEAD_LAST + 1] = {
    "?", "hashes", "bias", "order", "slots", "lists", "quantiser", "codes", "factors", "weights", "scales"};

const thr_file_kind thr_head_kind = {.magic = {'T', 'H', 'R', 'H', 'E', 'A', 'D', 1},
                                     .last = THR_HEAD_LAST,
                                     .names = section_names,
                                     .foreign_status = THR_EFORMAT,
                                     .foreign_text = "is no head: build one with thresher head build",
                                     .remedy = THR_HEAD_REMEDY};

/* ------------------------------------------------------------------------------------------------ sections */

/* The parts of a head that determine which sections a file has, and their sizes. */
typedef struct shape {
    const thr_head_header *header;
    const thr_head_hashes *hashes;
} shape;

/* The sizes cannot overflow. */
static thr_section_rule rule_of(const void *user, uint32_t kind, uint64_t *size) {
    const thr_head_header *h = ((const shape *)user)->header;
    const thr_head_hashes *record = ((const shape *)user)->hashes;
    const uint64_t word = sizeof(uint32_t), n = h->n_words, padded = thr_head_padded(h->n_words);
    const uint32_t n_coded = h->n_dims + (h->has & THR_HEAD_HAS_BIAS);
    const bool hashes = (h->has & THR_HEAD_HAS_HASHES) != 0, planes = h->n_planes > 0;
    const struct {
        bool present;
        uint64_t size;
    } sections[THR_HEAD_LAST + 1] = {
        [THR_HEAD_HASHES] = {hashes, sizeof *record},
        [THR_HEAD_BIAS] = {(h->has & THR_HEAD_HAS_BIAS) != 0, n * sizeof(float)},
        [THR_HEAD_ORDER] = {(h->has & THR_HEAD_HAS_ORDER) != 0, n * word},
        [THR_HEAD_SLOTS] = {hashes, ((uint64_t)record->n_slots + record->n_stash) * sizeof(thr_cuckoo_slot)},
        [THR_HEAD_LISTS] = {hashes, n * record->n_bands * word},
        [THR_HEAD_QUANTISER] = {planes, sizeof(thr_head_quantiser)},
        [THR_HEAD_CODES] = {planes, padded / THR_BLOCK_ITEMS * thr_block_size(n_coded, h->n_planes)},
        [THR_HEAD_FACTORS] = {planes, padded * sizeof(float)},
        [THR_HEAD_WEIGHTS] = {true, n * h->n_dims * thr_dtype_size((thr_dtype)h->dtype)},
        [THR_HEAD_SCALES] = {h->dtype == THR_DTYPE_I8, n * sizeof(float)},
    };
    *size = sections[kind].size;
    return sections[kind].present ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
}

/* ------------------------------------------------------------------------------------------------ write */

thr_status thr_head_write(thr_context *context, const char *path, const thr_head_contents *c, thr_error *err) {
    const thr_cuckoo *table = &c->lsh.table;
    thr_head_header header = {.n_words = c->n_words,
                              .n_dims = c->n_dims,
                              .dtype = (uint32_t)c->dtype,
                              .has = (c->bias != NULL ? THR_HEAD_HAS_BIAS : 0u) |
                                     (c->order != NULL ? THR_HEAD_HAS_ORDER : 0u) |
                                     (c->shape.n_bands > 0 ? THR_HEAD_HAS_HASHES : 0u),
                              .n_planes = c->planes.n_planes};
    const thr_head_hashes record = {.n_places = c->shape.n_places,
                                    .n_bands = c->shape.n_bands,
                                    .n_hashes = c->shape.n_hashes,
                                    .n_slots = table->n_slots,
                                    .n_stash = table->n_stash,
                                    .seed = c->shape.seed,
                                    .table_seed = table->seed,
                                    .n_codes = c->n_codes};
    const thr_section_data sections[THR_HEAD_LAST + 1] = {
        [THR_HEAD_HASHES] = {.data = &record},        [THR_HEAD_BIAS] = {.data = c->bias},
        [THR_HEAD_ORDER] = {.data = c->order},        [THR_HEAD_SLOTS] = {.data = table->slots},
        [THR_HEAD_LISTS] = {.data = c->lsh.words},    [THR_HEAD_QUANTISER] = {.data = &c->planes.quantiser},
        [THR_HEAD_CODES] = {.data = c->planes.codes}, [THR_HEAD_FACTORS] = {.data = c->planes.factors},
        [THR_HEAD_WEIGHTS] = {.data = c->weights},    [THR_HEAD_SCALES] = {.data = c->scales},
    };
    const thr_section_contents contents = {&thr_head_kind, &header, rule_of, &(shape){&header, &record}, sections};
    return thr_section_file_write(context, path, &contents, err);
}

/* ------------------------------------------------------------------------------------------------ parse */

static thr_status check_header(const thr_section_file *file, const thr_head_header *h, thr_error *err) {
    if (h->n_words == 0 || h->n_words > THR_HEAD_MAX_WORDS || h->n_dims == 0 || h->n_dims > THR_MAX_DIMS ||
        !thr_head_keeps(h->dtype) || h->n_planes > THR_MAX_BITS || (h->has & ~(uint32_t)THR_HEAD_HAS_ALL) != 0 ||
        h->zero != 0 || h->zero_too != 0)
        return thr_section_file_damaged(file, THR_SECTIONS_VERSION_AT, "the header holds invalid numbers", err);
    return THR_OK;
}

/* The first section determines other sections' sizes, so its position is checked before the table. */
static bool read_hashes(const thr_section_file *file, const thr_head_header *h, thr_head_hashes *record) {
    thr_wta_shape complete;
    if ((h->has & THR_HEAD_HAS_HASHES) == 0)
        return true;
    if (file->table_offset < THR_SECTIONS_HEADER + sizeof *record)
        return false;
    memcpy(record, file->data + THR_SECTIONS_HEADER, sizeof *record);
    complete = (thr_wta_shape){h->n_dims, record->n_places, record->n_bands, record->n_hashes, record->seed};
    return record->n_hashes > 0 && record->n_slots > 0 && record->n_slots <= INT32_MAX &&
           record->n_stash <= THR_CUCKOO_STASH && record->reserved == 0 &&
           (uint64_t)h->n_words * record->n_bands <= UINT32_MAX && thr_lsh_wta_complete(&complete, NULL) == THR_OK;
}

static void point(thr_head_view *view, const thr_head_header *h, const thr_head_hashes *record) {
    const thr_section_file *file = &view->file;
    view->contents =
        (thr_head_contents){.n_words = h->n_words,
                            .n_dims = h->n_dims,
                            .dtype = (thr_dtype)h->dtype,
                            .weights = thr_section_file_at(file, THR_HEAD_WEIGHTS),
                            .scales = thr_section_file_at(file, THR_HEAD_SCALES),
                            .bias = thr_section_file_at(file, THR_HEAD_BIAS),
                            .order = thr_section_file_at(file, THR_HEAD_ORDER),
                            .shape = {h->n_dims, record->n_places, record->n_bands, record->n_hashes, record->seed},
                            .lsh = {.n_words = h->n_words,
                                    .n_bands = record->n_bands,
                                    .table = {thr_section_file_at(file, THR_HEAD_SLOTS), record->n_slots,
                                              record->n_stash, record->table_seed},
                                    .words = thr_section_file_at(file, THR_HEAD_LISTS)},
                            .n_codes = record->n_codes,
                            .planes = {.n_planes = h->n_planes,
                                       .codes = thr_section_file_at(file, THR_HEAD_CODES),
                                       .factors = thr_section_file_at(file, THR_HEAD_FACTORS)}};
    if (h->n_planes > 0)
        memcpy(&view->contents.planes.quantiser, thr_section_file_at(file, THR_HEAD_QUANTISER),
               sizeof view->contents.planes.quantiser);
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
    return good || *status != THR_OK ? NULL : "the order of words is not a permutation";
}

static thr_status check_contents(thr_context *context, const thr_head_view *view, thr_error *err) {
    const thr_head_contents *c = &view->contents;
    thr_status status = THR_OK;
    const char *wrong = NULL;
    for (uint32_t w = 0; c->bias != NULL && w < c->n_words && wrong == NULL; w++)
        wrong = c->bias[w] <= FLT_MAX ? NULL : "a bias is not a number, or infinite";
    for (uint32_t w = 0; c->scales != NULL && w < c->n_words && wrong == NULL; w++)
        wrong = isfinite(c->scales[w]) && c->scales[w] >= 0 ? NULL : "a scale is negative or not finite";
    if (wrong == NULL && c->order != NULL)
        wrong = check_order(context, c, &status, err);
    if (wrong == NULL && status == THR_OK && c->shape.n_bands > 0)
        wrong = thr_lsh_check(&c->lsh);
    if (wrong == NULL && status == THR_OK && c->planes.n_planes > 0)
        wrong = thr_head_planes_check(&c->planes, c->n_words);
    return wrong == NULL ? status : thr_section_file_damaged(&view->file, 0, wrong, err);
}

thr_status thr_head_parse(thr_context *context, const char *path, const void *data, uint64_t size, thr_head_view *view,
                          thr_error *err) {
    thr_section_file *file = &view->file;
    thr_head_header h;
    thr_head_hashes record = {.n_bands = 0};
    *view = (thr_head_view){.contents.n_words = 0};
    THR_TRY(thr_section_file_read(&thr_head_kind, path, data, size, file, err));
    memcpy(&h, data, sizeof h);
    THR_TRY(check_header(file, &h, err));
    const shape wanted = {&h, &record};
    if (!read_hashes(file, &h, &record))
        return thr_section_file_damaged(file, THR_SECTIONS_HEADER, "the section of hashes is invalid", err);
    THR_TRY(thr_section_file_fit(file, rule_of, &wanted, err));
    point(view, &h, &record);
    return check_contents(context, view, err);
}
