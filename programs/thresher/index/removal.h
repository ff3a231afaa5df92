/* SPDX-License-Identifier: Apache-2.0 */
/* removal.h - collects items to remove, given as ids or names, in files or on the command line, and removes them. */
#pragma once

#include "cli/program.h"

typedef struct prog_removal {
    const thr_index *index;
    bool strict; /* an id or name that no item has is an error */
    uint64_t *ids;
    size_t n, capacity;
    char *text; /* n_names names, each with a zero byte */
    size_t n_names, text_size, text_capacity;
    uint64_t n_missing; /* ids and names of the filter that no item has */

    /* For messages: the first n_from_file ids, or names, are of the file at path, whose units have numbers. */
    const char *path, *unit;
    size_t n_from_file;
    uint64_t first_number;
    bool file_has_names;
} prog_removal;

/*
 * Add ids, or names where the index has names, to the list; the file comes first. Each returns PROG_DONE, or an exit
 * code after printing an error.
 */
int prog_removal_file(prog_removal *removal, thr_context *context, const char *path);
int prog_removal_ids(prog_removal *removal, const prog_list *ids);
int prog_removal_names(prog_removal *removal, const prog_list *names);

/* Add the items that a filter allows (input/filter.h). */
int prog_removal_filter(prog_removal *removal, thr_context *context, const char *path);

/* thr_index_remove_items. Returns PROG_DONE, or an exit code after printing an error. */
int prog_removal_run(prog_removal *removal, thr_context *context, const char *dir, thr_index_change *change);
void prog_removal_free(prog_removal *removal);
