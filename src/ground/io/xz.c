/* SPDX-License-Identifier: Apache-2.0 */
/* xz.c - read xz, including several concatenated streams. */
#include "io/stream.h"

#include "base/error.h"

#ifndef THR_WITH_XZ
#define THR_WITH_XZ 0
#endif

#if THR_WITH_XZ

#include <lzma.h>

/*
 * A header of a few bytes can request a dictionary of 4 GiB; xz -9 needs 65 MiB. Input that needs more than the limit
 * is rejected, with a workaround in the message.
 */
enum { MEMORY_LIMIT = 512 << 20 };

typedef struct xz_state {
    lzma_stream z;
    lzma_allocator allocator;
    bool input_ended;
    bool ended;
} xz_state;

static void *xz_allocate(void *context, size_t items, size_t size) {
    void *memory = NULL;
    return thr_alloc(context, items, size, &memory, "xz", NULL) == THR_OK ? memory : NULL;
}

static void xz_release(void *context, void *memory) {
    thr_release(context, memory);
}

static void xz_end(thr_stream *stream) {
    xz_state *xz = stream->decoder_state;
    lzma_end(&xz->z);
}

static thr_status xz_start(thr_stream *stream, thr_error *err) {
    xz_state *xz = stream->decoder_state;
    xz->allocator = (lzma_allocator){xz_allocate, xz_release, stream->context};
    xz->z = (lzma_stream)LZMA_STREAM_INIT;
    xz->z.allocator = &xz->allocator;
    return lzma_stream_decoder(&xz->z, MEMORY_LIMIT, LZMA_CONCATENATED) == LZMA_OK
               ? THR_OK
               : thr_fail(err, THR_ENOMEM, "%s: no memory for xz", stream->name);
}

static thr_status xz_fail(thr_stream *stream, lzma_ret why, thr_error *err) {
    const xz_state *xz = stream->decoder_state;
    unsigned long long offset = stream->raw_position - xz->z.avail_in;
    switch (why) {
    case LZMA_MEM_ERROR:
        return thr_fail(err, THR_ENOMEM, "%s: no memory for xz", stream->name);
    case LZMA_MEMLIMIT_ERROR:
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: needs more than %d MiB to be unpacked: pipe it in from xz -dc, or decompress the file",
                        stream->name, MEMORY_LIMIT >> 20);
    case LZMA_FORMAT_ERROR:
        return thr_fail(err, THR_ECORRUPT, "%s: no xz data at byte %llu of the file: is it really .xz?", stream->name,
                        offset);
    case LZMA_BUF_ERROR:
        if (stream->raw_position == 0)
            return thr_fail(err, THR_ECORRUPT, "%s: the file is empty: write or fetch it again", stream->name);
        return thr_fail(err, THR_ECORRUPT,
                        "%s: the xz data is cut short at byte %llu of the file: write or fetch it again", stream->name,
                        offset);
    case LZMA_OPTIONS_ERROR:
        return thr_fail(err, THR_ECORRUPT,
                        "%s: unknown xz options at byte %llu of the file: decompress it with xz, or fetch it again",
                        stream->name, offset);
    default:
        return thr_fail(err, THR_ECORRUPT,
                        "%s: the xz data is damaged at byte %llu of the file: write or fetch it again", stream->name,
                        offset);
    }
}

static thr_status xz_read(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err) {
    xz_state *xz = stream->decoder_state;
    xz->z.next_out = out;
    xz->z.avail_out = size;
    *got = 0;
    while (*got == 0 && size != 0 && !xz->ended) {
        if (xz->z.avail_in == 0 && !xz->input_ended) {
            size_t n = 0;
            THR_TRY(thr_io_stream_read_raw(stream, stream->input, THR_DECODER_INPUT, &n, err));
            xz->z.next_in = stream->input;
            xz->z.avail_in = n;
            xz->input_ended = n == 0;
        }
        lzma_ret rc = lzma_code(&xz->z, xz->input_ended ? LZMA_FINISH : LZMA_RUN);
        *got = size - xz->z.avail_out;
        if (rc == LZMA_STREAM_END)
            xz->ended = true;
        else if (rc != LZMA_OK)
            return xz_fail(stream, rc, err);
    }
    return THR_OK;
}

const thr_decoder thr_decoder_xz = {"xz", sizeof(xz_state), xz_start, xz_read, xz_end};

#else

static thr_status xz_start(thr_stream *stream, thr_error *err) {
    return thr_fail(err, THR_EUNSUPPORTED,
                    "%s: this build cannot read xz: decompress the file with xz -d, or build with liblzma",
                    stream->name);
}

const thr_decoder thr_decoder_xz = {.name = "xz", .start = xz_start};

#endif
