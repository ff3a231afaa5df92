/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower.h - learned codes of text: CDSSM with Recurrent Binary Embedding.
 *
 * A model has two towers, one for queries and one for items. A text becomes words, words become letter trigrams, three
 * neighbouring words a window; windows are pooled, and binary layers make planes of weights 1, 1/2, 1/4, ... of the
 * result (RBE, Shan et al. 2018, sections 3 and 4). Both sides are learned from pairs, a query and the item that was
 * right for it, so that the cosine of the two codes is large. Items' codes are what an index holds; a query's code is
 * made when it is asked.
 *
 * A text is UTF-8; bytes that are not, and all but letters and digits, part words; case does not count.
 *
 * Threads: an open model is immutable and may be shared; encoding takes what memory it needs from the context.
 */
#ifndef THRESHER_TOWER_H
#define THRESHER_TOWER_H

#include <thresher/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum thr_side { THR_SIDE_QUERY = 0, THR_SIDE_ITEM = 1 } thr_side;

/* How the gradient passes the sign in training (RBE 4.2). */
typedef enum thr_estimator {
    THR_ESTIMATOR_VARIANT = 0,  /* as if it were x where |x| <= 1, else constant: the straight-through variant */
    THR_ESTIMATOR_STRAIGHT = 1, /* as if it were x: straight-through */
    THR_ESTIMATOR_TANH = 2      /* as if it were tanh(slope x), the slope growing while training: annealing tanh */
} thr_estimator;

enum { THR_FLOAT_BITS = 32 }; /* of a side that is not binary: a tanh layer of n_dims numbers */

/*
 * What a model is. RBE Table 1: m_1 is bits 32 and 32; m_2 1 and 1; m_3 1 and 1 with 128 dims; rbe* 3 and 2; m_5 32
 * and 2.
 */
typedef struct thr_tower_config {
    size_t size;         /* sizeof(thr_tower_config), set by _init */
    uint32_t n_dims;     /* of the embedding, 1 to 1024; 64 */
    uint32_t n_pooled;   /* of what is pooled over windows, 1 to 4096; 288 */
    uint32_t query_bits; /* 1 to 8, or THR_FLOAT_BITS; 3 */
    uint32_t item_bits;  /* 1 to 8, or THR_FLOAT_BITS; 2 */
    uint32_t max_grams; /* the most frequent letter trigrams have a row of their own; 49,292. The others are left out */
    uint32_t max_words; /* of a text; what follows is not read. 1 to 65,535; 128 */
    bool shared_words;  /* one table of letter trigrams for both sides; the paper has two */
    bool shared_steps;  /* the same B and R in every step; the paper has others in each */
    bool plain_weights; /* residuals count in full, not 1/2, 1/4, ...: for Table 6. Such a model has no codes */
} thr_tower_config;

THR_API void thr_tower_config_init(thr_tower_config *config);

/* ------------------------------------------------------------------------------------------------ train */

/* Where pairs stand in the rows of a .tsv or .csv file (.gz and .xz read through). Columns are counted from 1. */
typedef struct thr_pairs_format {
    uint32_t query_column, item_column; /* 1 and 2 */
    uint32_t label_column;              /* of a number that says how good the pair is; 0: none, all are good */
    float least_label;                  /* pairs of less are bad: not learned from, negatives of an evaluation */
    bool header;                        /* the first row names columns */
} thr_pairs_format;

/* How far training is: the learning curve's next point. */
typedef struct thr_tower_epoch {
    uint32_t epoch; /* from 1 */
    uint64_t n_pairs;
    double seconds, examples_per_second; /* of this epoch's steps, validation not counted */
    double loss, valid_loss, valid_auc;
    bool as_floats; /* signs come later: the model was not kept (float_share) */
    bool best;      /* so far; it was written to the model's path */
} thr_tower_epoch;
typedef void (*thr_tower_epoch_fn)(void *user, const thr_tower_epoch *epoch);

typedef struct thr_tower_train_options {
    size_t size; /* sizeof(thr_tower_train_options), set by _init */
    thr_tower_config config;
    const char *valid_path; /* pairs to validate with; NULL: valid_share of the queries */
    float valid_share;      /* 0.02 */
    thr_pairs_format format;
    uint32_t n_epochs;    /* at most; 40 */
    uint32_t patience;    /* stop after so many epochs without a better validation; 0: never. 10 */
    uint32_t batch;       /* pairs a step; 512 */
    uint32_t n_negatives; /* of each pair, from its batch; 0, all others, is the default */
    float gamma;          /* of the soft-max; 10 */
    float rate;           /* of learning (Adam), falling to 0 in a straight line over all epochs; 0.002 */
    float word_dropout;   /* the share of words left out of a text, others each time it is met; 0.25 */
    /*
     * The share of the epochs in which sides are learned as floats, before signs take their place; 0: none, as the
     * paper has it; 0.5. One epoch at least has signs. On some ten thousand pairs planes learned from nothing are
     * worse.
     */
    float float_share;
    thr_estimator estimator;
    uint64_t seed;               /* of the first weights and of the order of pairs */
    bool resume;                 /* go on from the checkpoint of the model's path */
    thr_tower_epoch_fn on_epoch; /* told after each epoch; NULL: not */
    void *on_epoch_user;
} thr_tower_train_options;

THR_API void thr_tower_train_options_init(thr_tower_train_options *options);

typedef struct thr_tower_report {
    uint64_t n_pairs, n_valid; /* that were learned from, and validated with */
    uint64_t n_refused;        /* lines without the columns */
    uint32_t n_grams;
    uint32_t n_epochs, best_epoch;
    double loss, valid_loss; /* mean log loss, of the best epoch */
    double valid_auc;        /* of pairs against the items of other queries */
    double examples_per_second;
} thr_tower_report;

/*
 * Learn a model from the pairs in a .tsv or .csv file (.gz and .xz read through) and write it to path, a .safetensors
 * file, each time it gets better. A checkpoint stands at path + ".checkpoint" until training ends. options may be NULL.
 *
 * Same pairs, options and seed give the same model, bit for bit, for any number of threads and at any CPU level, and
 * whether or not it was stopped and resumed.
 *
 * Steps are made by a GPU where the context's device says "cuda", or "auto" and all epochs together have more than
 * 600,000 pairs; of several by the first one. It adds up products of matrices and the loss in an order of its own. From
 * the same weights a step's loss is the CPU's within 1e-5 of it; what is learned drifts from there, as signs and Adam
 * make much of the last bit. One GPU gives the same bits every time, stopped and resumed or not; a checkpoint may be
 * resumed by the CPU or a GPU. With "auto" the CPU makes the steps instead, and thr_context_device says why, where the
 * GPU fails before the first one, cuBLAS is missing or memory too small.
 *
 * Returns THR_OK; THR_EINVAL for options out of range; THR_EFORMAT when more than one line in 20 lacks the columns, or
 * when there are fewer pairs than two batches; THR_ERANGE when the loss is no longer finite (err names the step; the
 * best model so far stays); THR_ECORRUPT and THR_ENOTFOUND for a checkpoint that is damaged or missing; THR_EMISMATCH
 * for one of another configuration, other options or other pairs; THR_ECANCELED (a checkpoint was written if pairs had
 * been read); THR_EDEVICE when a GPU fails, and THR_EUNSUPPORTED when it is given 2^32 words and trigrams at once (the
 * checkpoint of the last whole epoch stays); THR_ENOSPACE; THR_EIO; THR_ENOMEM, also for a GPU's memory.
 */
THR_API thr_status thr_tower_train(thr_context *context, const char *pairs_path, const char *path,
                                   const thr_tower_train_options *options, thr_tower_report *report, thr_error *err);

/* ------------------------------------------------------------------------------------------------ use */

typedef struct thr_tower thr_tower;

/*
 * Read a model. Its header is checked; its weights are mapped and read when they are needed, so damage in them is found
 * by who compares checksums, as thr_index_verify does. THR_OK; THR_ENOTFOUND; THR_EFORMAT; THR_EVERSION;
 * THR_ECORRUPT; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_tower_open(thr_context *context, const char *path, thr_tower **tower, thr_error *err);
THR_API void thr_tower_free(thr_tower *tower);

typedef struct thr_tower_info {
    thr_tower_config config;
    uint32_t n_grams; /* rows of letter trigrams */
    uint64_t n_parameters;
    uint64_t file_bytes;  /* the model's file */
    uint64_t fingerprint; /* of the weights and the configuration: codes of equal ones may be compared */
} thr_tower_info;
THR_API thr_tower_info thr_tower_get_info(const thr_tower *tower);

/*
 * The embedding of n_texts texts, n_dims floats each, dense in out. Of a binary side it is the sum of its planes, +-1
 * +-1/2 +-1/4 ...: thr_tower_pack makes planes of it, an index takes it as it is. lengths NULL: texts end with NUL.
 * A text's bits do not depend on those beside it, the number of threads or the CPU level.
 *
 * THR_OK; THR_ECHANGED when the model's file was changed or cut since it was opened; THR_ENOMEM.
 */
THR_API thr_status thr_tower_encode(const thr_tower *tower, thr_side side, const char *const *texts,
                                    const size_t *lengths, size_t n_texts, float *out, thr_error *err);

/*
 * Bytes of a packed code: planes times ceil(n_dims / 8); 0 for a side that is no binary code (floats, plain weights).
 */
THR_API uint32_t thr_tower_packed_size(const thr_tower *tower, thr_side side);

/*
 * The planes of embeddings that thr_tower_encode gave, thr_tower_packed_size bytes each: plane after plane from the
 * most significant, bit i of byte j is dimension 8 j + i, 1 for +. THR_OK; THR_EUNSUPPORTED for a side that is no
 * binary code.
 */
THR_API thr_status thr_tower_pack(const thr_tower *tower, thr_side side, const float *embeddings, uint64_t n_texts,
                                  unsigned char *out, thr_error *err);

typedef struct thr_tower_quality {
    uint64_t n_good, n_bad; /* pairs that count; n_bad are labelled, or sampled */
    uint64_t n_refused;
    double auc;  /* of the cosines of good pairs against those of bad ones */
    double loss; /* mean log loss against 10 other items, gamma 10; NaN where labels say what is bad */
} thr_tower_quality;

/*
 * How well the model tells good pairs from bad ones. Without labels every query's 10 bad items are those of other
 * pairs of the file. Embeddings of all pairs are kept in memory. format NULL: columns 1 and 2.
 *
 * THR_OK; THR_EINVAL when there are no good or no bad pairs; THR_EFORMAT when more than one row in 20 lacks its
 * columns, words in them, or a label; THR_EUNSUPPORTED, THR_ENOTFOUND, THR_EIO, THR_ECORRUPT, THR_ECANCELED,
 * THR_ENOMEM.
 */
THR_API thr_status thr_tower_eval(const thr_tower *tower, const char *pairs_path, const thr_pairs_format *format,
                                  thr_tower_quality *quality, thr_error *err);

/*
 * The lines of a text reader (.txt, or a column of a table: "packages.tsv:4"), encoded, as a reader of rows: what
 * thr_index_build takes. texts and tower must live as long as it. THR_OK; THR_EINVAL when texts is none; THR_ENOMEM.
 */
THR_API thr_status thr_tower_reader(const thr_tower *tower, thr_side side, thr_reader *texts, thr_reader **reader,
                                    thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
