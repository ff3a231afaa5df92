/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h - recompute the derived values of an index and compare. Checksums have been verified (base/section_file), so
 * what differs was written by a faulty writer. No allocation grows with the number of items.
 */
#ifndef THR_INDEX_VERIFY_H
#define THR_INDEX_VERIFY_H

#include "base/file_sum.h"
#include "index/impl.h"

/* Vectors are finite and inverse norms theirs. One pass over the vectors. THR_ECORRUPT; THR_ECANCELED; THR_ENOMEM. */
thr_status thr_index_verify_vectors(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err);

/*
 * Block norms are those of the codes; factors and offsets are finite, factors not negative; of nested codes none is
 * longer than the manifest has it, by which answers are certified. One pass over the codes. THR_ECORRUPT;
 * THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_index_verify_codes(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err);

/*
 * No id is in two segments: the segments' orders are merged, n log(segments) steps. The orders are known to be good.
 * THR_ECORRUPT; THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_index_verify_ids(const thr_index *index, thr_file_sum *sum, thr_error *err);

/* Items have the ids or names that they have where their features are. THR_ECORRUPT. */
thr_status thr_index_verify_features(const thr_index *index, thr_error *err);

#endif
