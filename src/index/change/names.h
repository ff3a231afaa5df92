/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - finds many names in an index in one pass over its names. */
#ifndef THR_INDEX_CHANGE_NAMES_H
#define THR_INDEX_CHANGE_NAMES_H

#include "index/build/ids.h"
#include "index/impl.h"

/* Called for a name that the index has: name number `item` is the name of the live row. */
typedef thr_status thr_name_found(void *arg, uint64_t item, uint64_t row, thr_error *err);

/* Find all names of `names`, in row order. THR_ENOMEM; and what found returns. */
thr_status thr_index_find_names(const thr_index *index, const thr_ids *names, thr_name_found *found, void *arg,
                                thr_error *err);

#endif
