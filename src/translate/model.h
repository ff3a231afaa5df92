/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - a model of translations in memory: an LSTM encoder in both directions, an LSTM decoder with attention.
 *
 * Attention and what the head is asked with are Luong, Pham and Manning's (2015), general scores, without input feeding
 * (WTA-LSH table 6 has such models). With m_j the encoder's output at source place j and s the decoder's,
 *   score_j = <s, A m_j>,  c = sum of softmax(score)_j m_j,  state = tanh(C [c ; s])
 * The file is described in docs/translate.md.
 */
#ifndef THR_TRANSLATE_MODEL_H
#define THR_TRANSLATE_MODEL_H

#include "base/dictionary.h"
#include "io/safetensors.h"
#include "nn/lstm.h"

enum { THR_WORD_UNKNOWN, THR_WORD_START, THR_WORD_END, THR_WORDS_SPECIAL };
enum { THR_SEQ2SEQ_LAYERS = 16 };

/* The words of a language by their numbers, and a row of n_columns floats each. */
typedef struct thr_vocabulary {
    thr_dictionary words;
    float *rows;
    size_t n_columns;
} thr_vocabulary;

/* A layer with its weights as lstm.h has them, and the arrays they stand in. */
typedef struct thr_lstm_layer {
    thr_lstm lstm;
    float *in, *own, *bias;
} thr_lstm_layer;

typedef struct thr_seq2seq {
    thr_vocabulary source, target;
    size_t n_layers, n_units, n_dims; /* of the encoder and of the decoder; h, even; d */
    thr_lstm_layer forward[THR_SEQ2SEQ_LAYERS], backward[THR_SEQ2SEQ_LAYERS], decoder[THR_SEQ2SEQ_LAYERS];
    float *attention; /* A transposed: h x h */
    float *combine;   /* C transposed: 2 h x d */
} thr_seq2seq;

/* What weights may be. */
static inline bool thr_seq2seq_may_be(thr_dtype dtype) {
    return dtype == THR_DTYPE_F32 || dtype == THR_DTYPE_F16 || dtype == THR_DTYPE_BF16;
}

/* Whether tensors say that they are such a model. */
bool thr_translate_seq2seq_is_in(const thr_tensors *tensors);

/*
 * The model of a file, copied and widened to float32; *model starts zeroed, and is the caller's to free after an error,
 * too. The head's weights stay in the file, of which weights is a view; bias, one a word, is the caller's to release.
 *
 * THR_OK; THR_EFORMAT for tensors that are missing or have another shape (err names them), and words that are none;
 * THR_EVERSION; THR_ERANGE for weights that are not finite; THR_EDIM for dimensions beyond THR_MAX_DIMS; THR_ENOMEM.
 */
thr_status thr_translate_seq2seq_read(thr_context *context, const thr_tensors *tensors, const char *name,
                                      thr_seq2seq *model, thr_matrix *weights, float **bias, thr_error *err);
void thr_translate_seq2seq_free(thr_context *context, thr_seq2seq *model);

#endif
