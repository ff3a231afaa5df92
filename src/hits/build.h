/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - what all ways of building a file of posting lists share. */
#ifndef THR_HITS_BUILD_H
#define THR_HITS_BUILD_H

#include "hits/file.h"

/* *complete becomes options, or the defaults; whether they are right, and whether path may be written. */
thr_status thr_hits_take_build(thr_context *context, const char *path, const thr_hits_build_options *options,
                               thr_hits_build_options *complete, thr_error *err);

/* Build and write, names and words NULL or those of the rows and features. */
thr_status thr_hits_build_all(thr_context *context, const char *path, const thr_item_features *items,
                              const thr_hits_build_options *options, const thr_strings *names, const thr_strings *words,
                              thr_error *err);

#endif
