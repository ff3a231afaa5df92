/* SPDX-License-Identifier: Apache-2.0 */
/* io_stream.c - peeked bytes are read again, after any number and size of peeks. */
#include "unit/io_files.h"

#include "io/stream.h"

TEST(peeking_takes_nothing) {
    static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    static const size_t sizes[][3] = {{4, 8, 16}, {16, 4, 8}, {8, 8, 8}, {1, 16, 40}, {0, 5, 0}};
    enum { SIZE = sizeof text - 1 };
    for (size_t c = 0; c < COUNT_OF(sizes); c++) {
        thr_stream stream;
        char out[SIZE];
        size_t got = 0;
        const thr_image image = {.data = text, .size = SIZE};
        expect_ok(thr_io_stream_open_memory(io_context, &image, "text", THR_PACKING_NONE, &stream, &err));
        for (size_t i = 0; i < 3; i++) {
            const size_t size = sizes[c][i] < THR_STREAM_PEEK_MAX ? sizes[c][i] : THR_STREAM_PEEK_MAX;
            expect_ok(thr_io_stream_peek(&stream, out, sizes[c][i], &got, &err));
            assert_int_equal(got, size);
            assert_memory_equal(out, text, size);
            assert_int_equal(stream.position, 0);
        }
        expect_ok(thr_io_stream_read(&stream, out, SIZE, &got, &err));
        assert_int_equal(got, SIZE);
        assert_memory_equal(out, text, SIZE);
        assert_int_equal(stream.position, SIZE);
        thr_io_stream_close(&stream);
    }
}
