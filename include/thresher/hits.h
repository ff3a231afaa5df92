/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.h - compressed posting lists: the best items for a query by the features that they have, every item scored.
 *
 * Items have features, binary ones: a category, an advertiser, a tag. A query gives some of them weights, and an item's
 * sum s is that of the weights of the query's features it has (the wide part of HitMatch (9), L w). Its value is what
 * it is ranked by: s, or s x multiplier + offset with a bid and pacing, or sigmoid(s) x multiplier + offset. An item
 * without a hit has s = 0 and is ranked with the others.
 *
 * Lists live in one file, built once and mapped: what a feature has in a block of 256 items is written as 16-bit
 * places, as runs or as a bitmap (docs/format.md). Weights are rounded to whole multiples of a unit, 2^-29 of their sum
 * or less, and sums are integers: a value has the same bits whatever the numbering of the items, the number of threads,
 * or the CPU. Equal values are ordered by the smaller row.
 *
 * Rows count the items as they were given, from 0. Ids are rows unless items were given ids of their own.
 *
 * Between builds, items are added, replaced and removed (thr_hits_update): lists that have the file and, beside it,
 * what was changed, and that answer as lists built anew would. Rows of the file stay, with nothing in those of removed
 * items; behind them come the added items, in the order in which they were.
 *
 * Threads: open lists are immutable but for their values, and may be searched from many threads at once, also while
 * their values are set, and while other lists are made of them.
 */
#ifndef THRESHER_HITS_H
#define THRESHER_HITS_H

#include <thresher/context.h>
#include <thresher/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_HITS_MAX_ITEMS    UINT64_C(16777216)  /* of one file */
#define THR_HITS_MAX_FEATURE  UINT32_C(268435455) /* the largest number a feature may have */
#define THR_HITS_MAX_FEATURES UINT32_C(1048576)   /* of one query */

/* ------------------------------------------------------------------------------------------------ build */

/* What items have: features[offsets[i]] to features[offsets[i + 1] - 1] are item i's, in any order. A view: CSR. */
typedef struct thr_item_features {
    const uint64_t *offsets; /* n_items + 1, from 0 */
    const uint32_t *features;
    uint64_t n_items;
} thr_item_features;

/* How items are numbered within the lists; rows and ids stay what they are. */
typedef enum thr_hits_order {
    THR_HITS_ORDER_FEATURES = 0, /* items with the same frequent features are neighbours: shorter lists, faster searches
                                    where features go together as category and advertiser do */
    THR_HITS_ORDER_ROWS = 1      /* as they were given: faster to build */
} thr_hits_order;

typedef struct thr_hits_build_options {
    size_t size; /* sizeof(thr_hits_build_options), set by _init */
    thr_hits_order order;
    const uint64_t *ids; /* n_items, each once, none THR_NO_ID; NULL: ids are rows */
    uint64_t n_ids;
    const float *multipliers,
        *offsets; /* n_values each, by row: what thr_hits_set_values sets, from the start; or NULL */
    uint64_t n_values;
    bool replace;         /* a file that is already there is replaced, at the moment the new one is complete */
    uint64_t *n_repeated; /* if not NULL: features that an item was given more than once, which count once */
    uint64_t model;       /* the fingerprint of the model whose weights queries will have (thr_dual_info); 0: of any */
} thr_hits_build_options;

/* Defaults: ordered by features, no ids, nothing is replaced, no model. */
THR_API void thr_hits_build_options_init(thr_hits_build_options *options);

/*
 * Build the file path from what items have. options may be NULL for the defaults. All threads build; the file does not
 * depend on how many there are. Memory: 12 bytes a pair of an item and a feature, 24 an item, 15 for every number up to
 * the largest feature's, and the file.
 *
 * Returns THR_OK; THR_EEXIST when path exists and replace is false, or holds no posting lists; THR_EDIM for no items,
 * more than THR_HITS_MAX_ITEMS, or a wrong number of ids or values; THR_EINVAL for offsets that do not ascend from 0 or
 * options out of range; THR_ERANGE for a feature beyond THR_HITS_MAX_FEATURE (err names the item), the id THR_NO_ID, or
 * a value that is not finite; THR_EDUPLICATE for an id that stands twice (err names both rows);
 * THR_ENOSPACE; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_hits_build(thr_context *context, const char *path, const thr_item_features *items,
                                  const thr_hits_build_options *options, thr_error *err);

/* Pairs in any order: the item of row rows[p] has features[p]. Items without a pair have no features. */
typedef struct thr_hits_pairs {
    const uint32_t *rows, *features;
    uint64_t n_pairs, n_items;
} thr_hits_pairs;

/* The same from pairs. THR_EINVAL for a row that is not below n_items (err names the pair). */
THR_API thr_status thr_hits_build_pairs(thr_context *context, const char *path, const thr_hits_pairs *pairs,
                                        const thr_hits_build_options *options, thr_error *err);

/*
 * The same from a table, .tsv, or .tsv.gz and .tsv.xz, a line an item: its name, a tab, its features, parted by spaces.
 *
 *   B00005N7P0<TAB>category=12 brand=7 tag=red
 *
 * Names that are all unsigned decimal integers are ids. Features that are all such numbers, up to THR_HITS_MAX_FEATURE,
 * are taken as they are; else all of them are words, which the file keeps (thr_hits_feature). options must have no ids.
 *
 * Returns what thr_hits_build and the reader do; THR_EFORMAT for a line without a tab or with more than one (err names
 * it); THR_EDUPLICATE for a name that stands twice.
 */
THR_API thr_status thr_hits_build_table(thr_context *context, const char *path, const char *table,
                                        const thr_hits_build_options *options, thr_error *err);

/* ------------------------------------------------------------------------------------------------ open */

typedef struct thr_hits thr_hits;

/*
 * Open a file by mmap. All that a search believes is checked, which reads what stands beside the ids and bitmaps;
 * thr_hits_verify checks every byte.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is not one of posting lists; THR_EVERSION for a newer
 * format; THR_ECORRUPT for one that is damaged or cut; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_hits_open(thr_context *context, const char *path, thr_hits **hits, thr_error *err);

/* Close; NULL is allowed. No search may be running. Lists that were made of these stay. */
THR_API void thr_hits_free(thr_hits *hits);

typedef struct thr_hits_info {
    uint64_t n_items;                  /* that may be found */
    uint32_t n_features;               /* of the file: that at least one item has */
    uint64_t n_postings;               /* of the file: pairs of an item and a feature it has */
    uint64_t n_ids, n_runs, n_bitmaps; /* postings written by themselves; runs of neighbours; blocks of bits */
    uint64_t bitmap_postings;          /* in bitmaps; those that are neither there nor ids are in runs */
    uint64_t list_bytes;               /* the lists themselves, all that stands beside them included */
    uint64_t file_bytes;               /* with rows, ids and names */
    uint32_t format_version;
    thr_hits_order order;
    bool has_ids, has_names;     /* of items */
    bool has_words;              /* features have words */
    uint64_t n_rows;             /* of the file, those of removed items, too, and of the added items behind them */
    uint64_t n_added, n_removed; /* items that are not in the file; items of the file that are removed or replaced */
    uint64_t model;              /* the fingerprint of the model whose weights queries must have; 0: any may */
} thr_hits_info;

THR_API thr_hits_info thr_hits_get_info(const thr_hits *hits);

/*
 * Read every byte, compare all checksums, recompute derived values and check the order: numbers of items and postings,
 * places that ascend, rows and ids that occur once, words that ascend, zeros between sections. Takes a byte an item
 * where there are rows. THR_OK; THR_ECORRUPT naming the file and section; THR_ECHANGED when the file was changed since
 * it was opened; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_hits_verify(thr_hits *hits, thr_error *err);

/* The lookups below cost an fstat each, and find nothing in a file that was changed or cut since it was opened. */

/* The number of a feature's word; of a file without words, the number itself where it is one. false: no item has it. */
THR_API bool thr_hits_feature(const thr_hits *hits, const char *word, uint32_t *feature);

/* The word of a feature; NULL when the file has no words or no such feature. Lives as long as hits. */
THR_API const char *thr_hits_word(const thr_hits *hits, uint32_t feature);

/* How many items have a feature; 0 when none has. */
THR_API uint64_t thr_hits_feature_items(const thr_hits *hits, uint32_t feature);

/* The name of the item with this id; NULL when the file has no names or no such item. Lives as long as hits. */
THR_API const char *thr_hits_name(const thr_hits *hits, uint64_t id);

/* The row of the item with this id, or with this name (or an id in decimal); false when there is no such item. */
THR_API bool thr_hits_row(const thr_hits *hits, uint64_t id, uint64_t *row);
THR_API bool thr_hits_find(const thr_hits *hits, const char *name, uint64_t *id);

/* ------------------------------------------------------------------------------------------------ values */

/*
 * Set every item's multiplier (a bid) and offset (pacing), n floats each, by row, n_rows of them; NULL: 1, and 0. They
 * are copied. Searches that are running finish with the values before; those that begin later have these. The file is
 * not changed. Values of the file's rows are those of all lists that have the file; values of added items are those of
 * these lists, and of the lists that are made of them from now on.
 *
 * Returns THR_OK; THR_EDIM unless n is n_rows; THR_ERANGE for one that is not finite (err names the row); THR_ENOMEM.
 * After an error the values before stay.
 */
THR_API thr_status thr_hits_set_values(thr_hits *hits, const float *multipliers, const float *offsets, uint64_t n,
                                       thr_error *err);

/* ------------------------------------------------------------------------------------------------ targeting */

/*
 * Which items may be found, by the features they have: words (or numbers, where features have none), AND, OR, NOT and
 * parentheses, as in
 *
 *   category=12 AND NOT (brand=7 OR brand="in two words")
 *
 * NOT binds before AND, AND before OR; words beside each other without one of them are an error. A feature that no item
 * has is one that all items lack. Made once, used in as many searches of these lists as wanted; lists that an update
 * makes of them want targets of their own.
 */
typedef struct thr_hits_target thr_hits_target;

/* THR_OK; THR_EINVAL for an expression that is wrong (err says where); THR_ENOMEM. Used only while hits are there. */
THR_API thr_status thr_hits_target_create(thr_hits *hits, const char *expression, thr_hits_target **target,
                                          thr_error *err);
THR_API void thr_hits_target_free(thr_hits_target *target);

/* How many items it lets through. */
THR_API uint64_t thr_hits_target_count(const thr_hits_target *target);

/*
 * The i-th word of the expression, from 0, among those that no item has (misspelt, perhaps), in the order of the
 * expression and with repetitions; NULL when there are no more. The string lives as long as the target.
 */
THR_API const char *thr_hits_target_unknown(const thr_hits_target *target, size_t i);

/* ------------------------------------------------------------------------------------------------ search */

/* Queries: the features and weights of query q stand at [offsets[q], offsets[q + 1]). A view. */
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
    size_t size; /* sizeof(thr_hits_search_options), set by _init */
    thr_hits_value value;
    const uint64_t *filter; /* bit (row % 64) of word row / 64 set: the item may be found. NULL: all may (filter.h) */
    uint64_t filter_bits;   /* must be n_rows when filter is given */
    const thr_hits_target *target; /* of these hits; NULL: all may. With a filter, what both let through */
    uint32_t
        *n_unknown; /* n_queries places, or NULL: features of each query that no item has; they count for nothing */
    uint64_t model; /* the fingerprint of the model that the weights are of (thr_dual_info); 0: not told */
} thr_hits_search_options;

/* Defaults: sums, no filter, no target. */
THR_API void thr_hits_search_options_init(thr_hits_search_options *options);

/*
 * The best k items of every query, best first. options may be NULL for the defaults. ids has room for n_queries x k,
 * and so has values, which may be NULL; where fewer items exist or may be found, the rest of a row is THR_NO_ID and
 * -infinity. The weights of a feature that stands twice are added. After a first search of the same shape nothing is
 * allocated. A GPU does it where the context's device says so, with the same answers (device.h).
 *
 * Returns THR_OK; THR_EINVAL for k = 0, options out of range, offsets that do not ascend from 0, a filter of the wrong
 * length, a target of other hits, or a query of more than THR_HITS_MAX_FEATURES; THR_EMISMATCH for weights of another
 * model than the lists were built for (err has both fingerprints); THR_ERANGE for a weight that is not
 * finite (err names the query and feature) or a value that is not; THR_ECHANGED when the file was changed or cut since
 * it was opened; THR_ENOMEM, also for memory of a GPU; THR_EDEVICE where a GPU that was asked for by name fails.
 */
THR_API thr_status thr_hits_search(thr_hits *hits, const thr_hits_queries *queries, uint64_t k,
                                   const thr_hits_search_options *options, uint64_t *ids, float *values,
                                   thr_error *err);

/*
 * What the item with this id owes to each feature of one of queries, number query of them, from 0: shares[i] is the
 * weight of the query's i-th feature, as a search rounds it, where the item has it, else 0; a search's s is their sum.
 * matched[i] is 1 where it has it, also of a weight of 0, else 0. Both have a place for every feature of that query;
 * matched may be NULL. Other queries are not looked at.
 *
 * Returns THR_OK; THR_ENOTFOUND for an id that is not there; THR_EINVAL for a query that is not among queries;
 * THR_EINVAL, THR_ERANGE and THR_ECHANGED as thr_hits_search.
 */
THR_API thr_status thr_hits_explain(const thr_hits *hits, uint64_t id, const thr_hits_queries *queries, uint64_t query,
                                    float *shares, uint8_t *matched, thr_error *err);

/* ------------------------------------------------------------------------------------------------ updates */

/* What may stand beside a file. Beyond it an update is refused, and the lists are to be built anew. */
#define THR_HITS_MAX_ADDED          UINT64_C(262144)   /* added items */
#define THR_HITS_MAX_ADDED_FEATURES UINT64_C(16777216) /* their features, each item's */
#define THR_HITS_MAX_ADDED_TEXT     UINT64_C(67108864) /* bytes of names, and of words that the file has not */
#define THR_HITS_MAX_REMOVED        UINT64_C(1048576)  /* removals that live lists remember (thr_hits_live_mark) */

/*
 * Items to remove, then items to add; an item that is there already is replaced. Items are known by their names where
 * the file's items have names, else by their ids; features are words where the file has words, else numbers. A name
 * that no item has gets a new id; a word that no item had, a new number. Everything is copied.
 */
typedef struct thr_hits_changes {
    size_t size; /* sizeof(thr_hits_changes), set by _init */
    uint64_t n_added;
    const uint64_t *ids;      /* of added items, none THR_NO_ID; NULL where items have names */
    const char *const *names; /* of added items, none empty; NULL where items have none */
    const uint64_t
        *offsets; /* n_added + 1, from 0: features, or words, offsets[i] to offsets[i + 1] - 1 are item i's */
    const uint32_t *features;  /* NULL where features have words */
    const char *const *words;  /* NULL where features have none */
    const float *multipliers;  /* of added items; NULL: 1 */
    const float *item_offsets; /* of added items; NULL: 0 */
    uint64_t n_removed;
    const uint64_t *removed_ids;
    const char *const *removed_names;
    const char *added_path;   /* instead of what is added: a table as thr_hits_build_table reads it */
    const char *removed_path; /* instead of what is removed: a text, or a table's column, of an id or a name a line */
    uint64_t *n_missing;      /* if not NULL: of the removed ones, how many were not there, which is no error */
} thr_hits_changes;

THR_API void thr_hits_changes_init(thr_hits_changes *changes);

/*
 * Make *updated of hits and changes: lists of their own, to be freed, while hits stay as they are. Searches of them
 * cost one more pass over the added items. They answer, to the bit, as lists built anew would, of the items of the file
 * that are left, in their order, and behind them the added ones, in the order in which they were added, a replaced item
 * as one added: equal values are in this order, and features are unknown that none of these items has.
 *
 * Cost: a pass over the added items, new and old, and a copy of a bit for every row of the file.
 *
 * Returns THR_OK; THR_EINVAL for changes that do not go with the file (names and ids, words and numbers), or offsets
 * that do not ascend from 0; THR_EDUPLICATE for an item that is added twice; THR_ERANGE for a feature beyond
 * THR_HITS_MAX_FEATURE, an id THR_NO_ID, or a value that is not finite; THR_EDIM for more than may stand beside a file;
 * what the readers return of files; THR_ECHANGED when the file was changed since it was opened; THR_ENOMEM.
 */
THR_API thr_status thr_hits_update(thr_hits *hits, const thr_hits_changes *changes, thr_hits **updated, thr_error *err);

/* ------------------------------------------------------------------------------------------------ live */

/*
 * A place where searches find the posting lists that are current, while newer ones are put there: a catalogue that is
 * updated, and built anew every few minutes, goes on being searched. Whoever takes lists keeps them until they are
 * given back, whatever is put there meanwhile, so that a search sees all of an update or nothing of it; lists that are
 * not current any more are freed when the last one gives them back.
 *
 * What changes while new lists are built is not lost: live remembers its updates, and makes them on the new lists, too.
 *
 *   mark = thr_hits_live_mark(live);        from here on updates are made again
 *   ... read the catalogue, thr_hits_build, thr_hits_open, thr_hits_set_values ...
 *   thr_hits_live_swap_since(live, next, mark, &err);
 *
 * Threads: all functions but _create and _free may be called from many threads at once. None waits for a search;
 * updates and swaps wait for each other.
 */
typedef struct thr_hits_live thr_hits_live;

/* first belongs to live from now on, unless that fails. THR_OK; THR_EINVAL for NULL; THR_ENOMEM. */
THR_API thr_status thr_hits_live_create(thr_context *context, thr_hits *first, thr_hits_live **live, thr_error *err);

/* Everything that was taken must have been given back. NULL is allowed. */
THR_API void thr_hits_live_free(thr_hits_live *live);

/* The current lists, to be given back with _put. Never NULL. */
THR_API thr_hits *thr_hits_live_take(thr_hits_live *live);
THR_API void thr_hits_live_put(thr_hits_live *live, thr_hits *hits);

/*
 * thr_hits_update of the current lists becomes what _take gives. What that returns; after an error what was current
 * stays.
 */
THR_API thr_status thr_hits_live_update(thr_hits_live *live, const thr_hits_changes *changes, thr_error *err);

/* How many updates were made: what a catalogue that is read from now on has, if it has all that was updated. */
THR_API uint64_t thr_hits_live_mark(thr_hits_live *live);

/*
 * next, with its values set, becomes what _take gives, and belongs to live from now on, unless that fails: then what
 * was current stays. The updates since `mark` are made on it, in their order: what each item was at last counts, and
 * an added item keeps its values. Updates before the mark are forgotten, for next has them.
 *
 * THR_OK; THR_EINVAL for NULL, lists that live has already, a mark that was never given, or one from before that of the
 * current lists, whose updates cannot be made again; THR_EMISMATCH where updates of names, or words, are to be made on
 * lists without, or the other way round; THR_EDIM; THR_ENOMEM.
 */
THR_API thr_status thr_hits_live_swap_since(thr_hits_live *live, thr_hits *next, uint64_t mark, thr_error *err);

/*
 * The same since the current lists' own mark: all updates that are remembered are made on next, whether it has them or
 * not.
 */
THR_API thr_status thr_hits_live_swap(thr_hits_live *live, thr_hits *next, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
