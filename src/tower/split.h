/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - which examples are learned from, and which are kept for validation. */
#ifndef THR_TOWER_SPLIT_H
#define THR_TOWER_SPLIT_H

#include "base/memory.h"

/*
 * The numbers of both, in order. hashes: of every example what says where it goes, so that equal ones go the same way;
 * share: of the hashes, for validation. Both arrays are the caller's to release. THR_OK or THR_ENOMEM.
 */
thr_status thr_split(thr_context *context, const uint64_t *hashes, size_t n, float share, uint32_t **train,
                     size_t *n_train, uint32_t **valid, size_t *n_valid, thr_error *err);

#endif
