/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate.h - translations by LSTM models with attention, over large vocabularies.
 *
 * A model is one .safetensors file (docs/translate.md): an LSTM encoder in both directions, an LSTM decoder with
 * attention over the encoder's outputs (Luong, Pham and Manning 2015), an output layer and the words of both languages.
 * Texts are split to words (words.h), translated by beam search (beam.h) whose words come from a head (head.h), with or
 * without a screen, and put together again.
 *
 * A translation depends on its text and the options alone: not on the texts beside it, the number of threads or the
 * CPU.
 *
 * Threads: a translator belongs to one thread at a time.
 */
#ifndef THRESHER_TRANSLATE_H
#define THRESHER_TRANSLATE_H

#include <thresher/beam.h>
#include <thresher/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/* States that the head is about to be asked with, n rows of n_dims, for as long as the call lasts. */
typedef void (*thr_states_fn)(void *user, const float *states, uint64_t n, uint32_t n_dims);

typedef struct thr_translator_options {
    size_t size;      /* sizeof(thr_translator_options), set by _init */
    const char *head; /* a file that thresher head build made of the model's output.weight; NULL: made of the model */
    /* How the head is made; NULL: with the hashes or codes that the screen needs, and no others. Not with a file. */
    const thr_head_build_options *build;
    const thr_head_query_options *query; /* how it is asked, as in beam.h; NULL: all words */
    uint32_t beam, n_best;               /* as in beam.h */
    thr_beam_penalty penalty;
    thr_beam_stop stop;
    double alpha;
    /* A translation has at most length_ratio words for each of its source's and length_extra more, and at most
     * max_length; the end counts. */
    double length_ratio;               /* 0 to 1000 */
    uint32_t length_extra, max_length; /* 1 at least is max_length */
    uint32_t max_source;               /* words a text may have; 1 to THR_BEAM_MAX_LENGTH */
    uint32_t batch;                    /* texts translated together, 1 at least: for speed, and for memory */
    bool unknown;                      /* <unk> may be produced */
    bool replace_unk;                  /* it may, and each is replaced by the source's word it attends to most */
    thr_states_fn on_states;           /* told of each step's states, in the thread that called; NULL: not */
    void *on_states_user;
} thr_translator_options;

/*
 * Defaults: beam 5, the best translation, the average of the words' log-probabilities, the exact stop, 2 words for each
 * and 10 more, 500 at most, sources of up to 1000 words, 32 texts together, <unk> never.
 */
THR_API void thr_translator_options_init(thr_translator_options *options);

typedef struct thr_translator thr_translator;

/* Whether a file of tensors is such a model. THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is no safetensors;
 * THR_ECORRUPT; THR_EIO; THR_ENOMEM. */
THR_API thr_status thr_translator_probe(thr_context *context, const char *path, bool *is_translator, thr_error *err);

/*
 * Open a model, which is read and checked whole, and make its head. options may be NULL for the defaults; what they
 * point to is copied. Memory: the model's weights as float32, its output layer as it is in the file, and the head's
 * hashes or codes.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is no model, or one that lacks a tensor or has one of
 * another shape (err names it); THR_EVERSION; THR_ERANGE for weights that are not finite; THR_EDIM for dimensions
 * beyond THR_MAX_DIMS; THR_EMISMATCH for a head of other words, dimensions or weights than the model's; THR_EINVAL
 * for options out of range; what thr_head_create, thr_head_open and thr_beam_create return; THR_ECORRUPT; THR_EIO;
 * THR_ENOMEM.
 */
THR_API thr_status thr_translator_open(thr_context *context, const char *path, const thr_translator_options *options,
                                       thr_translator **translator, thr_error *err);

/* NULL is allowed. */
THR_API void thr_translator_free(thr_translator *translator);

typedef struct thr_translator_info {
    uint32_t n_source_words, n_target_words, n_layers;
    uint32_t n_source_dims, n_target_dims; /* of the embeddings */
    uint32_t n_units, n_dims;              /* of the LSTM layers of encoder and decoder; of the head */
    uint64_t n_parameters;
    const char *source, *target; /* the languages' names; NULL where the model does not say */
    thr_head_info head;
} thr_translator_info;

THR_API thr_translator_info thr_translator_get_info(const thr_translator *translator);

/* One of a text's translations. */
typedef struct thr_translation {
    const char *text;  /* UTF-8, zero-terminated */
    const char *words; /* the same before thr_words_join */
    uint32_t n_words;  /* without the end */
    bool ended;        /* else it was cut at the greatest length */
    double log_prob;   /* of the words and the end, added up; the head's normaliser says of what */
    double score;      /* divided by the length's penalty */
} thr_translation;

/* Translations first_of[i] to first_of[i + 1] - 1 are text i's, best first. */
typedef struct thr_translations {
    uint64_t n_texts;
    const uint64_t *first_of; /* n_texts + 1, from 0 */
    const thr_translation *translations;
    uint64_t n_source_words, n_unknown; /* of all texts; those that the model does not know */
    uint64_t n_words;                   /* of the best translations */
    uint64_t n_steps, n_states;         /* what it took: steps of the decoder, states of the head */
    double head_seconds;                /* of the time: the head's, as beam.h has them */
} thr_translations;

/*
 * Translate n_texts texts of lengths[i] bytes, or zero-terminated ones where lengths is NULL. A text without words has
 * one translation, an empty one of score 0; any other up to n_best. *result is a view of the translator's memory until
 * the next call. Texts are sorted by length and worked on in batches; after a first call of the same shape little is
 * allocated. A text is one sequence: of several sentences most models make less than of each by itself.
 *
 * Returns THR_OK; THR_EDIM for a text of more than max_source words and THR_EFORMAT for one that holds a NUL byte (err
 * has its number, from 0), and nothing is translated then; THR_ERANGE where numbers of the model overflow;
 * THR_ECANCELED; what thr_beam_search returns; THR_ENOMEM.
 */
THR_API thr_status thr_translator_translate(thr_translator *translator, const char *const *texts, const size_t *lengths,
                                            uint64_t n_texts, thr_translations *result, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
