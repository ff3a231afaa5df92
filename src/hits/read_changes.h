/* SPDX-License-Identifier: Apache-2.0 */
/* read_changes.h - changes that stand in files, read into memory. */
#ifndef THR_HITS_READ_CHANGES_H
#define THR_HITS_READ_CHANGES_H

#include "hits/read_items.h"

#include <thresher/hits.h>

/* The changes, and what they point to where they came from files. Zeroed before they are read. */
typedef struct thr_hits_read_changes {
    thr_hits_changes changes; /* without paths */
    thr_context *context;
    thr_hits_rows rows; /* of the table of added items */
    const char **names, **words;
    uint64_t *ids;
    uint32_t *features;
    thr_dictionary removed; /* ids or names, each once */
    const char **removed_names;
    uint64_t *removed_ids;
} thr_hits_read_changes;

/* THR_OK; THR_EINVAL for what is given twice; THR_EFORMAT for lines that do not go with hits; what readers return. */
thr_status thr_hits_changes_read(const thr_hits *hits, const thr_hits_changes *given, thr_hits_read_changes *read,
                                 thr_error *err);
void thr_hits_read_changes_free(thr_hits_read_changes *read);

#endif
