/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - vectors that are kept as float16 or int8: what is stored, and how far a score may be off.
 *
 * With y the vector that scores are of (the item's, for cosine divided by its length), c the centre of the index's kept
 * vectors and v the stored numbers, the kept vector is y' = c + scale v. The centre is chosen once for an index and is
 * in all its segments, so copying a row to another segment changes no bit of a score. Scores are
 *
 *   ip      <q, c> + scale <q, v>
 *   l2      -|(q - c) - scale v|^2, by explicit differences
 *   cosine  1 - |q - y'|^2 / 2 = (1 - |q - c|^2 / 2) + scale <q - c, v> - half,  half = |scale v|^2 / 2
 *
 * The third depends on the kept vector's error only by its product with q - y, so it is accurate for near items. A zero
 * vector has a half of -1 and scores 0.
 */
#pragma once

#include <thresher/matrix.h>

/*
 * Bounds over the items of a segment or an index: ratio: of |y - y'| / scale; error: of |y - y'|; unit_error: cosine,
 * of the difference of |y'| from 1; longest: of |y'|. All 0 if the vectors are kept as they were given.
 */
typedef struct thr_kept_errors {
    float ratio, error, unit_error, longest;
} thr_kept_errors;

/* Whether a kept type stores residuals with scales. */
static inline bool thr_keep_is_scaled(thr_dtype keep) {
    return keep == THR_DTYPE_F16 || keep == THR_DTYPE_I8;
}

/* Raise the bounds to at least those of others. */
static inline void thr_kept_errors_join(thr_kept_errors *errors, const thr_kept_errors *others) {
    errors->ratio = errors->ratio > others->ratio ? errors->ratio : others->ratio;
    errors->error = errors->error > others->error ? errors->error : others->error;
    errors->unit_error = errors->unit_error > others->unit_error ? errors->unit_error : others->unit_error;
    errors->longest = errors->longest > others->longest ? errors->longest : others->longest;
}
