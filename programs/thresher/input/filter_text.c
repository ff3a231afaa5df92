/* SPDX-License-Identifier: Apache-2.0 */
/* filter_text.c - a filter that is a text of names and ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/filter.h"
#include "input/input.h"
#include "cli/program.h"
#include "cli/messages.h"

typedef struct line {
    char *text;
    uint64_t number;
    bool used;
} line;

typedef struct lines {
    line *items;
    size_t n;
    size_t room;
} lines;

static int compare_lines(const void *a, const void *b) {
    return strcmp(((const line *)a)->text, ((const line *)b)->text);
}

static void lines_free(lines *all) {
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i].text);
    free(all->items);
}

static int lines_add(lines *all, const char *text, size_t length, uint64_t number) {
    if (all->n == all->room) {
        size_t room = all->room > 0 ? 2 * all->room : 256;
        line *items = room <= SIZE_MAX / sizeof *items ? realloc(all->items, room * sizeof *items) : NULL;

        if (items == NULL)
            return prog_no_memory();
        all->items = items;
        all->room = room;
    }
    all->items[all->n] = (line){.text = malloc(length + 1), .number = number};
    if (all->items[all->n].text == NULL)
        return prog_no_memory();
    memcpy(all->items[all->n].text, text, length + 1);
    all->n++;
    return PROG_DONE;
}

/* Empty lines are skipped. */
static int lines_read(lines *all, thr_reader *reader) {
    const char *text = NULL;
    size_t length = 0;
    int rc = PROG_DONE;

    for (uint64_t number = 1; prog_input_next_line(reader, &text, &length, &rc); number++)
        if (length > 0)
            rc = lines_add(all, text, length, number);
    return rc;
}

/* A name may be repeated in the text; bsearch finds any of its copies. */
static void mark_used(lines *all, line *found) {
    for (line *l = found; l >= all->items && strcmp(l->text, found->text) == 0; l--)
        l->used = true;
    for (line *l = found; l < all->items + all->n && strcmp(l->text, found->text) == 0; l++)
        l->used = true;
}

static int allow_names_of(prog_filter *filter, const prog_items_part *part, lines *all) {
    enum { ROWS_AT_ONCE = 1024 };
    const char *names[ROWS_AT_ONCE];
    thr_error err;

    for (uint64_t row = 0; row < part->n_rows; row++) {
        if (row % ROWS_AT_ONCE == 0 && thr_index_row_names(part->index, row, ROWS_AT_ONCE, names, &err) != THR_OK)
            return prog_failed(&err);
        const line wanted = {.text = (char *)(uintptr_t)names[row % ROWS_AT_ONCE]};
        line *found =
            wanted.text != NULL ? bsearch(&wanted, all->items, all->n, sizeof *all->items, compare_lines) : NULL;

        if (found == NULL)
            continue;
        prog_filter_allow(filter, part->first_row + row);
        mark_used(all, found);
    }
    return PROG_DONE;
}

/*
 * Lines with names. They are sorted and matched in one pass over the items, so a long list does not cost one pass per
 * line.
 */
static int allow_names(prog_filter *filter, lines *all) {
    int rc = PROG_DONE;

    if (all->n == 0)
        return PROG_DONE;
    qsort(all->items, all->n, sizeof *all->items, compare_lines);
    for (size_t i = 0; i < filter->items->n_parts && rc == PROG_DONE; i++)
        rc = allow_names_of(filter, &filter->items->parts[i], all);
    return rc;
}

int prog_filter_read_text(prog_filter *filter, thr_reader *reader, const char *path) {
    const bool has_names = filter->items->has_names;
    lines all = {.items = NULL};
    int rc = lines_read(&all, reader);

    if (rc == PROG_DONE && has_names)
        rc = allow_names(filter, &all);
    for (size_t i = 0; i < all.n && rc == PROG_DONE; i++) {
        const line *l = &all.items[i];
        uint64_t id, row;

        if (l->used)
            continue;
        const bool number = prog_read_count(l->text, &id);
        if (number && prog_items_find_id(filter->items, id, &row) != NULL) {
            prog_filter_allow(filter, row);
        } else if (filter->skip_missing && (number || has_names)) {
            filter->n_missing++;
        } else {
            prog_error("%s: line %" PRIu64 ": the %s has no item \"%.100s\"%s", path, l->number, filter->items->what,
                       l->text, number || has_names ? prog_filter_hint(filter) : ": its items have no names");
            rc = PROG_FAILED;
        }
    }
    lines_free(&all);
    return rc;
}
