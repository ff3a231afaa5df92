/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directory.h - the directory of a build: locks it, publishes the manifest, and deletes files that are not needed.
 *
 * Invariant: until thr_index_build_dir_publish has renamed the new MANIFEST into place, no file that the old one names
 * is changed.
 */
#pragma once

#include "index/manifest.h"

typedef struct thr_build_dir {
    thr_context *context;
    const char *path;
    int fd;                 /* holds the lock; -1 when closed */
    long owner;             /* the process that took the lock; 0: a share of another's */
    bool made;              /* by this build */
    bool committed;         /* the new MANIFEST is in place */
    uint32_t build;         /* part of the names of this build's files */
    bool has_running_merge; /* publish keeps the files of build `merge_build`, a running merge */
    uint32_t merge_build;
} thr_build_dir;

/*
 * Create the directory if needed, lock it against other builds, and check that an index may be built in it.
 *
 * THR_EEXIST if it holds an index and replace is false, or if it holds anything else; THR_EBUSY if another build or
 * change is running there; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_build_dir_open(thr_context *context, const char *path, bool replace, thr_build_dir *dir,
                                    thr_error *err);

/*
 * Lock the existing directory of an index, to change the index: every change is a build that keeps most files.
 * THR_EBUSY if another build or change is running there; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_build_dir_change(thr_context *context, const char *path, thr_build_dir *dir, thr_error *err);

/*
 * The same for a caller that holds the lock already by another thr_build_dir, which must outlive this one. THR_EIO;
 * THR_ENOMEM; and as thr_index_build_dir_check.
 */
thr_status thr_index_build_dir_share(const thr_build_dir *held, thr_build_dir *dir, thr_error *err);

/* THR_ECHANGED if the directory was moved or deleted, so that its path names another directory or none. */
thr_status thr_index_build_dir_check(const thr_build_dir *dir, thr_error *err);

/* The path of this build's segment `number`. The caller releases it, as the one below. */
thr_status thr_index_build_dir_segment_path(const thr_build_dir *dir, uint32_t number, char **path, thr_error *err);

/* The path of this build's file of another kind. */
thr_status thr_index_build_dir_file_path(const thr_build_dir *dir, thr_index_file file, char **path, thr_error *err);

/*
 * Flush the names of the build's files, write and publish the manifest, then delete all files of builds that it does
 * not name, but those of merge_build. As thr_index_build_dir_check; THR_ECHANGED also if a file that it names is not
 * there; THR_EIO; THR_ENOSPACE; THR_ENOMEM.
 */
thr_status thr_index_build_dir_publish(thr_build_dir *dir, const thr_manifest *manifest, thr_error *err);

/* Unlock the directory. Unless the build was published, delete its files, and the directory if the build created it. */
void thr_index_build_dir_close(thr_build_dir *dir);
