/* SPDX-License-Identifier: Apache-2.0 */
#include "io/stream.h"

#include <errno.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/minmax.h"

enum { SKIP_BYTES = 4096 };

static thr_status start_decoder(thr_stream *stream, thr_packing packing, thr_error *err) {
    if (packing == THR_PACKING_NONE)
        return THR_OK;
    const thr_decoder *decoder = packing == THR_PACKING_GZ ? &thr_decoder_gz : &thr_decoder_xz;
    stream->seekable = false;
    stream->size = THR_SIZE_UNKNOWN;
    thr_status status =
        thr_alloc_zero(stream->context, 1, decoder->state_size, &stream->decoder_state, decoder->name, err);
    if (status == THR_OK)
        status = thr_alloc(stream->context, THR_DECODER_INPUT, 1, &stream->input, decoder->name, err);
    if (status == THR_OK)
        status = decoder->start(stream, err);
    if (status == THR_OK)
        stream->decoder = decoder;
    else
        thr_io_stream_close(stream);
    return status;
}

thr_status thr_io_stream_open(thr_context *context, const char *path, const char *name, thr_packing packing,
                              thr_stream *stream, thr_error *err) {
    *stream = (thr_stream){.context = context, .name = name, .fd = STDIN_FILENO, .size = THR_SIZE_UNKNOWN};
    if (path != NULL) {
        stream->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (stream->fd < 0)
            return thr_fail_errno(err, errno, "open", name);
        stream->owns_fd = true;
    }
    struct stat st;
    if (fstat(stream->fd, &st) != 0) {
        thr_status status = thr_fail_errno(err, errno, "stat", name);
        thr_io_stream_close(stream);
        return status;
    }
    if (S_ISDIR(st.st_mode)) {
        thr_io_stream_close(stream);
        return thr_fail(err, THR_EFORMAT, "%s: is a directory, not a file: name a file in it", name);
    }
    /* Standard input may start in the middle of its file, so it is read as a pipe. */
    if (path != NULL && S_ISREG(st.st_mode)) {
        stream->size = (uint64_t)st.st_size;
        stream->seekable = true;
    }
    return start_decoder(stream, packing, err);
}

thr_status thr_io_stream_open_memory(thr_context *context, const thr_image *image, const char *name,
                                     thr_packing packing, thr_stream *stream, thr_error *err) {
    *stream = (thr_stream){.context = context,
                           .name = name,
                           .fd = -1,
                           .memory = image->data,
                           .memory_size = image->size,
                           .size = image->sized ? image->size : THR_SIZE_UNKNOWN,
                           .seekable = image->sized};
    return start_decoder(stream, packing, err);
}

thr_status thr_io_stream_read_some(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err) {
    *got = 0;
    if (stream->n_peeked != 0) {
        *got = THR_MIN(size, stream->n_peeked);
        memcpy(out, stream->peeked, *got);
        stream->n_peeked -= *got;
        memmove(stream->peeked, stream->peeked + *got, stream->n_peeked);
    } else if (stream->decoder != NULL) {
        THR_TRY(stream->decoder->read(stream, out, size, got, err));
    } else {
        THR_TRY(thr_io_stream_read_raw(stream, out, size, got, err));
    }
    stream->position += *got;
    return THR_OK;
}

thr_status thr_io_stream_read(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err) {
    *got = 0;
    while (*got < size) {
        size_t n = 0;
        THR_TRY(thr_io_stream_read_some(stream, (char *)out + *got, size - *got, &n, err));
        if (n == 0)
            break;
        *got += n;
    }
    return THR_OK;
}

thr_status thr_io_stream_peek(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err) {
    const uint64_t position = stream->position;
    const size_t n = stream->n_peeked;
    size = THR_MIN(size, THR_STREAM_PEEK_MAX);
    if (n < size) { /* continue after the peeked bytes */
        stream->n_peeked = 0;
        THR_TRY(thr_io_stream_read(stream, stream->peeked + n, size - n, got, err));
        stream->position = position;
        stream->n_peeked = n + *got;
    }
    *got = THR_MIN(size, stream->n_peeked);
    memcpy(out, stream->peeked, *got);
    return THR_OK;
}

thr_status thr_io_stream_skip(thr_stream *stream, uint64_t count, uint64_t *skipped, thr_error *err) {
    char scratch[SKIP_BYTES];
    *skipped = 0;
    while (*skipped < count) {
        uint64_t left = count - *skipped;
        size_t n = 0;
        THR_TRY(thr_io_stream_read_some(stream, scratch, left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, &n, err));
        if (n == 0)
            break;
        *skipped += n;
    }
    return THR_OK;
}

void thr_io_stream_seek(thr_stream *stream, uint64_t position) {
    stream->position = position;
    stream->raw_position = position;
    stream->n_peeked = 0;
}

void thr_io_stream_close(thr_stream *stream) {
    if (stream->decoder != NULL)
        stream->decoder->end(stream);
    THR_RELEASE(stream->context, stream->input, stream->decoder_state);
    if (stream->owns_fd)
        (void)close(stream->fd);
    *stream = (thr_stream){.fd = -1};
}
