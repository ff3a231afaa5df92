/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - a translation model in memory: a bidirectional LSTM encoder and an LSTM decoder, with attention or without.
 *
 * Attention and the state for the head are those of Luong, Pham and Manning (2015), with general scores and without
 * input feeding (WTA-LSH table 6 uses such models). With m_j the encoder's output at source place j and s the
 * decoder's,
 *
 *     score_j = <s, A m_j>,  c = sum of softmax(score)_j m_j,  state = tanh(C [c ; s])
 *
 * A model without attention (the paper's F2E) has state = s and d = h: it reads the source through the decoder's
 * initial state alone.
 *
 * docs/translate.md describes the file.
 */
#pragma once

#include "base/text/dictionary.h"
#include "tensors/safetensors.h"
#include "nn/lstm.h"

enum { THR_WORD_UNKNOWN, THR_WORD_START, THR_WORD_END, THR_WORDS_SPECIAL };
enum { THR_SEQ2SEQ_LAYERS = 16 };

/* The words of a language by number, and an embedding of n_columns floats for each. */
typedef struct thr_vocabulary {
    thr_dictionary words;
    float *rows;
    size_t n_columns;
} thr_vocabulary;

/* A layer: its weights as lstm.h has them, and the arrays that own them. */
typedef struct thr_lstm_layer {
    thr_lstm lstm;
    float *in, *own, *bias;
} thr_lstm_layer;

typedef struct thr_seq2seq {
    thr_vocabulary source, target;
    size_t n_layers, n_units, n_dims; /* layers of encoder and of decoder; h, even; d */
    thr_lstm_layer forward[THR_SEQ2SEQ_LAYERS], backward[THR_SEQ2SEQ_LAYERS], decoder[THR_SEQ2SEQ_LAYERS];
    float *attention; /* A transposed: h x h; NULL: a model without attention, which has no C */
    float *combine;   /* C transposed: 2 h x d */
} thr_seq2seq;

/* Whether weights may have this dtype. */
static inline bool thr_seq2seq_may_be(thr_dtype dtype) {
    return dtype == THR_DTYPE_F32 || dtype == THR_DTYPE_F16 || dtype == THR_DTYPE_BF16;
}

/* Whether the tensors' metadata identifies such a model. */
bool thr_translate_seq2seq_is_in(const thr_tensors *tensors);

/*
 * Read a model, copied and widened to float32. *model starts zeroed; the caller frees it, also after an error. weights,
 * the head's, is a view of the file; the caller releases bias, one number per word.
 *
 * Returns THR_OK; THR_EFORMAT for missing tensors, wrong shapes (err names the tensor) or invalid words; THR_EVERSION;
 * THR_ERANGE for weights that are not finite; THR_EDIM for more than THR_MAX_DIMS dimensions; THR_ENOMEM.
 */
thr_status thr_translate_seq2seq_read(thr_context *context, const thr_tensors *tensors, const char *name,
                                      thr_seq2seq *model, thr_matrix *weights, float **bias, thr_error *err);
void thr_translate_seq2seq_free(thr_context *context, thr_seq2seq *model);
