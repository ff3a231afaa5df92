/* SPDX-License-Identifier: Apache-2.0 */
/* gz.c - read gzip (RFC 1952), including several concatenated members. */
#include "io/stream.h"

#include "base/error.h"

#ifndef THR_WITH_GZ
#define THR_WITH_GZ 0
#endif

#if THR_WITH_GZ

#include <zlib.h>

enum { OUTPUT_MAX = 1 << 30, GZIP_WINDOW = 15 + 16 };

typedef struct gz_state {
    z_stream z;
    bool member_open; /* false between members, where the file may end */
    bool any_member;
} gz_state;

static voidpf gz_allocate(voidpf context, uInt items, uInt size) {
    void *memory = NULL;
    return thr_alloc(context, items, size, &memory, "gzip", NULL) == THR_OK ? memory : NULL;
}

static void gz_release(voidpf context, voidpf memory) {
    thr_release(context, memory);
}

static void gz_end(thr_stream *stream) {
    gz_state *gz = stream->decoder_state;
    (void)inflateEnd(&gz->z);
}

static thr_status gz_start(thr_stream *stream, thr_error *err) {
    gz_state *gz = stream->decoder_state;
    gz->z = (z_stream){.zalloc = gz_allocate, .zfree = gz_release, .opaque = stream->context};
    return inflateInit2(&gz->z, GZIP_WINDOW) == Z_OK
               ? THR_OK
               : thr_fail(err, THR_ENOMEM, "%s: no memory for gzip", stream->name);
}

/* File offset of the decoder. */
static unsigned long long gz_offset(const thr_stream *stream) {
    const gz_state *gz = stream->decoder_state;
    return stream->raw_position - gz->z.avail_in;
}

static thr_status gz_fill(thr_stream *stream, thr_error *err) {
    gz_state *gz = stream->decoder_state;
    if (gz->z.avail_in != 0)
        return THR_OK;
    size_t n = 0;
    THR_TRY(thr_io_stream_read_raw(stream, stream->input, THR_DECODER_INPUT, &n, err));
    gz->z.next_in = stream->input;
    gz->z.avail_in = (uInt)n;
    return THR_OK;
}

/* Between members: skip zeros, which tapes and block devices append, as gzip does. */
static thr_status gz_next_member(thr_stream *stream, bool *more, thr_error *err) {
    gz_state *gz = stream->decoder_state;
    for (;;) {
        THR_TRY(gz_fill(stream, err));
        *more = gz->z.avail_in != 0;
        if (!*more || !gz->any_member || *gz->z.next_in != 0)
            break;
        gz->z.next_in++;
        gz->z.avail_in--;
    }
    if (*more) {
        (void)inflateReset(&gz->z);
        gz->member_open = true;
        gz->any_member = true;
    }
    return THR_OK;
}

static thr_status gz_read(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err) {
    gz_state *gz = stream->decoder_state;
    gz->z.next_out = out;
    gz->z.avail_out = size < OUTPUT_MAX ? (uInt)size : OUTPUT_MAX;
    *got = 0;
    while (*got == 0 && size != 0) {
        if (!gz->member_open) {
            bool more = false;
            THR_TRY(gz_next_member(stream, &more, err));
            if (!more && !gz->any_member)
                return thr_fail(err, THR_ECORRUPT, "%s: the file is empty: write or fetch it again", stream->name);
            if (!more)
                break;
        }
        THR_TRY(gz_fill(stream, err));
        if (gz->z.avail_in == 0)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: the gzip data is cut short at byte %llu of the file: write or fetch it again",
                            stream->name, gz_offset(stream));
        int rc = inflate(&gz->z, Z_NO_FLUSH);
        *got = (size_t)((uint8_t *)gz->z.next_out - (uint8_t *)out);
        if (rc == Z_STREAM_END)
            gz->member_open = false;
        else if (rc == Z_MEM_ERROR)
            return thr_fail(err, THR_ENOMEM, "%s: no memory for gzip", stream->name);
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: the gzip data is damaged at byte %llu of the file (%s): write or fetch it again",
                            stream->name, gz_offset(stream), gz->z.msg != NULL ? gz->z.msg : "unknown data");
    }
    return THR_OK;
}

const thr_decoder thr_decoder_gz = {"gzip", sizeof(gz_state), gz_start, gz_read, gz_end};

#else

static thr_status gz_start(thr_stream *stream, thr_error *err) {
    return thr_fail(err, THR_EUNSUPPORTED,
                    "%s: this build cannot read gzip: decompress the file with gunzip, or build with zlib",
                    stream->name);
}

const thr_decoder thr_decoder_gz = {.name = "gzip", .start = gz_start};

#endif
