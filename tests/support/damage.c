/* SPDX-License-Identifier: Apache-2.0 */
#include "damage.h"

#include "files.h"
#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef THR_SANITIZED
enum { STEP = 5 }; /* bytes from one damaged place to the next, of which sanitizers see a fifth */
#else
enum { STEP = 1 };
#endif

void test_every_changed_byte_is_found(const test_damage *damage) {
    bool opened;
    thr_error err;
    size_t size, n_opened = 0;
    assert_ok(damage->open_and_verify(damage->context, &opened, &err), &err);
    uint8_t *bytes = test_read_file(damage->path, &size);
    const int fd = open(damage->path, O_RDWR);
    assert_true(fd >= 0);
    for (size_t i = 0; i < size; i += STEP) {
        const uint8_t changed = bytes[i] ^ (uint8_t)(1 << i % 8);
        assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
        const thr_status status = damage->open_and_verify(damage->context, &opened, &err);
        if (status != THR_ECORRUPT && status != THR_EVERSION && status != THR_EFORMAT)
            fail_msg("byte %zu of %zu changed: %s", i, size, thr_status_name(status));
        assert_non_null(strstr(err.text, damage->path));
        n_opened += opened;
        if (opened)
            damage->use(damage->context);
        assert_int_equal(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
    }
    assert_ok(damage->open_and_verify(damage->context, &opened, &err), &err);
    assert_true(n_opened > 0 && n_opened < size);
    (void)close(fd);
    free(bytes);
}

void test_a_cut_file_is_not_opened(const test_damage *damage) {
    thr_error err;
    size_t size;
    free(test_read_file(damage->path, &size));
    while (size-- > 0) {
        bool opened;
        assert_int_equal(truncate(damage->path, (off_t)size), 0);
        const thr_status status = damage->open_and_verify(damage->context, &opened, &err);
        assert_true(!opened && (status == THR_ECORRUPT || status == THR_EFORMAT));
    }
    assert_int_equal(unlink(damage->path), 0);
    bool opened;
    assert_error(damage->open_and_verify(damage->context, &opened, &err), THR_ENOTFOUND, &err, damage->path);
    assert_false(opened);
}
