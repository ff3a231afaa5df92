/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - parses and prints the text of a MANIFEST, line by line. */
#include "index/manifest.h"

#include "base/blocks.h"
#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/file.h"
#include "code/fixed.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char FIRST_WORD[] = "thresher-index ";

enum {
    CHECKSUM_LINE = 26,    /* "checksum ", 16 digits, newline */
    SEGMENT_LINE_MIN = 49, /* "segment ", a name, three numbers of minimal length */
    SEED_DIGITS = 16,
    BUILD_DIGITS = 8,
    RECALL_SIZE = 20
};

const uint32_t thr_tuned_recalls[THR_TUNED_RECALLS] = {900, 950, 990, 999};
const uint32_t thr_tuned_ks[THR_TUNED_KS] = {1, 10, 100, 1000};

/* ------------------------------------------------------------------------------------------------ parts */

void thr_index_segment_name_print(uint32_t number, uint32_t build, char name[THR_SEGMENT_NAME_SIZE]) {
    (void)snprintf(name, THR_SEGMENT_NAME_SIZE, "%06" PRIu32 "-%08" PRIx32 ".seg", number % THR_MAX_SEGMENTS, build);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parse the eight digits of a build, then an ending. */
static bool build_parse(const char *name, const char *ending, uint32_t *build, const char **end) {
    *build = 0;
    for (int i = 0; i < BUILD_DIGITS; i++, name++) {
        int digit = hex_digit(*name);
        if (digit < 0)
            return false;
        *build = *build << 4 | (uint32_t)digit;
    }
    *end = name + strlen(ending);
    return strncmp(name, ending, strlen(ending)) == 0;
}

bool thr_index_segment_name_parse(const char *name, uint32_t *number, uint32_t *build, const char **end) {
    *number = 0;
    for (int i = 0; i < 6; i++, name++) {
        if (*name < '0' || *name > '9')
            return false;
        *number = *number * 10 + (uint32_t)(*name - '0');
    }
    return *name == '-' && build_parse(name + 1, ".seg", build, end);
}

static const struct {
    const char *prefix, *ending;
} files[THR_INDEX_N_FILES] = {
    [THR_INDEX_FILE_MODEL] = {"model-", ".safetensors"}, [THR_INDEX_FILE_HITS] = {"features-", ".hits"},
    [THR_INDEX_FILE_ADDED] = {"added-", ".hits"},        [THR_INDEX_FILE_LIVE] = {"live-", ".bits"},
    [THR_INDEX_FILE_JOURNAL] = {"journal-", ".log"},
};

void thr_index_file_name_print(thr_index_file file, uint32_t build, char name[THR_INDEX_FILE_NAME_SIZE]) {
    (void)snprintf(name, THR_INDEX_FILE_NAME_SIZE, "%s%08" PRIx32 "%s", files[file].prefix, build, files[file].ending);
}

bool thr_index_file_name_parse(const char *name, thr_index_file *file, uint32_t *build, const char **end) {
    for (size_t i = 0; i < THR_INDEX_N_FILES; i++) {
        const size_t length = strlen(files[i].prefix);
        *file = (thr_index_file)i;
        if (strncmp(name, files[i].prefix, length) == 0)
            return build_parse(name + length, files[i].ending, build, end);
    }
    return false;
}

/* C's hex floats are printed and parsed here, because printf and strtof follow the locale's decimal point. */
enum { RANGE_SIZE = 24 };
static const uint32_t MANTISSA = 0x7fffff;
static const int BIAS = 127;

static bool range_is_good(float range) {
    uint32_t bits;
    memcpy(&bits, &range, sizeof bits);
    return bits >= 0x00800000 && bits < 0x7f800000; /* positive, normal, finite */
}

static void range_print(float range, char out[RANGE_SIZE]) {
    uint32_t bits;
    memcpy(&bits, &range, sizeof bits);
    (void)snprintf(out, RANGE_SIZE, "0x1.%06" PRIx32 "p%+d", (bits & MANTISSA) << 1, (int)(bits >> 23) - BIAS);
}

/* ------------------------------------------------------------------------------------------------ parse */

typedef struct parser {
    const char *name;
    const char *next, *end; /* the rest of the text */
    uint32_t line;
    thr_error *err;
} parser;

static thr_status wrong(const parser *p, const char *expected) {
    return thr_fail(p->err, THR_ECORRUPT,
                    "%s: line %" PRIu32 ": expected %s: the file is damaged; restore it or build the index again",
                    p->name, p->line, expected);
}

static bool take(parser *p, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(p->end - p->next) < length || memcmp(p->next, text, length) != 0)
        return false;
    p->next += length;
    return true;
}

/* Parse a decimal number without sign or leading zeros. */
static bool take_number(parser *p, uint64_t *value) {
    const char *start = p->next;
    *value = 0;
    while (p->next < p->end && *p->next >= '0' && *p->next <= '9') {
        uint64_t digit = (uint64_t)(*p->next - '0');
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) || __builtin_add_overflow(*value, digit, value))
            return false;
        p->next++;
    }
    return p->next > start && (*start != '0' || p->next == start + 1);
}

static bool take_hex(parser *p, int digits, uint64_t *value) {
    if (p->end - p->next < digits)
        return false;
    *value = 0;
    for (int i = 0; i < digits; i++) {
        int digit = hex_digit(*p->next++);
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint64_t)digit;
    }
    return true;
}

static bool take_range(parser *p, float *range) {
    uint64_t mantissa, magnitude;
    if (!take(p, "0x1.") || !take_hex(p, 6, &mantissa) || !take(p, "p") || (mantissa & 1) != 0)
        return false;
    bool negative = take(p, "-");
    if (!negative && !take(p, "+"))
        return false;
    if (!take_number(p, &magnitude) || magnitude > 127 || (negative && (magnitude == 0 || magnitude > 126)))
        return false;
    int exponent = negative ? -(int)magnitude : (int)magnitude;
    uint32_t bits = (uint32_t)(exponent + BIAS) << 23 | (uint32_t)(mantissa >> 1);
    memcpy(range, &bits, sizeof bits);
    return true;
}

/* "key NUMBER\n", NUMBER from low to high. */
static thr_status number_line(parser *p, const char *key, uint64_t low, uint64_t high, uint64_t *value) {
    char expected[64];
    (void)snprintf(expected, sizeof expected, "'%s' and a number from %" PRIu64 " to %" PRIu64, key, low, high);
    p->line++;
    if (!take(p, key) || !take(p, " ") || !take_number(p, value) || !take(p, "\n") || *value < low || *value > high)
        return wrong(p, expected);
    return THR_OK;
}

static thr_status flag_line(parser *p, const char *key, bool *flag) {
    char expected[32];
    (void)snprintf(expected, sizeof expected, "'%s yes' or '%s no'", key, key);
    p->line++;
    if (!take(p, key) || !take(p, " "))
        return wrong(p, expected);
    *flag = take(p, "yes");
    if ((!*flag && !take(p, "no")) || !take(p, "\n"))
        return wrong(p, expected);
    return THR_OK;
}

static thr_status metric_line(parser *p, thr_metric *metric) {
    p->line++;
    if (!take(p, "metric "))
        return wrong(p, "'metric'");
    for (int i = THR_METRIC_COSINE; i <= THR_METRIC_L2; i++)
        if (take(p, thr_metric_name((thr_metric)i))) {
            *metric = (thr_metric)i;
            return take(p, "\n") ? THR_OK : wrong(p, "the end of the line");
        }
    return wrong(p, "'metric cosine', 'metric ip' or 'metric l2'");
}

static thr_status keep_line(parser *p, thr_dtype *keep) {
    static const struct {
        const char *word;
        thr_dtype keep;
    } words[] = {{"none", THR_DTYPE_NONE}, {"f32", THR_DTYPE_F32}, {"f16", THR_DTYPE_F16}, {"i8", THR_DTYPE_I8}};
    p->line++;
    if (!take(p, "keep "))
        return wrong(p, "'keep'");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (take(p, words[i].word)) {
            *keep = words[i].keep;
            return take(p, "\n") ? THR_OK : wrong(p, "the end of the line");
        }
    return wrong(p, "'keep none', 'keep f32', 'keep f16' or 'keep i8'");
}

static thr_status ranges_line(parser *p, float ranges[THR_MAX_BITS]) {
    p->line++;
    if (!take(p, "ranges"))
        return wrong(p, "'ranges'");
    for (int i = 0; i < THR_MAX_BITS; i++)
        if (!take(p, " ") || !take_range(p, &ranges[i]))
            return wrong(p, "eight numbers like 0x1.800000p-3");
    return take(p, "\n") ? THR_OK : wrong(p, "the end of the line");
}

static thr_status rotation_line(parser *p, uint64_t *seed) {
    p->line++;
    *seed = 0;
    if (!take(p, "rotation ") || (!take(p, "no") && (!take_hex(p, SEED_DIGITS, seed) || *seed == 0)) || !take(p, "\n"))
        return wrong(p, "'rotation no', or 'rotation' and sixteen hexadecimal digits that are not all 0");
    return THR_OK;
}

static thr_status errors_line(parser *p, thr_code_errors *errors) {
    float *values[] = {&errors->lead_error, &errors->lead_length, &errors->full_error, &errors->full_length};
    p->line++;
    if (!take(p, "errors"))
        return wrong(p, "'errors'");
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (!take(p, " ") || !take_range(p, values[i]))
            return wrong(p, "four numbers like 0x1.800000p-3");
    return take(p, "\n") ? THR_OK : wrong(p, "the end of the line");
}

/* "tuning QUERIES" and, unless QUERIES is 0, one line per recall: "recall 0.990", then two numbers per k. */
static thr_status tuning_lines(parser *p, thr_tuning *tuning) {
    THR_TRY(number_line(p, "tuning", 0, UINT64_MAX - 1, &tuning->n_queries));
    for (size_t r = 0; r < THR_TUNED_RECALLS && tuning->n_queries > 0; r++) {
        char key[RECALL_SIZE];
        (void)snprintf(key, sizeof key, "recall 0.%03" PRIu32, thr_tuned_recalls[r]);
        p->line++;
        bool good = take(p, key);
        for (size_t k = 0; k < THR_TUNED_KS && good; k++) {
            uint64_t *survivors = &tuning->at[r].survivors[k], *candidates = &tuning->at[r].candidates[k];
            good = take(p, " ") && take_number(p, survivors) && take(p, " ") && take_number(p, candidates) &&
                   *candidates >= 1 && *candidates <= *survivors;
        }
        if (!good || !take(p, "\n"))
            return wrong(p, "'recall', a recall, and pairs of survivors and candidates");
    }
    return THR_OK;
}

/* The name of a file; its build. */
static bool take_file_name(parser *p, thr_index_file file, uint32_t *build) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    const size_t length = strlen(files[file].prefix) + BUILD_DIGITS + strlen(files[file].ending);
    thr_index_file found;
    const char *end;
    if ((size_t)(p->end - p->next) <= length)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, p->next);
    p->next += length;
    return thr_index_file_name_parse(name, &found, build, &end) && found == file;
}

/* "model FILE BYTES CHECKSUM FINGERPRINT", then the kind of the items' vectors; most indexes have no such line. */
static thr_status model_line(parser *p, thr_manifest_model *model) {
    static const char expected[] =
        "'model', a file name, its bytes, its checksum, the model's fingerprint, and 'codes', 'vectors' or 'dual'";
    if (!take(p, "model "))
        return THR_OK;
    p->line++;
    if (!take_file_name(p, THR_INDEX_FILE_MODEL, &model->build) || !take(p, " ") ||
        !take_number(p, &model->file_bytes) || !take(p, " ") || !take_hex(p, 16, &model->checksum) || !take(p, " ") ||
        !take_hex(p, 16, &model->fingerprint))
        return wrong(p, expected);
    model->there = true;
    model->codes = take(p, " codes");
    model->dual = !model->codes && take(p, " dual");
    if ((!model->codes && !model->dual && !take(p, " vectors")) || !take(p, "\n"))
        return wrong(p, expected);
    return THR_OK;
}

/* "features FILE BYTES CHECKSUM" or "added ...", posting lists; most indexes have no such line. */
static thr_status hits_line(parser *p, thr_index_file file, thr_manifest_hits *hits) {
    static const char expected[] = "'features' or 'added', a file name, its bytes and its checksum";
    if (!take(p, file == THR_INDEX_FILE_HITS ? "features " : "added "))
        return THR_OK;
    p->line++;
    if (!take_file_name(p, file, &hits->build) || !take(p, " ") || !take_number(p, &hits->file_bytes) ||
        !take(p, " ") || !take_hex(p, 16, &hits->header_checksum) || !take(p, "\n"))
        return wrong(p, expected);
    hits->there = true;
    return THR_OK;
}

/*
 * "commits N", "next ID", "error NUMBER" if the codes' error was measured when they were learned, and "live FILE
 * CHECKSUM" if not every row has an item.
 */
static thr_status change_lines(parser *p, thr_manifest *m) {
    static const char expected[] = "'live', a file name and its checksum";
    THR_TRY(number_line(p, "commits", 0, UINT64_MAX - 1, &m->n_commits));
    THR_TRY(number_line(p, "next", 0, THR_NO_ID, &m->next_id));
    if (take(p, "error ")) {
        p->line++;
        if (!take_range(p, &m->code_error) || !take(p, "\n"))
            return wrong(p, "'error' and a number like 0x1.800000p-3");
    }
    if (!take(p, "live "))
        return THR_OK;
    p->line++;
    if (!take_file_name(p, THR_INDEX_FILE_LIVE, &m->live.build) || !take(p, " ") ||
        !take_hex(p, 16, &m->live.checksum) || !take(p, "\n"))
        return wrong(p, expected);
    m->live.there = true;
    return THR_OK;
}

/* "journal FILE", in an index that a writer holds items of. */
static thr_status journal_line(parser *p, thr_manifest_journal *journal) {
    if (!take(p, "journal "))
        return THR_OK;
    p->line++;
    if (!take_file_name(p, THR_INDEX_FILE_JOURNAL, &journal->build) || !take(p, "\n"))
        return wrong(p, "'journal' and a file name");
    journal->there = true;
    return THR_OK;
}

/*
 * Whether the fields agree with the model line: a model's codes have no learned quantiser, and are calibrated only if
 * the encoded vectors are kept.
 */
static bool model_fits(const thr_manifest *m) {
    const bool cosine = m->metric == THR_METRIC_COSINE, kept = m->keep != THR_DTYPE_NONE;
    bool plain = m->lead == m->quantiser.item_bits && !m->centred && m->quantiser.rotation_seed == 0;
    for (int i = 0; i < THR_MAX_BITS; i++)
        plain = plain && m->quantiser.ranges[i] == THR_FIXED_RANGE;
    if (m->model.dual)
        return m->metric == THR_METRIC_IP;
    if (m->model.n_inputs != 0)
        return m->model.codes && plain && (kept || (cosine && m->tuning.n_queries == 0)) && !(kept && m->hits.there);
    return cosine && (!m->model.codes || (plain && !kept && m->tuning.n_queries == 0));
}

/* "inputs DIMS", after a model of vectors whose codes the segments hold. */
static thr_status inputs_line(parser *p, thr_manifest_model *model) {
    uint64_t n_dims = 0;
    if (!model->codes || p->end - p->next < 7 || memcmp(p->next, "inputs ", 7) != 0)
        return THR_OK;
    THR_TRY(number_line(p, "inputs", 1, THR_MAX_DIMS, &n_dims));
    model->n_inputs = (uint32_t)n_dims;
    return THR_OK;
}

static thr_status segment_line(parser *p, thr_manifest_segment *segment) {
    static const char expected[] = "'segment', a file name, its items, its bytes and its checksum";
    char name[THR_SEGMENT_NAME_SIZE] = {0};
    const char *end;
    uint64_t n_items;
    p->line++;
    if (!take(p, "segment ") || p->end - p->next < THR_SEGMENT_NAME_SIZE)
        return wrong(p, expected);
    memcpy(name, p->next, THR_SEGMENT_NAME_SIZE - 1);
    p->next += THR_SEGMENT_NAME_SIZE - 1;
    if (!thr_index_segment_name_parse(name, &segment->number, &segment->build, &end) || !take(p, " ") ||
        !take_number(p, &n_items) || !take(p, " ") || !take_number(p, &segment->file_bytes) || !take(p, " ") ||
        !take_hex(p, 16, &segment->header_checksum))
        return wrong(p, expected);
    segment->has_ids = take(p, " ids");
    if (!segment->has_ids && (!take(p, " from ") || !take_number(p, &segment->first_id)))
        return wrong(p, "'ids', or 'from' and the first id");
    if (!take(p, "\n"))
        return wrong(p, expected);
    if (n_items < 1 || n_items > THR_MAX_SEGMENT_ITEMS)
        return wrong(p, "a segment of 1 to 2^31 items");
    segment->n_items = (uint32_t)n_items;
    return THR_OK;
}

bool thr_index_manifest_ids_differ(const thr_manifest *m) {
    uint64_t first_row = 0;
    for (uint32_t i = 0; i < m->n_segments; i++) {
        if (m->segments[i].has_ids || m->segments[i].first_id != first_row)
            return true;
        first_row += thr_blocks_of(m->segments[i].n_items) * THR_BLOCK_ITEMS;
    }
    return false;
}

/* The lines after "segments N". Memory is allocated only if the file is long enough to hold them. */
static thr_status segment_lines(thr_context *context, parser *p, thr_manifest *m) {
    uint64_t sum = 0;
    if (m->n_segments > (size_t)(p->end - p->next) / SEGMENT_LINE_MIN)
        return wrong(p, "as many 'segment' lines as the 'segments' line has");
    THR_TRY(thr_alloc(context, m->n_segments, sizeof *m->segments, &m->segments, "the manifest's segments", p->err));
    for (uint32_t i = 0; i < m->n_segments; i++) {
        thr_manifest_segment *segment = &m->segments[i];
        THR_TRY(segment_line(p, segment));
        if (i > 0 && segment->number <= segment[-1].number)
            return wrong(p, "segment numbers that ascend");
        m->n_rows = thr_blocks_of(m->n_rows) * THR_BLOCK_ITEMS;
        if (!segment->has_ids && (segment->n_items > m->next_id || segment->first_id > m->next_id - segment->n_items))
            return wrong(p, "ids below that of the 'next' line");
        m->n_rows += segment->n_items; /* at most 10^6 times 2^31 */
        sum += segment->n_items;
    }
    if (m->has_ids != thr_index_manifest_ids_differ(m))
        return wrong(p, "'ids yes' where a segment has ids, or its first id is not its first row, else 'ids no'");
    if (m->live.there ? sum < m->n_items : sum != m->n_items)
        return wrong(p, "segments whose items add up to the 'items' line");
    return m->live.there || m->n_rows == m->n_items ? THR_OK : wrong(p, "'live': some rows have no item");
}

static bool next_key_is(const parser *p, const char *key) {
    const size_t n = strlen(key);
    return (size_t)(p->end - p->next) > n && memcmp(p->next, key, n) == 0 && p->next[n] == ' ';
}

/* "kept THOUSANDTHS", if the share was measured. */
static thr_status kept_line(parser *p, uint32_t *thousandths) {
    uint64_t share = 0;
    if (next_key_is(p, "kept"))
        THR_TRY(number_line(p, "kept", 1, 1000, &share));
    *thousandths = (uint32_t)share;
    return THR_OK;
}

/* "short NUMBER", if searches with the cells found less than promised when these were made. */
static thr_status short_line(parser *p, float *cells_short) {
    if (!next_key_is(p, "short"))
        return THR_OK;
    p->line++;
    return take(p, "short ") && take_range(p, cells_short) && take(p, "\n")
               ? THR_OK
               : wrong(p, "'short' and a number like 0x1.800000p-3");
}

/* Optional, and not 0. */
static thr_status zeros_line(parser *p, uint64_t *n_zero) {
    return next_key_is(p, "zeros") ? number_line(p, "zeros", 1, UINT64_MAX - 1, n_zero) : THR_OK;
}

/* Optional, and only "yes". */
static thr_status origins_line(parser *p, bool *has_origins) {
    if (!next_key_is(p, "origins"))
        return THR_OK;
    THR_TRY(flag_line(p, "origins", has_origins));
    return *has_origins ? THR_OK : wrong(p, "'origins yes', or no such line");
}

static thr_status parse_body(thr_context *context, parser *p, thr_manifest *m) {
    uint64_t n_dims = 0, bits = 0, lead = 0, n_segments = 0;
    THR_TRY(metric_line(p, &m->metric));
    THR_TRY(number_line(p, "dims", 1, THR_MAX_DIMS, &n_dims));
    THR_TRY(number_line(p, "bits", 1, THR_MAX_BITS, &bits));
    THR_TRY(number_line(p, "lead", 1, bits, &lead));
    THR_TRY(keep_line(p, &m->keep));
    THR_TRY(number_line(p, "items", 0, UINT64_MAX - 1, &m->n_items));
    THR_TRY(zeros_line(p, &m->n_zero));
    THR_TRY(ranges_line(p, m->quantiser.ranges));
    THR_TRY(flag_line(p, "centre", &m->centred));
    THR_TRY(origins_line(p, &m->has_origins));
    THR_TRY(rotation_line(p, &m->quantiser.rotation_seed));
    if (lead < bits)
        THR_TRY(errors_line(p, &m->errors));
    THR_TRY(tuning_lines(p, &m->tuning));
    THR_TRY(kept_line(p, &m->kept_recall));
    THR_TRY(short_line(p, &m->cells_short));
    THR_TRY(flag_line(p, "ids", &m->has_ids));
    THR_TRY(flag_line(p, "names", &m->has_names));
    THR_TRY(model_line(p, &m->model));
    THR_TRY(inputs_line(p, &m->model));
    THR_TRY(hits_line(p, THR_INDEX_FILE_HITS, &m->hits));
    if (m->hits.there)
        THR_TRY(hits_line(p, THR_INDEX_FILE_ADDED, &m->added));
    THR_TRY(change_lines(p, m));
    THR_TRY(journal_line(p, &m->journal));
    m->quantiser.n_dims = (uint32_t)n_dims;
    m->quantiser.item_bits = (uint32_t)bits;
    m->quantiser.unit = m->metric == THR_METRIC_COSINE || m->model.n_inputs != 0;
    m->quantiser.fixed = m->model.codes;
    m->lead = (uint32_t)lead;
    if (m->journal.there && !thr_manifest_takes_journal(m))
        return wrong(p, "a journal only with vectors that are kept, and without features and codes of a model");
    if (m->model.there && !model_fits(m))
        return wrong(p, "for a model cosine, for a dual one ip; for codes that they are flat, with ranges of 2 and "
                        "without centre, rotation, vectors and tuning; for those of given vectors, these may be kept");
    THR_TRY(number_line(p, "segments", 0, THR_MAX_SEGMENTS, &n_segments));
    m->n_segments = (uint32_t)n_segments;
    THR_TRY(segment_lines(context, p, m));
    p->line++;
    return p->next == p->end ? THR_OK : wrong(p, "'checksum'");
}

/* Check the version first, so that another one is reported as such whatever else the file contains. */
thr_status thr_index_manifest_parse(thr_context *context, const char *name, const void *data, size_t size,
                                    thr_manifest *manifest, thr_error *err) {
    const char *text = data;
    uint64_t version, stored;
    *manifest = (thr_manifest){0};
    if (size == 0)
        return thr_fail(err, THR_ECORRUPT, "%s: the file is empty: restore it or build the index again", name);
    parser p = {.name = name, .next = text, .end = text + size, .line = 1, .err = err};
    if (!take(&p, FIRST_WORD) || !take_number(&p, &version) || !take(&p, "\n"))
        return thr_fail(err, THR_EFORMAT, "%s: not the manifest of a Thresher index: its first line is not '%s%d'",
                        name, FIRST_WORD, THR_FORMAT_VERSION);
    THR_TRY(thr_check_format_version(name, version, err));

    bool good = false;
    if (p.end - p.next >= CHECKSUM_LINE) {
        parser last = {.next = p.end - CHECKSUM_LINE, .end = p.end};
        good = take(&last, "checksum ") && take_hex(&last, 16, &stored) && take(&last, "\n") &&
               stored == thr_checksum_of(text, size - CHECKSUM_LINE);
    }
    if (!good)
        return thr_fail(
            err, THR_ECORRUPT,
            "%s: the checksum in its last line does not fit its %zu bytes: the file is damaged or cut short; "
            "restore it or build the index again",
            name, size);
    p.end -= CHECKSUM_LINE;
    thr_status status = parse_body(context, &p, manifest);
    if (status != THR_OK)
        thr_index_manifest_free(context, manifest);
    return status;
}

/* ------------------------------------------------------------------------------------------------ print */

/* A buffer that is large enough for all that is added. */
typedef struct printer {
    char *text;
    size_t used, capacity;
} printer;

__attribute__((format(printf, 2, 3))) static void add(printer *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out->text + out->used, out->capacity - out->used, format, args);
    va_end(args);
    if (length > 0)
        out->used += (size_t)length;
}

static void add_floats(printer *out, const char *key, const float *values, size_t n) {
    add(out, "%s", key);
    for (size_t i = 0; i < n; i++) {
        char text[RANGE_SIZE];
        range_print(values[i], text);
        add(out, " %s", text);
    }
    add(out, "\n");
}

static void add_coding(printer *out, const thr_manifest *m) {
    if (m->quantiser.rotation_seed == 0)
        add(out, "rotation no\n");
    else
        add(out, "rotation %016" PRIx64 "\n", m->quantiser.rotation_seed);
    if (m->lead < m->quantiser.item_bits) {
        const thr_code_errors *e = &m->errors;
        add_floats(out, "errors", (const float[]){e->lead_error, e->lead_length, e->full_error, e->full_length}, 4);
    }
    add(out, "tuning %" PRIu64 "\n", m->tuning.n_queries);
    for (size_t r = 0; r < THR_TUNED_RECALLS && m->tuning.n_queries > 0; r++) {
        add(out, "recall 0.%03" PRIu32, thr_tuned_recalls[r]);
        for (size_t k = 0; k < THR_TUNED_KS; k++)
            add(out, " %" PRIu64 " %" PRIu64, m->tuning.at[r].survivors[k], m->tuning.at[r].candidates[k]);
        add(out, "\n");
    }
    if (m->kept_recall > 0)
        add(out, "kept %" PRIu32 "\n", m->kept_recall);
    if (m->cells_short > 0)
        add_floats(out, "short", &m->cells_short, 1);
}

static void add_model(printer *out, const thr_manifest_model *model) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    thr_index_file_name_print(THR_INDEX_FILE_MODEL, model->build, name);
    add(out, "model %s %" PRIu64 " %016" PRIx64 " %016" PRIx64 " %s\n", name, model->file_bytes, model->checksum,
        model->fingerprint,
        model->codes  ? "codes"
        : model->dual ? "dual"
                      : "vectors");
    if (model->n_inputs != 0)
        add(out, "inputs %" PRIu32 "\n", model->n_inputs);
}

static void add_hits(printer *out, thr_index_file file, const thr_manifest_hits *hits) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    if (!hits->there)
        return;
    thr_index_file_name_print(file, hits->build, name);
    add(out, "%s %s %" PRIu64 " %016" PRIx64 "\n", file == THR_INDEX_FILE_HITS ? "features" : "added", name,
        hits->file_bytes, hits->header_checksum);
}

static thr_status check_numbers(const thr_manifest *m, thr_error *err) {
    const float errors[] = {m->errors.lead_error, m->errors.lead_length, m->errors.full_error, m->errors.full_length};
    for (int i = 0; i < THR_MAX_BITS; i++)
        if (!range_is_good(m->quantiser.ranges[i]))
            return thr_fail(err, THR_ERANGE, "the quantiser's range for %d bits is not a positive normal number",
                            i + 1);
    for (size_t i = 0; i < 4 && m->lead < m->quantiser.item_bits; i++)
        if (!range_is_good(errors[i]))
            return thr_fail(err, THR_ERANGE, "an error of the codes is not a positive normal number");
    return THR_OK;
}

enum { HEAD_MAX = 4096, SEGMENT_LINE_MAX = 128 };

/* out has HEAD_MAX bytes, and SEGMENT_LINE_MAX a segment. */
static void print(const thr_manifest *m, printer *out) {
    add(out, "%s%d\nmetric %s\ndims %" PRIu32 "\nbits %" PRIu32 "\n", FIRST_WORD, THR_FORMAT_VERSION,
        thr_metric_name(m->metric), m->quantiser.n_dims, m->quantiser.item_bits);
    add(out, "lead %" PRIu32 "\n", m->lead);
    add(out, "keep %s\nitems %" PRIu64 "\n", thr_dtype_name(m->keep), m->n_items);
    if (m->n_zero > 0)
        add(out, "zeros %" PRIu64 "\n", m->n_zero);
    add_floats(out, "ranges", m->quantiser.ranges, THR_MAX_BITS);
    add(out, "centre %s\n", m->centred ? "yes" : "no");
    if (m->has_origins)
        add(out, "origins yes\n");
    add_coding(out, m);
    add(out, "ids %s\nnames %s\n", m->has_ids ? "yes" : "no", m->has_names ? "yes" : "no");
    if (m->model.there)
        add_model(out, &m->model);
    add_hits(out, THR_INDEX_FILE_HITS, &m->hits);
    add_hits(out, THR_INDEX_FILE_ADDED, &m->added);
    add(out, "commits %" PRIu64 "\nnext %" PRIu64 "\n", m->n_commits, m->next_id);
    if (range_is_good(m->code_error))
        add_floats(out, "error", &m->code_error, 1);
    if (m->live.there) {
        char name[THR_INDEX_FILE_NAME_SIZE];
        thr_index_file_name_print(THR_INDEX_FILE_LIVE, m->live.build, name);
        add(out, "live %s %016" PRIx64 "\n", name, m->live.checksum);
    }
    if (m->journal.there) {
        char name[THR_INDEX_FILE_NAME_SIZE];
        thr_index_file_name_print(THR_INDEX_FILE_JOURNAL, m->journal.build, name);
        add(out, "journal %s\n", name);
    }
    add(out, "segments %" PRIu32 "\n", m->n_segments);
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const thr_manifest_segment *segment = &m->segments[i];
        char name[THR_SEGMENT_NAME_SIZE];
        thr_index_segment_name_print(segment->number, segment->build, name);
        add(out, "segment %s %" PRIu32 " %" PRIu64 " %016" PRIx64, name, segment->n_items, segment->file_bytes,
            segment->header_checksum);
        if (segment->has_ids)
            add(out, " ids");
        else
            add(out, " from %" PRIu64, segment->first_id);
        add(out, "\n");
    }
    uint64_t checksum = thr_checksum_of(out->text, out->used);
    add(out, "checksum %016" PRIx64 "\n", checksum);
}

/* What a writer publishes is what the parser accepts. */
static thr_status check_readable(thr_context *context, const printer *out, thr_error *err) {
    thr_manifest read = {0};
    thr_error why = {.status = THR_OK};
    const thr_status status = thr_index_manifest_parse(context, "MANIFEST", out->text, out->used, &read, &why);
    thr_index_manifest_free(context, &read);
    if (status == THR_OK || status == THR_ENOMEM)
        return thr_pass_on(status, &why, err);
    return thr_fail(err, THR_EINVAL, "nothing was changed, since the result could not be opened: %s", why.text);
}

thr_status thr_index_manifest_print(thr_context *context, const thr_manifest *m, char **text, size_t *size,
                                    thr_error *err) {
    printer out = {.capacity = HEAD_MAX + (size_t)m->n_segments * SEGMENT_LINE_MAX};
    THR_TRY(check_numbers(m, err));
    THR_TRY(thr_alloc(context, out.capacity, 1, &out.text, "the manifest", err));
    print(m, &out);
    const thr_status status = check_readable(context, &out, err);
    if (status != THR_OK) {
        thr_release(context, out.text);
        return status;
    }
    *text = out.text;
    *size = out.used;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ files */

thr_status thr_index_manifest_read(thr_context *context, const char *path, thr_manifest *manifest, uint64_t *checksum,
                                   uint64_t *file_bytes, thr_error *err) {
    thr_map map;
    *manifest = (thr_manifest){0};
    THR_TRY(thr_map_open(path, &map, err));
    thr_map_guard(&map);
    thr_status status = thr_index_manifest_parse(context, path, map.data, map.size, manifest, err);
    status = thr_map_check_after(&map, path, status, err);
    if (status == THR_OK && checksum != NULL)
        *checksum = thr_checksum_of(map.data, map.size);
    if (status == THR_OK && file_bytes != NULL)
        *file_bytes = map.size;
    thr_map_close(&map);
    return status;
}

void thr_index_manifest_free(thr_context *context, thr_manifest *manifest) {
    thr_release(context, manifest->segments);
    *manifest = (thr_manifest){0};
}
