/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h - build a directory of plane codes, open it by mmap, search it.
 *
 * A search screens every item with its plane code (a few bits a dimension), keeps the best candidates, and refines
 * those with the exact vectors kept beside the codes. XFBQ section 4 is the model; docs/format.md describes the files.
 *
 * Scores are always "larger is better": cosine; inner product; or, for L2, minus the squared distance.
 * Equal scores are ordered by the smaller row number.
 *
 * Threads: an open index is immutable and may be searched from many threads at once.
 */
#ifndef THRESHER_INDEX_H
#define THRESHER_INDEX_H

#include <thresher/dual.h>
#include <thresher/hits.h>
#include <thresher/matrix.h>
#include <thresher/metric.h>
#include <thresher/tower.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum thr_metric {
    THR_METRIC_COSINE = 0, /* zero vectors have cosine 0 with everything */
    THR_METRIC_IP = 1,
    THR_METRIC_L2 = 2
} thr_metric;

/* "cosine", "ip", "l2". Never NULL. */
THR_API const char *thr_metric_name(thr_metric metric);

/* ------------------------------------------------------------------------------------------------ build */

/* Whether vectors are rotated at random before they are coded: it spreads what they say over all dimensions. */
typedef enum thr_rotate {
    THR_ROTATE_AUTO = 0, /* where a sample's codes get better by it */
    THR_ROTATE_ON = 1,
    THR_ROTATE_OFF = 2
} thr_rotate;

typedef struct thr_index_build_options {
    size_t size; /* sizeof(thr_index_build_options), set by _init */
    thr_metric metric;
    uint32_t item_bits;  /* planes a dimension, 1 to 8 */
    thr_dtype keep;      /* the copy for refine: F32, F16, I8 (a scale an item), or NONE for codes only */
    const uint64_t *ids; /* one an item, each once; NULL: ids are row numbers from 0. Needs n_ids */
    uint64_t n_ids;
    /* Or a file: integers (.ibin .npy .ivecs of one column), or a text (.txt .tsv .csv) of one id or name a line. */
    const char *ids_path;
    bool replace;          /* an index that is already there is replaced, at the moment the new one is complete */
    uint32_t sample_rows;  /* rows the quantiser's scales are calibrated on */
    uint64_t segment_rows; /* at most so many items a segment file; 0: chosen by size */
    uint32_t lead_bits; /* planes that are screened by themselves, 1 to item_bits (codes are not nested); 0: chosen */
    thr_rotate rotate;
    /* So many items serve as queries to find out what a recall takes; 0: not calibrated. */
    uint64_t calibration_queries;
    /*
     * The file of a model whose item side made the vectors (tower.h, dual.h); NULL: none did. A copy goes into the
     * index, so that it can be asked in words. One of texts is for cosine. Where its item side is binary its planes are
     * the index's codes, and nothing else is kept: item_bits are the model's; lead_bits, keep, rotate and
     * calibration_queries do not count. A dual model is for the inner product, and the index's posting lists are of it,
     * too.
     */
    const char *model;
    /*
     * What the items have, in the order of their vectors: the file of a table as thr_hits_build_table reads it, whose
     * names are those of the items where they have no others; or a view. NULL: nothing is said. Posting lists of it go
     * into the index, with bids and offsets for a start (thr_hits_build_options), and searches may add what they weigh.
     */
    const char *features_path;
    const thr_item_features *features;
    const float *multipliers, *offsets; /* n_values each, by row, with features only; NULL: 1, and 0 */
    uint64_t n_values;
} thr_index_build_options;

/* Defaults: cosine, 3 bits, float32 kept, 4,096 sample rows, 1,000 calibration queries. */
THR_API void thr_index_build_options_init(thr_index_build_options *options);

/*
 * Build an index in directory dir (made if missing) from all rows of vectors. options may be NULL for the defaults.
 *
 * Rows are streamed: memory is needed for one segment's codes and some MiB. Nothing is visible at dir until the
 * manifest is renamed into place at the end; an error, a cancelled or a killed build leaves what was there before.
 *
 * Returns THR_OK; THR_EEXIST when dir holds an index and replace is false, or holds other things; THR_EDIM for no rows,
 * a number of ids, features or values that is not the number of rows, or rows that do not have the model's dimensions;
 * THR_ERANGE for NaN,
 * infinity or a row longer than 2^120 (2^60 for ip and l2; err names the row); THR_EMISMATCH for a row that is no code
 * of the model's planes (err names it); THR_ECHANGED when the model's file was changed meanwhile; THR_EDUPLICATE (err
 * names the id and both rows); THR_EINVAL for options out of range; THR_ENOSPACE; THR_EIO; THR_ECANCELED; THR_ENOMEM;
 * what the reader returns, and what thr_tower_open does.
 */
THR_API thr_status thr_index_build(thr_context *context, const char *dir, thr_reader *vectors,
                                   const thr_index_build_options *options, thr_error *err);

/* ------------------------------------------------------------------------------------------------ open */

typedef struct thr_index thr_index;

/*
 * Open an index by mmap; reads headers only, checks sizes and the manifest's checksum (thr_index_verify checks all).
 * The model of one that carries one is read, too.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT for a directory that is no index; THR_EVERSION for a newer format;
 * THR_ECORRUPT for files that are damaged, cut or missing; THR_EMISMATCH for a model that is not the one the index was
 * built with; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_index_open(thr_context *context, const char *dir, thr_index **index, thr_error *err);

/* Close; NULL is allowed. No search may be running. */
THR_API void thr_index_free(thr_index *index);

typedef struct thr_index_info {
    uint64_t n_items;
    uint32_t n_dims;
    thr_metric metric;
    uint32_t item_bits;
    thr_dtype keep;
    uint32_t n_segments;
    uint32_t format_version;
    uint64_t code_bytes;   /* all planes, factors and offsets of all items, block padding included */
    uint64_t vector_bytes; /* the copy for refine */
    uint64_t file_bytes;   /* all files together */
    bool has_ids;
    bool has_names;
    uint32_t lead_bits;    /* planes that are screened by themselves; item_bits: codes are not nested */
    bool rotated, centred; /* before they were coded */
    bool has_features;
    uint64_t tuned_queries; /* that the index was calibrated with; 0: it was not */
} thr_index_info;

THR_API thr_index_info thr_index_get_info(const thr_index *index);

/*
 * Read every byte, compare all checksums, and recompute derived values: block norms and inverse norms are those of the
 * codes and vectors, vectors and factors are finite, no code is longer than the bound that certifies answers, padding
 * is zero, no id is given twice, and features are of the same items.
 *
 * Reads the files about twice; ids of s segments take n log(s) steps more. No allocation grows with the number of
 * items. Names are not compared with each other. Posting lists and the model are verified, too.
 *
 * THR_OK; THR_ECORRUPT naming the file, section and place; THR_ECHANGED when the index was replaced since it was
 * opened; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_index_verify(thr_index *index, thr_error *err);

/*
 * The model that the index carries, which encodes queries for it: one of texts, or a dual one; NULL when it has none.
 * Lives as long as the index.
 */
THR_API const thr_tower *thr_index_tower(const thr_index *index);
THR_API const thr_dual *thr_index_dual(const thr_index *index);

/*
 * The posting lists of what the items have; NULL when the index was built without features. Words, bids and offsets,
 * targets and explanations are theirs (hits.h); they live as long as the index, and are not to be freed.
 */
THR_API thr_hits *thr_index_hits(thr_index *index);

/* The name of the item with this id, NULL when the index has no names or no such id. Lives as long as the index. */
THR_API const char *thr_index_name(const thr_index *index, uint64_t id);

/*
 * The names of the items in rows first to first + n - 1. names[i] is NULL where there is no such row, and in an index
 * without names. The files are checked for changes once a call, not once a name.
 * THR_OK; THR_EINVAL; THR_ECHANGED.
 */
THR_API thr_status thr_index_row_names(const thr_index *index, uint64_t first, size_t n, const char **names,
                                       thr_error *err);

/* The row number of the item with this id; false when there is no such item. Filters are over rows. */
THR_API bool thr_index_row(const thr_index *index, uint64_t id, uint64_t *row);

/* The id that has this name. THR_OK or THR_ENOTFOUND. Cost: one pass over the names. */
THR_API thr_status thr_index_find(const thr_index *index, const char *name, uint64_t *id, thr_error *err);

/*
 * The vector of an item, from the copy kept for refine (as it was given, up to the kept dtype's rounding), n_dims
 * floats; a model's codes are their own copy. THR_OK; THR_ENOTFOUND for an id that is not there; THR_EUNSUPPORTED for
 * any other index of codes only.
 */
THR_API thr_status thr_index_vector(const thr_index *index, uint64_t id, float *out, thr_error *err);

/* ------------------------------------------------------------------------------------------------ search */

typedef struct thr_search_options {
    size_t size; /* sizeof(thr_search_options), set by _init */
    /*
     * 1 to 8; 0: what fits the index. That is 4; but of an index of a model's codes as many as the model's queries have
     * planes, so that their product with an item's code is the true one, or 8 where its queries are no codes.
     */
    uint32_t query_bits;
    uint64_t n_candidates; /* how many of the best by code are refined; 0: what recall takes */
    float extra; /* instead of n_candidates, when >= 0: refine all whose estimated score is within extra of the k-th
                    best estimate (XFBQ 3.6); in units of the score. Negative: off */
    bool exact;  /* score every kept vector exactly, without the codes */
    const uint64_t *filter; /* bit (row % 64) of word row / 64 set: the item may be returned. NULL: all may */
    uint64_t filter_bits;   /* must be n_items when filter is given */
    /*
     * The share of the true best k that is wanted, in (0, 1]: the index knows from its calibration how many rows that
     * takes at k. 1, and everything above 0.999, is the exact scan. Counts that are given below are taken as they are.
     */
    float recall;
    uint64_t n_survivors; /* so many of the best by the leading planes have the others read; 0: what recall takes */
    /*
     * n_queries places, or NULL: 1 where the answer is certainly the exact one, since nothing was left out or what was
     * cannot be as good, by a bound of what codes are off by; else 0. An answer that is not certified may well be exact
     * too: the bound knows the worst code only. Of estimates, and of codes that are not nested unless nothing was left
     * out, nothing is certified.
     */
    uint8_t *certified;
    /*
     * What each query weighs features, one for every row of the queries; NULL: the index's vectors alone are asked.
     * Then items are ranked not by their scores, but by what value makes of s = score + the weights of the features
     * that they have, and their multipliers and offsets (hits.h). Codes are screened with all of it, in one pass; what
     * a recall takes is what it was found to take without. extra must not be set, and no answer is certified but an
     * exact one.
     */
    const thr_hits_queries *features;
    thr_hits_value value;
    const thr_hits_target *target; /* of the index's posting lists; also without features. With a filter, what both let
                                      through */
    uint32_t *n_unknown;           /* n_queries places, or NULL: features of each that no item has */
    uint64_t features_model;       /* the fingerprint of the model whose weights they are (dual.h), which must be that
                                      of the index where it carries one; 0: not told */
} thr_search_options;

/* Defaults: query bits that fit the index, recall 0.99, no filter. */
THR_API void thr_search_options_init(thr_search_options *options);

/*
 * The number of candidates refined for k when the options do not say: enough for recall 0.99 on the data of
 * docs/benchmarks.md.
 */
THR_API uint64_t thr_search_candidates(uint64_t k);

/*
 * Search all queries; queries->n_dims must be the index's. options may be NULL for the defaults. ids and scores have
 * room for n_rows x k; scores may be NULL.
 *
 * Row q gets the best k items, best first; where fewer than k items exist or pass the filter, the rest of the row is
 * THR_NO_ID with score -infinity. An index of codes only returns estimated scores. Answers do not depend on the number
 * of threads or the CPU level. After a first search of the same shape nothing is allocated; with extra, whose answers
 * have no size known beforehand, nothing once the largest has been seen.
 *
 * Returns THR_OK; THR_EINVAL for k = 0, options out of range, a filter of the wrong length, or a target of other lists;
 * THR_EDIM, also unless there are as many queries of features as of vectors; THR_ERANGE for a query with NaN or
 * infinity, or longer than 2^120 (2^60 for ip and l2; err names the row), and for weights that add up to 2^100 or
 * values that are not finite; THR_EUNSUPPORTED for exact on an index of codes only, and for features of one without;
 * THR_EMISMATCH for features of another model; THR_ECHANGED when a file was changed or cut since it was opened;
 * THR_ENOMEM.
 */
THR_API thr_status thr_index_search(thr_index *index, const thr_matrix *queries, uint64_t k,
                                    const thr_search_options *options, uint64_t *ids, float *scores, thr_error *err);

/* The answers of thr_index_search_radius, best first; query q's are [offsets[q], offsets[q + 1]) of ids and scores. */
typedef struct thr_radius_result {
    uint64_t n_queries;
    const uint64_t *offsets; /* n_queries + 1, from 0 */
    const uint64_t *ids;
    const float *scores;
} thr_radius_result;

/*
 * Find all items whose score is at least least_score. Scores are larger for better items in every metric: for cosine
 * and inner product it is what they are at least, for L2 it is minus the largest squared distance (-r * r for all
 * within r).
 *
 * Of options (NULL: the defaults) query_bits, exact, filter, recall and certified count; those for the best k, and of
 * features, must not be set. recall says how surely an item is found: one whose score is just least_score is missed
 * with a probability of about 1 - recall, better ones less. The margin that takes is measured for each query on some
 * rows of the index. With recall 1 none is missed; nor where most vectors would be read in any case, or codes have no
 * factors (cosine, not nested and without a centre), for then all vectors are scored. Exact scores decide what is
 * found, so nothing is in an answer that does not belong there; of an index of codes only, estimates decide.
 *
 * *result may be freed after the index. Memory is needed for the answers alone, about 40 bytes an item found.
 * Answers do not depend on the number of threads or the CPU level.
 *
 * Returns THR_OK; THR_EINVAL for NaN, a least score above 0 for L2, options out of range or for the best k, or a filter
 * of the wrong length; THR_EDIM; THR_ERANGE as thr_index_search; THR_EUNSUPPORTED for exact on an index of codes only;
 * THR_ECHANGED; THR_ENOMEM.
 */
THR_API thr_status thr_index_search_radius(thr_index *index, const thr_matrix *queries, float least_score,
                                           const thr_search_options *options, thr_radius_result **result,
                                           thr_error *err);

/* NULL is allowed. */
THR_API void thr_radius_result_free(thr_radius_result *result);

/*
 * Calibrate the index anew with queries like those it will be asked (30 at least, better a thousand; any dtype), which
 * need not be items: what thr_search_options.recall takes is learnt from them and kept in the index. queries NULL: some
 * of its items, as a build does. It takes an exact search of all queries. No search may be running.
 *
 * Returns THR_OK; THR_EINVAL for too few queries; THR_EDIM; THR_ERANGE for a query with NaN or infinity;
 * THR_EUNSUPPORTED for an index of format 1, or of a model's codes, all of which a search reads, or of so few items
 * that it is searched exactly, or without vectors and queries; THR_ECHANGED when the index was replaced since it was
 * opened; THR_EEXIST while a build is at work there; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_index_tune(thr_index *index, const thr_matrix *queries, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
