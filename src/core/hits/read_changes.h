/* SPDX-License-Identifier: Apache-2.0 */
/* read_changes.h - reads the changes of an update from files. */
#pragma once

#include "hits/read_items.h"

#include <thresher/hits.h>

/* The changes, and the memory of changes that were read from files. Initialise with zeros. */
typedef struct thr_hits_read_changes {
    thr_hits_changes changes; /* paths replaced by their contents */
    thr_context *context;
    thr_hits_rows rows; /* from the table of added items */
    const char **names, **words;
    uint64_t *ids;
    uint32_t *features;
    thr_dictionary removed; /* ids or names, without repetitions */
    const char **removed_names;
    uint64_t *removed_ids;
} thr_hits_read_changes;

/*
 * Read the changes. THR_OK; THR_EINVAL if the same kind of change is given by path and in memory; THR_EFORMAT for lines
 * that do not match hits (names or ids); and what the readers return.
 */
thr_status thr_hits_changes_read(const thr_hits *hits, const thr_hits_changes *given, thr_hits_read_changes *read,
                                 thr_error *err);
void thr_hits_read_changes_free(thr_hits_read_changes *read);
