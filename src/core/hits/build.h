/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - the steps that all builds of posting lists share. */
#pragma once

#include "hits/file.h"

/* Check the arguments of a build, and copy options, or the defaults for NULL, to *complete. THR_EINVAL. */
thr_status thr_hits_take_build(thr_context *context, const char *path, const thr_hits_build_options *options,
                               thr_hits_build_options *complete, thr_error *err);

/* THR_ERANGE unless the multipliers and offsets of n rows or items are finite; NULL: none. of: "row", for messages. */
thr_status thr_hits_check_values(const float *multipliers, const float *offsets, uint64_t n, const char *of,
                                 thr_error *err);

/* What a file has beside its lists and values; each may be NULL. */
typedef struct thr_hits_extras {
    const thr_strings *names, *words; /* of rows and features */
    const uint32_t *given;            /* by row (thr_hits_contents) */
} thr_hits_extras;

/* Build the lists and write the file. */
thr_status thr_hits_build_all(thr_context *context, const char *path, const thr_item_features *items,
                              const thr_hits_build_options *options, const thr_hits_extras *extras, thr_error *err);
