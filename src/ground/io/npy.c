/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.c - NumPy's .npy, versions 1 to 3: a magic string, a version, the header's length, and a header that is a
 * Python dictionary of exactly three keys:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * The parser accepts the dictionaries that numpy writes, with keys in any order, and no other Python.
 */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "io/rows.h"

enum {
    LEAD_BYTES = 10,          /* magic 6, version 2, length 2; versions 2 and 3 have two more bytes of length */
    HEADER_MAX_BYTES = 65536, /* limit of version 1; longer headers describe records */
    DESCR_MAX_BYTES = 64,
    AXES_MAX = 2,
};

typedef struct npy_header {
    char descr[DESCR_MAX_BYTES];
    bool fortran_order;
    uint64_t shape[AXES_MAX];
    size_t n_axes; /* may exceed AXES_MAX; the axes are then not stored */
} npy_header;

typedef struct npy_text {
    const thr_reader *reader;
    const char *start, *at, *end;
    uint64_t offset; /* of start in the file */
} npy_text;

static thr_status fail_at(const npy_text *text, const char *what, thr_error *err) {
    return thr_fail(err, THR_EFORMAT, "%s: byte %llu of the npy header: %s: save the array again with numpy.save",
                    text->reader->name, (unsigned long long)(text->offset + (uint64_t)(text->at - text->start)), what);
}

static void skip_space(npy_text *text) {
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
        text->at++;
}

static bool consume(npy_text *text, const char *word) {
    skip_space(text);
    size_t n = strlen(word);
    if ((size_t)(text->end - text->at) < n || memcmp(text->at, word, n) != 0)
        return false;
    text->at += n;
    return true;
}

/* Parse a quoted string without escapes. */
static bool parse_string(npy_text *text, char out[DESCR_MAX_BYTES]) {
    skip_space(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
        return false;
    const char *from = text->at + 1;
    const char *to = memchr(from, *text->at, (size_t)(text->end - from));
    if (to == NULL || to - from >= DESCR_MAX_BYTES || memchr(from, '\\', (size_t)(to - from)) != NULL)
        return false;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = '\0';
    text->at = to + 1;
    return true;
}

/* Parse a decimal number below 2^63, with or without the suffix L of Python 2. */
static bool parse_number(npy_text *text, uint64_t *number) {
    skip_space(text);
    const char *from = text->at;
    *number = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
        if (__builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*text->at - '0'), number) || *number > INT64_MAX)
            return false;
    bool any = text->at != from;
    if (any && text->at < text->end && *text->at == 'L')
        text->at++;
    return any;
}

/* Parse () or (3,) or (3, 4) or (3, 4,). As in Python, a single number needs its comma. */
static thr_status parse_shape(npy_text *text, npy_header *header, thr_error *err) {
    if (!consume(text, "("))
        return fail_at(text, "the shape is not a tuple", err);
    bool comma = true;
    while (!consume(text, ")")) {
        uint64_t number = 0;
        if (!comma || !parse_number(text, &number))
            return fail_at(text, "the shape is not a tuple of numbers", err);
        if (header->n_axes < AXES_MAX)
            header->shape[header->n_axes] = number;
        header->n_axes++;
        comma = consume(text, ",");
    }
    if (header->n_axes == 1 && !comma)
        return fail_at(text, "the shape is not a tuple of numbers", err);
    return THR_OK;
}

static thr_status parse_value(npy_text *text, unsigned key, npy_header *header, thr_error *err) {
    if (key == 0) {
        if (consume(text, "["))
            return thr_fail(err, THR_EFORMAT,
                            "%s: the array holds records: save one field as a plain array, "
                            "numpy.save(file, array[\"field\"])",
                            text->reader->name);
        if (!parse_string(text, header->descr))
            return fail_at(text, "descr is not a string", err);
        return THR_OK;
    }
    if (key == 1) {
        header->fortran_order = consume(text, "True");
        if (!header->fortran_order && !consume(text, "False"))
            return fail_at(text, "fortran_order is neither True nor False", err);
        return THR_OK;
    }
    return parse_shape(text, header, err);
}

static thr_status parse_header(npy_text *text, npy_header *header, thr_error *err) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    *header = (npy_header){0};
    if (!consume(text, "{"))
        return fail_at(text, "no dictionary", err);
    bool comma = true;
    while (!consume(text, "}")) {
        char name[DESCR_MAX_BYTES];
        if (!comma || !parse_string(text, name))
            return fail_at(text, "a key was expected", err);
        unsigned key = 0;
        while (key < 3 && strcmp(name, keys[key]) != 0)
            key++;
        if (key == 3 || (seen & 1u << key) != 0)
            return fail_at(text, "a key is unknown or occurs twice", err);
        seen |= 1u << key;
        if (!consume(text, ":"))
            return fail_at(text, "a colon was expected", err);
        THR_TRY(parse_value(text, key, header, err));
        comma = consume(text, ",");
    }
    if (seen != 7)
        return fail_at(text, "descr, fortran_order or shape is missing", err);
    skip_space(text);
    return text->at == text->end ? THR_OK : fail_at(text, "something follows the dictionary", err);
}

static thr_status parse_descr(const thr_reader *reader, const char *descr, thr_dtype *dtype, thr_error *err) {
    static const struct {
        const char *code;
        thr_dtype dtype;
    } known[] = {{"f4", THR_DTYPE_F32}, {"f2", THR_DTYPE_F16}, {"f8", THR_DTYPE_F64}, {"u1", THR_DTYPE_U8},
                 {"i1", THR_DTYPE_I8},  {"i4", THR_DTYPE_I32}, {"u4", THR_DTYPE_U32}, {"i8", THR_DTYPE_I64},
                 {"u8", THR_DTYPE_U64}, {"b1", THR_DTYPE_U8}};
    if (strcmp(descr, "|O") == 0 || strcmp(descr, "O") == 0)
        return thr_fail(err, THR_EFORMAT,
                        "%s: the array holds Python objects: save numbers, "
                        "numpy.save(file, array.astype(\"<f4\"))",
                        reader->name);
    char order = descr[0];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (order == '\0' || strcmp(descr + 1, known[i].code) != 0)
            continue;
        bool byte = thr_dtype_size(known[i].dtype) == 1;
        if (order == '>' && !byte)
            return thr_fail(err, THR_EFORMAT,
                            "%s: the numbers are big-endian (%s): save them as "
                            "numpy.save(file, array.astype(\"<%s\"))",
                            reader->name, descr, known[i].code);
        if (order == '<' || (byte && (order == '|' || order == '>' || order == '='))) {
            *dtype = known[i].dtype;
            return THR_OK;
        }
    }
    return thr_fail(err, THR_EFORMAT,
                    "%s: numbers of type %s are not read: save them as "
                    "numpy.save(file, array.astype(\"<f4\")); also known are f2 f8 u1 i1 i4 u4 i8 u8 b1",
                    reader->name, descr);
}

/* Read the header into header_text, which has room for HEADER_MAX_BYTES. */
static thr_status read_header(thr_reader *reader, char *header_text, npy_text *text, thr_error *err) {
    uint8_t lead[LEAD_BYTES + 2];
    size_t got = 0;
    THR_TRY(thr_io_stream_read(&reader->stream, lead, LEAD_BYTES, &got, err));
    if (got == 0)
        return thr_fail(err, THR_ECORRUPT, "%s: the file is empty: write or fetch it again", reader->name);
    size_t magic = THR_MIN(got, 6);
    if (memcmp(lead, "\x93NUMPY", magic) != 0)
        return thr_fail(err, THR_EFORMAT, "%s: does not start as an npy file does: is it really .npy?", reader->name);
    if (got == LEAD_BYTES && (lead[6] < 1 || lead[6] > 3 || lead[7] != 0))
        return thr_fail(err, THR_EFORMAT, "%s: npy version %u.%u is not known: save it again as version 1, 2 or 3",
                        reader->name, lead[6], lead[7]);
    size_t wanted = LEAD_BYTES, length = 0;
    if (got == LEAD_BYTES && lead[6] == 1) {
        length = (size_t)(lead[8] | lead[9] << 8);
    } else if (got == LEAD_BYTES) {
        size_t more = 0;
        THR_TRY(thr_io_stream_read(&reader->stream, lead + LEAD_BYTES, 2, &more, err));
        got += more;
        wanted += 2;
        length = thr_load_u32(lead + 8);
    }
    if (got == wanted) {
        if (length > HEADER_MAX_BYTES)
            return thr_fail(err, THR_EFORMAT, "%s: the npy header is %zu bytes, more than %d: save a plain array",
                            reader->name, length, HEADER_MAX_BYTES);
        size_t n = 0;
        THR_TRY(thr_io_stream_read(&reader->stream, header_text, length, &n, err));
        wanted += length;
        got += n;
    }
    if (got < wanted)
        return thr_fail(err, THR_ECORRUPT, "%s: cut short at byte %zu, in the npy header: write or fetch it again",
                        reader->name, got);
    *text = (npy_text){.reader = reader,
                       .start = header_text,
                       .at = header_text,
                       .end = header_text + length,
                       .offset = wanted - length};
    return THR_OK;
}

thr_status thr_io_npy_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    (void)source;
    char *header_text = NULL;
    npy_text text;
    npy_header header;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(reader->context, HEADER_MAX_BYTES, 1, &header_text, "an npy header", err));
    THR_TRY_OUT(read_header(reader, header_text, &text, err));
    THR_TRY_OUT(parse_header(&text, &header, err));
    THR_TRY_OUT(parse_descr(reader, header.descr, &reader->shape.dtype, err));
    if (header.n_axes == 0 || header.n_axes > AXES_MAX) {
        status =
            thr_fail(err, THR_EFORMAT, "%s: the array has %zu axes, not one or two: save array.reshape(n_rows, n_dims)",
                     reader->name, header.n_axes);
        goto out;
    }
    if (header.fortran_order) {
        status = thr_fail(err, THR_EFORMAT, "%s: the array is in Fortran order: save numpy.ascontiguousarray(array)",
                          reader->name);
        goto out;
    }
    uint64_t n_dims = header.n_axes == 2 ? header.shape[1] : 1;
    if ((n_dims == 0 && header.shape[0] != 0) || n_dims > THR_MAX_DIMS) {
        status = thr_fail(err, THR_EFORMAT, "%s: rows of %llu dimensions: 1 to %d are possible", reader->name,
                          (unsigned long long)n_dims, THR_MAX_DIMS);
        goto out;
    }
    reader->shape.n_rows = header.shape[0];
    reader->shape.n_dims = (uint32_t)n_dims;
    thr_rows_layout layout = {.offset = reader->stream.position};
    status = thr_io_rows_start(reader, &layout, err);
out:
    thr_release(reader->context, header_text);
    return status;
}
