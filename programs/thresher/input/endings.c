/* SPDX-License-Identifier: Apache-2.0 */
#include "input/endings.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

bool prog_has_bytes(const char *path, long offset, const char *bytes) {
    char found[16];
    const size_t length = strlen(bytes);
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL; /* a pipe blocks */

    if (file == NULL)
        return false;
    const bool same = fseek(file, offset, SEEK_SET) == 0 && fread(found, 1, length, file) == length &&
                      memcmp(found, bytes, length) == 0;
    (void)fclose(file);
    return same;
}
