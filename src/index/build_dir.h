/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_dir.h - the directory of a build: who may build there, and what is swept away afterwards.
 *
 * Invariant: until thr_index_build_dir_publish has renamed the new MANIFEST into place, no file that the old one names
 * is touched.
 */
#ifndef THR_INDEX_BUILD_DIR_H
#define THR_INDEX_BUILD_DIR_H

#include "index/manifest.h"

typedef struct thr_build_dir {
    thr_context *context;
    const char *path;
    int fd;         /* holds the lock; -1 when closed */
    bool made;      /* by this build */
    bool committed; /* the new MANIFEST stands */
    uint32_t build; /* in the names of this build's files */
} thr_build_dir;

/*
 * Make the directory if need be, lock it against other builds, and see that an index may be built in it.
 *
 * THR_EEXIST when it holds an index and replace is false, when it holds anything that is not an index, or when another
 * build is at work there; THR_EVERSION for an index of a newer format.
 */
thr_status thr_index_build_dir_open(thr_context *context, const char *path, bool replace, thr_build_dir *dir,
                                    thr_error *err);

/* The path of this build's segment number. */
thr_status thr_index_build_dir_segment_path(const thr_build_dir *dir, uint32_t number, char **path, thr_error *err);

/* The path of this build's copy of a model. */
thr_status thr_index_build_dir_model_path(const thr_build_dir *dir, char **path, thr_error *err);

/* The path of this build's posting lists. */
thr_status thr_index_build_dir_hits_path(const thr_build_dir *dir, char **path, thr_error *err);

/* Write the manifest, and then delete all segments, models and posting lists that it does not name. */
thr_status thr_index_build_dir_publish(thr_build_dir *dir, const thr_manifest *manifest, thr_error *err);

/* Unlock. Unless the build was published, delete its files, and the directory if it was made for it. */
void thr_index_build_dir_close(thr_build_dir *dir);

#endif
