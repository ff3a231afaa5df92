/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate.h - translation by LSTM models, over large vocabularies.
 *
 * A model is one .safetensors file (docs/translate.md): a bidirectional LSTM encoder, an LSTM decoder with attention
 * over the encoder's outputs (Luong, Pham and Manning 2015) or without, an output layer and the vocabularies of both
 * languages. A text is tokenised (words.h), translated by beam search (beam.h) over a head (head.h), with or without a
 * screen, and rejoined.
 *
 * A translation depends only on its text and the options: not on other texts, the number of threads or the CPU.
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

/* Receives the states of a step before the head is queried: n x n_dims floats, valid during the call. */
typedef void (*thr_states_fn)(void *user, const float *states, uint64_t n, uint32_t n_dims);

typedef struct thr_translator_options {
    const char *head; /* file that `thresher head build` made of the model's output.weight; NULL: use the model's */
    /* How to build the head; NULL: with the hashes or codes that the screen needs. Must be NULL if head is a file. */
    const thr_head_build_options *build;
    const thr_head_query_options *query; /* options of the head's queries, as in beam.h; NULL: all words */
    uint32_t beam, n_best;               /* as in beam.h */
    thr_beam_penalty penalty;
    thr_beam_stop stop;
    double alpha;
    /*
     * A translation has at most length_ratio x (words of the source) + length_extra words, and at most max_length; the
     * end word counts.
     */
    double length_ratio;               /* above 0, up to 1000. 0: 2 */
    uint32_t length_extra, max_length; /* 0: 10, and 500 */
    uint32_t max_source;               /* most words of a text, at most THR_BEAM_MAX_LENGTH. 0: 1000 */
    uint32_t batch;                    /* texts translated together: speed against memory. 0: 32 */
    bool unknown;                      /* allow <unk> in translations */
    bool replace_unk;                  /* allow it, and replace each by the source word with the largest attention:
                                          not for models without attention */
    thr_states_fn on_states;           /* called with each step's states, in the calling thread; NULL: none */
    void *on_states_user;
    /*
     * With THR_HEAD_SCREEN_ALIGN: a file of word translations (align.h), whose n_aligned most probable target words of
     * each source word of a text are candidates; lists of `query` are not read.
     */
    const char *alignment;
    uint32_t n_aligned; /* 0: 50 */
} thr_translator_options;

typedef struct thr_translator thr_translator;

/*
 * Check whether a tensor file is a translation model. Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT if the file is not
 * safetensors; THR_ECORRUPT; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_translator_probe(thr_context *context, const char *path, bool *is_translator, thr_error *err);

/*
 * Open a model and build its head. Reads and checks all of it. options may be NULL for the defaults; what they point to
 * is copied. Memory: the weights as float32, the output layer in the file's type, and the head's hashes or codes. The
 * caller frees *translator.
 *
 * Returns THR_OK, what thr_head_create, thr_head_open and thr_beam_create return, or
 *   THR_EFORMAT    the file is not a model, or a tensor is missing or has another shape (err names it)
 *   THR_ERANGE     a weight is not finite
 *   THR_EUNSUPPORTED  replace_unk for a model without attention
 *   THR_EDIM       dimensions exceed THR_MAX_DIMS
 *   THR_EMISMATCH  the head's words, dimensions or weights are not the model's, or the alignment's words are not
 *   THR_EINVAL     options are out of range, or an alignment is missing or not used by the screen
 *   THR_ENOTFOUND, THR_EVERSION, THR_ECORRUPT, THR_EIO, THR_ENOMEM
 */
THR_API thr_status thr_translator_open(thr_context *context, const char *path, const thr_translator_options *options,
                                       thr_translator **translator, thr_error *err);

/* Free; NULL is allowed. */
THR_API void thr_translator_free(thr_translator *translator);

typedef struct thr_translator_info {
    uint32_t n_source_words, n_target_words, n_layers;
    uint32_t n_source_dims, n_target_dims; /* of the embeddings */
    uint32_t n_units, n_dims;              /* units of the LSTM layers; dimensions of the head */
    uint64_t n_parameters;
    const char *source, *target; /* names of the languages; NULL if the model has none */
    thr_head_info head;
    bool has_attention;
} thr_translator_info;

THR_API thr_translator_info thr_translator_get_info(const thr_translator *translator);

/* A translation of a text. The result owns the strings. */
typedef struct thr_translation {
    const char *text;  /* UTF-8, NUL-terminated */
    const char *words; /* its words, before thr_words_join */
    uint32_t n_words;  /* without the end word */
    bool ended;        /* false: cut at the maximum length */
    double log_prob;   /* sum over the words and the end word, by the head's normaliser */
    double score;      /* log_prob divided by the length penalty */
} thr_translation;

/* Where the time of a call went, in seconds; splitting, joining and on_states are in none of these. */
typedef struct thr_translator_times {
    double encoder;   /* all layers over the source, once per batch */
    double layers;    /* the decoder's embeddings and LSTM layers */
    double attention; /* over the source, and the layer that makes the head's states */
    double head;      /* the choice of words: hashes or codes, logits, normaliser */
    double expansion; /* of the beams: the best of all rows' words, for each sentence */
    double reorder;   /* of the decoder's states to the rows that stay */
} thr_translator_times;

/* Translations first_of[i] to first_of[i + 1] - 1 are text i's, best first. */
typedef struct thr_translations {
    uint64_t n_texts;
    const uint64_t *first_of; /* n_texts + 1, from 0 */
    const thr_translation *translations;
    uint64_t n_source_words, n_unknown; /* of all texts; of these, words that the model lacks */
    uint64_t n_words;                   /* of the best translations */
    uint64_t n_steps, n_states;         /* decoder steps; states queried */
    thr_translator_times times;
} thr_translations;

/*
 * Translate n_texts texts of lengths[i] bytes, or NUL-terminated ones if lengths is NULL. A text without words has one
 * translation, empty, of score 0. Any other has up to n_best, with distinct texts: where different words join to the
 * same text, the best translation is kept. *result is a view of the translator's memory, valid until the next call.
 * Texts are sorted by length and translated in batches. A second call of the same shape allocates little.
 * Each text is one sequence: pass sentences one by one, because most models translate several together badly.
 *
 * Returns THR_OK; what thr_beam_search returns; THR_EDIM for a text of more than max_source words and THR_EFORMAT for
 * one with a NUL byte (err has its number, from 0), before any is translated; THR_ERANGE if numbers of the model
 * overflow; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_translator_translate(thr_translator *translator, const char *const *texts, const size_t *lengths,
                                            uint64_t n_texts, thr_translations *result, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
