/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/endings.h"
#include "cli/program.h"
#include "cli/messages.h"

/* Version 1.0, and the length of the rest. */
enum { NPY_HEADER = 128 };
static const unsigned char npy_lead[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, NPY_HEADER - 10, 0};

static const struct {
    const char *ending;
    prog_rows_format format;
    thr_dtype dtype;
} endings[] = {
    {".npy", PROG_ROWS_NPY, THR_DTYPE_F32},    {".fbin", PROG_ROWS_BIN, THR_DTYPE_F32},
    {".fvecs", PROG_ROWS_VECS, THR_DTYPE_F32}, {".npy", PROG_ROWS_NPY, THR_DTYPE_U8},
    {".u8bin", PROG_ROWS_BIN, THR_DTYPE_U8},   {".bvecs", PROG_ROWS_VECS, THR_DTYPE_U8},
};

/* The index in endings of a path's ending for rows of this dtype; -1: none. */
static int find(const char *path, thr_dtype dtype) {
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (endings[i].dtype == dtype && prog_ends_with(path, endings[i].ending))
            return (int)i;
    return -1;
}

bool prog_names_rows(const char *path) {
    return find(path, THR_DTYPE_F32) >= 0 || find(path, THR_DTYPE_U8) >= 0;
}

static void put_u32(unsigned char *place, uint64_t value) {
    for (int i = 0; i < 4; i++)
        place[i] = (unsigned char)(value >> 8 * i);
}

/* Write the header for n_rows rows. */
static bool write_header(prog_rows_out *out) {
    char npy[NPY_HEADER + 1];
    unsigned char bin[8];

    switch (out->format) {
    case PROG_ROWS_NPY:
        memset(npy, ' ', sizeof npy);
        memcpy(npy, npy_lead, sizeof npy_lead);
        const int n = snprintf(npy + sizeof npy_lead, sizeof npy - sizeof npy_lead,
                               "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu32 "), }",
                               out->dtype == THR_DTYPE_F32 ? "<f4" : "|u1", out->n_rows, out->n_dims);
        npy[sizeof npy_lead + (size_t)n] = ' ';
        npy[NPY_HEADER - 1] = '\n';
        return fwrite(npy, NPY_HEADER, 1, out->out.file) == 1;
    case PROG_ROWS_BIN:
        put_u32(bin, out->n_rows);
        put_u32(bin + 4, out->n_dims);
        return fwrite(bin, sizeof bin, 1, out->out.file) == 1;
    default:
        return true;
    }
}

int prog_rows_out_open(prog_rows_out *out, thr_context *context, const char *path, thr_dtype dtype, uint32_t n_dims) {
    const int found = find(path, dtype);

    *out = (prog_rows_out){.dtype = dtype, .n_dims = n_dims};
    if (found < 0) {
        prog_error("%s: the ending must be %s", path,
                   dtype == THR_DTYPE_F32 ? ".npy, .fbin or .fvecs" : ".npy, .u8bin or .bvecs for packed codes");
        return PROG_WRONG_WORDS;
    }
    out->format = endings[found].format;
    const bool is_stdout = path[0] == '-' && strcmp(path + 1, endings[found].ending) == 0;

    if (is_stdout && out->format != PROG_ROWS_VECS) {
        prog_error("%s: its header has the number of rows, which is known only at the end: use %s, or a file", path,
                   dtype == THR_DTYPE_F32 ? "-.fvecs" : "-.bvecs");
        return PROG_WRONG_WORDS;
    }
    if (prog_out_is_stream(path) && out->format != PROG_ROWS_VECS) {
        prog_error("%s: is not a plain file: use .fvecs or .bvecs, whose headers have no number of rows", path);
        return PROG_WRONG_WORDS;
    }
    const int rc = prog_out_open(&out->out, context, is_stdout ? NULL : path);

    return rc == PROG_DONE && !write_header(out) ? prog_out_failed(&out->out) : rc;
}

int prog_rows_out_write(prog_rows_out *out, const void *rows, uint64_t n_rows) {
    const size_t size = (size_t)out->n_dims * thr_dtype_size(out->dtype);
    unsigned char dims[4];

    put_u32(dims, out->n_dims);
    for (uint64_t r = 0; r < n_rows; r++) {
        if ((out->format == PROG_ROWS_VECS && fwrite(dims, sizeof dims, 1, out->out.file) != 1) ||
            fwrite((const char *)rows + r * size, size, 1, out->out.file) != 1)
            return prog_out_failed(&out->out);
    }
    out->n_rows += n_rows;
    return PROG_DONE;
}

/* Write the final number of rows. */
static bool finish_header(prog_rows_out *out) {
    if (out->format == PROG_ROWS_BIN && out->n_rows > UINT32_MAX) {
        errno = EFBIG;
        return false;
    }
    if (out->format == PROG_ROWS_VECS)
        return true;
    rewind(out->out.file);
    return write_header(out);
}

int prog_rows_out_close(prog_rows_out *out, int rc) {
    if (out->out.file != NULL && rc == PROG_DONE && !finish_header(out))
        rc = prog_out_failed(&out->out);
    return prog_out_close(&out->out, rc);
}
