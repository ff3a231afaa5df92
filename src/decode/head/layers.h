/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - which tensor of a model is its output layer, and which its bias, by names and shapes.
 *
 * The output layer is the tensor with one of the usual names. In a model without such a tensor it may be tied to the
 * embeddings, or be a matrix of another name with as many rows. Nothing is guessed: if several tensors are possible,
 * the error lists them.
 */
#pragma once

#include "head/head.h"
#include "tensors/checkpoint.h"

typedef struct thr_head_layer {
    const char *name;
    uint32_t n_axes; /* 0 also if the shape is not known */
    uint64_t n_rows, n_dims;
} thr_head_layer;

typedef struct thr_head_layers {
    const char *path; /* of the model, for messages */
    const thr_head_layer *items;
    size_t n;
    const char *missing; /* a file of the model that could not be read; NULL: none */
} thr_head_layers;

enum { THR_HEAD_NO_LAYER = -1 };

/*
 * Choose the output layer; name: the tensor to take, or NULL. *tied: it is the embeddings, and no other tensor may be
 * the output layer; unless they were named, check them by the next function. THR_ENOTFOUND if there is none of this
 * name, or none at all; THR_EINVAL if several may be meant; THR_EFORMAT if it is transposed.
 */
thr_status thr_head_layers_choose(const thr_head_layers *layers, const char *name, size_t *chosen, bool *tied,
                                  thr_error *err);

/* THR_ENOTFOUND unless the model is whole or states that its output layer is the embeddings. */
thr_status thr_head_layers_check_tied(const thr_head_layers *layers, size_t embeddings, thr_tying tying,
                                      thr_error *err);

/* Find the bias of a layer. *bias is its number, or THR_HEAD_NO_LAYER. THR_EINVAL if there are two. */
thr_status thr_head_layers_bias(const thr_head_layers *layers, size_t layer, bool tied, ptrdiff_t *bias,
                                thr_error *err);

/* Note what was taken, if the options have a place for it. bias may be NULL. */
void thr_head_note_taken(const thr_head_build_options *options, const char *path, const char *tensor, const char *bias,
                         bool tied);
