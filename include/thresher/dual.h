/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dual.h - ad retrieval learned from logs: dual tower, IPNN and HitMatch (Lei, Luo and others 2025, section 3).
 *
 * A model scores an ad a for a user u by s(u, a) = <h_u, h_a> + <p_u, p_a> + sum over hits of w_i x_i:
 *
 *   h     output of a side's tower, two dense layers over its features: n_dims numbers
 *   p     sum of the side's fields, each projected by a matrix of its own: n_products numbers. <p_u, p_a> is the sum
 *         over all pairs of a user field and an ad field (IPNN)
 *   hits  features of the ad that the user's history contains; x_i is the count or rating, w_i a learned weight
 *         (HitMatch)
 *
 * h and p form one vector per side, so an index of item vectors finds the best ads by inner product. The hits of a user
 * are features with weights, for posting lists (hits.h).
 *
 * Words are separated by spaces:
 *
 *   category=12            value 12 of field `category`; a word without = is a field of its own
 *   income=3:0.5           users only: the number after the last colon scales the word; 1 if absent
 *   click.category=12:3    users only: the sequence `click` has 3 events on ads with the feature category=12. A
 *                          sequence's name ends at the first . before the first =
 *
 * Words that the model did not learn are ignored, except in hits, whose weights belong to the sequence and field.
 *
 * Files are tables, .tsv, also .tsv.gz and .tsv.xz:
 *
 *   ITEMS      ID<TAB>words of the item             a7<TAB>category=12 brand=7
 *   REQUESTS   words of the user<TAB>ads            income=3:0.5 click.category=12:3<TAB>a7:0.9 ~a2:1.5 a9
 *
 * The ads of a request are ordered best first, each ID or ID:VALUE. ~ marks an ad as good as the one before it. VALUE,
 * a bid for example, is 0 or more; 0 if absent. If an ID itself ends like a value, the longest known ID counts.
 *
 * Threads: an open model is immutable and may be shared; encoding allocates from the context.
 */
#ifndef THRESHER_DUAL_H
#define THRESHER_DUAL_H

#include <thresher/tower.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weight of a pair of ads in the loss (HitMatch (2), (6)). */
typedef enum thr_dual_loss {
    THR_DUAL_LOSS_NDCG = 0,    /* change of NDCG if the two ads are swapped */
    THR_DUAL_LOSS_PRODUCT = 1, /* change of NDCG x change of value; pairs of equal value weigh 0 */
    THR_DUAL_LOSS_SUM = 2      /* change of NDCG + change of value */
} thr_dual_loss;

/* Change of value if two ads are swapped; v is an ad's value divided by the largest value of the request. */
typedef enum thr_dual_value {
    THR_DUAL_VALUE_DIFFERENCE = 0, /* |v_i - v_j| */
    THR_DUAL_VALUE_SWAP = 1        /* |v_i - v_j| x the difference of the discounts of their positions */
} thr_dual_value;

/* Optimiser of the embedding rows. Hit weights always use FTRL-Proximal. */
typedef enum thr_dual_optimiser { THR_DUAL_ADAM = 0, THR_DUAL_FTRL = 1 } thr_dual_optimiser;

/* Variants of the paper: DT (n_products 0, hits false), DT-IPNN (hits false), DT-HitMatch (n_products 0), all of it. */
typedef struct thr_dual_config {
    uint32_t n_embedding; /* dimensions of a word's embedding, 1 to 256; 32 */
    uint32_t n_hidden;    /* units of a tower's first layer, 1 to 4096; 128 */
    uint32_t n_dims;      /* units of its second layer, 1 to 1024; 64 */
    uint32_t n_products;  /* dimensions of IPNN, 0 to 1024; 32 */
    bool hits;            /* HitMatch; true */
} thr_dual_config;

/* ------------------------------------------------------------------------------------------------ train */

/* A default ends each comment. */
typedef struct thr_dual_train_options {
    /* Examples are requests; 5 % validate, 20 epochs, a patience of 3. Adam's rate is that of dense layers. */
    thr_training_options run;
    thr_dual_config config;
    uint32_t min_count;           /* learn a word that occurs in at least so many requests; 2 */
    thr_dual_loss loss;           /* THR_DUAL_LOSS_NDCG */
    thr_dual_value value;         /* THR_DUAL_VALUE_SWAP */
    thr_dual_optimiser optimiser; /* of embeddings; THR_DUAL_FTRL */
    float embedding_rate;         /* for embeddings: Adam's rate, decaying as run.rate does, or FTRL's alpha; 0.1 */
    float hits_rate;              /* FTRL's alpha for hit weights; 0.05 */
    float l1, l2;                 /* of FTRL; 0 */
} thr_dual_train_options;

THR_API void thr_dual_train_options_init(thr_dual_train_options *options);

/*
 * Train a model and write it to path, a .safetensors file, after each epoch that improves validation. A checkpoint is
 * kept at path + ".checkpoint" until training ends. options may be NULL. All data is kept in memory.
 *
 * The same files, options and seed give the same model, bit for bit, for any number of threads and CPU level, and also
 * after a stop and resume. The first GPU makes the steps as in thr_tower_train, with the same bits.
 *
 * Returns THR_OK, or
 *   THR_EINVAL      options are out of range
 *   THR_EFORMAT     a bad line (err names the file, line and word), or fewer requests than a batch
 *   THR_EDUPLICATE  an item occurs twice
 *   THR_ENOTFOUND   a file, an ad in ITEMS, or the checkpoint is missing
 *   THR_EEXIST      another training writes this model, or a file of another kind is there
 *   THR_ERANGE      the loss (the best model so far remains), a value or a word's number is not finite
 *   THR_EMISMATCH   the checkpoint belongs to other files or options
 *   THR_ECORRUPT    the checkpoint is damaged
 *   THR_ECANCELED   a checkpoint was written if the files had been read
 *   THR_ENOSPACE, THR_EIO, THR_ENOMEM
 */
THR_API thr_status thr_dual_train(thr_context *context, const char *requests_path, const char *items_path,
                                  const char *path, const thr_dual_train_options *options, thr_tower_report *report,
                                  thr_error *err);

/* ------------------------------------------------------------------------------------------------ use */

typedef struct thr_dual thr_dual;

/* Check whether a tensor file is a dual model. Returns THR_OK; what thr_dual_open returns if it cannot be read. */
THR_API thr_status thr_dual_probe(thr_context *context, const char *path, bool *is_dual, thr_error *err);

/*
 * Read a model and check all of it. The caller frees *dual. Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT; THR_EVERSION;
 * THR_ECORRUPT; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_dual_open(thr_context *context, const char *path, thr_dual **dual, thr_error *err);
/* Free; NULL is allowed. */
THR_API void thr_dual_free(thr_dual *dual);

typedef struct thr_dual_info {
    thr_dual_config config;
    uint32_t n_vector; /* n_dims + n_products: dimensions of an encoded vector */
    uint32_t n_user_words, n_item_words;
    uint32_t n_user_fields, n_item_fields;
    uint64_t n_parameters;
    uint64_t file_bytes;
    uint64_t fingerprint; /* hash of the model: vectors and posting lists of equal ones belong together */
} thr_dual_info;
THR_API thr_dual_info thr_dual_get_info(const thr_dual *dual);

/*
 * Encode n texts, each the words of a user (THR_SIDE_QUERY) or of an item, to out: n x n_vector floats, row-major. The
 * inner product of a user's and an item's vector is their score without hits. lengths NULL: texts end with NUL. The
 * bits of a vector do not depend on the other texts, the number of threads or the CPU level.
 *
 * Returns THR_OK; THR_EINVAL for another side; THR_EFORMAT for a word without a field's name, or longer than 1,000
 * bytes; THR_ERANGE for a number of a user's word that is not finite; THR_ECHANGED if the model's file was changed or
 * cut after it was opened; THR_ENOMEM.
 */
THR_API thr_status thr_dual_encode(const thr_dual *dual, thr_side side, const char *const *texts, const size_t *lengths,
                                   size_t n_texts, float *out, thr_error *err);

/*
 * Wrap a text reader (.txt, or a column of a table: "ads.tsv:2") to encode its lines, each the words of a user or an
 * item, as rows for thr_index_build. texts and dual must outlive *reader. Returns THR_OK; THR_EINVAL if texts is not a
 * text reader; THR_ENOMEM.
 */
THR_API thr_status thr_dual_reader(const thr_dual *dual, thr_side side, thr_reader *texts, thr_reader **reader,
                                   thr_error *err);

/* A feature in a user's history and the weight it adds to items that have it. word points into the user's text. */
typedef struct thr_dual_hit {
    const char *word;
    size_t length;
    float weight;
} thr_dual_hit;

/*
 * Compute the hits of a user's words, in their order: fills the first `room` places of hits, and sets *n to the number
 * of all hits. A word that occurs in two sequences gives two hits, whose weights add up. Hits of weight 0 are left out;
 * a model without hits has none.
 *
 * Returns THR_OK; THR_EFORMAT, THR_ERANGE and THR_ECHANGED as thr_dual_encode.
 */
THR_API thr_status thr_dual_hits(const thr_dual *dual, const char *text, size_t length, thr_dual_hit *hits, size_t room,
                                 size_t *n, thr_error *err);

typedef struct thr_dual_quality {
    uint64_t n_requests; /* with a best ad and others */
    uint64_t n_ads;
    double gauc;                            /* HitMatch (10): AUC of the best ads against the others of their request */
    double recall_5, recall_10;             /* HitMatch (11), k = 1: share of best ads that rank in the first 5, 10 */
    double value_recall_5, value_recall_10; /* the same, weighted by the best ads' values; NaN if all are 0 */
} thr_dual_quality;

/*
 * Measure how well the model ranks the ads of requests. Returns THR_OK; THR_EINVAL if no request has a best ad and
 * others; what thr_dual_train returns for bad files; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_dual_eval(const thr_dual *dual, const char *requests_path, const char *items_path,
                                 thr_dual_quality *quality, thr_error *err);

/* The dual model that is stored in an index; NULL if there is none. The index owns it. */
THR_API const thr_dual *thr_dual_of_index(const thr_index *index);

#ifdef __cplusplus
}
#endif

#endif
