/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - finds items by name, by the hashes of the tail and of segments. */
#pragma once

#include "index/impl.h"

/* Names to look for: n strings, or, if each is NULL, those that begin at n offsets in bytes. */
typedef struct thr_name_list {
    const char *const *each;
    const uint64_t *offsets;
    const char *bytes;
    size_t n;
} thr_name_list;

/* Name i of a list. */
const char *thr_index_name_in(const thr_name_list *names, size_t i);

/* Find the live row with a name; false if there is none. */
bool thr_index_name_row(const thr_index *index, const char *name, uint64_t *row);

/* The same without the tail; key is thr_index_name_key of the name. */
bool thr_index_segment_name_row(const thr_index *index, const char *name, uint64_t key, uint64_t *row);

/* Called for a name that the index has: name number `item` is the name of the live row. */
typedef thr_status thr_name_found(void *arg, uint64_t item, uint64_t row, thr_error *err);

/* Find many names. What found returns. */
thr_status thr_index_find_names(const thr_index *index, const thr_name_list *names, thr_name_found *found, void *arg,
                                thr_error *err);
