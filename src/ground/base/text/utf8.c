/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/utf8.h"

/* By the high bits of the first byte: how many bytes follow, and the smallest code point that needs so many. */
static const struct {
    unsigned char mask, mark, n_more;
    uint32_t least;
} leads[] = {{0x80, 0x00, 0, 0}, {0xE0, 0xC0, 1, 0x80}, {0xF0, 0xE0, 2, 0x800}, {0xF8, 0xF0, 3, 0x10000}};

bool thr_utf8_next(const char **at, const char *end, uint32_t *letter) {
    const unsigned char first = (unsigned char)**at;
    for (size_t l = 0; l < sizeof leads / sizeof leads[0]; l++) {
        if ((first & leads[l].mask) != leads[l].mark)
            continue;
        if ((size_t)(end - *at) <= leads[l].n_more)
            return false;
        uint32_t found = first & (unsigned char)~leads[l].mask;
        for (size_t i = 1; i <= leads[l].n_more; i++) {
            const unsigned char more = (unsigned char)(*at)[i];
            if ((more & 0xC0) != 0x80)
                return false;
            found = found << 6 | (more & 0x3Fu);
        }
        if (found < leads[l].least || found > 0x10FFFF || (found >= 0xD800 && found < 0xE000))
            return false;
        *letter = found;
        *at += 1 + leads[l].n_more;
        return true;
    }
    return false;
}

size_t thr_utf8_put(uint32_t letter, char out[4]) {
    size_t n = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; letter >>= 6)
        out[i] = (char)(0x80 | (letter & 0x3F));
    out[0] = (char)(n == 1 ? letter : leads[n - 1].mark | letter);
    return n;
}

size_t thr_utf8_valid(const char *text, size_t length) {
    const char *at = text, *end = text + length;
    uint32_t letter;
    while (at < end && thr_utf8_next(&at, end, &letter))
        ;
    return (size_t)(at - text);
}
