/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hdf5.c - a data set of an HDF5 file (the ann-benchmarks): one or two axes of integers or floats.
 *
 * As commonly built, the HDF5 library is not thread-safe and prints its errors. Every call is made between hdf5_enter
 * and hdf5_leave, which admit one thread of the process at a time and switch printing off.
 */
#include "base/error.h"
#include "base/minmax.h"
#include "io/reader.h"

#ifndef THR_WITH_HDF5
#define THR_WITH_HDF5 0
#endif

#if THR_WITH_HDF5

#include <hdf5.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    BUFFER_BYTES = 4 << 20,
    CHUNK_CACHE_BYTES = 32 << 20, /* several chunks of compressed rows, so that none is decompressed twice */
    CHUNK_CACHE_SLOTS = 12289,    /* a prime about 100 times the usual number of chunks, as the manual advises */
    LIST_BYTES = 400,             /* maximum length of the data set names in a message */
};

typedef struct hdf5_state {
    hid_t file, data, space, type; /* negative when not open */
    int n_axes;
    void *buffer;
    uint64_t capacity; /* rows */
} hdf5_state;

static pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;

/* A fork waits for the call that is running, so that the child gets libhdf5 in a consistent state. */
static void lock_for_fork(void) {
    (void)pthread_mutex_lock(&hdf5_lock);
}

static void unlock_after_fork(void) {
    (void)pthread_mutex_unlock(&hdf5_lock);
}

static void watch_forks(void) {
    (void)pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

typedef struct hdf5_printing {
    H5E_auto2_t function;
    void *data;
} hdf5_printing;

static hdf5_printing hdf5_enter(void) {
    (void)pthread_once(&forks_are_watched, watch_forks);
    (void)pthread_mutex_lock(&hdf5_lock);
    hdf5_printing before = {NULL, NULL};
    (void)H5Eget_auto2(H5E_DEFAULT, &before.function, &before.data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return before;
}

static void hdf5_leave(hdf5_printing before) {
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5Eset_auto2(H5E_DEFAULT, before.function, before.data);
    (void)pthread_mutex_unlock(&hdf5_lock);
}

static void hdf5_close(thr_reader *reader) {
    hdf5_state *s = reader->state;
    if (s == NULL)
        return;
    hdf5_printing before = hdf5_enter();
    if (s->type >= 0)
        (void)H5Tclose(s->type);
    if (s->space >= 0)
        (void)H5Sclose(s->space);
    if (s->data >= 0)
        (void)H5Dclose(s->data);
    if (s->file >= 0)
        (void)H5Fclose(s->file);
    hdf5_leave(before);
    THR_RELEASE(reader->context, s->buffer, s);
}

static thr_status hdf5_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err) {
    hdf5_state *s = reader->state;
    uint64_t left = reader->shape.n_rows - reader->next_row;
    uint64_t n = THR_MIN(max_rows, s->capacity);
    n = THR_MIN(n, left);
    uint32_t n_dims = reader->shape.n_dims;
    rows->data = s->buffer;
    rows->n_rows = n;
    rows->stride = n_dims * thr_dtype_size(reader->shape.dtype);
    if (n == 0)
        return THR_OK;
    hsize_t start[2] = {reader->next_row, 0}, count[2] = {n, n_dims};
    hdf5_printing before = hdf5_enter();
    hid_t memory = H5Screate_simple(s->n_axes, count, NULL);
    bool ok = memory >= 0 && H5Sselect_hyperslab(s->space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(s->data, s->type, memory, s->space, H5P_DEFAULT, s->buffer) >= 0;
    if (memory >= 0)
        (void)H5Sclose(memory);
    hdf5_leave(before);
    if (!ok)
        return thr_fail(
            err, THR_ECORRUPT,
            "%s: HDF5 cannot read %llu rows from row %llu on: the file is damaged or cut short, or packed by "
            "a filter that is not installed",
            reader->name, (unsigned long long)n, (unsigned long long)reader->next_row);
    reader->next_row += n;
    return THR_OK;
}

static const thr_reader_ops hdf5_ops = {.next = hdf5_next, .close = hdf5_close};

/* The names of data sets, concatenated and truncated to the buffer. */
typedef struct hdf5_list {
    char text[LIST_BYTES];
    size_t length;
} hdf5_list;

static herr_t list_one(hid_t group, const char *name, const H5L_info_t *info, void *user) {
    (void)info;
    hdf5_list *list = user;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0)
        return 0;
    if (H5Iget_type(object) == H5I_DATASET && list->length < sizeof list->text - 8) {
        size_t room = sizeof list->text - list->length;
        const char *before = list->length != 0 ? ", " : "";
        if (strlen(name) + 8 < room)
            list->length += (size_t)snprintf(list->text + list->length, room, "%s%s", before, name);
        else
            list->length += (size_t)snprintf(list->text + list->length, room, "%s...", before);
    }
    (void)H5Oclose(object);
    return 0;
}

static hid_t open_file(const char *path) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0)
        return -1;
    (void)H5Pset_cache(access, 0, CHUNK_CACHE_SLOTS, CHUNK_CACHE_BYTES, 0.75);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    (void)H5Pclose(access);
    return file;
}

static thr_status open_data(thr_reader *reader, const thr_source *source, thr_error *err) {
    hdf5_state *s = reader->state;
    s->file = open_file(source->path);
    if (s->file < 0) {
        if (H5Fis_hdf5(source->path) > 0)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: HDF5 cannot open the file: it is damaged, cut short, or being written", reader->name);
        return thr_fail(err, THR_EFORMAT, "%s: does not start as an HDF5 file does: is it really %s?", reader->name,
                        source->ending);
    }
    bool named = source->part != NULL && source->part[0] != '\0';
    if (named)
        s->data = H5Dopen2(s->file, source->part, H5P_DEFAULT);
    if (s->data >= 0)
        return THR_OK;
    hdf5_list list = {.length = 0};
    (void)H5Lvisit(s->file, H5_INDEX_NAME, H5_ITER_INC, list_one, &list);
    const char *names = list.length != 0 ? list.text : "none";
    if (named)
        return thr_fail(err, THR_ENOTFOUND, "%s: there is no data set of this name: the file has %s", reader->name,
                        names);
    return thr_fail(err, THR_EINVAL, "%s: name a data set, as FILE%s:NAME: the file has %s", reader->name,
                    source->ending, names);
}

/* Return the dtype that holds every number of an HDF5 type, or NONE. HDF5 converts while reading. */
static thr_dtype dtype_of(hid_t type) {
    size_t size = H5Tget_size(type);
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_FLOAT)
        return size == 2 || size == 4 ? THR_DTYPE_F32 : size == 8 ? THR_DTYPE_F64 : THR_DTYPE_NONE;
    if (class != H5T_INTEGER)
        return THR_DTYPE_NONE;
    bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    switch (size) {
    case 1:
        return is_signed ? THR_DTYPE_I8 : THR_DTYPE_U8;
    case 2:
        return THR_DTYPE_I32;
    case 4:
        return is_signed ? THR_DTYPE_I32 : THR_DTYPE_U32;
    case 8:
        return is_signed ? THR_DTYPE_I64 : THR_DTYPE_U64;
    default:
        return THR_DTYPE_NONE;
    }
}

static hid_t native_type(thr_dtype dtype) {
    switch (dtype) {
    case THR_DTYPE_F32:
        return H5T_NATIVE_FLOAT;
    case THR_DTYPE_F64:
        return H5T_NATIVE_DOUBLE;
    case THR_DTYPE_I8:
        return H5T_NATIVE_INT8;
    case THR_DTYPE_U8:
        return H5T_NATIVE_UINT8;
    case THR_DTYPE_I32:
        return H5T_NATIVE_INT32;
    case THR_DTYPE_U32:
        return H5T_NATIVE_UINT32;
    case THR_DTYPE_I64:
        return H5T_NATIVE_INT64;
    default:
        return H5T_NATIVE_UINT64;
    }
}

static H5D_layout_t layout_of(hid_t data) {
    const hid_t how = H5Dget_create_plist(data);
    const H5D_layout_t layout = how >= 0 ? H5Pget_layout(how) : H5D_LAYOUT_ERROR;
    if (how >= 0)
        (void)H5Pclose(how);
    return layout;
}

/*
 * For a data set that is not chunked, HDF5 reads as many bytes as the shape requires, even if the file has fewer, and
 * overruns its own buffers. A data set that was never written has no storage and reads as zeros.
 */
static thr_status check_bytes(const thr_reader *reader, size_t value_bytes, thr_error *err) {
    const hdf5_state *s = reader->state;
    const H5D_layout_t layout = layout_of(s->data);
    const uint64_t stored = H5Dget_storage_size(s->data), row = reader->shape.n_dims * (uint64_t)value_bytes;
    const bool is_unwritten = layout == H5D_CONTIGUOUS && H5Dget_offset(s->data) == HADDR_UNDEF;
    if (layout == H5D_CHUNKED || layout == H5D_VIRTUAL || is_unwritten)
        return THR_OK;
    if (layout == H5D_LAYOUT_ERROR || stored % row != 0 || stored / row != reader->shape.n_rows)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: the data set has %llu bytes, not those of %llu rows of %llu bytes: the file is damaged",
                        reader->name, (unsigned long long)stored, (unsigned long long)reader->shape.n_rows,
                        (unsigned long long)row);
    return THR_OK;
}

static thr_status check_data(thr_reader *reader, thr_error *err) {
    hdf5_state *s = reader->state;
    hid_t type = H5Dget_type(s->data);
    thr_dtype dtype = type >= 0 ? dtype_of(type) : THR_DTYPE_NONE;
    const size_t value_bytes = type >= 0 ? H5Tget_size(type) : 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (dtype == THR_DTYPE_NONE)
        return thr_fail(err, THR_EFORMAT,
                        "%s: the data set is not of integers or floats of up to 64 bits: write it again as float32",
                        reader->name);
    s->type = H5Tcopy(native_type(dtype));
    s->space = H5Dget_space(s->data);
    hsize_t shape[H5S_MAX_RANK] = {0};
    s->n_axes = s->space >= 0 ? H5Sget_simple_extent_dims(s->space, shape, NULL) : 0;
    if (s->n_axes != 1 && s->n_axes != 2)
        return thr_fail(err, THR_EFORMAT, "%s: the data set has %d axes, not one or two: write it again as rows",
                        reader->name, s->n_axes);
    uint64_t n_dims = s->n_axes == 2 ? shape[1] : 1;
    if (n_dims == 0 || n_dims > THR_MAX_DIMS || shape[0] > INT64_MAX)
        return thr_fail(err, THR_EFORMAT, "%s: %llu rows of %llu dimensions: 1 to %d dimensions are possible",
                        reader->name, (unsigned long long)shape[0], (unsigned long long)n_dims, THR_MAX_DIMS);
    reader->shape =
        (thr_reader_shape){.n_rows = shape[0], .n_dims = (uint32_t)n_dims, .dtype = dtype, .seekable = true};
    return check_bytes(reader, value_bytes, err);
}

thr_status thr_io_hdf5_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    /* The ordinary stream reports missing, unreadable and empty files and directories with our messages. */
    thr_status status =
        thr_io_stream_open(reader->context, source->path, reader->name, THR_PACKING_NONE, &reader->stream, err);
    if (status != THR_OK)
        return status;
    if (reader->stream.size == 0)
        return thr_fail(err, THR_ECORRUPT, "%s: the file is empty: write or fetch it again", reader->name);
    if (!reader->stream.seekable)
        return thr_fail(err, THR_EUNSUPPORTED, "%s: HDF5 is read from plain files only: write it to one", reader->name);
    thr_io_stream_close(&reader->stream);

    hdf5_state *s = NULL;
    THR_TRY(thr_alloc_zero(reader->context, 1, sizeof *s, &s, "a reader", err));
    s->file = s->data = s->space = s->type = -1;
    reader->state = s;
    reader->ops = &hdf5_ops;
    hdf5_printing before = hdf5_enter();
    status = open_data(reader, source, err);
    if (status == THR_OK)
        status = check_data(reader, err);
    hdf5_leave(before);
    THR_TRY(status);

    size_t row = reader->shape.n_dims * thr_dtype_size(reader->shape.dtype);
    s->capacity = BUFFER_BYTES / row;
    return thr_alloc(reader->context, (size_t)s->capacity, row, &s->buffer, "rows of a file", err);
}

#else

thr_status thr_io_hdf5_open(thr_reader *reader, const thr_source *source, thr_error *err) {
    (void)source;
    return thr_fail(err, THR_EUNSUPPORTED,
                    "%s: this build cannot read HDF5: build with HDF5, or save the data set as .npy", reader->name);
}

#endif
