/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h - recomputes the derived values of an index and compares them. Checksums must be verified before
 * (base/section_file), so a difference is a fault of the writer. No allocation grows with the number of items.
 */
#pragma once

#include "base/files/file_sum.h"
#include "index/impl.h"

/*
 * Check that vectors are finite and inverse norms right. One pass over the vectors. THR_ECORRUPT; THR_ECANCELED;
 * THR_ENOMEM.
 */
thr_status thr_index_verify_vectors(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err);

/*
 * Check that block norms are right, factors and offsets finite, factors not negative, and that no nested code is longer
 * than the manifest's bound, on which certificates rely. One pass over the codes. THR_ECORRUPT; THR_ECANCELED;
 * THR_ENOMEM.
 */
thr_status thr_index_verify_codes(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err);

/*
 * Check that codes, their factors and offsets are those of the kept vectors, and as near as the manifest has them.
 * After the vectors. THR_ECORRUPT; THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_index_verify_code_vectors(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err);

/* Check the numbers of cells and their centroids, after the vectors. THR_ECORRUPT; THR_ECANCELED; THR_ENOMEM. */
thr_status thr_index_verify_cells(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err);

/*
 * Check that no id is in two segments, by merging the segments' orders, n log(segments) steps. The orders must be
 * verified. THR_ECORRUPT; THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_index_verify_ids(const thr_index *index, thr_file_sum *sum, thr_error *err);

/*
 * Read the journal again, which must hold the frames read before, and check that no live row of the tail has the id of
 * another. THR_ECORRUPT; THR_ECHANGED; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_verify_journal(const thr_index *index, thr_error *err);

/* Check that items have the same ids or names in the segments and in the posting lists. THR_ECORRUPT. */
thr_status thr_index_verify_features(const thr_index *index, thr_error *err);
