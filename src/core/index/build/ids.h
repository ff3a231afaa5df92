/* SPDX-License-Identifier: Apache-2.0 */
/* ids.h - the ids and names of the items to index, from the caller's array or from a file. */
#pragma once

#include "index/build/segment_write.h"

typedef struct thr_ids {
    thr_context *context;
    const char *name;    /* of their source, for messages */
    uint64_t n;          /* ids or names; 0 without either: then row numbers are the ids */
    bool given;          /* the caller gave ids or names, perhaps 0 for 0 rows */
    const uint64_t *ids; /* borrowed, or `owned` */
    uint64_t *owned;
    uint64_t *offsets;      /* names: n + 1 byte offsets */
    char *names;            /* each with a zero byte */
    uint64_t *kept_offsets; /* of lines that are ids, with keep_names; then in names */
    size_t owned_capacity, offsets_capacity, names_capacity;
} thr_ids;

/*
 * Take options->ids, or read options->ids_path, and check that no id or name is repeated.
 *
 * A text file whose lines are all unsigned decimal integers holds ids, any other holds names. THR_EINVAL for both
 * options, a null array or a file that is neither text nor a column of integers; THR_ERANGE for a negative id or 2^64 -
 * 1; THR_EDUPLICATE; and what the reader returns. keep_names: lines that are ids are kept as names, too, for
 * thr_index_ids_take_names.
 */
thr_status thr_index_ids_open(thr_context *context, const thr_index_build_options *options, bool keep_names,
                              thr_ids *ids, thr_error *err);

/* For an index with names: ids that were read from a text become names. */
void thr_index_ids_take_names(thr_ids *ids);
void thr_index_ids_close(thr_ids *ids);

/* THR_EDUPLICATE if an id or a name occurs twice, THR_ERANGE for the id that means 'none'; THR_ENOMEM. */
thr_status thr_index_ids_check_unique(const thr_ids *ids, thr_error *err);

/* Raise *next, the id of the next item without one, above the largest given id. */
void thr_index_ids_raise_next(const thr_ids *ids, uint64_t *next);

/* THR_EDUPLICATE: the index in dir has an item with the id or name of item `item`. */
thr_status thr_index_ids_fail_present(const thr_ids *ids, uint64_t item, const char *dir, thr_error *err);

/* THR_EDIM unless there are n_rows ids or names, or none at all. */
thr_status thr_index_ids_check_count(const thr_ids *ids, uint64_t n_rows, const char *rows_name, thr_error *err);

/* Write the sections ids, id order and names, as far as ids has them, of n rows from `first` on. */
thr_status thr_index_ids_write(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                               thr_error *err);

/* Write the section of name slots for the same rows. */
thr_status thr_index_ids_write_name_slots(const thr_ids *ids, uint64_t first, uint32_t n, thr_section_writer *writer,
                                          thr_error *err);
