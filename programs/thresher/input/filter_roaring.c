/* SPDX-License-Identifier: Apache-2.0 */
/* filter_roaring.c - a filter that is a Roaring bitmap of ids. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "input/filter.h"
#include "cli/program.h"
#include "cli/messages.h"

static const char ENDING[] = ".roaring";
enum { FIRST_BYTES = 1 << 16 };

/* Ids of a collection are read through a bitmap of all numbers up to its greatest id: at most 4 GiB. */
static const uint64_t MOST_ID = (UINT64_C(1) << 35) - 1;

bool prog_is_roaring(const char *path) {
    return prog_ends_with(path, ENDING);
}

/* Read the rest of a file of any length; *bytes is allocated by malloc. */
static int read_bytes(FILE *file, const char *path, char **bytes, size_t *size) {
    size_t room = 0;

    *bytes = NULL;
    *size = 0;
    do {
        if (*size == room) {
            char *larger = room <= SIZE_MAX / 2 ? realloc(*bytes, room > 0 ? 2 * room : FIRST_BYTES) : NULL;

            if (larger == NULL)
                return prog_no_memory();
            *bytes = larger;
            room = room > 0 ? 2 * room : FIRST_BYTES;
        }
        errno = 0;
        *size += fread(*bytes + *size, 1, room - *size, file);
    } while (*size == room);
    if (!ferror(file))
        return PROG_DONE;
    prog_error("%s could not be read: %s", path, prog_reason(errno));
    return PROG_FAILED;
}

static int allow_bits(prog_filter *filter, const char *path, const uint64_t *bits, uint64_t n_words) {
    for (uint64_t i = 0; i < n_words; i++)
        for (uint64_t left = bits[i]; left != 0; left &= left - 1) {
            const uint64_t id = 64 * i + (uint64_t)__builtin_ctzll(left);
            uint64_t row;

            if (prog_items_find_id(filter->items, id, &row) == NULL) {
                prog_error("%s: %s: holds no item with the id %" PRIu64, path, filter->items->dir, id);
                return PROG_FAILED;
            }
            prog_filter_allow(filter, row);
        }
    return PROG_DONE;
}

/* Given ids of a collection: the library finds those of one index only. */
static int allow_ids(prog_filter *filter, const char *path, const char *bytes, size_t size) {
    thr_error err = {.status = THR_OK};
    uint64_t most = 0;

    for (size_t i = 0; i < filter->items->n_parts; i++)
        most = filter->items->parts[i].greatest_id > most ? filter->items->parts[i].greatest_id : most;
    if (most > MOST_ID) {
        prog_error("%s: the ids of %s go up to %" PRIu64 ", and are read from a Roaring bitmap up to %" PRIu64
                   ": write them as text or .npy",
                   path, filter->items->dir, most, MOST_ID);
        return PROG_FAILED;
    }
    uint64_t *bits = malloc((size_t)(most / 64 + 1) * sizeof *bits);
    if (bits == NULL)
        return prog_no_memory();
    const int rc = thr_bitmap_from_roaring(bytes, size, most + 1, bits, &err) == THR_OK
                       ? allow_bits(filter, path, bits, most / 64 + 1)
                       : prog_failed_at(path, &err);
    free(bits);
    return rc;
}

static int allow_roaring(prog_filter *filter, const char *path, const char *bytes, size_t size) {
    const prog_items *items = filter->items;
    thr_error err = {.status = THR_OK};

    if (items->n_parts > 1 && items->has_ids)
        return allow_ids(filter, path, bytes, size);
    const thr_status status =
        items->n_parts > 1 ? thr_bitmap_from_roaring(bytes, size, filter->n_bits, filter->words, &err)
                           : thr_bitmap_from_roaring_ids(items->parts[0].index, bytes, size, filter->words, &err);
    return status == THR_OK ? PROG_DONE : prog_failed_at(path, &err);
}

int prog_filter_read_roaring(prog_filter *filter, const char *path) {
    bool is_input = path[0] == '-' && strcmp(path + 1, ENDING) == 0;
    FILE *file = is_input ? stdin : fopen(path, "rb");
    char *bytes = NULL;
    size_t size = 0;
    int rc;

    if (file == NULL) {
        prog_error("%s could not be opened: %s", path, prog_reason(errno));
        return PROG_FAILED;
    }
    rc = read_bytes(file, path, &bytes, &size);
    if (!is_input)
        (void)fclose(file);
    if (rc == PROG_DONE)
        rc = allow_roaring(filter, path, bytes, size);
    free(bytes);
    return rc;
}
