/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.h - compressed posting lists: score every item by the query's features that it has, return the best.
 *
 * Items have binary features: a category, an advertiser, a tag. A query assigns weights to features. s, the sum of an
 * item, adds the weights of the query's features that the item has (the wide part of HitMatch (9), L w); it is 0 if the
 * item has none of them. Items are ranked by their value: multiplier x s + offset, or multiplier x sigmoid(s) + offset.
 * Ads use the multiplier for bids and the offset for pacing; they are 1 and 0 unless set.
 *
 * Lists are stored in one file, which is built once and mapped. 256 neighbouring items make a container; a feature's
 * items in a container are stored as 16-bit places in a window, as runs or as a bitmap (docs/format.md). Weights are
 * rounded to multiples of a unit, which is at most 2^-29 of the sum of their absolute values, and summed as integers.
 * So a value has the same bits for any numbering of the items, any number of threads and any CPU. Equal values are
 * ordered by the smaller row.
 *
 * A row is an item's number in input order, from 0. Ids equal rows unless the caller gave ids.
 *
 * Between builds, thr_hits_update adds, replaces and removes items. It returns new lists: the file plus the changes,
 * which are in memory. They give the answers of lists that were rebuilt. Rows of the file keep their numbers, rows of
 * removed items stay empty, and added items follow in the order of adding.
 *
 * Threads: open lists are immutable except for their values. Many threads may search them at once, even while another
 * thread sets values or calls thr_hits_update.
 */
#ifndef THRESHER_HITS_H
#define THRESHER_HITS_H

#include <thresher/context.h>
#include <thresher/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_HITS_MAX_ITEMS    UINT64_C(16777216)  /* items in one file */
#define THR_HITS_MAX_FEATURE  UINT32_C(268435455) /* largest feature number */
#define THR_HITS_MAX_FEATURES UINT32_C(1048576)   /* features in one query */

/* ------------------------------------------------------------------------------------------------ build */

/* Item features in CSR form: features[offsets[i]] to features[offsets[i + 1] - 1] are item i's, unordered. A view. */
typedef struct thr_item_features {
    const uint64_t *offsets; /* n_items + 1, from 0 */
    const uint32_t *features;
    uint64_t n_items;
} thr_item_features;

/* How items are numbered inside the lists. Rows and ids do not change. */
typedef enum thr_hits_order {
    THR_HITS_ORDER_FEATURES = 0, /* items with the same frequent features become neighbours: shorter lists, faster
                                    searches where features correlate, as category and advertiser do */
    THR_HITS_ORDER_ROWS = 1      /* input order: faster to build */
} thr_hits_order;

typedef struct thr_hits_build_options {
    thr_hits_order order;
    const uint64_t *ids; /* n_ids distinct ids, one per item, none THR_NO_ID; NULL: ids are rows */
    uint64_t n_ids;
    const float *multipliers, *offsets; /* initial values, n_values each, by row (thr_hits_set_values); or NULL */
    uint64_t n_values;
    bool replace;         /* replace an existing file, at the moment the new one is complete */
    uint64_t *n_repeated; /* NULL, or receives the number of repetitions of a feature in one item, which are ignored */
    uint64_t model;       /* fingerprint of the model that computes queries' weights (thr_dual_info); 0: any */
} thr_hits_build_options;

/*
 * Build the file path from the items' features. options may be NULL for the defaults. Uses all threads; the file does
 * not depend on their number. Memory: 12 bytes per posting (a pair of item and feature), 24 bytes per item, 15 bytes
 * per feature number up to the largest, and the size of the file.
 *
 * Returns THR_OK, or
 *   THR_EEXIST      path exists and replace is false, or path is a file of another kind
 *   THR_EDIM        no items, more than THR_HITS_MAX_ITEMS, or a wrong number of ids or values
 *   THR_EINVAL      offsets do not ascend from 0, or options are out of range
 *   THR_ERANGE      a feature exceeds THR_HITS_MAX_FEATURE (err names the item), an id is THR_NO_ID, or a value is not
 *                   finite
 *   THR_EDUPLICATE  an id occurs twice (err names both rows)
 *   THR_ENOSPACE, THR_EIO, THR_ECANCELED, THR_ENOMEM
 */
THR_API thr_status thr_hits_build(thr_context *context, const char *path, const thr_item_features *items,
                                  const thr_hits_build_options *options, thr_error *err);

/* Postings in any order: item rows[p] has features[p]. Items without a pair have no features. A view. */
typedef struct thr_hits_pairs {
    const uint32_t *rows, *features;
    uint64_t n_pairs, n_items;
} thr_hits_pairs;

/* Build from pairs. Returns as thr_hits_build; THR_EINVAL for a row that is not below n_items (err names the pair). */
THR_API thr_status thr_hits_build_pairs(thr_context *context, const char *path, const thr_hits_pairs *pairs,
                                        const thr_hits_build_options *options, thr_error *err);

/*
 * Build from a table (.tsv, .tsv.gz, .tsv.xz), one item per line: name, tab, features separated by spaces.
 *
 *   B00005N7P0<TAB>category=12 brand=7 tag=red
 *
 * If all names are unsigned decimal integers, they become the ids. If all features are such integers, up to
 * THR_HITS_MAX_FEATURE, they are the feature numbers; else features are words, which the file stores
 * (thr_hits_feature). options must have no ids.
 *
 * Returns what thr_hits_build and the reader return; THR_EFORMAT for a line that does not have exactly one tab (err
 * names it); THR_EDUPLICATE for a name that occurs twice.
 */
THR_API thr_status thr_hits_build_table(thr_context *context, const char *path, const char *table,
                                        const thr_hits_build_options *options, thr_error *err);

/* ------------------------------------------------------------------------------------------------ open */

typedef struct thr_hits thr_hits;

/*
 * Open a file by mmap. Checks everything that a search relies on, for which it reads all of the file but ids and
 * bitmaps. thr_hits_verify checks every byte.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT if the file does not hold posting lists; THR_EVERSION for another format
 * version; THR_ECORRUPT if it is damaged or cut short; THR_EIO; THR_ENOMEM. The caller frees *hits.
 */
THR_API thr_status thr_hits_open(thr_context *context, const char *path, thr_hits **hits, thr_error *err);

/* Close; NULL is allowed. No search may be running. Updates made of these lists remain valid. */
THR_API void thr_hits_free(thr_hits *hits);

typedef struct thr_hits_info {
    uint64_t n_items;         /* live items */
    uint32_t n_features;      /* in the file, with at least one item */
    uint64_t n_postings;      /* in the file: pairs of an item and a feature */
    uint64_t n_ids;           /* in the file: postings stored as 16-bit places; these are no item ids */
    uint64_t n_runs;          /* in the file: runs of neighbouring places */
    uint64_t n_bitmaps;       /* in the file: bitmaps of 256 places */
    uint64_t bitmap_postings; /* postings in bitmaps; n_postings - n_ids - bitmap_postings are in runs */
    uint64_t list_bytes;      /* size of the lists with their directories */
    uint64_t file_bytes;      /* with rows, ids and names */
    thr_hits_order order;
    bool has_ids, has_names;     /* of items */
    bool has_words;              /* features have words */
    uint64_t n_rows;             /* rows of the file, removed items included, plus added items */
    uint64_t n_added, n_removed; /* items added since the build; items of the file removed or replaced */
    uint64_t model;              /* fingerprint of the model that must weigh the queries; 0: any */
} thr_hits_info;

/* Sizes of these lists, updates included. Costs nothing; hits is not NULL. */
THR_API thr_hits_info thr_hits_get_info(const thr_hits *hits);

/*
 * Read every byte, compare all checksums, recompute derived values and check all orders: numbers of items and postings,
 * ascending places and words, distinct rows and ids, zeros between sections. Memory: one byte per item if the file
 * stores rows.
 *
 * Returns THR_OK; THR_ECORRUPT (err names the file and section); THR_ECHANGED if the file changed after it was opened;
 * THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_hits_verify(thr_hits *hits, thr_error *err);

/* Each lookup below costs one fstat, and finds nothing if the file was changed or truncated after it was opened. */

/*
 * Find the number of a word; in lists without words, parse the number. false: no item has this feature, or word is no
 * number there.
 */
THR_API bool thr_hits_feature(const thr_hits *hits, const char *word, uint32_t *feature);

/* The word of a feature; NULL if features have no words, or there is no such feature. Lives as long as hits. */
THR_API const char *thr_hits_word(const thr_hits *hits, uint32_t feature);

/* The number of items that have a feature. */
THR_API uint64_t thr_hits_feature_items(const thr_hits *hits, uint32_t feature);

/* The name of the item with this id; NULL if items have no names, or there is no such item. Lives as long as hits. */
THR_API const char *thr_hits_name(const thr_hits *hits, uint64_t id);

/* Find the row of the item with this id; false if there is no such item. */
THR_API bool thr_hits_row(const thr_hits *hits, uint64_t id, uint64_t *row);

/* Find the id of the item with this name, or, without names, with this id in decimal; false if there is none. */
THR_API bool thr_hits_find(const thr_hits *hits, const char *name, uint64_t *id);

/* ------------------------------------------------------------------------------------------------ values */

/*
 * Set the multiplier (bid) and the offset (pacing) of every item. Both arrays have n = n_rows floats, by row, and are
 * copied. NULL: all 1, or all 0. Running searches finish with the old values. The file does not change. In an index the
 * values stay with the items of later snapshots (thr_index_refresh). Lists of one file share the values of its rows:
 * setting them in one changes them in all. Values of added items are those of these lists, and are inherited by later
 * updates of them.
 *
 * Returns THR_OK; THR_EDIM if n is not n_rows; THR_ERANGE for a value that is not finite (err names the row);
 * THR_ECHANGED; THR_ENOMEM. After an error the old values remain.
 */
THR_API thr_status thr_hits_set_values(thr_hits *hits, const float *multipliers, const float *offsets, uint64_t n,
                                       thr_error *err);

/* ------------------------------------------------------------------------------------------------ targeting */

/*
 * A boolean expression over features that selects the items a search may return. Operands are words, or numbers if
 * features have no words; operators are AND, OR, NOT and parentheses:
 *
 *   category=12 AND NOT (brand=7 OR brand="in two words")
 *
 * NOT binds before AND, AND before OR; adjacent words without an operator are an error. A word that is no feature
 * selects no items. A target serves any number of searches of the lists that it was created for; updated lists need new
 * targets.
 */
typedef struct thr_hits_target thr_hits_target;

/*
 * Create a target; the caller frees it, before hits. Returns THR_OK; THR_EINVAL for a syntax error (err has its place);
 * THR_ECHANGED; THR_ENOMEM.
 */
THR_API thr_status thr_hits_target_create(thr_hits *hits, const char *expression, thr_hits_target **target,
                                          thr_error *err);
THR_API void thr_hits_target_free(thr_hits_target *target);

/* The number of items that the target selects. */
THR_API uint64_t thr_hits_target_count(const thr_hits_target *target);

/*
 * The i-th unknown word of the expression, from 0: a word that no item has, perhaps misspelt. Words are in the
 * expression's order, with repetitions; NULL if there are no more. The string lives as long as the target.
 */
THR_API const char *thr_hits_target_unknown(const thr_hits_target *target, size_t i);

/* ------------------------------------------------------------------------------------------------ search */

/* Queries: features and weights [offsets[q], offsets[q + 1]) are query q's. A view. */
typedef struct thr_hits_queries {
    uint64_t n_queries;
    const uint64_t *offsets; /* n_queries + 1, from 0 */
    const uint32_t *features;
    const float *weights; /* NULL: 1 each */
} thr_hits_queries;

typedef enum thr_hits_value {
    THR_HITS_VALUE_SUM = 0,    /* multiplier x s + offset */
    THR_HITS_VALUE_SIGMOID = 1 /* multiplier / (1 + exp(-s)) + offset */
} thr_hits_value;

typedef struct thr_hits_search_options {
    thr_hits_value value;
    const uint64_t *filter; /* rows that may be returned: bit (row % 64) of word row / 64 (filter.h). NULL: all rows */
    uint64_t filter_bits;   /* n_rows, if filter is given */
    const thr_hits_target *target; /* of these hits; NULL: all items. Combined with filter by AND */
    /* NULL, or n_queries places: the number of each query's features that no item has; they are ignored */
    uint32_t *n_unknown;
    uint64_t model; /* fingerprint of the model of the weights (thr_dual_info); 0: unchecked */
} thr_hits_search_options;

/*
 * Find the best k items of every query, best first. options may be NULL for the defaults. ids and values are row-major,
 * n_queries x k; values may be NULL. If fewer than k items exist or are selected, the rest of a row is THR_NO_ID and
 * -infinity. Weights of a repeated feature are added. A second search of the same shape allocates nothing. A GPU runs
 * the search if the context's device allows it, with the same answers (device.h).
 *
 * Returns THR_OK, or
 *   THR_EINVAL     k is 0, options are out of range, offsets do not ascend from 0, the filter has the wrong length, the
 *                  target belongs to other lists, or a query has more than THR_HITS_MAX_FEATURES features
 *   THR_EMISMATCH  the weights come from another model than the lists' (err has both fingerprints)
 *   THR_ERANGE     a weight (err names the query and feature) or a value is not finite
 *   THR_ECHANGED   the file was changed or cut after it was opened
 *   THR_ENOMEM     of the host, or of a GPU
 *   THR_EDEVICE    a GPU that the context names ("cuda") failed
 */
THR_API thr_status thr_hits_search(thr_hits *hits, const thr_hits_queries *queries, uint64_t k,
                                   const thr_hits_search_options *options, uint64_t *ids, float *values,
                                   thr_error *err);

/*
 * Explain the sum s of the item with this id for query number `query` of queries, from 0. If the item has the query's
 * i-th feature, shares[i] is its weight, rounded as a search rounds it, and matched[i] is 1; else both are 0. s is the
 * sum of shares. Both arrays have one element for each feature of that query; matched may be NULL. Other queries are
 * not read.
 *
 * Returns THR_OK; THR_ENOTFOUND for an unknown id; THR_EINVAL if query is not below n_queries; THR_EINVAL, THR_ERANGE
 * and THR_ECHANGED as thr_hits_search.
 */
THR_API thr_status thr_hits_explain(const thr_hits *hits, uint64_t id, const thr_hits_queries *queries, uint64_t query,
                                    float *shares, uint8_t *matched, thr_error *err);

/* ------------------------------------------------------------------------------------------------ updates */

/* Limits of the changes to one file. Beyond them an update fails, and the lists must be rebuilt. */
#define THR_HITS_MAX_ADDED          UINT64_C(262144)   /* added items */
#define THR_HITS_MAX_ADDED_FEATURES UINT64_C(16777216) /* their features, summed over items */
#define THR_HITS_MAX_ADDED_TEXT     UINT64_C(67108864) /* bytes of their names, and of words that the file lacks */
#define THR_HITS_MAX_REMOVED        UINT64_C(1048576)  /* removals since the file was built */

/*
 * Items to remove, then items to add; adding an existing item replaces it. Items are identified by name if the file has
 * names, else by id; features by word if the file has words, else by number. A new name gets a new id, a new word a new
 * number. Everything is copied.
 */
typedef struct thr_hits_changes {
    uint64_t n_added;
    const uint64_t *ids;       /* of added items, none THR_NO_ID; NULL if items have names */
    const char *const *names;  /* of added items, none empty; NULL if items have no names */
    const uint64_t *offsets;   /* n_added + 1, from 0: [offsets[i], offsets[i + 1]) of features or words are item i's */
    const uint32_t *features;  /* NULL if features have words */
    const char *const *words;  /* NULL if features have no words */
    const float *multipliers;  /* of added items; NULL: 1 */
    const float *item_offsets; /* of added items; NULL: 0 */
    uint64_t n_removed;
    const uint64_t *removed_ids;
    const char *const *removed_names;
    const char *added_path; /* replaces the arrays of added items: a table in the format of thr_hits_build_table */
    /* replaces the arrays of removals: a text or a column of a table, with one id or name per line */
    const char *removed_path;
    uint64_t *n_missing; /* NULL, or receives the number of removals of unknown items, which are not an error */
} thr_hits_changes;

/*
 * Make new lists, *updated, from hits and changes. The caller frees them; hits do not change. Searches of *updated scan
 * the added items in an extra pass. Answers have the same bits as those of a file built from the remaining items of the
 * file in the order of their rows, then the added items in the order of adding; a replaced item counts as added. Of
 * equal values the earlier item in this order comes first. A feature is unknown if none of these items has it.
 *
 * Cost: a pass over all added items, old and new, and a copy of one bit per row of the file.
 *
 * Returns THR_OK, what the readers return for files, or
 *   THR_EINVAL      changes do not match the file (names and ids, words and numbers), or offsets do not ascend from 0
 *   THR_EDUPLICATE  an item is added twice
 *   THR_ERANGE      a feature exceeds THR_HITS_MAX_FEATURE, an id is THR_NO_ID, or a value is not finite
 *   THR_EDIM        a limit above is exceeded
 *   THR_ECHANGED    the file changed after it was opened
 *   THR_ENOMEM
 */
THR_API thr_status thr_hits_update(thr_hits *hits, const thr_hits_changes *changes, thr_hits **updated, thr_error *err);

/* ------------------------------------------------------------------------------------------------ live */

/*
 * A shared reference to the current posting lists. A search takes the current lists, while another thread may update
 * them or replace them by a rebuild. Lists that were taken stay valid until they are put back, so a search sees all of
 * an update or none. Lists that are no longer current are freed when their last user puts them back.
 *
 *   hits = thr_hits_live_take(live);
 *   thr_hits_search(hits, ...);
 *   thr_hits_live_put(live, hits);
 *
 * Updates during a rebuild are not lost: live remembers them and applies them to the new lists.
 *
 *   mark = thr_hits_live_mark(live);        updates after this are remembered
 *   ... read the catalogue, thr_hits_build, thr_hits_open, thr_hits_set_values ...
 *   thr_hits_live_swap_since(live, next, mark, &err);
 *
 * Threads: all functions except _create and _free may be called from many threads at once. None waits for a search;
 * updates and swaps wait for each other.
 */
typedef struct thr_hits_live thr_hits_live;

/* On success, live owns first. Returns THR_OK; THR_EINVAL for NULL; THR_ENOMEM. */
THR_API thr_status thr_hits_live_create(thr_context *context, thr_hits *first, thr_hits_live **live, thr_error *err);

/* Free live and its lists; NULL is allowed. All lists that were taken must have been put back. */
THR_API void thr_hits_live_free(thr_hits_live *live);

/* Take the current lists; return them with _put. Never NULL. */
THR_API thr_hits *thr_hits_live_take(thr_hits_live *live);
THR_API void thr_hits_live_put(thr_hits_live *live, thr_hits *hits);

/* Replace the current lists by their thr_hits_update. Returns as that does; after an error the lists do not change. */
THR_API thr_status thr_hits_live_update(thr_hits_live *live, const thr_hits_changes *changes, thr_error *err);

/* The number of updates so far. Read the catalogue for a rebuild after this call: it must contain all of them. */
THR_API uint64_t thr_hits_live_mark(thr_hits_live *live);

/*
 * Make `next`, whose values are already set, the current lists. live owns it on success; after an error the current
 * lists remain. The updates since `mark` are applied to next in their order: the last state of each item counts, and an
 * added item keeps its values. Updates before the mark are forgotten, because next contains them.
 *
 * Returns THR_OK, or
 *   THR_EINVAL     NULL, lists that live owns already, a mark that was never returned, or a mark older than that of the
 *                  current lists: the updates between them are forgotten
 *   THR_EMISMATCH  updates by name or word cannot be applied to lists without them, or the reverse
 *   THR_EDIM, THR_ENOMEM
 */
THR_API thr_status thr_hits_live_swap_since(thr_hits_live *live, thr_hits *next, uint64_t mark, thr_error *err);

/*
 * As _swap_since with the mark of the current lists: applies all remembered updates, even if next already contains
 * them.
 */
THR_API thr_status thr_hits_live_swap(thr_hits_live *live, thr_hits *next, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
