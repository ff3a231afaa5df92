/* SPDX-License-Identifier: Apache-2.0 */
/* io_packed.c - gzip and xz: every format read through them, several members, damage, and builds without. */
#include "unit/io_files.h"

#ifndef THR_WITH_GZ
#define THR_WITH_GZ 0
#endif
#ifndef THR_WITH_XZ
#define THR_WITH_XZ 0
#endif

#if THR_WITH_GZ
#include <zlib.h>

static void pack_gz(bytes *out, const void *data, size_t size) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&z, size) + 64;
    uint8_t *packed = test_new(1, room);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    put(out, packed, room - z.avail_out);
    assert_int_equal(deflateEnd(&z), Z_OK);
}
#endif

#if THR_WITH_XZ
#include <lzma.h>

static void pack_xz(bytes *out, const void *data, size_t size) {
    size_t room = lzma_stream_buffer_bound(size), used = 0;
    uint8_t *packed = test_new(1, room);
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, data, size, packed, &used, room), LZMA_OK);
    put(out, packed, used);
}
#endif

static const struct {
    const char *ending;
    void (*pack)(bytes *out, const void *data, size_t size); /* NULL: not in this build */
} packings[] = {
#if THR_WITH_GZ
    {".gz", pack_gz},
#else
    {".gz", NULL},
#endif
#if THR_WITH_XZ
    {".xz", pack_xz},
#else
    {".xz", NULL},
#endif
};
enum { N_PACKINGS = 2 };

TEST(a_build_without_support_is_refused_with_the_remedy) {
    bool any = false;
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack != NULL)
            continue;
        any = true;
        bytes file = {0}, got = {0};
        put_text(&file, "anything");
        char name[16];
        (void)snprintf(name, sizeof name, "a.npy%s", packings[i].ending);
        expect_error(read_all(io_context, write_file(name, &file), 1, &got, &err), THR_EUNSUPPORTED, "decompress");
    }
    if (!any)
        skip();
}

TEST(every_format_is_read_through) {
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack == NULL)
            continue;
        static const char *const names[] = {"a.npy", "a.fvecs", "a.fbin", "a.txt"};
        for (size_t f = 0; f < 4; f++) {
            bytes plain = {0}, packed = {0}, expected = {0};
            if (f == 0)
                put_npy(&plain, "<f4", 4, 3000, 100);
            else if (f == 1)
                put_vecs(&plain, 4, 3000, 100);
            else if (f == 2)
                put_bin(&plain, 4, 3000, 100);
            for (int line = 0; line < 5000 && f == 3; line++)
                put_text(&plain, "one line\nanother\n");
            packings[i].pack(&packed, plain.data, plain.size);
            char name[16];
            (void)snprintf(name, sizeof name, "%s%s", names[f], packings[i].ending);
            const char *path = write_file(name, &packed);
            expect_ok(read_all_memory(io_context, names[f], plain.data, plain.size, true, 999, &expected, &err));
            for (uint64_t piece = 1; piece <= 10000; piece *= 10)
                assert_reads(path, piece, &expected);
        }
    }
}

TEST(consecutive_members_are_one_stream) {
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack == NULL)
            continue;
        bytes packed = {0}, got = {0};
        packings[i].pack(&packed, "one\ntw", 6);
        packings[i].pack(&packed, "", 0);
        packings[i].pack(&packed, "o\nthree", 7);
        put(&packed, "\0\0\0\0", 4); /* padding, allowed by both */
        char name[16];
        (void)snprintf(name, sizeof name, "a.txt%s", packings[i].ending);
        expect_ok(read_all_memory(io_context, name, packed.data, packed.size, true, 1, &got, &err));
        put(&got, "", 1);
        assert_string_equal((char *)got.data, "one\ntwo\nthree\n");
        drop(&got);
        put_text(&packed, "rubbish");
        assert_int_equal(read_all_memory(io_context, name, packed.data, packed.size, true, 1, &got, &err),
                         THR_ECORRUPT);
    }
}

/* Cut anywhere: an error, never fewer rows. The compressed bytes of a vecs file do not hold its number of rows. */
TEST(a_cut_anywhere_is_found) {
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack == NULL)
            continue;
        static const char *const names[] = {"a.fvecs", "a.npy", "a.txt"};
        for (size_t f = 0; f < 3; f++) {
            bytes plain = {0}, packed = {0};
            if (f == 0)
                put_vecs(&plain, 4, 5, 3);
            else if (f == 1)
                put_npy(&plain, "<f4", 4, 5, 3);
            else
                put_text(&plain, "some words\nmore words\n");
            packings[i].pack(&packed, plain.data, plain.size);
            char name[16];
            (void)snprintf(name, sizeof name, "%s%s", names[f], packings[i].ending);
            for (size_t size = 0; size < packed.size; size++) {
                bytes got = {0};
                thr_status status = read_all_memory(io_context, name, packed.data, size, true, 100, &got, &err);
                if (status != THR_ECORRUPT)
                    fail_msg("%s cut at %zu: status %d", name, size, (int)status);
                assert_contains(err.text, name);
                assert_contains(err.text, size == 0 ? "empty" : "byte");
            }
        }
    }
}

/* Flip every bit: an error, or (in fields nobody checks, such as gzip's time stamp) the right rows. */
TEST(a_changed_bit_never_changes_a_row) {
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack == NULL)
            continue;
        bytes plain = {0}, packed = {0}, expected = {0};
        put_vecs(&plain, 4, 5, 3);
        put_pattern(&expected, 0, 60);
        packings[i].pack(&packed, plain.data, plain.size);
        char name[16];
        (void)snprintf(name, sizeof name, "a.fvecs%s", packings[i].ending);
        for (size_t bit = 0; bit < packed.size * 8; bit++) {
            bytes got = {0};
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            thr_status status = read_all_memory(io_context, name, packed.data, packed.size, true, 100, &got, &err);
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (status == THR_OK) {
                assert_int_equal(got.size, 60);
                assert_memory_equal(got.data, expected.data, 60);
            }
        }
    }
}

TEST(rows_missing_or_left_over_inside_are_found) {
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack == NULL)
            continue;
        bytes plain = {0};
        put_npy(&plain, "<f4", 4, 5, 3);
        put_text(&plain, "x");
        char name[16];
        (void)snprintf(name, sizeof name, "a.npy%s", packings[i].ending);
        for (int more = -1; more <= 1; more++) {
            bytes packed = {0}, got = {0};
            packings[i].pack(&packed, plain.data, (size_t)((long)plain.size - 1 + more));
            thr_status status = read_all_memory(io_context, name, packed.data, packed.size, true, 2, &got, &err);
            assert_int_equal(status, more == 0 ? THR_OK : THR_ECORRUPT);
            if (more < 0)
                assert_contains(err.text, "row 4 at byte 176");
            if (more > 0)
                assert_contains(err.text, "longer than its header");
        }
    }
}

TEST(what_is_not_packed_is_refused) {
    for (size_t i = 0; i < N_PACKINGS; i++) {
        if (packings[i].pack == NULL)
            continue;
        bytes plain = {0}, got = {0};
        put_npy(&plain, "<f4", 4, 5, 3);
        char name[16];
        (void)snprintf(name, sizeof name, "a.npy%s", packings[i].ending);
        expect_error(read_all_memory(io_context, name, plain.data, plain.size, true, 2, &got, &err), THR_ECORRUPT,
                     name);
    }
}
