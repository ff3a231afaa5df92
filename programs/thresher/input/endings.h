/* SPDX-License-Identifier: Apache-2.0 */
/* endings.h - the kind of a file by the ending of its name, or by its first bytes. */
#pragma once

#include <stdbool.h>

bool prog_ends_with(const char *path, const char *end);

/* Whether path ends with end, before .gz or .xz if it has one; and whether it is a .tsv or .csv, packed or not. */
bool prog_ends_unpacked(const char *path, const char *end);
bool prog_is_table(const char *path);

/* Whether a regular file can be read and has these bytes, at most 16, at this offset. */
bool prog_has_bytes(const char *path, long offset, const char *bytes);
