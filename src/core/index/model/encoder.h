/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder.h - the interface of models that encode texts or vectors as an index's vectors or codes. The rooms of the
 * models implement it, so that the index includes none of them.
 */
#pragma once

#include <thresher/index.h>

/* What an index must match. */
typedef struct thr_encoder_shape {
    uint64_t fingerprint;
    uint32_t n_dims;   /* of embeddings */
    uint32_t n_inputs; /* dimensions of the vectors that are encoded as codes; 0: it encodes texts, or gives no codes */
    bool codes;        /* items' embeddings are codes: sums of planes with the weights 1, 1/2, 1/4, ... */
    uint32_t item_bits;  /* the planes of these codes */
    uint32_t query_bits; /* planes of queries' embeddings; THR_MAX_BITS if these are no codes */
    thr_metric metric;   /* that embeddings are learned for */
} thr_encoder_shape;

/* A kind of models. Each function gets what open made. */
typedef struct thr_encoder_kind {
    /* Whether the file at path holds such a model; NULL if it is the kind of all other files. */
    thr_status (*probe)(thr_context *context, const char *path, bool *is_one, thr_error *err);
    /* Open the file at path; read and check the weights, too, if it is to be `whole`. The caller frees *model. */
    thr_status (*open)(thr_context *context, const char *path, bool whole, void **model, thr_error *err);
    thr_encoder_shape (*shape)(const void *model);
    /* Encode rows (any dtype) to out, rows->n_rows x n_dims floats; NULL unless n_inputs may be more than 0. */
    thr_status (*encode)(const void *model, thr_side side, const thr_matrix *rows, float *out, thr_error *err);
    void (*free)(void *model);
} thr_encoder_kind;

/* Each is defined by the room of its models. */
extern const thr_encoder_kind thr_text_tower_encoder; /* of texts or vectors: codes, or vectors for cosine */
extern const thr_encoder_kind thr_dual_tower_encoder; /* of features: vectors for ip */

/* An open model. */
typedef struct thr_encoder {
    const thr_encoder_kind *kind; /* NULL: none */
    void *model;
} thr_encoder;

/* The model of an index, which owns it; kind NULL if there is none. */
const thr_encoder *thr_index_encoder(const thr_index *index);
