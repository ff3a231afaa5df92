/* SPDX-License-Identifier: Apache-2.0 */
#include "rows_out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "talk.h"

enum { NPY_HEADER = 128 };

static const struct {
    const char *ending;
    prog_rows_format format;
    thr_dtype dtype;
} endings[] = {
    {".npy", PROG_ROWS_NPY, THR_DTYPE_F32},    {".fbin", PROG_ROWS_BIN, THR_DTYPE_F32},
    {".fvecs", PROG_ROWS_VECS, THR_DTYPE_F32}, {".npy", PROG_ROWS_NPY, THR_DTYPE_U8},
    {".u8bin", PROG_ROWS_BIN, THR_DTYPE_U8},   {".bvecs", PROG_ROWS_VECS, THR_DTYPE_U8},
};

static bool find(const char *path, thr_dtype dtype, prog_rows_format *format) {
    const size_t length = strlen(path);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n = strlen(endings[i].ending);

        if (endings[i].dtype == dtype && length > n && strcmp(path + length - n, endings[i].ending) == 0) {
            *format = endings[i].format;
            return true;
        }
    }
    return false;
}

bool prog_rows_out_fits(const char *path, thr_dtype dtype) {
    prog_rows_format format;

    return find(path, dtype, &format);
}

static int cannot(const prog_rows_out *out) {
    prog_error("cannot write %s: %s", out->path, strerror(errno));
    return PROG_FAILED;
}

static void put_u32(unsigned char *place, uint64_t value) {
    for (int i = 0; i < 4; i++)
        place[i] = (unsigned char)(value >> 8 * i);
}

/* What stands before the rows, of which there are n_rows by now. */
static bool write_header(prog_rows_out *out) {
    char npy[NPY_HEADER + 1];
    unsigned char bin[8];

    switch (out->format) {
    case PROG_ROWS_NPY:
        memset(npy, ' ', sizeof npy);
        memcpy(npy, "\x93NUMPY\x01\x00\x76\x00", 10);
        const int n = snprintf(npy + 10, sizeof npy - 10,
                               "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu32 "), }",
                               out->dtype == THR_DTYPE_F32 ? "<f4" : "|u1", out->n_rows, out->n_dims);
        npy[10 + n] = ' ';
        npy[NPY_HEADER - 1] = '\n';
        return fwrite(npy, NPY_HEADER, 1, out->file) == 1;
    case PROG_ROWS_BIN:
        put_u32(bin, out->n_rows);
        put_u32(bin + 4, out->n_dims);
        return fwrite(bin, sizeof bin, 1, out->file) == 1;
    default:
        return true;
    }
}

int prog_rows_out_open(prog_rows_out *out, const char *path, thr_dtype dtype, uint32_t n_dims) {
    *out = (prog_rows_out){.path = path, .dtype = dtype, .n_dims = n_dims};
    if (!find(path, dtype, &out->format)) {
        prog_error("%s: the ending says nothing known: %s are written here", path,
                   dtype == THR_DTYPE_F32 ? ".npy .fbin .fvecs" : ".npy .u8bin .bvecs");
        return PROG_WRONG_WORDS;
    }
    const bool piped = strncmp(path, "-.", 2) == 0;
    if (piped && out->format != PROG_ROWS_VECS) {
        prog_error("%s: its header tells the number of rows, which is known at the end: use .fvecs, or a file", path);
        return PROG_WRONG_WORDS;
    }
    out->file = piped ? stdout : fopen(path, "wb");
    return out->file != NULL && write_header(out) ? PROG_DONE : cannot(out);
}

int prog_rows_out_write(prog_rows_out *out, const void *rows, uint64_t n_rows) {
    const size_t size = (size_t)out->n_dims * thr_dtype_size(out->dtype);
    unsigned char dims[4];

    put_u32(dims, out->n_dims);
    for (uint64_t r = 0; r < n_rows; r++) {
        if ((out->format == PROG_ROWS_VECS && fwrite(dims, sizeof dims, 1, out->file) != 1) ||
            fwrite((const char *)rows + r * size, size, 1, out->file) != 1)
            return cannot(out);
    }
    out->n_rows += n_rows;
    return PROG_DONE;
}

int prog_rows_out_close(prog_rows_out *out, bool keep) {
    FILE *file = out->file;

    out->file = NULL;
    if (file == NULL)
        return PROG_DONE;
    if (file == stdout)
        return fflush(file) == 0 ? PROG_DONE : cannot(out);
    if (!keep) {
        (void)fclose(file);
        (void)unlink(out->path);
        return PROG_DONE;
    }
    out->file = file;
    rewind(file);
    const bool written = write_header(out);
    out->file = NULL;
    return fclose(file) == 0 && written ? PROG_DONE : cannot(out);
}
