/* SPDX-License-Identifier: Apache-2.0 */
/* Read the bytes of a stream's file or memory, before any decoder. */
#include "io/stream.h"

#include <errno.h>
#include <string.h>

#include <poll.h>
#include <unistd.h>

#include "base/error.h"

/* Linux limits one read to 2^31 - 4096 bytes. */
enum { READ_MAX = 1 << 30 };

/* Wait for input if the descriptor is in non-blocking mode. */
static void wait_for_input(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    (void)poll(&wait, 1, -1);
}

thr_status thr_io_stream_read_raw(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err) {
    if (size > READ_MAX)
        size = READ_MAX;
    if (stream->fd < 0) {
        uint64_t left = stream->raw_position < stream->memory_size ? stream->memory_size - stream->raw_position : 0;
        *got = size < left ? size : (size_t)left;
        if (*got != 0)
            memcpy(out, stream->memory + stream->raw_position, *got);
        stream->raw_position += *got;
        return THR_OK;
    }
    for (;;) {
        ssize_t n =
            stream->seekable ? pread(stream->fd, out, size, (off_t)stream->raw_position) : read(stream->fd, out, size);
        if (n >= 0) {
            *got = (size_t)n;
            stream->raw_position += (uint64_t)n;
            return THR_OK;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            wait_for_input(stream->fd);
        else if (errno != EINTR)
            return thr_fail_errno(err, errno, "read", stream->name);
    }
}
