/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower.h - learned codes of texts (CDSSM), or of given vectors, with Recurrent Binary Embedding.
 *
 * A model has two towers, for queries and for items. A tower splits a text into words and words into letter trigrams,
 * convolves over windows of three words, max-pools over windows, and computes B binary planes of weights 1, 1/2, 1/4,
 * ... (RBE, Shan et al. 2018, sections 3 and 4). Training on pairs of a query and a matching item makes the cosine of
 * their codes large. An index stores the items' codes; a query is encoded when it is searched.
 *
 * A text is UTF-8. Letters and digits form words, case is ignored; all else, and invalid bytes, separate words.
 *
 * Threads: an open model is immutable and may be shared; encoding allocates from the context.
 */
#ifndef THRESHER_TOWER_H
#define THRESHER_TOWER_H

#include <thresher/index.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gradient of the sign function in training (RBE 4.2). */
typedef enum thr_estimator {
    THR_ESTIMATOR_VARIANT = 0,  /* straight-through, 0 outside |x| <= 1 */
    THR_ESTIMATOR_STRAIGHT = 1, /* straight-through: 1 */
    THR_ESTIMATOR_TANH = 2      /* annealing: the gradient of tanh(slope x), with a slope that grows during training */
} thr_estimator;

enum { THR_FLOAT_BITS = 32 }; /* bits of a side that is not binary: a tanh layer of n_dims floats */

/*
 * The shape of a model; a default ends each comment. As (query_bits, item_bits), the models of RBE Table 1 are m_1
 * (32, 32), m_2 (1, 1), m_3 (1, 1) with 128 dims, rbe* (3, 2) and m_5 (32, 2).
 */
typedef struct thr_tower_config {
    uint32_t n_dims;     /* dimensions of the embedding, 1 to 1024; 64 */
    uint32_t n_pooled;   /* dimensions of the pooled layer, 1 to 4096; 288 */
    uint32_t query_bits; /* 1 to 8, or THR_FLOAT_BITS; 3 */
    uint32_t item_bits;  /* 1 to 8, or THR_FLOAT_BITS; 2 */
    uint32_t max_grams;  /* most letter trigrams to learn, by frequency; others are ignored. 49,292 */
    uint32_t max_words;  /* words of a text that are read, 1 to 65,535; 128 */
    bool shared_words;   /* one trigram table for both sides; the paper has two. false */
    bool shared_steps;   /* the same B and R in every recurrent step; the paper has one per step. false */
    bool plain_weights;  /* planes weigh 1 instead of 1, 1/2, ... (RBE Table 6); such a model has no codes. false */
    uint32_t n_inputs;   /* dimensions of the given vectors, 1 to 4096; 0 for texts. 0 */
} thr_tower_config;

/* ------------------------------------------------------------------------------------------------ train */

/* Columns of the pairs in a .tsv or .csv file (also .gz, .xz), counted from 1; a default ends each comment. */
typedef struct thr_pairs_format {
    uint32_t query_column, item_column; /* 1 and 2 */
    uint32_t label_column;              /* column of a numeric label, larger is better; 0: none, all pairs are good */
    float least_label;                  /* pairs below it are bad: not trained on, negatives of an evaluation */
    bool header;                        /* skip the first row, which names columns; false */
} thr_pairs_format;

/* Progress after an epoch: a point of the learning curve. */
typedef struct thr_tower_epoch {
    uint32_t epoch; /* from 1 */
    uint64_t n_pairs;
    double seconds, examples_per_second; /* of this epoch's steps, without validation */
    double loss, valid_loss;
    double valid_quality; /* AUC; of a dual tower GAUC, of a model of vectors recall@10 */
    bool as_floats;       /* a float epoch (float_share): the model was not written */
    bool best;            /* best validation so far: the model was written */
} thr_tower_epoch;
typedef void (*thr_tower_epoch_fn)(void *user, const thr_tower_epoch *epoch);

/* How a training runs, of any model; defaults are those of a model of texts. */
typedef struct thr_training_options {
    const char *valid_path;      /* examples to validate with; NULL: valid_share of the given ones */
    float valid_share;           /* more than 0, up to 0.5; 0.02 */
    uint32_t n_epochs;           /* most epochs; 40 */
    uint32_t patience;           /* stop after so many epochs without a better validation; 0: never. 10 */
    uint32_t batch;              /* examples per step, up to 65,536; 512 */
    float rate;                  /* Adam's learning rate, decaying linearly to 0 over all epochs; 0.002 */
    uint64_t seed;               /* of the initial weights and the order of examples */
    bool resume;                 /* continue from the checkpoint at path + ".checkpoint" */
    thr_tower_epoch_fn on_epoch; /* called after each epoch; NULL: none */
    void *on_epoch_user;
} thr_training_options;

/* A default ends each comment. */
typedef struct thr_tower_train_options {
    thr_training_options run; /* examples are pairs; valid_share is of the queries */
    thr_tower_config config;
    thr_pairs_format format;
    uint32_t n_negatives; /* negatives per pair, from its batch; 0: all other pairs. 0 */
    float gamma;          /* scale of cosines in the softmax; 10 */
    float word_dropout;   /* share of words dropped from a text, drawn anew each time; 0.25 */
    /*
     * Share of the epochs that train floats before signs replace them, 0 as in the paper; at least one epoch has signs.
     * With some ten thousand pairs, training planes from the start gives worse models. 0.5
     */
    float float_share;
    thr_estimator estimator;
    /* The rest is for thr_tower_train_vectors. */
    float teacher_share; /* weight of the vectors' own cosines as targets, against that of the pairs; 0 */
    float teacher_gamma; /* scale of those cosines in their softmax; 20 */
    float noise;         /* length of the random vector that is added to a query of length 1; 0 */
    /*
     * Pairs by ids, only with queries. pairs_path: .tsv or .csv, in each row the id of a query and of its item; NULL:
     * row i of both is a pair. query_ids_path, item_ids_path: texts whose line i is the id of row i; NULL: an id is a
     * row number from 0.
     */
    const char *pairs_path, *query_ids_path, *item_ids_path;
} thr_tower_train_options;

THR_API void thr_tower_train_options_init(thr_tower_train_options *options);

/*
 * Set the defaults for thr_tower_train_vectors that differ: n_dims 32, bits 32 for queries and 4 for items, gamma 20,
 * rate 0.03, float_share 0, noise 0.5, n_epochs 20, batch 256; and teacher_share 1 if items are to be given alone.
 */
THR_API void thr_tower_train_options_init_vectors(thr_tower_train_options *options, bool items_alone);

typedef struct thr_tower_report {
    uint64_t n_pairs, n_valid; /* examples to train with; to validate with */
    uint64_t n_refused;        /* lines without the columns */
    uint32_t n_epochs, best_epoch;
    double loss, valid_loss; /* mean loss of an example in the best epoch */
    double valid_quality;    /* as in thr_tower_epoch */
    double examples_per_second;
} thr_tower_report;

/*
 * Train a model on the pairs of a .tsv or .csv file (also .gz, .xz) and write it to path, a .safetensors file, after
 * each epoch that improves validation. A checkpoint is kept at path + ".checkpoint" until training ends. options may be
 * NULL.
 *
 * The same pairs, options and seed give the same model, bit for bit, for any number of threads and CPU level, and also
 * after a stop and resume.
 *
 * The first GPU makes the steps if the context's device is "cuda", or if it is "auto" and all epochs together have more
 * than 600,000 pairs. It sums products and losses in an order of its own: from the same weights the loss of a step
 * equals the CPU's within a relative error of 1e-5, and the models drift apart, because signs and Adam amplify the
 * last bit. One GPU gives the same bits every time. CPU and GPU can resume each other's checkpoints. With "auto" the
 * CPU takes over if the GPU fails before the first step, cuBLAS is missing or GPU memory is too small;
 * thr_context_device has the reason.
 *
 * Returns THR_OK, or
 *   THR_EINVAL        options are out of range
 *   THR_EFORMAT       more than one line in 20 lacks the columns, or there are fewer pairs than two batches
 *   THR_ERANGE        the loss is not finite (err names the step; the best model so far remains)
 *   THR_ENOTFOUND     the file of pairs or the checkpoint is missing
 *   THR_EEXIST        another training writes this model, or a file of another kind is there
 *   THR_ECORRUPT      the checkpoint is damaged
 *   THR_EMISMATCH     the checkpoint belongs to another configuration, other options or pairs
 *   THR_ECANCELED     a checkpoint was written if pairs had been read
 *   THR_EDEVICE       a GPU failed; the checkpoint of the last whole epoch remains
 *   THR_EUNSUPPORTED  a batch on a GPU has 2^32 words and trigrams; the checkpoint remains
 *   THR_ENOSPACE, THR_EIO, THR_ENOMEM (also for GPU memory)
 */
THR_API thr_status thr_tower_train(thr_context *context, const char *pairs_path, const char *path,
                                   const thr_tower_train_options *options, thr_tower_report *report, thr_error *err);

/*
 * Train a model of vectors: layers of RBE (section 4) on top of given vectors, which any other model has made. Row i of
 * queries and row i of items are a pair, unless options->pairs_path lists pairs. queries NULL: each item is its own
 * pair. Only the vectors' directions count. All vectors are kept in memory, as float32. options->config.n_inputs and
 * n_pooled become the vectors' dimensions; options of texts and format are ignored. run.valid_path names a file of
 * vectors of other items to validate with, and requires queries NULL; without it a share of the pairs is left out to
 * validate with. Training runs on the CPU.
 *
 * valid_quality is recall@10 among the validation items, for the queries of the first 1,000 of them: the share of the
 * ten items with the largest cosines to a query that are among the ten best by codes. For pairs with teacher_share 0 it
 * is the share of queries whose own item is among the ten best by codes.
 *
 * Same bits, files and statuses as thr_tower_train, and
 *   THR_EINVAL     a reader is a text; pairs_path without queries; ids without pairs_path
 *   THR_ENOTFOUND  an id of pairs_path has no vector
 *   THR_EDUPLICATE two vectors have one id
 *   THR_EDIM       the sides differ in dimensions, or in rows without pairs_path; a file of ids has not one a vector;
 *                  or n_dims is more than 8 times the vectors' dimensions
 *   THR_ERANGE     a vector is zero, or holds NaN or infinity (err names its row)
 *   THR_EUNSUPPORTED  valid_path and queries are given
 */
THR_API thr_status thr_tower_train_vectors(thr_context *context, thr_reader *queries, thr_reader *items,
                                           const char *path, const thr_tower_train_options *options,
                                           thr_tower_report *report, thr_error *err);

/* ------------------------------------------------------------------------------------------------ use */

typedef struct thr_tower thr_tower;

/*
 * Read a model: check the header, map the weights and compare them with the fingerprint. (An index maps its model
 * without this pass; thr_index_verify makes it.) The caller frees *tower. Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT;
 * THR_EVERSION; THR_ECORRUPT; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_tower_open(thr_context *context, const char *path, thr_tower **tower, thr_error *err);
/* Free; NULL is allowed. */
THR_API void thr_tower_free(thr_tower *tower);

typedef struct thr_tower_info {
    thr_tower_config config;
    uint32_t n_grams; /* letter trigrams learned */
    uint64_t n_parameters;
    uint64_t file_bytes;
    uint64_t fingerprint; /* hash of weights and configuration: codes of equal ones are comparable */
} thr_tower_info;
THR_API thr_tower_info thr_tower_get_info(const thr_tower *tower);

/*
 * Encode n_texts texts to out: n_texts x n_dims floats, row-major. On a binary side a component is the sum of its
 * planes, +-1 +-1/2 +-1/4 ...: pass it to an index as it is, or pack it to planes by thr_tower_pack. lengths NULL:
 * texts end with NUL. The bits of an embedding do not depend on the other texts, the number of threads or the CPU
 * level.
 *
 * Returns THR_OK; THR_ECHANGED if the model's file was changed or cut after it was opened; THR_EUNSUPPORTED for a model
 * of vectors; THR_ENOMEM.
 */
THR_API thr_status thr_tower_encode(const thr_tower *tower, thr_side side, const char *const *texts,
                                    const size_t *lengths, size_t n_texts, float *out, thr_error *err);

/*
 * As thr_tower_encode, for a model of vectors: rows of any dtype, n_inputs values each. A zero vector is encoded as the
 * model's bias. Returns also THR_EDIM for rows of other dimensions; THR_ERANGE for NaN or infinity (err names the row);
 * THR_EUNSUPPORTED for a model of texts.
 */
THR_API thr_status thr_tower_encode_vectors(const thr_tower *tower, thr_side side, const thr_matrix *rows, float *out,
                                            thr_error *err);

/* Bytes of a packed code: planes x ceil(n_dims / 8); 0 for a side without binary codes (floats, plain weights). */
THR_API uint32_t thr_tower_packed_size(const thr_tower *tower, thr_side side);

/*
 * Pack embeddings of thr_tower_encode to planes, thr_tower_packed_size bytes per text: planes in order from the most
 * significant; bit i of byte j is dimension 8 j + i, 1 for +. Returns THR_OK; THR_EUNSUPPORTED for a side without
 * binary codes.
 */
THR_API thr_status thr_tower_pack(const thr_tower *tower, thr_side side, const float *embeddings, uint64_t n_texts,
                                  unsigned char *out, thr_error *err);

typedef struct thr_tower_quality {
    uint64_t n_good, n_bad; /* pairs scored; bad ones are labelled or sampled */
    uint64_t n_refused;     /* rows without the columns */
    double auc;             /* of cosines, good pairs against bad pairs */
    double loss;            /* mean log loss against 10 other items, gamma 10; NaN with labels */
} thr_tower_quality;

/*
 * Measure how well the model separates good pairs from bad ones. Without labels, each query's bad items are 10 items of
 * other pairs. Keeps the embeddings of all pairs in memory. format NULL: columns 1 and 2.
 *
 * Returns THR_OK; THR_EINVAL if there are no good or no bad pairs; THR_EFORMAT if more than one row in 20 lacks its
 * columns, words in them, or a label; THR_EUNSUPPORTED; THR_ENOTFOUND; THR_EIO; THR_ECORRUPT; THR_ECANCELED;
 * THR_ENOMEM.
 */
THR_API thr_status thr_tower_eval(const thr_tower *tower, const char *pairs_path, const thr_pairs_format *format,
                                  thr_tower_quality *quality, thr_error *err);

/*
 * Wrap a reader to encode its rows for thr_index_build: the lines of a text (.txt, or a column of a table:
 * "packages.tsv:4"), or vectors for a model of vectors. texts and tower must outlive *reader. Returns THR_OK;
 * THR_EINVAL if texts is not such a reader; THR_EDIM for vectors of other dimensions; THR_ENOMEM.
 */
THR_API thr_status thr_tower_reader(const thr_tower *tower, thr_side side, thr_reader *texts, thr_reader **reader,
                                    thr_error *err);

/*
 * The model of texts or of vectors that is stored in an index, and encodes queries for it; NULL if there is none. The
 * index owns it; it lives as long as the index.
 */
THR_API const thr_tower *thr_tower_of_index(const thr_index *index);

#ifdef __cplusplus
}
#endif

#endif
