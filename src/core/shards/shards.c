/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - opening a collection and its shards, and writing a list. */
#include "shards/impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/files/out.h"
#include "index/impl.h"

static const char LIST[] = "shards.json";

/* A collection without a list. */
static thr_status make(thr_context *context, const char *dir, thr_shards **shards, thr_error *err) {
    thr_shards *made = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a collection", err));
    made->context = thr_context_retain(context);
    (void)pthread_mutex_init(&made->mutex, NULL);
    thr_status status = thr_path_append(context, dir, "", &made->dir, err);
    if (status == THR_OK)
        status = thr_path_join(context, dir, LIST, &made->path, err);
    THR_RETURN_MADE(status, made, shards, thr_shards_free);
}

static thr_status parse(thr_shards *shards, const char *text, size_t size, thr_error *err) {
    THR_TRY(thr_shards_list_parse(shards, text, size, err));
    return thr_alloc_zero(shards->context, (size_t)shards->info.n_shards, sizeof(thr_index *), &shards->indexes,
                          "indexes of shards", err);
}

static thr_status read_list(thr_shards *shards, thr_error *err) {
    thr_map map = {.data = NULL};
    thr_status status = thr_map_open(shards->path, &map, err);
    if (status == THR_ENOTFOUND) {
        if (access(shards->dir, F_OK) != 0)
            return thr_fail(err, THR_ENOTFOUND, "%s: there is no such directory", shards->dir);
        return thr_fail(err, THR_EFORMAT,
                        "%s: is no collection of shards, there is no %s in it (an interrupted build leaves none)",
                        shards->dir, LIST);
    }
    THR_TRY(status);
    thr_map_guard(&map);
    status = thr_map_check_after(&map, shards->path, parse(shards, (const char *)map.data, (size_t)map.size, err), err);
    thr_map_close(&map);
    return status;
}

thr_status thr_shards_open(thr_context *context, const char *dir, thr_shards **shards, thr_error *err) {
    thr_shards *made = NULL;
    if (context == NULL || shards == NULL)
        return thr_fail(err, THR_EINVAL, "opening a collection needs a context and a pointer for the result");
    *shards = NULL;
    THR_TRY(thr_check_path(dir, "the directory of the collection", err));
    THR_TRY(make(context, dir, &made, err));
    const thr_status status = read_list(made, err);
    THR_RETURN_MADE(status, made, shards, thr_shards_free);
}

thr_status thr_shards_parse(thr_context *context, const char *dir, const char *text, size_t size, thr_shards **shards,
                            thr_error *err) {
    thr_shards *made = NULL;
    if (context == NULL || shards == NULL || (text == NULL && size > 0))
        return thr_fail(err, THR_EINVAL, "a list of shards needs a context, its text and a pointer for the result");
    *shards = NULL;
    THR_TRY(thr_check_path(dir, "the directory of the collection", err));
    THR_TRY(make(context, dir, &made, err));
    const thr_status status = parse(made, text, size, err);
    THR_RETURN_MADE(status, made, shards, thr_shards_free);
}

void thr_shards_free(thr_shards *shards) {
    if (shards == NULL)
        return;
    thr_context *context = shards->context;
    for (uint64_t i = 0; shards->indexes != NULL && i < shards->info.n_shards; i++)
        thr_index_free(shards->indexes[i]);
    (void)pthread_mutex_destroy(&shards->mutex);
    THR_RELEASE(context, shards->dir, shards->path, shards->list, shards->indexes, shards);
    thr_context_free(context);
}

thr_shards_info thr_shards_get_info(const thr_shards *shards) {
    return shards->info;
}

const thr_shard *thr_shards_list(const thr_shards *shards) {
    return shards->list;
}

/* ------------------------------------------------------------------------------------------------ one shard */

/* The last line of a MANIFEST, which was checked, is "checksum ", 16 digits and a line end. */
static uint64_t manifest_checksum(const thr_index *index) {
    enum { DIGITS = 16 };
    uint64_t value = 0;
    const thr_map *map = &index->root->manifest_map;
    if (map->data == NULL || map->size <= DIGITS)
        return 0;
    const uint8_t *digits = map->data + map->size - DIGITS - 1;
    for (size_t i = 0; i < DIGITS; i++)
        value = value << 4 | (uint64_t)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    return value;
}

/* Whether another shard has the place of shard i in the directory's list now. */
static bool is_replaced(const thr_shards *shards, uint64_t i) {
    thr_shards *now = NULL;
    (void)thr_shards_open(shards->context, shards->dir, &now, NULL);
    const bool other =
        now != NULL && (i >= now->info.n_shards || strcmp(now->list[i].directory, shards->list[i].directory) != 0);
    thr_shards_free(now);
    return other;
}

/* A number that all shards have in common, or the name of one. */
typedef struct property {
    const char *key;
    uint64_t has, wanted;
    const char *has_name, *wanted_name; /* NULL: the numbers are shown */
} property;

static thr_status check_property(const thr_index *index, uint64_t i, const property *p, thr_error *err) {
    char has[24], wanted[24];
    if (p->has == p->wanted)
        return THR_OK;
    (void)snprintf(has, sizeof has, "%llu", (unsigned long long)p->has);
    (void)snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)p->wanted);
    return thr_fail(
        err, THR_EMISMATCH,
        "%s: shard %llu has %s %s, and the collection has %s: it is another collection's: " THR_SHARDS_REMEDY,
        index->dir, (unsigned long long)i, p->key, p->has_name != NULL ? p->has_name : has,
        p->wanted_name != NULL ? p->wanted_name : wanted);
}

static thr_status check_index(const thr_shards *shards, uint64_t i, const thr_index *index, thr_error *err) {
    const thr_shards_info *s = &shards->info;
    const thr_index_info info = thr_index_get_info(index);
    const property properties[] = {
        {"metric", info.metric, s->metric, thr_metric_name(info.metric), thr_metric_name(s->metric)},
        {"n_dims", info.n_dims, s->n_dims, NULL, NULL},
        {"bits", info.item_bits, s->item_bits, NULL, NULL},
        {"lead_bits", info.lead_bits, s->lead_bits, NULL, NULL},
        {"keep", info.keep, s->keep, thr_dtype_name(info.keep), thr_dtype_name(s->keep)},
        {"quantiser", thr_index_quantiser_fingerprint(index), s->quantiser, NULL, NULL},
        {"model", index->manifest.model.fingerprint, s->model, NULL, NULL},
    };
    for (size_t p = 0; p < sizeof properties / sizeof properties[0]; p++)
        THR_TRY(check_property(index, i, &properties[p], err));
    if (manifest_checksum(index) != shards->list[i].checksum || info.n_items != shards->list[i].n_items)
        return thr_fail(err, THR_ECORRUPT,
                        "%s: shard %llu was changed or replaced since the collection was published: " THR_SHARDS_REMEDY,
                        index->dir, (unsigned long long)i);
    return THR_OK;
}

static bool is_missing(const char *dir) {
    struct stat st;
    return stat(dir, &st) != 0 ? errno == ENOENT || errno == ENOTDIR || errno == ELOOP : !S_ISDIR(st.st_mode);
}

static thr_status open_index(const thr_shards *shards, uint64_t i, thr_index **index, thr_error *err) {
    thr_error why = {.status = THR_OK};
    char *dir = NULL;
    *index = NULL;
    THR_TRY(thr_path_join(shards->context, shards->dir, shards->list[i].directory, &dir, err));
    thr_status status = thr_index_open(shards->context, dir, index, &why);
    if (status != THR_OK && is_missing(dir))
        status = thr_fail(&why, THR_ECORRUPT, "%s: shard %llu of the collection is missing: " THR_SHARDS_REMEDY, dir,
                          (unsigned long long)i);
    if (status == THR_OK)
        status = check_index(shards, i, *index, &why);
    if (status != THR_OK && status != THR_ENOMEM && is_replaced(shards, i))
        status = thr_fail(&why, THR_ECHANGED, "%s: the collection was changed meanwhile: open it again", shards->dir);
    if (status != THR_OK) {
        thr_index_free(*index);
        *index = NULL;
    }
    thr_release(shards->context, dir);
    return thr_pass_on(status, &why, err);
}

thr_status thr_shards_index(thr_shards *shards, uint64_t i, thr_index **index, thr_error *err) {
    thr_status status = THR_OK;
    if (shards == NULL || index == NULL || i >= shards->info.n_shards)
        return thr_fail(err, THR_EINVAL, "there is no shard %llu", (unsigned long long)i);
    (void)pthread_mutex_lock(&shards->mutex);
    if (shards->indexes[i] == NULL)
        status = open_index(shards, i, &shards->indexes[i], err);
    *index = shards->indexes[i];
    (void)pthread_mutex_unlock(&shards->mutex);
    return status;
}

/* ------------------------------------------------------------------------------------------------ write */

/* Take a copy of what the caller gives, print it, and read the text as thr_shards_open does. */
static thr_status print(thr_shards *shards, const thr_shards_info *info, const thr_shard *list, uint64_t n, char **text,
                        size_t *size, thr_error *err) {
    thr_shards *again = NULL;
    for (uint64_t i = 0; i < n; i++)
        if (memchr(list[i].directory, '\0', sizeof list[i].directory) == NULL)
            return thr_fail(err, THR_EINVAL, "%s: the directory of shard %llu has no end", shards->path,
                            (unsigned long long)i);
    THR_TRY(thr_grow(shards->context, &shards->list, &shards->capacity, (size_t)n, sizeof *list, "a list", err));
    memcpy(shards->list, list, (size_t)n * sizeof *list);
    shards->info = *info;
    shards->info.n_shards = n;
    THR_TRY(thr_shards_list_print(shards, text, size, err));
    const thr_status status = thr_shards_parse(shards->context, shards->dir, *text, *size, &again, err);
    thr_shards_free(again);
    return status;
}

/* The names of shards are on disk before the list that has them. */
static thr_status publish(const thr_shards *shards, const char *text, size_t size, thr_error *err) {
    thr_out file = {.context = NULL};
    thr_status status = thr_dir_sync(shards->dir, err);
    if (status == THR_OK)
        status = thr_out_open(shards->context, shards->path, &file, err);
    if (status == THR_OK)
        status = thr_out_write(&file, text, size, err);
    if (status == THR_OK)
        status = thr_out_publish(&file, err);
    thr_out_drop(&file);
    return status;
}

thr_status thr_shards_write(thr_context *context, const char *dir, const thr_shards_info *info, const thr_shard *list,
                            uint64_t n, thr_error *err) {
    thr_shards *shards = NULL;
    char *text = NULL;
    size_t size = 0;
    if (context == NULL || info == NULL || list == NULL || n == 0)
        return thr_fail(err, THR_EINVAL, "a list of shards needs a context, what they have in common, and a shard");
    THR_TRY(thr_check_path(dir, "the directory of the collection", err));
    THR_TRY(make(context, dir, &shards, err));
    thr_status status = print(shards, info, list, n, &text, &size, err);
    if (status == THR_OK)
        status = publish(shards, text, size, err);
    thr_release(context, text);
    shards->info.n_shards = 0; /* no indexes */
    thr_shards_free(shards);
    return status;
}
