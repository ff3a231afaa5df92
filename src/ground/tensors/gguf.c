/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - the reader: one pass over metadata and tensor descriptions with a bounds-checked cursor. */
#include "tensors/gguf.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/half.h"
#include "base/minmax.h"

enum {
    OLDEST = 2,
    NEWEST = 3,
    USUAL_ALIGNMENT = 32,
    ALIGNMENT_STEP = 8,      /* alignments are multiples of this */
    LEAST_TENSOR_BYTES = 24, /* minimum size of a tensor description, with no name and no axes */
    NAME_MOST = 65535,
    DEPTH_MOST = 4 /* maximum nesting of arrays */
};

/* Types of metadata values. */
enum { VALUE_STRING = 8, VALUE_ARRAY = 9, N_VALUES = 13 };
static const uint8_t value_sizes[N_VALUES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
enum { VALUE_U16 = 2, VALUE_U32 = 4 };

struct thr_gguf {
    thr_context *context;
    char *name;
    thr_map map; /* fd -1: the bytes are in memory */
    const uint8_t *bytes;
    uint64_t size;
    uint32_t alignment, n_parts;
    thr_gguf_tensor *tensors;
    size_t n_tensors;
};

/* ------------------------------------------------------------------------------------------------ types */

static uint64_t little(const uint8_t *bytes, unsigned n) {
    uint64_t x = 0;
    for (unsigned i = 0; i < n; i++)
        x |= (uint64_t)bytes[i] << 8 * i;
    return x;
}

static float half_at(const uint8_t *bytes) {
    return thr_half_to_f32((uint16_t)little(bytes, 2));
}

static void widen_f32(const uint8_t *in, float *out) {
    const uint32_t bits = (uint32_t)little(in, sizeof bits);
    memcpy(out, &bits, sizeof *out);
}

static void widen_f16(const uint8_t *in, float *out) {
    *out = half_at(in);
}

static void widen_bf16(const uint8_t *in, float *out) {
    *out = thr_bf16_to_f32((uint16_t)little(in, 2));
}

enum { Q8_VALUES = 32, Q8_BYTES = 2 + Q8_VALUES };

static void widen_q8_0(const uint8_t *in, float *out) {
    for (uint32_t i = 0; i < Q8_VALUES; i++)
        out[i] = half_at(in) * (float)(int8_t)in[2 + i];
}

enum { Q6_VALUES = 256, Q6_LOW = 0, Q6_HIGH = 128, Q6_SCALES = 192, Q6_FACTOR = 208, Q6_BYTES = 210 };

/*
 * A half of 128 values has 64 bytes of low bits and 32 bytes of high bits. Value v of it is number v % 32 of quarter
 * q = v / 32. Its low 4 bits are in byte 32 (q % 2) + v % 32, in the lower half of the byte if q < 2; its high 2 bits
 * are in byte v % 32, from bit 2 q on. Together they are the value plus 32. Sixteen values share an int8 scale, and
 * all 256 a factor.
 */
static void widen_q6_k(const uint8_t *in, float *out) {
    const float factor = half_at(in + Q6_FACTOR);
    for (uint32_t i = 0; i < Q6_VALUES; i++) {
        const uint32_t half = i / 128, quarter = i % 128 / 32, at = i % 32;
        const uint32_t low = in[Q6_LOW + 64 * half + 32 * (quarter % 2) + at] >> (quarter < 2 ? 0 : 4) & 15;
        const uint32_t high = in[Q6_HIGH + 32 * half + at] >> 2 * quarter & 3;
        out[i] = factor * (float)(int8_t)in[Q6_SCALES + i / 16] * (float)((int)(low | high << 4) - 32);
    }
}

/* How a type is stored: in blocks of n_values values and n_bytes bytes. */
typedef struct layout {
    thr_gguf_type type;
    uint32_t n_values, n_bytes;
    thr_dtype dtype; /* the smallest type that holds all values exactly */
    void (*widen)(const uint8_t *in, float *out);
} layout;

static const layout layouts[] = {
    {THR_GGUF_F32, 1, 4, THR_DTYPE_F32, widen_f32},
    {THR_GGUF_F16, 1, 2, THR_DTYPE_F16, widen_f16},
    {THR_GGUF_BF16, 1, 2, THR_DTYPE_BF16, widen_bf16},
    {THR_GGUF_Q8_0, Q8_VALUES, Q8_BYTES, THR_DTYPE_F32, widen_q8_0},
    {THR_GGUF_Q6_K, Q6_VALUES, Q6_BYTES, THR_DTYPE_F32, widen_q6_k},
};

/* Return the layout of a type; NULL if it is not supported. */
static const layout *layout_of(uint32_t type) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].type == type)
            return &layouts[i];
    return NULL;
}

/* Compute the bytes of a row; false if it is not a whole number of blocks, or overflows. */
static bool row_bytes(const layout *l, uint64_t n_dims, uint64_t *n) {
    return n_dims % l->n_values == 0 && !__builtin_mul_overflow(n_dims / l->n_values, (uint64_t)l->n_bytes, n);
}

/* ------------------------------------------------------------------------------------------------ cursor */

/*
 * Upper limit for everything before the tensors' data, which is some MiB in models with large vocabularies. A sparse
 * file takes no disk space and may claim any length; without a limit all of it would be scanned.
 */
#define HEADER_MOST (UINT64_C(256) << 20)

typedef struct cursor {
    const thr_gguf *file;
    uint64_t at, end; /* at most HEADER_MOST */
} cursor;

/* Both return the status that they pass to thr_fail; returning it directly lets the compiler and analysers see it. */
static thr_status fail_truncated(const cursor *c, const char *what, thr_error *err) {
    (void)thr_fail(err, THR_ECORRUPT,
                   "%s: offset %" PRIu64 ": the file ends within %s: it is cut short, fetch it again", c->file->name,
                   c->at, what);
    return THR_ECORRUPT;
}

static thr_status fail_format(const cursor *c, const char *what, thr_error *err) {
    (void)thr_fail(err, THR_EFORMAT, "%s: offset %" PRIu64 ": %s: write the file again", c->file->name, c->at, what);
    return THR_EFORMAT;
}

static const char too_long[] = "metadata and descriptions of tensors have more than 256 MiB";

static thr_status read_bytes(cursor *c, uint64_t n, const uint8_t **bytes, const char *what, thr_error *err) {
    if (n > c->end - c->at)
        return n > c->file->size - c->at ? fail_truncated(c, what, err) : fail_format(c, too_long, err);
    *bytes = c->file->bytes + c->at;
    c->at += n;
    return THR_OK;
}

static thr_status take_u32(cursor *c, uint32_t *x, const char *what, thr_error *err) {
    const uint8_t *bytes = NULL;
    THR_TRY(read_bytes(c, sizeof *x, &bytes, what, err));
    *x = (uint32_t)little(bytes, sizeof *x);
    return THR_OK;
}

static thr_status take_u64(cursor *c, uint64_t *x, const char *what, thr_error *err) {
    const uint8_t *bytes = NULL;
    THR_TRY(read_bytes(c, sizeof *x, &bytes, what, err));
    *x = little(bytes, sizeof *x);
    return THR_OK;
}

static thr_status read_string(cursor *c, const char **string, size_t *n, const char *what, thr_error *err) {
    const uint8_t *bytes = NULL;
    uint64_t length = 0;
    THR_TRY(take_u64(c, &length, what, err));
    THR_TRY(read_bytes(c, length, &bytes, what, err));
    *string = (const char *)bytes;
    *n = (size_t)length;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ metadata */

static thr_status skip_values(cursor *c, uint32_t type, uint64_t n, int depth, thr_error *err);

static thr_status skip_array(cursor *c, int depth, thr_error *err) {
    static const char what[] = "an array of metadata";
    uint32_t type = 0;
    uint64_t n = 0;
    THR_TRY(take_u32(c, &type, what, err));
    THR_TRY(take_u64(c, &n, what, err));
    if (depth == DEPTH_MOST)
        return fail_format(c, "arrays in the metadata are nested too deeply", err);
    return skip_values(c, type, n, depth + 1, err);
}

/* Skip n values of a type. Types of variable size take more than a byte per value, so the loop ends with the file. */
static thr_status skip_values(cursor *c, uint32_t type, uint64_t n, int depth, thr_error *err) {
    static const char what[] = "metadata";
    const uint8_t *bytes = NULL;
    const char *string = NULL;
    size_t length = 0;
    if (type >= N_VALUES)
        return fail_format(c, "a value in the metadata has an unknown type", err);
    if (value_sizes[type] > 0)
        return n > c->file->size / value_sizes[type] ? fail_truncated(c, what, err)
                                                     : read_bytes(c, n * value_sizes[type], &bytes, what, err);
    for (uint64_t i = 0; i < n; i++)
        if (type == VALUE_STRING)
            THR_TRY(read_string(c, &string, &length, what, err));
        else
            THR_TRY(skip_array(c, depth, err));
    return THR_OK;
}

static bool is_key(const char *key, size_t n, const char *wanted) {
    return n == strlen(wanted) && memcmp(key, wanted, n) == 0;
}

static thr_status read_alignment(thr_gguf *file, cursor *c, thr_error *err) {
    THR_TRY(take_u32(c, &file->alignment, "the alignment", err));
    if (file->alignment == 0 || file->alignment % ALIGNMENT_STEP != 0)
        return fail_format(c, "the alignment of tensors is not a multiple of 8", err);
    return THR_OK;
}

static thr_status read_metadata(thr_gguf *file, cursor *c, uint64_t n, thr_error *err) {
    static const char what[] = "metadata";
    for (uint64_t i = 0; i < n; i++) {
        const char *key = NULL;
        const uint8_t *bytes = NULL;
        size_t length = 0;
        uint32_t type = 0;
        THR_TRY(read_string(c, &key, &length, what, err));
        if (length == 0)
            return fail_format(c, "a key of metadata is empty", err);
        THR_TRY(take_u32(c, &type, what, err));
        if (is_key(key, length, "general.alignment") && type == VALUE_U32) {
            THR_TRY(read_alignment(file, c, err));
        } else if (is_key(key, length, "split.count") && type == VALUE_U16) {
            THR_TRY(read_bytes(c, 2, &bytes, what, err));
            file->n_parts = (uint32_t)little(bytes, 2);
        } else {
            THR_TRY(skip_values(c, type, 1, 0, err));
        }
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ tensors */

/* Read a tensor description. *offset is relative to the data, whose start is not yet known: locate_tensor adds it. */
static thr_status read_tensor(cursor *c, thr_gguf_tensor *t, uint64_t *offset, thr_error *err) {
    static const char what[] = "the description of a tensor";
    *t = (thr_gguf_tensor){.n_dims = 1, .n_rows = 1};
    THR_TRY(read_string(c, &t->name, &t->n_name, what, err));
    if (t->n_name > NAME_MOST)
        return fail_format(c, "the name of a tensor is longer than 65535 bytes", err);
    THR_TRY(take_u32(c, &t->n_axes, what, err));
    if (t->n_axes > THR_GGUF_AXES)
        return fail_format(c, "a tensor has more than 4 axes", err);
    for (uint32_t i = 0; i < t->n_axes; i++) {
        uint64_t n = 0;
        THR_TRY(take_u64(c, &n, what, err));
        if (i == 0)
            t->n_dims = n;
        else if (__builtin_mul_overflow(t->n_rows, n, &t->n_rows))
            return fail_format(c, "a tensor has too many values", err);
    }
    THR_TRY(take_u32(c, &t->type, what, err));
    return take_u64(c, offset, what, err);
}

static thr_status locate_tensor(const thr_gguf *file, const cursor *c, uint64_t start, uint64_t offset,
                                thr_gguf_tensor *t, thr_error *err) {
    const layout *l = layout_of(t->type);
    uint64_t n_row = 0, n = 0;
    if (l == NULL)
        return THR_OK;
    if (!row_bytes(l, t->n_dims, &n_row) || __builtin_mul_overflow(n_row, t->n_rows, &n))
        return fail_format(c, "a tensor's rows are not whole blocks, or too long", err);
    if (offset % file->alignment != 0)
        return fail_format(c, "a tensor does not begin at a multiple of the alignment", err);
    if (start > file->size || offset > file->size - start || n > file->size - start - offset)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: tensor '%.*s' ends after the file's %" PRIu64 " bytes: it is cut short, fetch it again",
                        file->name, (int)THR_MIN(t->n_name, 200), t->name, file->size);
    t->data = file->bytes + start + offset;
    return THR_OK;
}

/* Read the descriptions. The data begin at the next multiple of the alignment after the last one. */
static thr_status read_tensors(thr_gguf *file, cursor *c, uint64_t n, thr_error *err) {
    uint64_t *offsets = NULL;
    thr_status status = THR_OK;
    if (n > (c->end - c->at) / LEAST_TENSOR_BYTES)
        return n > (file->size - c->at) / LEAST_TENSOR_BYTES ? fail_truncated(c, "the descriptions of tensors", err)
                                                             : fail_format(c, too_long, err);
    THR_TRY_OUT(thr_alloc(file->context, (size_t)n, sizeof *offsets, &offsets, "places of tensors", err));
    THR_TRY_OUT(thr_alloc(file->context, (size_t)n, sizeof *file->tensors, &file->tensors, "tensors", err));
    for (file->n_tensors = 0; file->n_tensors < n; file->n_tensors++)
        THR_TRY_OUT(read_tensor(c, &file->tensors[file->n_tensors], &offsets[file->n_tensors], err));
    const uint64_t rest = c->at % file->alignment, start = c->at + (rest > 0 ? file->alignment - rest : 0);
    for (size_t i = 0; i < n; i++)
        THR_TRY_OUT(locate_tensor(file, c, start, offsets[i], &file->tensors[i], err));
out:
    thr_release(file->context, offsets);
    return status;
}

/* ------------------------------------------------------------------------------------------------ open */

static thr_status parse(thr_gguf *file, thr_error *err) {
    cursor c = {.file = file, .at = 4, .end = THR_MIN(file->size, HEADER_MOST)};
    uint32_t version = 0;
    uint64_t n_tensors = 0, n_pairs = 0;
    if (file->size < 4 || memcmp(file->bytes, "GGUF", 4) != 0)
        return thr_fail(err, THR_EFORMAT, "%s: does not start as a GGUF file does: is it really one?", file->name);
    THR_TRY(take_u32(&c, &version, "the header", err));
    if ((version & 0xffff) == 0 && version != 0)
        return thr_fail(err, THR_EVERSION, "%s: is big-endian; little-endian GGUF is read: convert the model again",
                        file->name);
    if (version < OLDEST || version > NEWEST)
        return thr_fail(err, THR_EVERSION,
                        "%s: is GGUF of version %" PRIu32 "; %d and %d are read: convert the model again", file->name,
                        version, OLDEST, NEWEST);
    THR_TRY(take_u64(&c, &n_tensors, "the header", err));
    THR_TRY(take_u64(&c, &n_pairs, "the header", err));
    THR_TRY(read_metadata(file, &c, n_pairs, err));
    return read_tensors(file, &c, n_tensors, err);
}

/* mapped: open the file of this name; else data are its bytes. */
static thr_status make(thr_context *context, const char *name, const void *data, size_t size, bool mapped,
                       thr_gguf **file, thr_error *err) {
    thr_gguf *made;
    *file = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a model", err));
    made->context = context;
    made->alignment = USUAL_ALIGNMENT;
    made->n_parts = 1;
    thr_status status = thr_path_append(context, name, "", &made->name, err);
    if (status == THR_OK && mapped)
        status = thr_map_open(name, &made->map, err);
    made->bytes = mapped ? made->map.data : data;
    made->size = mapped ? made->map.size : size;
    if (status == THR_OK)
        status = parse(made, err);
    THR_RETURN_MADE(status, made, file, thr_tensors_gguf_free);
}

thr_status thr_tensors_gguf_open(thr_context *context, const char *path, thr_gguf **file, thr_error *err) {
    return make(context, path, NULL, 0, true, file, err);
}

thr_status thr_tensors_gguf_open_memory(thr_context *context, const char *name, const void *data, size_t size,
                                        thr_gguf **file, thr_error *err) {
    return make(context, name, data, size, false, file, err);
}

void thr_tensors_gguf_free(thr_gguf *file) {
    if (file == NULL)
        return;
    thr_map_close(&file->map);
    THR_RELEASE(file->context, file->name, file->tensors, file);
}

/* ------------------------------------------------------------------------------------------------ access */

size_t thr_tensors_gguf_count(const thr_gguf *file) {
    return file->n_tensors;
}

const thr_gguf_tensor *thr_tensors_gguf_at(const thr_gguf *file, size_t i) {
    return &file->tensors[i];
}

const thr_gguf_tensor *thr_tensors_gguf_find(const thr_gguf *file, const char *name) {
    for (size_t i = 0; i < file->n_tensors; i++)
        if (is_key(file->tensors[i].name, file->tensors[i].n_name, name))
            return &file->tensors[i];
    return NULL;
}

uint32_t thr_tensors_gguf_parts(const thr_gguf *file) {
    return file->n_parts;
}

const char *thr_tensors_gguf_type_name(uint32_t type) {
    static const char *const names[] = {"F32",     "F16",    "Q4_0",    "Q4_1",  NULL,     NULL,    "Q5_0",  "Q5_1",
                                        "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
                                        "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
                                        "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  NULL,
                                        NULL,      NULL,     "TQ1_0",   "TQ2_0", NULL,     NULL,    NULL,    "MXFP4"};
    const char *name = type < sizeof names / sizeof *names ? names[type] : NULL;
    return name != NULL ? name : "?";
}

thr_dtype thr_tensors_gguf_dtype(uint32_t type) {
    const layout *l = layout_of(type);
    return l != NULL ? l->dtype : THR_DTYPE_NONE;
}

void thr_tensors_gguf_row(const thr_gguf_tensor *tensor, uint64_t row, float *out) {
    const layout *l = layout_of(tensor->type);
    const uint64_t n_blocks = tensor->n_dims / l->n_values;
    const uint8_t *in = tensor->data + row * n_blocks * l->n_bytes;
    for (uint64_t i = 0; i < n_blocks; i++)
        l->widen(in + i * l->n_bytes, out + i * l->n_values);
}
