/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.h - collections: directories of ordinary indexes, their shards, that are searched as one index.
 *
 * DIR/shards.json lists the shards in the order of their rows, with a checksum (docs/format.md). Its rename
 * is the commit of a build or a change. All shards have one quantiser, so an item has the same code and score in any of
 * them. Rows are counted over all shards; ties are in order of rows. Where no ids were given, an item's id is its row;
 * else the shards hold the ids.
 *
 * An open collection is a snapshot of the list. A shard is opened when it is first needed, and stays open.
 *
 * Threads: many threads may search an open collection at once.
 */
#ifndef THRESHER_SHARDS_H
#define THRESHER_SHARDS_H

#include <thresher/index.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { THR_SHARD_NAME_SIZE = 64 };

/* A shard: the rows first_row to first_row + n_items - 1 of the collection. */
typedef struct thr_shard {
    char directory[THR_SHARD_NAME_SIZE]; /* inside the collection's: no '/', no '.' in front, printable ASCII */
    uint64_t first_row, n_items;
    uint64_t least_id, greatest_id; /* of its items, as ids of the collection */
    uint64_t checksum;              /* the last word of its MANIFEST */
} thr_shard;

/* What all shards have in common, and totals. */
typedef struct thr_shards_info {
    thr_metric metric;
    thr_dtype keep; /* type of the stored vectors: NONE, F32, F16 or I8 */
    uint32_t n_dims, item_bits, lead_bits;
    uint64_t quantiser; /* thr_index_quantiser_fingerprint */
    uint64_t model;     /* fingerprint of their model; 0: none */
    uint64_t n_items, n_shards;
    uint32_t cells;   /* cells that the collection was built with, scaled to its items; 0: none; or THR_CELLS_AUTO */
    uint64_t n_cells; /* of all shards */
    bool has_ids;     /* ids were given */
    bool has_names;
    bool has_removed; /* items were removed, so rows are not the places of the build */
} thr_shards_info;

typedef struct thr_shards thr_shards;

/*
 * Open the collection in directory dir: read and check its list. No shard is opened.
 *
 * Returns THR_OK; THR_ENOTFOUND if there is no such directory; THR_EFORMAT if it is no collection, or for a list that
 * is not as thr_shards_write writes it (err names the key and the byte); THR_EVERSION for another format version;
 * THR_ECORRUPT if the checksum does not fit, or shards overlap, leave a gap or occur twice; THR_EIO; THR_ENOMEM. The
 * caller frees *shards.
 */
THR_API thr_status thr_shards_open(thr_context *context, const char *dir, thr_shards **shards, thr_error *err);

/* The same for the size bytes of a list in memory, such as one that was fetched. dir is where its shards are. */
THR_API thr_status thr_shards_parse(thr_context *context, const char *dir, const char *text, size_t size,
                                    thr_shards **shards, thr_error *err);

/* Close, with all its shards; NULL is allowed. No search may be running. */
THR_API void thr_shards_free(thr_shards *shards);

/* Costs nothing; shards is not NULL. */
THR_API thr_shards_info thr_shards_get_info(const thr_shards *shards);

/* The n_shards shards, in the order of rows. Lives as long as the collection. */
THR_API const thr_shard *thr_shards_list(const thr_shards *shards);

/*
 * The index of shard i, opened if it is not yet, and checked: it is the one that the list names. The collection owns
 * it: do not free it, nor use it after the collection.
 *
 * Returns THR_OK; THR_EINVAL; THR_ECHANGED if the collection in the directory has another shard there now: open it
 * again; THR_EMISMATCH for a shard of another collection; THR_ECORRUPT for one that is missing, or was changed or
 * replaced by itself; and what thr_index_open returns.
 */
THR_API thr_status thr_shards_index(thr_shards *shards, uint64_t i, thr_index **index, thr_error *err);

/* ------------------------------------------------------------------------------------------------ search */

/* Set features and target of the options for shard i's posting lists. Both must stay valid until it is searched. */
typedef void (*thr_shard_features_fn)(void *user, uint64_t i, thr_search_options *options);

/* Zeros are the defaults. */
typedef struct thr_shards_search_options {
    /*
     * As of one index over all rows. filter has a bit for each row of the collection, and filter_bits is n_items.
     * n_candidates and n_survivors are those of each shard. n_unknown and n_read are NULL.
     */
    thr_search_options common;
    thr_shard_features_fn features; /* NULL: none; common.features and common.target are NULL in any case */
    void *user;                     /* passed to it */
} thr_shards_search_options;

/*
 * Find the best k items of every query in all shards, as thr_index_search in one index over all rows: the same bits if
 * the search is exact or certified, or reads codes only; a promised recall holds for the whole. Each shard is searched
 * once, with the k-th best score of those before it as a bound. An answer is certified if each shard's is; never with
 * vectors kept as float16 or int8. scores is required. Each call allocates memory for the answers of one shard.
 *
 * Returns as thr_index_search and thr_shards_index.
 */
THR_API thr_status thr_shards_search(thr_shards *shards, const thr_matrix *queries, uint64_t k,
                                     const thr_shards_search_options *options, uint64_t *ids, float *scores,
                                     thr_error *err);

/*
 * Find all items whose score is at least least_score, as thr_index_search_radius. The caller frees *result by
 * thr_radius_result_free; it may outlive the collection. Returns as that and thr_shards_index.
 */
THR_API thr_status thr_shards_search_radius(thr_shards *shards, const thr_matrix *queries, float least_score,
                                            const thr_search_options *options, thr_radius_result **result,
                                            thr_error *err);

/* ------------------------------------------------------------------------------------------------ change */

/*
 * Read every byte of all shards, one after the other (thr_index_verify), and compare them with the list: ids, names,
 * and cells. Does not check that no id is in two shards. Returns as thr_index_verify and thr_shards_index.
 */
THR_API thr_status thr_shards_verify(thr_shards *shards, thr_error *err);

/*
 * Replace DIR/shards.json by a list of these n shards; of info, n_shards is n. The shards' directories are there
 * already: they are not opened. The list is on disk when this returns.
 *
 * Returns as thr_shards_open for a list that it would refuse; THR_EINVAL for NULL or no shards; THR_ENOTFOUND;
 * THR_ENOSPACE; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_shards_write(thr_context *context, const char *dir, const thr_shards_info *info,
                                    const thr_shard *list, uint64_t n, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
