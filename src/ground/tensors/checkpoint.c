/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - opening the files of a model: one, or all that an index lists. */
#include "tensors/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/ends_with.h"
#include "base/error.h"
#include "base/files/file.h"

typedef struct checkpoint_file {
    char *path;
    thr_tensors *tensors; /* NULL: it cannot be opened */
} checkpoint_file;

struct thr_checkpoint {
    thr_context *context;
    char *dir;             /* NULL: the working directory */
    thr_shard_index index; /* no entries without an index */
    checkpoint_file *files;
    size_t n_files, files_capacity;
    thr_checkpoint_entry *entries;
    size_t n_entries, entries_capacity;
};

static const char ENDING[] = ".safetensors", INDEX[] = ".safetensors.index.", JSON[] = ".json";

/* "model.safetensors.index.json", also with a variant: "model.safetensors.index.fp16.json". */
static bool is_index(const char *name) {
    return thr_ends_with(name, JSON) && strstr(name, INDEX) != NULL;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ------------------------------------------------------------------------------------------------ which file */

enum { NAME_BYTES = 256 };

/* Count the names of a directory that pass, and copy the least one. */
static size_t find_name(const char *dir, bool (*passes)(const char *name), char found[NAME_BYTES]) {
    DIR *names = opendir(dir);
    size_t n = 0;
    for (struct dirent *entry; names != NULL && (entry = readdir(names)) != NULL;) {
        if (entry->d_name[0] == '.' || !passes(entry->d_name) || strlen(entry->d_name) >= NAME_BYTES)
            continue;
        if (n++ == 0 || strcmp(entry->d_name, found) < 0)
            (void)snprintf(found, NAME_BYTES, "%s", entry->d_name);
    }
    if (names != NULL)
        (void)closedir(names);
    return n;
}

static bool is_tensors(const char *name) {
    return thr_ends_with(name, ENDING);
}

bool thr_tensors_checkpoint_is(const char *path) {
    char name[NAME_BYTES];
    return is_directory(path) ? find_name(path, is_index, name) + find_name(path, is_tensors, name) > 0
                              : is_tensors(path) || is_index(path);
}

/* The file of a directory: its index, or its only file. */
static thr_status choose_file(const char *dir, char name[NAME_BYTES], thr_error *err) {
    size_t n = find_name(dir, is_index, name);
    const char *what = "indexes of shards";
    if (n == 0) {
        n = find_name(dir, is_tensors, name);
        what = ".safetensors files without an index";
    }
    if (n == 0)
        return thr_fail(err, THR_ENOTFOUND, "%s: has no .safetensors file: name the file of the model", dir);
    return n == 1 ? THR_OK
                  : thr_fail(err, THR_EINVAL, "%s: has %zu %s, such as %s: name one of them", dir, n, what, name);
}

/* ------------------------------------------------------------------------------------------------ indexes */

static thr_status join(const thr_checkpoint *c, const char *name, char **path, thr_error *err) {
    return c->dir != NULL ? thr_path_join(c->context, c->dir, name, path, err)
                          : thr_path_append(c->context, name, "", path, err);
}

static thr_status read_index(thr_checkpoint *c, const char *name, thr_shard_index *index, thr_error *err) {
    thr_map map = {.data = NULL};
    char *path = NULL;
    thr_status status = join(c, name, &path, err);
    if (status == THR_OK)
        status = thr_map_open(path, &map, err);
    if (status == THR_OK)
        status = thr_tensors_index_read(c->context, path, map.data, (size_t)map.size, index, err);
    thr_map_close(&map);
    thr_release(c->context, path);
    return status;
}

static bool lists_file(const thr_shard_index *index, const char *file) {
    for (size_t i = 0; i < index->n; i++)
        if (strcmp(index->entries[i].file, file) == 0)
            return true;
    return false;
}

/* Find the index beside a file that lists it, and keep it. */
static thr_status find_index(thr_checkpoint *c, const char *file, thr_error *err) {
    thr_status status = THR_OK;
    DIR *names = opendir(c->dir != NULL ? c->dir : ".");
    for (struct dirent *entry; status == THR_OK && names != NULL && (entry = readdir(names)) != NULL;) {
        thr_shard_index index = {.strings = NULL};
        if (!is_index(entry->d_name) || entry->d_name[0] == '.')
            continue;
        status = read_index(c, entry->d_name, &index, err);
        if (status != THR_OK || !lists_file(&index, file)) {
            thr_tensors_index_free(c->context, &index);
        } else if (c->index.n > 0) {
            status = thr_fail(err, THR_EINVAL, "%s: several indexes beside it list it: name the index to read", file);
            thr_tensors_index_free(c->context, &index);
        } else {
            c->index = index;
        }
    }
    if (names != NULL)
        (void)closedir(names);
    return status;
}

/* ------------------------------------------------------------------------------------------------ files and entries */

static thr_status add_file(thr_checkpoint *c, const char *name, thr_error *err) {
    checkpoint_file file = {.path = NULL};
    THR_TRY(
        thr_grow(c->context, &c->files, &c->files_capacity, c->n_files + 1, sizeof *c->files, "files of a model", err));
    THR_TRY(join(c, name, &file.path, err));
    c->files[c->n_files++] = file;
    return THR_OK;
}

static thr_status add_entry(thr_checkpoint *c, const char *name, const char *path, const thr_tensor *tensor,
                            thr_error *err) {
    THR_TRY(
        thr_grow(c->context, &c->entries, &c->entries_capacity, c->n_entries + 1, sizeof *c->entries, "tensors", err));
    c->entries[c->n_entries++] = (thr_checkpoint_entry){name, path, tensor};
    return THR_OK;
}

static thr_status add_tensors(thr_checkpoint *c, const checkpoint_file *file, thr_error *err) {
    for (size_t i = 0; file->tensors != NULL && i < thr_tensors_count(file->tensors); i++) {
        const thr_tensor *tensor = thr_tensors_at(file->tensors, i);
        THR_TRY(add_entry(c, tensor->name, file->path, tensor, err));
    }
    return THR_OK;
}

static size_t file_of(const thr_checkpoint *c, const char *name) {
    size_t i = 0;
    while (i < c->n_files && strcmp(base_name(c->files[i].path), name) != 0)
        i++;
    return i;
}

static bool has_tensor(const checkpoint_file *file, const char *name) {
    return file->tensors != NULL && thr_tensors_find(file->tensors, name) != NULL;
}

static bool is_in_a_file(const thr_checkpoint *c, const char *name) {
    for (size_t i = 0; i < c->n_files; i++)
        if (has_tensor(&c->files[i], name))
            return true;
    return false;
}

/* Open all files of the index. A tensor counts where it is, whatever the index lists. */
static thr_status open_shards(thr_checkpoint *c, thr_error *err) {
    thr_error why;
    for (size_t i = 0; i < c->index.n; i++)
        if (file_of(c, c->index.entries[i].file) == c->n_files)
            THR_TRY(add_file(c, c->index.entries[i].file, err));
    for (size_t i = 0; i < c->n_files; i++) {
        const thr_status status = thr_tensors_open(c->context, c->files[i].path, &c->files[i].tensors, &why);
        if (status == THR_ENOMEM)
            return thr_pass_on(status, &why, err);
        THR_TRY(add_tensors(c, &c->files[i], err));
    }
    for (size_t i = 0; i < c->index.n; i++) {
        const thr_shard_entry *entry = &c->index.entries[i];
        const checkpoint_file *file = &c->files[file_of(c, entry->file)];
        if (!has_tensor(file, entry->name) && !is_in_a_file(c, entry->name))
            THR_TRY(add_entry(c, entry->name, file->path, NULL, err));
    }
    return THR_OK;
}

static thr_status open_files(thr_checkpoint *c, const char *name, thr_error *err) {
    THR_TRY(is_index(name) ? read_index(c, name, &c->index, err) : find_index(c, name, err));
    if (c->index.n > 0)
        return open_shards(c, err);
    THR_TRY(add_file(c, name, err));
    THR_TRY(thr_tensors_open(c->context, c->files[0].path, &c->files[0].tensors, err));
    return add_tensors(c, &c->files[0], err);
}

thr_status thr_tensors_checkpoint_open(thr_context *context, const char *path, thr_checkpoint **checkpoint,
                                       thr_error *err) {
    char name[NAME_BYTES];
    thr_checkpoint *made = NULL;
    thr_status status = THR_OK;
    *checkpoint = NULL;
    THR_TRY(thr_check_path(path, "the model to open", err));
    const char *base = base_name(path);
    if (strlen(base) >= NAME_BYTES)
        return thr_fail_errno(err, ENAMETOOLONG, "open", path);
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a model", err));
    made->context = context;
    if (is_directory(path)) {
        status = thr_path_append(context, path, "", &made->dir, err);
        if (status == THR_OK)
            status = choose_file(path, name, err);
    } else {
        (void)snprintf(name, sizeof name, "%s", base);
        if (base != path)
            status = thr_path_append(context, path, "", &made->dir, err);
        if (made->dir != NULL)
            made->dir[base - path - (base - path > 1)] = '\0'; /* "/model" is in "/" */
    }
    if (status == THR_OK)
        status = open_files(made, name, err);
    THR_RETURN_MADE(status, made, checkpoint, thr_tensors_checkpoint_free);
}

void thr_tensors_checkpoint_free(thr_checkpoint *checkpoint) {
    if (checkpoint == NULL)
        return;
    for (size_t i = 0; i < checkpoint->n_files; i++) {
        thr_tensors_free(checkpoint->files[i].tensors);
        thr_release(checkpoint->context, checkpoint->files[i].path);
    }
    thr_tensors_index_free(checkpoint->context, &checkpoint->index);
    THR_RELEASE(checkpoint->context, checkpoint->dir, checkpoint->files, checkpoint->entries, checkpoint);
}

/* ------------------------------------------------------------------------------------------------ access */

size_t thr_tensors_checkpoint_count(const thr_checkpoint *checkpoint) {
    return checkpoint->n_entries;
}

const thr_checkpoint_entry *thr_tensors_checkpoint_at(const thr_checkpoint *checkpoint, size_t i) {
    return &checkpoint->entries[i];
}

thr_status thr_tensors_checkpoint_fail(const thr_checkpoint *checkpoint, size_t i, thr_error *err) {
    const thr_checkpoint_entry *entry = &checkpoint->entries[i];
    thr_tensors *again = NULL;
    THR_TRY(thr_tensors_open(checkpoint->context, entry->path, &again, err));
    thr_tensors_free(again);
    return thr_fail(err, THR_EFORMAT, "%s: has no tensor %.200s, though the index lists it there: fetch both again",
                    entry->path, entry->name);
}

/* "model-00001-of-00002.safetensors" */
static bool is_numbered_part(const char *name) {
    const char *of = strstr(name, "-of-");
    return of != NULL && of > name && of[-1] >= '0' && of[-1] <= '9' && of[4] >= '0' && of[4] <= '9';
}

thr_status thr_tensors_checkpoint_tying(const thr_checkpoint *checkpoint, thr_tying *tying, thr_error *err) {
    char *path = NULL;
    thr_map map = {.data = NULL};
    *tying = checkpoint->index.n > 0 ? THR_TYING_WHOLE : THR_TYING_UNKNOWN;
    THR_TRY(join(checkpoint, "config.json", &path, err));
    thr_status status = thr_map_open(path, &map, err);
    if (status == THR_OK)
        status = thr_tensors_config_read(path, map.data, (size_t)map.size, tying, err);
    else if (status == THR_ENOTFOUND)
        status = THR_OK;
    if (*tying == THR_TYING_WHOLE && checkpoint->index.n == 0 && is_numbered_part(base_name(checkpoint->files[0].path)))
        *tying = THR_TYING_UNKNOWN;
    thr_map_close(&map);
    thr_release(checkpoint->context, path);
    return status;
}
