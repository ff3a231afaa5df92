/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dual.h - ad retrieval learned from logs: dual tower, IPNN and HitMatch (Lei, Luo and others 2025, section 3).
 *
 * A model scores an ad for a user by s(u, a) = <h_u, h_a> + <p_u, p_a> + sum of w_i x_i over what the ad hits:
 *
 *   h    what a tower of two dense layers makes of a side's features, n_dims numbers
 *   p    the sum of the features' fields, each projected by a matrix of its own, n_products numbers: all pairs of a
 *        user's and an ad's field, summed (IPNN)
 *   hits features of ads that the user's history has, counted or rated (x), with a learned weight each (HitMatch)
 *
 * Both h and p are one vector a side, so an index of items' vectors finds the best by inner product; what a user's
 * history adds is a list of features with weights, for posting lists.
 *
 * Features are words, parted by blanks. `category=12` is the value 12 of the field `category`; a word without `=` is a
 * field of its own. Of users a word may have a number behind a last colon, `income=3:0.5`, 1 unless it is there; and
 * `click.category=12:3` is of the sequence `click`: the history has 3 clicks on ads with the feature `category=12`. A
 * sequence's name ends at the first `.` before the first `=`. Words that a model did not learn count for nothing, but
 * for hits, which count by their sequence and field.
 *
 * Files are tables, .tsv, also .gz and .xz:
 *
 *   ITEMS     ID, tab, the item's words
 *   REQUESTS  the user's words, tab, ads parted by blanks, the best one first: ID or ID:VALUE; `~` before an ID says
 *             that it is as good as the one before it. VALUE, a bid say, is 0 or more, 0 unless it is there. An ID of
 *             ITEMS may end as a value does; the longest one that is known counts.
 *
 * Threads: an open model is immutable and may be shared; encoding takes what memory it needs from the context.
 */
#ifndef THRESHER_DUAL_H
#define THRESHER_DUAL_H

#include <thresher/tower.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What pairs of ads weigh in the loss (HitMatch (2), (6)). */
typedef enum thr_dual_loss {
    THR_DUAL_LOSS_NDCG = 0,    /* what NDCG changes by when the two are swapped */
    THR_DUAL_LOSS_PRODUCT = 1, /* times what the value changes by; ads of equal value are not told apart */
    THR_DUAL_LOSS_SUM = 2      /* plus what the value changes by */
} thr_dual_loss;

/* What a value changes by when two ads are swapped; v is a value's share of the request's largest. */
typedef enum thr_dual_value {
    THR_DUAL_VALUE_DIFFERENCE = 0, /* |v_i - v_j| */
    THR_DUAL_VALUE_SWAP = 1        /* |v_i - v_j| times the difference of their places' discounts */
} thr_dual_value;

/* What learns the rows of embeddings; hits' weights are always learned by FTRL-Proximal. */
typedef enum thr_dual_optimiser { THR_DUAL_ADAM = 0, THR_DUAL_FTRL = 1 } thr_dual_optimiser;

/* DT has n_products 0 and no hits, DT-IPNN n_products, DT-HitMatch hits, DT-IPNN-HitMatch both. */
typedef struct thr_dual_config {
    size_t size;          /* sizeof(thr_dual_config), set by _init */
    uint32_t n_embedding; /* numbers of a word, 1 to 256; 32 */
    uint32_t n_hidden;    /* of a tower's first layer, 1 to 4096; 128 */
    uint32_t n_dims;      /* of its second, 1 to 1024; 64 */
    uint32_t n_products;  /* of IPNN, 0 to 1024; 32 */
    bool hits;            /* true */
} thr_dual_config;

THR_API void thr_dual_config_init(thr_dual_config *config);

/* ------------------------------------------------------------------------------------------------ train */

typedef struct thr_dual_train_options {
    size_t size; /* sizeof(thr_dual_train_options), set by _init */
    thr_dual_config config;
    const char *valid_path;       /* requests to validate with; NULL: valid_share of the given ones */
    float valid_share;            /* 0.05 */
    uint32_t min_count;           /* words in fewer requests are not learned; 2 */
    uint32_t n_epochs;            /* at most; 20 */
    uint32_t patience;            /* stop after so many epochs without a better validation; 0: never. 3 */
    uint32_t batch;               /* requests a step; 512 */
    thr_dual_loss loss;           /* THR_DUAL_LOSS_NDCG */
    thr_dual_value value;         /* THR_DUAL_VALUE_SWAP */
    float rate;                   /* of dense layers (Adam), falling to 0 in a straight line over all epochs; 0.002 */
    thr_dual_optimiser optimiser; /* of embeddings; THR_DUAL_FTRL */
    float embedding_rate;         /* of embeddings: Adam's, falling as rate does, or FTRL's alpha; 0.1 */
    float hits_rate;              /* FTRL's alpha of hits' weights; 0.05 */
    float l1, l2;                 /* of FTRL; 0 */
    uint64_t seed;                /* of the first weights and of the order of requests */
    bool resume;                  /* go on from the checkpoint of the model's path */
    thr_tower_epoch_fn on_epoch;  /* told after each epoch, requests for pairs and GAUC for AUC; NULL: not */
    void *on_epoch_user;
} thr_dual_train_options;

THR_API void thr_dual_train_options_init(thr_dual_train_options *options);

typedef struct thr_dual_report {
    uint64_t n_requests, n_valid;        /* that were learned from, and validated with */
    uint64_t n_items;                    /* in ITEMS */
    uint32_t n_user_words, n_item_words; /* that were learned */
    uint32_t n_epochs, best_epoch;
    double loss, valid_loss; /* a request's, of the best epoch */
    double valid_gauc;
    double requests_per_second;
} thr_dual_report;

/*
 * Learn a model and write it to path, a .safetensors file, each time it gets better. A checkpoint stands at path +
 * ".checkpoint" until training ends. options may be NULL. All is kept in memory.
 *
 * Same files, options and seed give the same model, bit for bit, for any number of threads and at any CPU level, and
 * whether or not it was stopped and resumed. The CPU makes all steps.
 *
 * Returns THR_OK; THR_EINVAL for options out of range; THR_EFORMAT for a bad line (err names file, line and word), or
 * when there are fewer requests than a batch; THR_EDUPLICATE for an item that stands twice; THR_ENOTFOUND for a file,
 * or an ad that no line of ITEMS has; THR_ERANGE when the loss is no longer finite (the best model so far stays), or a
 * value or a number of a word is not; THR_EMISMATCH, THR_ECORRUPT and THR_ENOTFOUND for a checkpoint that does not fit,
 * is damaged or missing; THR_ECANCELED (a checkpoint was written if the files had been read); THR_ENOSPACE; THR_EIO;
 * THR_ENOMEM.
 */
THR_API thr_status thr_dual_train(thr_context *context, const char *requests_path, const char *items_path,
                                  const char *path, const thr_dual_train_options *options, thr_dual_report *report,
                                  thr_error *err);

/* ------------------------------------------------------------------------------------------------ use */

typedef struct thr_dual thr_dual;

/* Whether a file of tensors is such a model. THR_OK; what thr_dual_open returns for a file that cannot be read. */
THR_API thr_status thr_dual_probe(thr_context *context, const char *path, bool *is_dual, thr_error *err);

/*
 * Read a model, all of it: damage is found. THR_OK; THR_ENOTFOUND; THR_EFORMAT; THR_EVERSION; THR_ECORRUPT; THR_EIO;
 * THR_ENOMEM.
 */
THR_API thr_status thr_dual_open(thr_context *context, const char *path, thr_dual **dual, thr_error *err);
THR_API void thr_dual_free(thr_dual *dual);

typedef struct thr_dual_info {
    thr_dual_config config;
    uint32_t n_vector; /* n_dims + n_products: numbers of an encoded vector */
    uint32_t n_user_words, n_item_words;
    uint32_t n_user_fields, n_item_fields;
    uint64_t n_parameters;
    uint64_t file_bytes;
    uint64_t fingerprint;
} thr_dual_info;
THR_API thr_dual_info thr_dual_get_info(const thr_dual *dual);

/*
 * The vectors of n texts, the words of a user (THR_SIDE_QUERY) or of an item each, n_vector floats, dense in out; the
 * score of a user and an item without its hits is their inner product. lengths NULL: texts end with NUL. A text's bits
 * do not depend on those beside it, the number of threads or the CPU level.
 *
 * THR_OK; THR_EINVAL for another side; THR_EFORMAT for a word without a field's name, or of more than 1000 bytes;
 * THR_ERANGE for a number behind a user's word that is not finite; THR_ECHANGED when the model's file was changed or
 * cut since it was opened; THR_ENOMEM.
 */
THR_API thr_status thr_dual_encode(const thr_dual *dual, thr_side side, const char *const *texts, const size_t *lengths,
                                   size_t n_texts, float *out, thr_error *err);

/*
 * The lines of a text reader, words of a user or an item each (.txt, or a column of a table: "ads.tsv:2"), encoded, as
 * a reader of rows: what thr_index_build takes. texts and dual must live as long as it. THR_OK; THR_EINVAL when texts
 * is none; THR_ENOMEM.
 */
THR_API thr_status thr_dual_reader(const thr_dual *dual, thr_side side, thr_reader *texts, thr_reader **reader,
                                   thr_error *err);

/* A feature of items that a user's history has: what an item with it gets. The word lies in the user's text. */
typedef struct thr_dual_hit {
    const char *word;
    size_t length;
    float weight;
} thr_dual_hit;

/*
 * What a user's words add to items: the first `room` hits, in the order of the words, and in *n how many there are. A
 * word that two sequences have is there twice: weights add up. Words that add 0 are left out; a model without
 * hits has none.
 *
 * THR_OK; THR_EFORMAT, THR_ERANGE and THR_ECHANGED as above.
 */
THR_API thr_status thr_dual_hits(const thr_dual *dual, const char *text, size_t length, thr_dual_hit *hits, size_t room,
                                 size_t *n, thr_error *err);

typedef struct thr_dual_quality {
    uint64_t n_requests; /* that have a best ad and others */
    uint64_t n_ads;
    double gauc;                            /* HitMatch (10): the best ad against the others of its request */
    double recall_5, recall_10;             /* HitMatch (11), k = 1: the best ad is among the first 5, 10 */
    double value_recall_5, value_recall_10; /* the same, by the best ads' values; NaN where all are 0 */
} thr_dual_quality;

/*
 * How well the model ranks the ads of requests. THR_OK; THR_EINVAL when no request has a best ad and others; what
 * thr_dual_train returns for bad files; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_dual_eval(const thr_dual *dual, const char *requests_path, const char *items_path,
                                 thr_dual_quality *quality, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
