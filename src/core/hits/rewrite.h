/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - rewrites a file of posting lists for other rows: those of some items, and of added ones.
 *
 * The file's places must be its rows (THR_HITS_ORDER_ROWS). The new file has no ids, and names only if they are asked
 * for. Lists that are joined (join.c) are written as one file, or only the second file is written.
 */
#pragma once

#include "hits/hits.h"
#include "hits/read_items.h"

/* Items to add, checked against the lists that they are added to. Initialise with zeros. */
typedef struct thr_hits_added {
    thr_context *context;
    thr_hits_rows table;      /* if they come from one, which also has their names */
    thr_item_features items;  /* numbers of features, or of the table's words where the lists have words */
    const float *multipliers; /* borrowed, or NULL: 1 each */
    const float *offsets;     /* borrowed, or NULL: 0 each */
    uint32_t *owned;
    bool has_words; /* features are the table's words */
} thr_hits_added;

/*
 * Read the table at options->added_path, or take the arrays of options: offsets, features, multipliers, item_offsets
 * and n_added, which is the number of values, too; other fields are not read. Free with thr_hits_added_free, after an
 * error too.
 *
 * THR_EINVAL for numbers where features are words, or offsets that do not ascend from 0; THR_EFORMAT for words where
 * they are numbers; THR_EDIM for a wrong number of values; THR_ERANGE; and what the reader returns.
 */
thr_status thr_hits_added_open(const thr_hits *hits, const thr_hits_changes *options, thr_hits_added *added,
                               thr_error *err);
void thr_hits_added_free(thr_hits_added *added);

/* Rows of the file whose items are reordered. */
typedef struct thr_hits_run {
    uint64_t begin, end;  /* the old rows */
    const uint64_t *rows; /* those that remain, in their new order */
    uint64_t n_rows;
} thr_hits_run;

/*
 * Where items go, as bitmaps by row. The remaining items fill the first set bits of `filled`, in the order of their old
 * rows except for those of run; the added ones fill the others.
 */
typedef struct thr_hits_moves {
    const uint64_t *remaining; /* of the file's rows */
    const uint64_t *filled;    /* of the new rows; others have no item */
    uint64_t n_rows;           /* new ones, at least 1 */
    /* 0: write all rows; the number of rows of the first file: these stay there, and a second file gets the rest. */
    uint64_t first;
    const thr_hits_run *run; /* NULL: all items keep their order */
    bool names;              /* keep names; the file is not joined, all its items remain, and they fill all rows */
} thr_hits_moves;

/*
 * Write the file path. added may be NULL. If the old lists have no features at all, those of added items decide whether
 * features are words or numbers; write all rows then.
 *
 * THR_EDIM if filled has another number of bits than there are items, or there are more than THR_HITS_MAX_ITEMS rows;
 * what thr_hits_verify returns for the old file; THR_ENOSPACE; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_hits_rewrite(thr_hits *hits, const thr_hits_moves *moves, const thr_hits_added *added, const char *path,
                            thr_error *err);
