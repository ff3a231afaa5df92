/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - FILE.thr-cache: the parsed arrays of a file as sections, which are mapped instead of parsing
 * again.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/files/file_sum.h"
#include "base/files/section_file.h"
#include "svmlight/side_files.h"

static const char cache_ending[] = ".thr-cache";

typedef enum cache_section {
    CACHE_SOURCE = 1,         /* thr_svmlight_source */
    CACHE_LABELS = 2,         /* f64 a row */
    CACHE_QUERIES = 3,        /* u64 a row */
    CACHE_STARTS = 4,         /* u64 a row and one */
    CACHE_COLUMNS = 5,        /* u32 a value */
    CACHE_VALUES = 6,         /* f32 a value */
    CACHE_DENSE = 7,          /* f32, rows x features */
    CACHE_COMMENT_STARTS = 8, /* u64 a row and one */
    CACHE_COMMENTS = 9,       /* bytes */
    CACHE_LAST = CACHE_COMMENTS
} cache_section;

/* These messages are never shown: an unusable cache is ignored and the file is read. */
static const thr_file_kind cache_kind = {.magic = {'T', 'H', 'R', 'S', 'V', 'M', 0, 1},
                                         .last = CACHE_LAST,
                                         .foreign_status = THR_EFORMAT,
                                         .foreign_text = "is no cache",
                                         .remedy = "it is written anew"};

/* Bits of the header field `has`. */
enum { HAS_QUERIES = 1, HAS_DENSE = 2, HAS_COMMENTS = 4, WITH_COMMENTS = 8 /* comments were kept, if any */ };

typedef struct cache_header {
    uint8_t magic[8];
    uint32_t version, n_features;
    uint64_t n_rows, n_values;
    uint32_t n_sections, has;
    uint64_t table_offset, n_comment_bytes, checksum;
} cache_header;

_Static_assert(sizeof(cache_header) == THR_SECTIONS_HEADER, "no padding");
_Static_assert(sizeof(thr_svmlight_source) == 24, "no padding");

static thr_status cache_name(thr_context *context, const char *path, char **name, thr_error *err) {
    return thr_path_append(context, path, cache_ending, name, err);
}

/* ------------------------------------------------------------------------------------------------ source */

/* Read through the descriptor: a file that shrinks meanwhile is an error then, not a signal. */
static thr_status sum_file(thr_context *context, const char *path, uint64_t *checksum, thr_error *err) {
    thr_map map;
    thr_file_sum sum;
    THR_TRY(thr_map_open(path, &map, err));
    thr_status status = thr_file_sum_start(context, map.size, map.size, &sum, err);
    if (status == THR_OK)
        status = thr_file_sum_bytes(&sum, path, &map, 0, map.size, checksum, err);
    thr_file_sum_end(&sum);
    thr_map_close(&map);
    return status;
}

thr_status thr_svmlight_look(thr_context *context, const char *path, thr_svmlight_source *source, thr_error *err) {
    char *side = NULL;
    *source = (thr_svmlight_source){.has_side = 0};
    THR_TRY(sum_file(context, path, &source->file, err));
    THR_TRY(thr_svmlight_find_side(context, path, &side, err));
    source->has_side = side != NULL;
    const thr_status status = side != NULL ? sum_file(context, side, &source->side, err) : THR_OK;
    thr_release(context, side);
    return status;
}

/* ------------------------------------------------------------------------------------------------ open */

static thr_section_rule cache_rule(const void *shape, uint32_t kind, uint64_t *size) {
    const cache_header *h = shape;
    const bool dense = (h->has & HAS_DENSE) != 0, comments = (h->has & HAS_COMMENTS) != 0;
    const struct {
        bool present;
        uint64_t size;
    } sections[CACHE_LAST + 1] = {
        [CACHE_SOURCE] = {true, sizeof(thr_svmlight_source)},
        [CACHE_LABELS] = {true, h->n_rows * sizeof(double)},
        [CACHE_QUERIES] = {(h->has & HAS_QUERIES) != 0, h->n_rows * sizeof(uint64_t)},
        [CACHE_STARTS] = {!dense, (h->n_rows + 1) * sizeof(uint64_t)},
        [CACHE_COLUMNS] = {!dense, h->n_values * sizeof(uint32_t)},
        [CACHE_VALUES] = {!dense, h->n_values * sizeof(float)},
        [CACHE_DENSE] = {dense, h->n_rows * h->n_features * sizeof(float)},
        [CACHE_COMMENT_STARTS] = {comments, (h->n_rows + 1) * sizeof(uint64_t)},
        [CACHE_COMMENTS] = {comments, h->n_comment_bytes},
    };
    *size = sections[kind].size;
    return sections[kind].present ? THR_SECTION_EXACT : THR_SECTION_ABSENT;
}

/* Check that numbers are small enough that products below stay under 2^55 and cannot overflow. */
static bool has_sane_numbers(const cache_header *h, uint64_t file_size) {
    const uint64_t most = UINT64_C(1) << 50;
    uint64_t n_cells;
    return h->n_rows != 0 && h->n_rows <= THR_SVMLIGHT_MAX_ROWS && h->n_features <= THR_SVMLIGHT_MAX_INDEX &&
           h->n_values <= most && h->n_comment_bytes <= most && file_size <= most &&
           !__builtin_mul_overflow(h->n_rows, (uint64_t)h->n_features, &n_cells) &&
           ((h->has & HAS_DENSE) == 0 || n_cells <= most) && (h->has & ~15u) == 0;
}

/* Finite numbers have an exponent that is not all ones. Written so that compilers vectorise it. */
static bool are_finite_floats(const float *values, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= fabsf(values[i]) <= FLT_MAX;
    return finite;
}

static bool are_finite_doubles(const double *values, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= fabs(values[i]) <= DBL_MAX;
    return finite;
}

/* Return whether starts go from 0 to last without descending. */
static bool are_starts(const uint64_t *starts, size_t n, uint64_t last) {
    bool ascend = starts[0] == 0 && starts[n] == last;
    for (size_t i = 0; i < n; i++)
        ascend &= starts[i] <= starts[i + 1];
    return ascend;
}

static bool are_columns(const thr_svmlight *s) {
    for (size_t r = 0; r < s->n_rows; r++)
        for (uint64_t v = s->starts[r]; v < s->starts[r + 1]; v++)
            if (s->columns[v] >= s->n_features || (v > s->starts[r] && s->columns[v] <= s->columns[v - 1]))
                return false;
    return true;
}

bool thr_svmlight_is_sound(const thr_svmlight *s, uint64_t n_comment_bytes) {
    if (!are_finite_doubles(s->labels, s->n_rows))
        return false;
    if (s->comment_starts != NULL && !are_starts(s->comment_starts, s->n_rows, n_comment_bytes))
        return false;
    if (s->dense != NULL)
        return are_finite_floats(s->dense, s->n_rows * s->n_features);
    return are_starts(s->starts, s->n_rows, s->n_values) && are_columns(s) && are_finite_floats(s->values, s->n_values);
}

static bool parse_cache(const thr_map *map, thr_section_file *file, cache_header *h) {
    if (thr_section_file_read(&cache_kind, "", map->data, map->size, file, NULL) != THR_OK)
        return false;
    memcpy(h, map->data, sizeof *h);
    return has_sane_numbers(h, map->size) && thr_section_file_fit(file, cache_rule, h, NULL) == THR_OK;
}

bool thr_svmlight_cache_take(const thr_map *map, const thr_svmlight_source *source, bool with_comments,
                             thr_svmlight *out) {
    thr_section_file file;
    cache_header h;
    if (!parse_cache(map, &file, &h))
        return false;
    thr_svmlight_source made_of;
    memcpy(&made_of, thr_section_file_at(&file, CACHE_SOURCE), sizeof made_of);
    if (!thr_svmlight_is_same(&made_of, source) || (with_comments && (h.has & WITH_COMMENTS) == 0))
        return false;
    if (!thr_section_file_is_whole(&file))
        return false;
    *out = (thr_svmlight){.n_rows = (size_t)h.n_rows,
                          .n_values = (size_t)h.n_values,
                          .n_features = h.n_features,
                          .labels = thr_section_file_at(&file, CACHE_LABELS),
                          .queries = thr_section_file_at(&file, CACHE_QUERIES),
                          .starts = thr_section_file_at(&file, CACHE_STARTS),
                          .columns = thr_section_file_at(&file, CACHE_COLUMNS),
                          .values = thr_section_file_at(&file, CACHE_VALUES),
                          .dense = thr_section_file_at(&file, CACHE_DENSE),
                          .comment_starts = thr_section_file_at(&file, CACHE_COMMENT_STARTS),
                          .comments = thr_section_file_at(&file, CACHE_COMMENTS)};
    if (!thr_svmlight_is_sound(out, h.n_comment_bytes))
        return false;
    if (!with_comments)
        out->comment_starts = NULL;
    if (!with_comments)
        out->comments = NULL;
    return true;
}

thr_status thr_svmlight_cache_open(thr_context *context, const char *path, const thr_svmlight_source *source,
                                   bool with_comments, thr_svmlight *out, bool *found, thr_error *err) {
    char *name = NULL;
    thr_map map;
    *found = false;
    THR_TRY(cache_name(context, path, &name, err));
    const thr_status status = thr_map_open(name, &map, NULL);
    thr_release(context, name);
    if (status != THR_OK) /* missing or unreadable */
        return THR_OK;
    *found = thr_svmlight_cache_take(&map, source, with_comments, out);
    if (!*found) {
        thr_map_close(&map);
        *out = (thr_svmlight){.context = NULL};
        return THR_OK;
    }
    out->context = context;
    out->from_cache = true;
    out->map = map;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ write */

thr_status thr_svmlight_cache_write(thr_context *context, const char *path, const thr_svmlight_source *source,
                                    bool with_comments, const thr_svmlight *s, thr_error *err) {
    cache_header header = {.n_features = s->n_features,
                           .n_rows = s->n_rows,
                           .n_values = s->n_values,
                           .has = (s->queries != NULL ? HAS_QUERIES : 0u) | (s->dense != NULL ? HAS_DENSE : 0u) |
                                  (s->comment_starts != NULL ? HAS_COMMENTS : 0u) |
                                  (with_comments ? WITH_COMMENTS : 0u),
                           .n_comment_bytes = s->comment_starts != NULL ? s->comment_starts[s->n_rows] : 0};
    const thr_section_data sections[CACHE_LAST + 1] = {
        [CACHE_SOURCE] = {.data = source},        [CACHE_LABELS] = {.data = s->labels},
        [CACHE_QUERIES] = {.data = s->queries},   [CACHE_STARTS] = {.data = s->starts},
        [CACHE_COLUMNS] = {.data = s->columns},   [CACHE_VALUES] = {.data = s->values},
        [CACHE_DENSE] = {.data = s->dense},       [CACHE_COMMENT_STARTS] = {.data = s->comment_starts},
        [CACHE_COMMENTS] = {.data = s->comments},
    };
    const thr_section_contents contents = {&cache_kind, &header, cache_rule, &header, sections};
    char *name = NULL;
    THR_TRY(cache_name(context, path, &name, err));
    thr_status status = thr_out_check_kind(name, cache_kind.magic, sizeof cache_kind.magic, "such a cache", err);
    if (status == THR_OK)
        status = thr_section_file_write(context, name, &contents, err);
    thr_release(context, name);
    return status;
}
