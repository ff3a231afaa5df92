/* SPDX-License-Identifier: Apache-2.0 */
#include "endings.h"

#include <string.h>

/* Whether the first length characters of a path end so. */
static bool ends_at(const char *path, size_t length, const char *end) {
    const size_t n = strlen(end);
    return length >= n && memcmp(path + length - n, end, n) == 0;
}

bool prog_ends_with(const char *path, const char *end) {
    return ends_at(path, strlen(path), end);
}

bool prog_ends_unpacked(const char *path, const char *end) {
    const bool packed = prog_ends_with(path, ".gz") || prog_ends_with(path, ".xz");
    return ends_at(path, strlen(path) - (packed ? strlen(".gz") : 0), end);
}

bool prog_is_table(const char *path) {
    return prog_ends_unpacked(path, ".tsv") || prog_ends_unpacked(path, ".csv");
}
