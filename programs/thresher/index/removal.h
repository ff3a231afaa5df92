/* SPDX-License-Identifier: Apache-2.0 */
/* removal.h - collect the ids of items to remove, given as ids or names, in files or on the command line. */
#pragma once

#include "cli/program.h"

typedef struct prog_removal {
    const thr_index *index;
    bool strict; /* an id or name that no item has is an error */
    uint64_t *ids;
    size_t n, capacity;
    uint64_t n_missing; /* ids and names that no item has */
} prog_removal;

/*
 * Add ids, or names where the index has names, to the list. Each returns PROG_DONE, or an exit code after printing an
 * error.
 */
int prog_removal_file(prog_removal *removal, thr_context *context, const char *path);
int prog_removal_ids(prog_removal *removal, const prog_list *ids);
int prog_removal_names(prog_removal *removal, const prog_list *names);

/* Add the items that a filter allows (input/filter.h). */
int prog_removal_filter(prog_removal *removal, thr_context *context, const char *path);
void prog_removal_free(prog_removal *removal);
