/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h - build an index of plane codes in a directory, open it by mmap, search it.
 *
 * A search has three stages. It screens every item by the leading planes of its code (a few bits per dimension),
 * rescores the survivors by all planes, and refines the best candidates with the exact vectors stored in the index
 * (XFBQ section 4). docs/format.md describes the files.
 *
 * Larger scores are better in every metric: the cosine, the inner product, or, for L2, minus the squared distance.
 * Cosines are between -1 and 1; the cosine with a multiple of the query, as kept, is exactly 1. Equal scores are in
 * order of rows.
 *
 * Threads: many threads may search an open index at once. It is immutable except for its calibration (no search may
 * overlap thr_index_tune) and the values of its posting lists.
 */
#ifndef THRESHER_INDEX_H
#define THRESHER_INDEX_H

#include <thresher/hits.h>
#include <thresher/matrix.h>
#include <thresher/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum thr_metric {
    THR_METRIC_COSINE = 0, /* zero vectors have cosine 0 with everything; thr_index_info counts them */
    THR_METRIC_IP = 1,
    THR_METRIC_L2 = 2
} thr_metric;

/* "cosine", "ip", "l2". Never NULL. */
THR_API const char *thr_metric_name(thr_metric metric);

/* ------------------------------------------------------------------------------------------------ build */

/*
 * Whether vectors are rotated at random before they are coded. A rotation spreads the energy of items and queries over
 * all dimensions, so that the errors of estimates are alike for every query.
 */
typedef enum thr_rotate {
    THR_ROTATE_AUTO = 0, /* unless it makes the codes of a sample less accurate */
    THR_ROTATE_ON = 1,
    THR_ROTATE_OFF = 2
} thr_rotate;

#define THR_CELLS_AUTO     UINT32_MAX /* cells of thr_index_build_options: chosen by the build */
#define THR_NO_CALIBRATION UINT64_MAX

/* The cells of an index, or those that a build with THR_CELLS_AUTO tried, and their expected effect on searches. */
typedef struct thr_cells_choice {
    uint32_t n_cells; /* 0: none were tried, or there are none */
    bool kept;        /* whether the index has them */
    float read;       /* share of the rows that a search for 10 items with recall .95 screens, on average */
    float speed;      /* time of that search without cells, divided by that with them: by a model, not measured */
    /*
     * The largest shortfall: the promised recall less the measured one, over searches for 10 and 100 items with recalls
     * of .9, .95 and .99 and held-out items as queries. 0: no search falls short. Above THR_CELLS_SHORT, THR_CELLS_AUTO
     * makes no cells.
     */
    float short_by;
} thr_cells_choice;

#define THR_CELLS_SHORT 0.005F

typedef struct thr_index_build_options {
    thr_metric metric;
    uint32_t item_bits;  /* bits per dimension, 1 to 8; each bit is one plane. 0: 3 */
    thr_dtype keep;      /* type of the stored vectors: F32, F16 or I8 (one scale per item). 0: F32 */
    bool codes_only;     /* store no vectors; keep is ignored */
    const uint64_t *ids; /* n_ids distinct ids, one per item, in row order; NULL: ids are row numbers from 0 */
    uint64_t n_ids;
    /*
     * Alternatively a file of ids: integers (.ibin, .npy, .ivecs; one column), or text (.txt, .tsv, .csv) with one id
     * or name per line. NULL: none.
     */
    const char *ids_path;
    bool replace;          /* replace an existing index, at the moment the new one is complete */
    uint32_t sample_rows;  /* rows from which the quantiser learns centre, rotation and ranges. 0: 4,096 */
    uint64_t segment_rows; /* most items in one segment file; 0: chosen from the size of an item */
    uint32_t lead_bits; /* leading planes, which the screen reads: 1 to item_bits (item_bits: not nested); 0: chosen */
    thr_rotate rotate;
    uint64_t calibration_queries; /* items used as queries to calibrate recall; 0: 1,000. Or THR_NO_CALIBRATION */
    /*
     * File of the model whose item side produced the vectors (tower.h, dual.h); NULL: none. The index stores a copy, so
     * that it can be searched by text. A text model needs the cosine metric. If its item side is binary, the vectors
     * are its codes, and no vectors are stored: item_bits comes from the model, and lead_bits, keep, rotate and
     * calibration_queries are ignored. A dual model needs the inner product metric; the posting lists store its
     * fingerprint.
     *
     * With a model of vectors whose item side is binary (thr_tower_train_vectors), the rows are the vectors themselves,
     * of the model's n_inputs dimensions and for any metric. The build encodes them, and keeps them in the type `keep`.
     * A search then takes such vectors as queries, encodes them, screens by the codes, and refines by the vectors. With
     * codes_only the metric is cosine, which the codes estimate.
     * Cells are not supported; features only with codes_only.
     */
    const char *model;
    /*
     * Features of the items in row order: a table file in the format of thr_hits_build_table, or a view; both NULL:
     * none. The table's names become the items' names unless ids are given. The index stores posting lists of the
     * features, with initial multipliers and offsets (thr_hits_build_options); a search can then add feature weights.
     */
    const char *features_path;
    const thr_item_features *features;
    const float *multipliers, *offsets; /* n_values each, by row; only with features. NULL: 1, and 0 */
    uint64_t n_values;
    /*
     * Directory of an index whose quantiser is to code the rows; NULL: learn a quantiser from a sample of the rows.
     * Without cells a row then has the same code and estimated score in both indexes, which the shards of a collection
     * require. item_bits, lead_bits and rotate are then ignored.
     */
    const char *quantiser_from;
    /*
     * Store items in about this many cells of neighbours, up to 65,536 and the number of items. Searches with a recall
     * of at most 0.999 then read only cells that are likely to hold answers. Those with features, n_candidates
     * or n_survivors read all cells. 0 or 1: no cells. THR_CELLS_AUTO: the build makes cells if it expects searches to
     * be clearly faster with them; never with features. Cells need kept vectors, and codes that a quantiser made of
     * them. Rows are then in the order of cells, so the rows of items without given ids differ from their ids: make
     * filters with thr_bitmap_from_ids, and look up rows with thr_index_rows to set values.
     */
    uint32_t cells;
    /*
     * XFBQ's scale (3.5.1), 1 to 1e6: components of unit vectors beyond +-1 / scale are cut off, in codes of any number
     * of bits. 0: the best scale is searched on the sample, separately for each number of bits. Ignored with
     * quantiser_from and with codes of a model; thr_index_recode keeps it.
     */
    float scale;
    thr_cells_choice *cells_choice; /* receives what THR_CELLS_AUTO chose, or a measurement of `cells`; NULL: neither */
} thr_index_build_options;

/*
 * Build an index in directory dir (created if missing) from all rows of vectors. options may be NULL for the defaults.
 *
 * Rows are streamed: the build needs memory for one segment's codes and some MiB; with ids or names, for these and 32
 * bytes per item; with cells, 24 bytes per row of a segment, up to 256 MiB, four copies of the centroids, and 16 MiB
 * per thread; with features, 8 bytes per item more.
 * Readers of dir see the old index until the build renames the new manifest into place at the end. A failed, cancelled
 * or killed build leaves the old index.
 *
 * Returns THR_OK; what the reader returns, thr_tower_open for the model, and thr_index_open for quantiser_from; or
 *   THR_EEXIST      dir holds an index and replace is false, or dir holds other files
 *   THR_EBUSY       another build or change is running there
 *   THR_EDIM        no rows; n_ids, the features or n_values differ from the number of rows; the rows do not have the
 *                   model's dimensions
 *   THR_ERANGE      a row has NaN or infinity, is longer than 2^120 (2^60 for ip and l2), or is shorter than 2^-100
 *                   but not zero, which loses its direction in float32; err names the row
 *   THR_EMISMATCH   a row is not a code of the model (err names it), the features list other ids or names, or
 *                   quantiser_from has another metric or model
 *   THR_ECHANGED    the model's file changed during the build
 *   THR_EDUPLICATE  an id occurs twice (err names the id and both rows)
 *   THR_EINVAL      an option is out of range, or cells exceeds the number of items
 *   THR_EUNSUPPORTED  cells with codes only, or with a model's codes; features with a model of vectors, unless with
 *                     codes_only; ip or l2 with such a model and codes_only
 *   THR_ENOSPACE, THR_EIO, THR_ECANCELED, THR_ENOMEM
 */
THR_API thr_status thr_index_build(thr_context *context, const char *dir, thr_reader *vectors,
                                   const thr_index_build_options *options, thr_error *err);

/* ------------------------------------------------------------------------------------------------ open */

typedef struct thr_index thr_index;

/*
 * Open an index by mmap. Reads the headers and the model, if there is one; checks sizes and the manifest's checksum.
 * thr_index_verify checks every byte.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT if the directory is not an index; THR_EVERSION for another format version;
 * THR_ECORRUPT if a file is damaged, cut short or missing; THR_EMISMATCH if the model is not the one the index was
 * built with; THR_EIO; THR_ENOMEM. The caller frees *index.
 */
THR_API thr_status thr_index_open(thr_context *context, const char *dir, thr_index **index, thr_error *err);

/* Close; NULL is allowed. No search may be running. */
THR_API void thr_index_free(thr_index *index);

#define THR_KEPT_RECALL 0.985F

typedef struct thr_index_info {
    uint64_t n_items;
    uint32_t n_dims; /* of items and queries; codes of a model of vectors have its dimensions (thr_tower_of_index) */
    thr_metric metric;
    uint32_t item_bits;
    thr_dtype keep;
    uint32_t n_segments;
    uint64_t code_bytes;   /* planes, factors and offsets of all items, with block padding */
    uint64_t vector_bytes; /* stored vectors, which refining reads */
    uint64_t file_bytes;   /* all files of the index */
    bool has_ids;          /* ids are stored: given ones, or row numbers of the input that cells reordered */
    bool has_names;
    uint32_t lead_bits;    /* leading planes; equal to item_bits: codes are not nested */
    bool rotated, centred; /* whether vectors were rotated, and a centre subtracted, before coding */
    bool relative_codes;   /* codes are relative to the centroids of cells; without cells: false */
    bool has_features;
    uint64_t tuned_queries; /* number of queries of the last calibration; 0: not calibrated */
    /*
     * Zero vectors among all items that were given, removed ones included. Their cosine and inner product with every
     * query is 0, so they are found before items that score less. L2: 0, because a zero vector is a point like others.
     */
    uint64_t n_zero;
    /*
     * Vectors kept as float16 or int8: the share of the nearest 10 by the vectors as given that is among the nearest 10
     * by the kept ones, measured by the build on 100 of its items. At most: only the nearest 50 by the kept ones are
     * compared with those as given. No search has a higher recall. 0: not measured.
     * Below THR_KEPT_RECALL the default recall of .99 cannot be reached.
     */
    float kept_recall;
} thr_index_info;

/* Facts about this index as it was opened, or last refreshed. Costs nothing; index is not NULL. */
THR_API thr_index_info thr_index_get_info(const thr_index *index);

/*
 * The number of rows, each of which has a bit in filters. Equal to info.n_items unless the index was changed
 * (index_change.h): rows of removed items, and padding rows between segments, have no item.
 */
THR_API uint64_t thr_index_n_rows(const thr_index *index);

/* The cells of an index: groups of neighbouring items, of which a search reads some. */
typedef struct thr_index_cells {
    uint32_t n_cells;           /* in all segments; segments that were added since the build have none */
    uint32_t smallest, largest; /* items of a cell */
    uint64_t n_items;           /* in all cells, including removed ones */
} thr_index_cells;

/* Counts over all segments, in a pass over their cells. n_cells is 0 without cells. */
THR_API thr_index_cells thr_index_get_cells(const thr_index *index);

/*
 * Measure what a search reads, with held-out items as queries. read and speed are 0 if searches for 10 items do not
 * skip cells: there are none, the journal has changes, or an exact scan is cheaper. short_by was measured when the
 * cells were made. Returns THR_OK; THR_EINVAL; THR_ECHANGED; THR_ENOMEM.
 */
THR_API thr_status thr_index_measure_cells(thr_index *index, thr_cells_choice *choice, thr_error *err);

/*
 * Measure, on some items, how far their vectors x spread around their mean: 1 - |mean|^2 / (mean of |x|^2), for cosine
 * with x of length 1. Below THR_LEAST_SPREAD cosines and inner products differ by so little that float32 rounds many to
 * equal ones: subtract the mean from items and queries, or use L2. *spread is 1 for L2, which has no such error, and
 * without kept vectors or items. Returns THR_OK; THR_EINVAL if index or spread is NULL; THR_ECHANGED; THR_ENOMEM.
 */
#define THR_LEAST_SPREAD 0x1p-14F
THR_API thr_status thr_index_spread(const thr_index *index, float *spread, thr_error *err);

/* The journal: the newest small changes, whose items have no codes yet and are scored exactly. */
typedef struct thr_index_journal {
    uint64_t n_items; /* in the journal, without removed ones */
    uint64_t n_rows;  /* with removed ones */
    uint64_t n_bytes; /* of its file, up to its last frame; 0: there is no journal */
} thr_index_journal;

/* The journal as this snapshot has it. */
THR_API thr_index_journal thr_index_get_journal(const thr_index *index);

/* The number of commits since the build. A change, a merge of segments and a new journal count as one each. */
THR_API uint64_t thr_index_n_commits(const thr_index *index);

/*
 * A 64-bit checksum of the metric, the numbers of planes and the quantiser. If two indexes have the same fingerprint, a
 * vector has the same code in both.
 */
THR_API uint64_t thr_index_quantiser_fingerprint(const thr_index *index);

/*
 * Read every byte, compare all checksums and recompute derived values: block norms and inverse norms match the codes
 * and vectors, vectors and factors are finite, codes and their numbers are those of the kept vectors, within the bounds
 * that certification uses, padding is zero, ids are distinct, and the features belong to the same items. Also verifies
 * the posting lists and the model.
 *
 * Reads the files about twice; comparing the ids of n items in s segments takes n log(s) steps more. No allocation
 * grows with the number of items. Does not check that names are distinct.
 *
 * Returns THR_OK; THR_ECORRUPT (err names the file, section and place); THR_ECHANGED if the index was replaced after it
 * was opened; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_index_verify(thr_index *index, thr_error *err);

/*
 * The posting lists of the items' features, for words, multipliers and offsets, targets and explanations (hits.h); NULL
 * if the index was built without features. The index owns them: do not free them, nor use them after the index.
 */
THR_API thr_hits *thr_index_hits(thr_index *index);

/*
 * The name of the item with this id; NULL if the index has no names or no such id, or if its file was changed after it
 * was opened. Lives as long as the index.
 */
THR_API const char *thr_index_name(const thr_index *index, uint64_t id);

/*
 * Fill names with the names of rows first to first + n - 1; NULL for a row that does not exist or has no name.
 * Checks the files for changes once per call. The strings live as long as the index.
 *
 * Returns THR_OK; THR_EINVAL; THR_ECHANGED.
 */
THR_API thr_status thr_index_row_names(const thr_index *index, uint64_t first, size_t n, const char **names,
                                       thr_error *err);

/* Find the row of the item with this id; false if there is none. Filters use row numbers. */
THR_API bool thr_index_row(const thr_index *index, uint64_t id, uint64_t *row);

/*
 * Find the id of the item with this name; in an index without names, the name is the id in decimal. Cost: one look-up
 * in each segment's table of names; in segments of a format before 4, a pass over the names.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EINVAL for NULL; THR_ECHANGED.
 */
THR_API thr_status thr_index_find(const thr_index *index, const char *name, uint64_t *id, thr_error *err);

/*
 * Copy an item's stored vector to out, info.n_dims floats, rounded to the type it is stored as. A text model's code is
 * returned as the vector that it represents.
 *
 * Returns THR_OK; THR_ENOTFOUND for an unknown id; THR_EUNSUPPORTED for an index that keeps no vectors, unless its
 * codes are a text model's; THR_EINVAL for NULL; THR_ECHANGED.
 */
THR_API thr_status thr_index_vector(const thr_index *index, uint64_t id, float *out, thr_error *err);

/* ------------------------------------------------------------------------------------------------ search */

typedef struct thr_search_options {
    /*
     * Bits per dimension of the query's code, 1 to 8. 0 chooses:
     *   an index without model codes            4
     *   model codes, the query side is binary   the model's query bits: products of codes are then exact
     *   model codes, the query side is floats   8
     */
    uint32_t query_bits;
    uint64_t n_candidates;  /* candidates refined with exact vectors; 0: as many as recall requires */
    bool exact;             /* score every stored vector exactly, without codes, but for those of cells in which
                               certainly none is in the answer */
    const uint64_t *filter; /* rows that may be returned: bit (row % 64) of word row / 64. NULL: all rows */
    uint64_t filter_bits;   /* thr_index_n_rows, if filter is given */
    /*
     * The share of the true best k to find, in (0, 1], on average over queries; 0: 0.99. Values above 0.999 run the
     * exact scan if vectors are kept and n_candidates is not given. Otherwise the errors of estimates are measured, for
     * each query or, in a rotated index, once; a search drops an item only if it is unlikely enough to be among the
     * best k. So the recall holds for queries unlike the items, too, and the calibration affects only the time. A query
     * of few effective dimensions, such as a unit vector, is scored against all vectors: its errors on a few rows do
     * not predict those of the best items. In a rotated index this is rare.
     *
     * In these searches the numbers of survivors and candidates determine the recall instead:
     *   with features
     *   without kept vectors; recall is then the share of the best k by the estimates of all codes
     *   by cosine, of codes that are not nested and have no centre
     *   of codes of a model of vectors
     *   with n_candidates or n_survivors given; recall then only chooses those not given
     * The calibrated numbers reach the recall only for queries like those of the calibration.
     *
     * In an index with cells a recall below 0.9 may be missed by far, because misses in unread cells are estimated.
     */
    float recall;
    /* Items that pass the screen and have their other planes read; 0: as many as recall requires. */
    uint64_t n_survivors;
    /*
     * NULL, or n_queries flags: 1 if the answer is proven to be the exact one, because the search skipped no item, or
     * because no skipped item can reach the k-th score given the largest error of any code; else 0. An uncertified
     * answer may be exact too. Estimated scores are never certified. Codes that are not nested are certified only if
     * nothing was skipped.
     *
     * With vectors kept as float16 or int8, a certified answer has the best k items by the vectors as given, perhaps in
     * another order: the index stores a bound of the rounding errors, and all other items score less by more than that.
     * About half of the answers of float16, or more, are certified, and few of int8; only of searches that are exact or
     * have a recall above 0.999, and with features none. The search looks for one more item than k.
     *
     * The same holds for float32 vectors by cosine and inner product if thr_index_spread of a sample is below 1/16,
     * with the rounding of scores that thr_index_search_radius states. Elsewhere items whose scores differ by less than
     * that count as equal.
     */
    uint8_t *certified;
    /*
     * Feature weights of each query, one entry per query row; NULL: score vectors only. Items are then ranked by value,
     * which is computed from s = vector score + the sum of the weights of the item's features, and from the item's
     * multiplier and offset (hits.h). The screen computes both in one pass. The numbers of survivors and candidates are
     * those calibrated without features. Only exact searches are certified.
     */
    const thr_hits_queries *features;
    thr_hits_value value;
    const thr_hits_target *target; /* of thr_index_hits; needs no feature weights. Combined with filter by AND */
    uint32_t *n_unknown;           /* NULL, or n_queries places: how many of a query's features no item has */
    uint64_t features_model;       /* fingerprint of the model of the weights (dual.h), which must equal that of the
                                      index's model, if it has one; 0: unchecked */
    /*
     * NULL, or n_queries scores: items that score less are left out of query q's answer, whose row is padded with
     * THR_NO_ID. If the answer will be merged with others, pass the k-th best score of those: fewer items are then
     * read, but no fewer cells unless the search is exact. -INFINITY: no limit. recall and certified then refer to the
     * items that reach the score.
     */
    const float *least_scores;
    /* NULL, or n_queries places: items whose records or vectors were read, after the leading planes. */
    uint64_t *n_read;
} thr_search_options;

/*
 * The number of candidates for k where neither the options nor a calibration determine it: max(4 k, k + 90). Enough for
 * recall 0.99 on the data of results/search.csv.
 */
THR_API uint64_t thr_search_candidates(uint64_t k);

/*
 * Find the best k items of every query. queries->n_dims is the index's. options may be NULL for the defaults. ids and
 * scores are row-major, queries->n_rows x k; scores may be NULL.
 *
 * Row q holds the best items of query q, best first. If fewer than k items exist or pass the filter, the rest of the
 * row is THR_NO_ID with score -infinity. An index of codes only returns estimated scores, or cosines of a model's
 * codes. Answers do not depend on the number of threads or the CPU level. A second search of the same shape allocates
 * nothing, except for a model's encoding of queries and for certificates of vectors kept rounded.
 *
 * Returns THR_OK, or
 *   THR_EINVAL        k is 0, options are out of range, the filter has the wrong length, a least score is NaN or
 *                     infinity, or the target belongs to other posting lists
 *   THR_EDIM          the queries' n_dims, or the number of feature queries, is wrong
 *   THR_ERANGE        a query has NaN or infinity, or a length that a build refuses (err names the row);
 *                     feature weights sum to 2^100 or more; a value is not finite
 *   THR_EUNSUPPORTED  exact on an index of codes only; features on an index without
 *   THR_EMISMATCH     the feature weights come from another model
 *   THR_ECHANGED      a file was changed or cut after it was opened
 *   THR_ENOMEM
 */
THR_API thr_status thr_index_search(thr_index *index, const thr_matrix *queries, uint64_t k,
                                    const thr_search_options *options, uint64_t *ids, float *scores, thr_error *err);

/* The size of a text of thr_index_explain, including the terminating NUL. */
#define THR_EXPLAIN_SIZE 2048

/*
 * Explain how a search with these arguments runs, without searching: a line for each decision, as "name: decision",
 * such as those below. The first call may read a sample of the codes, or, for certificates by inner product, all
 * vectors.
 *
 *     source: the codes of the likeliest of 512 cells, and of more until the recall is reached
 *     promise: recall 0.95; 65 % of the misses in cells that are not read, the others by error margins
 *     threads: 8, all for one query at a time
 *
 * The wording is for people, and may change. n_queries, 1 or more, is the number of queries in one call. k is 0 for
 * thr_index_search_radius. The options are those of the search. Of certified, n_read, n_unknown and least_scores only
 * whether they are NULL counts; features are for n_queries queries. text has room for THR_EXPLAIN_SIZE bytes.
 *
 * Returns THR_OK; THR_EINVAL, THR_EDIM, THR_ERANGE and THR_EUNSUPPORTED for the options, as the search; THR_EINVAL for
 * 0 queries; THR_ECHANGED; THR_ENOMEM.
 */
THR_API thr_status thr_index_explain(thr_index *index, uint64_t n_queries, uint64_t k,
                                     const thr_search_options *options, char *text, thr_error *err);

/* Answers of thr_index_search_radius: ids and scores [offsets[q], offsets[q + 1]) are query q's, best first. */
typedef struct thr_radius_result {
    uint64_t n_queries;
    const uint64_t *offsets; /* n_queries + 1, from 0 */
    const uint64_t *ids;
    const float *scores;
} thr_radius_result;

/*
 * Find all items whose score is at least least_score. For L2, scores are minus squared distances: pass -r * r for all
 * items within r.
 *
 * Scores are rounded, so an item is found if its score is at least least_score - e. With u = (n_dims / 16 + 16) 2^-24,
 * e is u for cosines, and u |least_score| for inner products and L2. So a vector and its multiples are within a cosine
 * of 1, and unit vectors find themselves by an inner product of 1.
 *
 * Vectors kept as float16 or int8 are scored as kept. If the search is exact, or recall is 1, it also returns the items
 * that score less than least_score - e, but whose vectors as given may reach that. certified is then 1 if the vectors
 * as given of all items found, and of no others, certainly reach least_score - e; in other searches of these types it
 * is 0.
 *
 * The search uses the options query_bits, exact, filter, recall and certified (NULL: the defaults); the options for the
 * best k and for features must be unset. An item that just reaches least_score is missed with a probability of about 1
 * - recall; a better item is missed less often. The search measures the margin that this takes for each query, on some
 * rows of the index.
 *
 * No item is missed with recall 1, nor if the search scores all vectors. It does so when it would read many of them
 * anyway, and when codes have no factors (cosine, not nested, not centred). Items are returned by their exact scores,
 * or, in an index of codes only, by their estimates. Cells are skipped if all their items certainly score less than
 * least_score.
 *
 * The caller frees *result, which may outlive the index. Memory: about 40 bytes per item found. Answers do not depend
 * on the number of threads or the CPU level.
 *
 * Returns THR_OK; THR_EINVAL for a NaN least_score, one above 0 for L2, options that are out of range or not allowed
 * here, or a filter of the wrong length; THR_EDIM; THR_ERANGE as thr_index_search; THR_EUNSUPPORTED for exact on an
 * index of codes only; THR_ECHANGED; THR_ENOMEM.
 */
THR_API thr_status thr_index_search_radius(thr_index *index, const thr_matrix *queries, float least_score,
                                           const thr_search_options *options, thr_radius_result **result,
                                           thr_error *err);

/* Free a result; NULL is allowed. */
THR_API void thr_radius_result_free(thr_radius_result *result);

/*
 * Calibrate the index: measure how many survivors and candidates each recall requires, and store that in the index.
 * queries is a sample of the queries that you expect, of any dtype: at least 30, better 1,000. NULL: use items of the
 * index as queries, as a build does. Cost: an exact search for all queries. No search may be running.
 *
 * Returns THR_OK, or
 *   THR_EINVAL        too few queries
 *   THR_EDIM          the queries' n_dims is wrong
 *   THR_ERANGE        a query has NaN or infinity
 *   THR_EUNSUPPORTED  one of these:
 *                     - it is so small that searches are exact
 *                     - it has rows without an item, of removed items or a writer's changes (thr_index_recode leaves
 *                       none)
 *                     - it keeps no vectors, and queries is NULL
 *                     - it keeps no vectors, and its codes are a model's (every search reads all their planes)
 *   THR_ECHANGED      the index was replaced after it was opened
 *   THR_EBUSY         a build or a change is running in its directory
 *   THR_EIO, THR_ECANCELED, THR_ENOMEM
 */
THR_API thr_status thr_index_tune(thr_index *index, const thr_matrix *queries, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
