/* SPDX-License-Identifier: Apache-2.0 */
/* filter_roaring.c - a filter that is a Roaring bitmap of ids. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/endings.h"
#include "input/filter.h"
#include "cli/program.h"
#include "cli/messages.h"

static const char ENDING[] = ".roaring";
enum { FIRST_BYTES = 1 << 16 };

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
    prog_error("%s could not be read: %s", path, strerror(errno));
    return PROG_FAILED;
}

/* The library finds ids of one index; of a collection only those that are rows. */
static int allow_roaring(prog_filter *filter, const char *path, const char *bytes, size_t size) {
    const prog_items *items = filter->items;
    thr_error err = {.status = THR_OK};

    if (items->n_parts > 1 && items->has_ids) {
        prog_error("%s: a Roaring bitmap of given ids works for one index only: write them as text or .npy", path);
        return PROG_FAILED;
    }
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
        prog_error("%s could not be opened: %s", path, strerror(errno));
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
