/* SPDX-License-Identifier: Apache-2.0 */
/* seal.h - the checksums of a file of sections that was changed in memory, made right again. */
#pragma once

#include "base/files/sections.h"

#include <string.h>

/* Those of all sections that lie in the file, then that of header and table; false where there is no table. */
static inline bool test_seal(uint8_t *file, size_t size) {
    thr_section table[THR_SECTIONS_MAX];
    uint32_t n;
    uint64_t offset;
    if (size < THR_SECTIONS_HEADER)
        return false;
    memcpy(&n, file + THR_SECTIONS_COUNT_AT, sizeof n);
    memcpy(&offset, file + THR_SECTIONS_TABLE_AT, sizeof offset);
    if (n > THR_SECTIONS_MAX || offset > size || size - offset < n * sizeof *table)
        return false;
    memcpy(table, file + offset, n * sizeof *table);
    for (uint32_t i = 0; i < n; i++)
        if (table[i].offset <= size && table[i].size <= size - table[i].offset)
            table[i].checksum = thr_checksum_of(file + table[i].offset, (size_t)table[i].size);
    memcpy(file + offset, table, n * sizeof *table);
    const uint64_t checksum = thr_sections_checksum(file, table, n);
    memcpy(file + THR_SECTIONS_CHECKSUM_AT, &checksum, sizeof checksum);
    return true;
}
