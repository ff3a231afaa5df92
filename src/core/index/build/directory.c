/* SPDX-License-Identifier: Apache-2.0 */
/* directory.c - locks, publishes and cleans up the directory of a build. */
#define _DEFAULT_SOURCE /* flock */
#include "index/build/directory.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/files/out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MANIFEST[] = "MANIFEST";

/* The parts of a file name. */
typedef struct own_name {
    enum { SEGMENT, FILE_OF_BUILD, LIST /* MANIFEST under construction, of no build */ } kind;
    thr_index_file file; /* of FILE_OF_BUILD */
    bool temporary;      /* under construction */
    uint32_t number;     /* of a segment */
    uint32_t build;
} own_name;

/* Whether a file name is that of a build. */
static bool is_ours(const char *name, own_name *own) {
    const char *end;
    char target[256];
    size_t length;
    const bool temporary = thr_out_is_temporary(name, &length) && length < sizeof target;
    if (temporary) {
        memcpy(target, name + 1, length);
        target[length] = '\0';
        name = target;
    }
    own->build = 0;
    if (thr_index_file_name_parse(name, &own->file, &own->build, &end)) {
        own->kind = FILE_OF_BUILD;
    } else if (thr_index_segment_name_parse(name, &own->number, &own->build, &end)) {
        own->kind = SEGMENT;
    } else if (strncmp(name, MANIFEST, sizeof MANIFEST - 1) == 0) {
        own->kind = LIST;
        end = name + sizeof MANIFEST - 1;
    } else {
        return false;
    }
    own->temporary = temporary;
    return *end == '\0' && (own->kind != LIST || temporary);
}

/* Call visit for every name but . and .. until it returns false. */
typedef bool (*visit_fn)(void *arg, int dir_fd, const char *name);

static thr_status visit_all(const thr_build_dir *dir, visit_fn visit, void *arg, thr_error *err) {
    DIR *stream = opendir(dir->path);
    if (stream == NULL)
        return thr_fail_errno(err, errno, "open the directory", dir->path);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (entry == NULL)
            break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !visit(arg, dir->fd, entry->d_name)) {
            errno = 0;
            break;
        }
    }
    int why = errno;
    (void)closedir(stream);
    return why == 0 ? THR_OK : thr_fail_errno(err, why, "read the directory", dir->path);
}

/* ------------------------------------------------------------------------------------------------ open */

typedef struct survey {
    bool has_manifest;
    bool taken; /* a file of another build has our build number */
    uint32_t build;
    char foreign[256]; /* the first name that no build makes */
} survey;

static bool look(void *arg, int dir_fd, const char *name) {
    survey *found = arg;
    own_name own;
    (void)dir_fd;
    if (strcmp(name, MANIFEST) == 0) {
        found->has_manifest = true;
    } else if (is_ours(name, &own)) {
        found->taken = found->taken || own.build == found->build;
    } else if (found->foreign[0] == '\0') {
        size_t length = strlen(name);
        if (length >= sizeof found->foreign)
            length = sizeof found->foreign - 1;
        memcpy(found->foreign, name, length);
    }
    return true;
}

static thr_status check_old_index(thr_build_dir *dir, bool replace, thr_error *err) {
    thr_manifest old = {0};
    char *path = NULL;
    thr_status status = THR_OK;
    thr_error why = {0};
    THR_TRY(thr_path_join(dir->context, dir->path, MANIFEST, &path, err));
    thr_status found = thr_index_manifest_read(dir->context, path, &old, NULL, NULL, &why);
    if (found == THR_OK && !replace && old.journal.there)
        status = thr_fail(err, THR_EEXIST, "%s: holds an index: replace it, or choose another directory", dir->path);
    else if (found == THR_OK && !replace)
        status = thr_fail(err, THR_EEXIST,
                          "%s: holds an index of %" PRIu64 " items: replace it, or choose another directory", dir->path,
                          old.n_items);
    else if (found == THR_EVERSION && !replace)
        status = thr_fail(err, THR_EEXIST,
                          "%s: holds an index of another format version: replace it, or choose another directory",
                          dir->path);
    else if (found == THR_ECORRUPT && !replace)
        status =
            thr_fail(err, THR_EEXIST, "%s: holds a damaged index: replace it, or choose another directory", dir->path);
    else if (found == THR_EFORMAT)
        status = thr_fail(err, THR_EEXIST,
                          "%s: holds a MANIFEST that is not of a Thresher index: choose an empty or new directory",
                          dir->path);
    else if (found != THR_OK && found != THR_ECORRUPT && found != THR_EVERSION)
        status = thr_fail(err, found, "%s", why.text);
    thr_index_manifest_free(dir->context, &old);
    thr_release(dir->context, path);
    return status;
}

static thr_status lock(thr_build_dir *dir, thr_error *err) {
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd < 0)
        return thr_fail_errno(err, errno, "open the directory", dir->path);
    /* On a file system without locks the build goes on without one. */
    if (flock(dir->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        dir->made = false; /* another build holds it: it must not be removed */
        return thr_fail(err, THR_EBUSY, "%s: another writer is at work in this directory: wait until it has ended",
                        dir->path);
    }
    dir->owner = getpid();
    return THR_OK;
}

/* List the directory, and choose the build's number. */
static thr_status look_around(thr_build_dir *dir, survey *found, thr_error *err) {
    do {
        memset(found, 0, sizeof *found);
        found->build = (uint32_t)thr_checksum_unique(); /* the first try almost always succeeds */
        THR_TRY(visit_all(dir, look, found, err));
    } while (found->taken);
    dir->build = found->build;
    return THR_OK;
}

static thr_status lock_and_look(thr_build_dir *dir, survey *found, thr_error *err) {
    THR_TRY(lock(dir, err));
    return look_around(dir, found, err);
}

static thr_status open_locked(thr_build_dir *dir, bool replace, thr_error *err) {
    survey found;
    THR_TRY(lock_and_look(dir, &found, err));
    if (found.has_manifest)
        return check_old_index(dir, replace, err);
    if (found.foreign[0] != '\0')
        return thr_fail(err, THR_EEXIST,
                        "%s: is no index and holds other things ('%s'): choose an empty or new directory", dir->path,
                        found.foreign);
    return THR_OK;
}

/* Flush the parent directory, so that a new directory's name survives a crash. */
static thr_status sync_parent(const thr_build_dir *dir, thr_error *err) {
    char *parent = NULL;
    THR_TRY(thr_path_join(dir->context, dir->path, "..", &parent, err));
    thr_status status = thr_dir_sync(parent, err);
    thr_release(dir->context, parent);
    return status;
}

thr_status thr_index_build_dir_open(thr_context *context, const char *path, bool replace, thr_build_dir *dir,
                                    thr_error *err) {
    *dir = (thr_build_dir){.context = context, .path = path, .fd = -1};
    THR_TRY(thr_check_path(path, "the directory of the index", err));
    thr_status status = THR_OK;
    THR_TRY(thr_dir_make(path, &dir->made, err));
    if (dir->made)
        THR_TRY_OUT(sync_parent(dir, err));
    THR_TRY_OUT(open_locked(dir, replace, err));
out:
    if (status != THR_OK)
        thr_index_build_dir_close(dir);
    return status;
}

thr_status thr_index_build_dir_change(thr_context *context, const char *path, thr_build_dir *dir, thr_error *err) {
    survey found;
    *dir = (thr_build_dir){.context = context, .path = path, .fd = -1};
    const thr_status status = lock_and_look(dir, &found, err);
    if (status != THR_OK)
        thr_index_build_dir_close(dir);
    return status;
}

thr_status thr_index_build_dir_check(const thr_build_dir *dir, thr_error *err) {
    struct stat locked, named;
    if (fstat(dir->fd, &locked) != 0)
        return thr_fail_errno(err, errno, "open the directory", dir->path);
    const bool there = stat(dir->path, &named) == 0;
    if (there && named.st_dev == locked.st_dev && named.st_ino == locked.st_ino)
        return THR_OK;
    return thr_fail(err, THR_ECHANGED,
                    "%s: the directory was moved or deleted%s, and nothing was written: open it again", dir->path,
                    there ? ", and another one is in its place" : "");
}

/* A duplicate of the descriptor has the same lock, which lasts until both are closed. */
thr_status thr_index_build_dir_share(const thr_build_dir *held, thr_build_dir *dir, thr_error *err) {
    survey found;
    THR_TRY(thr_index_build_dir_check(held, err));
    *dir = (thr_build_dir){.context = held->context,
                           .path = held->path,
                           .fd = -1,
                           .has_running_merge = held->has_running_merge,
                           .merge_build = held->merge_build};
    dir->fd = fcntl(held->fd, F_DUPFD_CLOEXEC, 0);
    if (dir->fd < 0)
        return thr_fail_errno(err, errno, "open the directory", dir->path);
    const thr_status status = look_around(dir, &found, err);
    if (status != THR_OK)
        thr_index_build_dir_close(dir);
    return status;
}

/* ------------------------------------------------------------------------------------------------ publish */

thr_status thr_index_build_dir_segment_path(const thr_build_dir *dir, uint32_t number, char **path, thr_error *err) {
    char name[THR_SEGMENT_NAME_SIZE];
    thr_index_segment_name_print(number, dir->build, name);
    return thr_path_join(dir->context, dir->path, name, path, err);
}

thr_status thr_index_build_dir_file_path(const thr_build_dir *dir, thr_index_file file, char **path, thr_error *err) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    thr_index_file_name_print(file, dir->build, name);
    return thr_path_join(dir->context, dir->path, name, path, err);
}

typedef struct sweep {
    const thr_manifest *keep; /* NULL: delete all files of this build, and only these */
    const thr_build_dir *dir;
} sweep;

static bool is_listed(const thr_manifest *manifest, const own_name *own) {
    uint32_t low = 0, high = manifest->n_segments;
    const bool there[THR_INDEX_N_FILES] = {manifest->model.there, manifest->hits.there, manifest->added.there,
                                           manifest->live.there, manifest->journal.there};
    const uint32_t builds[THR_INDEX_N_FILES] = {manifest->model.build, manifest->hits.build, manifest->added.build,
                                                manifest->live.build, manifest->journal.build};
    if (own->kind == FILE_OF_BUILD)
        return there[own->file] && builds[own->file] == own->build;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (manifest->segments[middle].number < own->number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < manifest->n_segments && manifest->segments[low].number == own->number &&
           manifest->segments[low].build == own->build;
}

/* Files that cannot be deleted are left to the next build. */
static bool sweep_one(void *arg, int dir_fd, const char *name) {
    const sweep *s = arg;
    own_name own;
    if (!is_ours(name, &own) || (s->dir->has_running_merge && own.kind != LIST && own.build == s->dir->merge_build))
        return true;
    bool doomed =
        s->keep == NULL ? own.kind != LIST && own.build == s->dir->build : own.temporary || !is_listed(s->keep, &own);
    if (doomed)
        (void)unlinkat(dir_fd, name, 0);
    return true;
}

/* Whether the file at path has this text. A failed publish may have failed after the rename. */
static bool holds(const char *path, const char *text, size_t size) {
    thr_map map;
    if (thr_map_open(path, &map, NULL) != THR_OK)
        return false;
    bool same = map.size == size && memcmp(map.data, text, size) == 0;
    thr_map_close(&map);
    return same;
}

/* Check that all files that a commit lists still exist: another program may have deleted them. */
static thr_status check_listed(const thr_build_dir *dir, const thr_manifest *m, thr_error *err) {
    const struct {
        bool there;
        thr_index_file file;
        uint32_t build;
    } others[] = {{m->model.there, THR_INDEX_FILE_MODEL, m->model.build},
                  {m->hits.there, THR_INDEX_FILE_HITS, m->hits.build},
                  {m->added.there, THR_INDEX_FILE_ADDED, m->added.build},
                  {m->live.there, THR_INDEX_FILE_LIVE, m->live.build},
                  {m->journal.there, THR_INDEX_FILE_JOURNAL, m->journal.build}};
    char name[THR_INDEX_FILE_NAME_SIZE];
    for (uint32_t i = 0; i < m->n_segments + sizeof others / sizeof others[0]; i++) {
        if (i < m->n_segments)
            thr_index_segment_name_print(m->segments[i].number, m->segments[i].build, name);
        else if (others[i - m->n_segments].there)
            thr_index_file_name_print(others[i - m->n_segments].file, others[i - m->n_segments].build, name);
        else
            continue;
        if (faccessat(dir->fd, name, F_OK, 0) != 0)
            return thr_fail(err, THR_ECHANGED,
                            "%s: another program has deleted %s meanwhile, and nothing was changed: restore the index, "
                            "or repeat the call",
                            dir->path, name);
    }
    return THR_OK;
}

thr_status thr_index_build_dir_publish(thr_build_dir *dir, const thr_manifest *manifest, thr_error *err) {
    char *path = NULL, *text = NULL;
    size_t size = 0;
    thr_out out = {.context = NULL};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_index_build_dir_check(dir, err));
    THR_TRY_OUT(check_listed(dir, manifest, err));
    THR_TRY_OUT(thr_index_manifest_print(dir->context, manifest, &text, &size, err));
    THR_TRY_OUT(thr_path_join(dir->context, dir->path, MANIFEST, &path, err));
    THR_TRY_OUT(thr_out_open(dir->context, path, &out, err));
    THR_TRY_OUT(thr_out_write(&out, text, size, err));
    THR_TRY_OUT(thr_dir_sync(dir->path, err)); /* the names of the files that the manifest lists */
    status = thr_out_publish(&out, err);
    if (status == THR_OK)
        status = thr_index_build_dir_check(dir, err);
    dir->committed = status == THR_OK || holds(path, text, size);
    if (status == THR_OK) {
        sweep old = {.keep = manifest, .dir = dir};
        (void)visit_all(dir, sweep_one, &old, NULL);
    }
out:
    thr_out_drop(&out);
    THR_RELEASE(dir->context, path, text);
    return status;
}

void thr_index_build_dir_close(thr_build_dir *dir) {
    if (dir->fd >= 0 && !dir->committed) {
        sweep ours = {.keep = NULL, .dir = dir};
        (void)visit_all(dir, sweep_one, &ours, NULL);
    }
    if (dir->made && !dir->committed)
        (void)rmdir(dir->path); /* fails if the directory is not empty, as it should */
    /* Closing releases the lock only if no forked child has the descriptor; in a child it is the parent's. */
    if (dir->fd >= 0 && dir->owner == getpid())
        (void)flock(dir->fd, LOCK_UN);
    if (dir->fd >= 0)
        (void)close(dir->fd);
    *dir = (thr_build_dir){.context = dir->context, .fd = -1};
}
