/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h - output layers over large vocabularies: the best words of a state, of all words or of those a screen lets by.
 *
 * A head is a matrix W of n_words rows and n_dims columns, and a bias b or none. The logit of word w for a state h is
 * <W_w, h> + b_w (WTA-LSH (2)); a screen chooses candidates, whose logits are exact: a word's logit has the same bits
 * with every screen, alone or in a batch, on any number of threads and any CPU.
 *
 * A log-probability is a logit less ln of a sum of exp(logit), over the candidates alone or over the whole vocabulary.
 * Over the candidates it is too large by what the others have, and differs from state to state and screen to screen:
 * who compares sentences of different lengths wants to know which one it is.
 *
 * Words are counted from 0, by rows of W. Equal logits are ordered by the smaller word.
 *
 * With a context that uses GPUs (thr_context_options.device) queries run on the first of them: with "cuda" always, with
 * "auto" once they are worth copying the head there. The head is copied by the first such query and stays until it is
 * freed. Answers have the same bits.
 *
 * Threads: a head never changes, and may be asked from many threads at once; on a GPU queries take turns.
 */
#ifndef THRESHER_HEAD_H
#define THRESHER_HEAD_H

#include <thresher/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_HEAD_MAX_WORDS UINT32_C(16777216)
#define THR_HEAD_AUTO      UINT32_MAX /* of a count: what is usual, said beside it */

/* ------------------------------------------------------------------------------------------------ build */

typedef struct thr_head_build_options {
    size_t size; /* sizeof(thr_head_build_options), set by _init */
    /*
     * What weights are kept as: F32, F16, BF16, or I8, integers from -127 to 127 and a scale a word; NONE: F16 or BF16
     * for weights that are, else F32. The product of a row of I8 with a state is that of its integers, times the scale.
     */
    thr_dtype dtype;
    const float *bias; /* n_bias of them, one a word; or NULL: none */
    uint64_t n_bias;
    /* n_frequent different words, the most frequent first; the others follow them as they are numbered. NULL: all are
     * numbered by frequency. */
    const uint32_t *frequent;
    uint64_t n_frequent;
    /*
     * Winner-take-all hashes (WTA-LSH 4.2): n_bands band codes of n_hashes hashes each, a hash the place of the largest
     * of n_places components, 16 or, where the weights have fewer and this is the default, all. n_bands 0: none, and no
     * such screen. n_hashes 0: as many as 32 bits hold.
     */
    uint32_t n_bands, n_hashes, n_places;
    /*
     * Of codes of the words, 1 to 8 (codes.h); 0: none, and no such screen. AUTO: as many as give a code 256 bits, 1
     * from 256 dimensions on: a scan takes as long as it has planes, and an estimate's error falls with the root of the
     * dimensions.
     */
    uint32_t n_planes;
    uint64_t seed;
} thr_head_build_options;

/* Defaults: weights as they are, no bias, 64 bands of 2 hashes of 16 components, n_planes AUTO, seed 1. */
THR_API void thr_head_build_options_init(thr_head_build_options *options);

typedef struct thr_head thr_head;

/*
 * Make a head of weights, n_words x n_dims of any dtype, which are copied. options may be NULL for the defaults.
 * Memory: the weights as they are kept, 4 bytes a word and band, and 36 bytes and less a code that a band's words have;
 * while it is built 4 bytes more a word and band; of codes a bit a weight and plane, and 4 bytes a word. What is made
 * does not depend on the number of threads.
 *
 * Returns THR_OK; THR_EDIM for no words, more than THR_HEAD_MAX_WORDS, no dimensions or more than THR_MAX_DIMS, a
 * number of biases that is not that of words, or 2^32 words in all bands and more; THR_ERANGE for weights that are NaN,
 * infinite, longer than 2^60 or too large to be kept as F16 (err names the row), and biases that are not finite or
 * beyond 2^100; THR_EINVAL for options out of range, or a frequent word that is none or stands twice; THR_EUNSUPPORTED
 * for a hash table that cannot be built; THR_ENOMEM.
 */
THR_API thr_status thr_head_create(thr_context *context, const thr_matrix *weights,
                                   const thr_head_build_options *options, thr_head **head, thr_error *err);

/*
 * The same of a file: .npy and other files of rows, or tensors by name, .safetensors and .gguf. tensor names one; NULL
 * takes of .gguf output.weight, or token_embd.weight, which it is tied to where it is not there, and of .safetensors
 * the first there is of lm_head.weight, output.weight, embed_out.weight, decoder.output_projection.weight, proj.weight,
 * and of the embeddings that heads are tied to, model.embed_tokens.weight, transformer.wte.weight, wte.weight,
 * decoder.embed_tokens.weight, shared.weight, embeddings.weight. Where options have no bias and there is a tensor of
 * the same name with bias for weight, it is the bias.
 *
 * Returns what thr_head_create and the reader do; THR_ENOTFOUND for a tensor that is not there (err lists some that
 * are); THR_EFORMAT for one that is no matrix of F32, F16 or BF16, or a bias that is no vector of them; THR_EINVAL for
 * a tensor's name with a file that has none; THR_EUNSUPPORTED for a tensor of .gguf that is not of F32, F16, BF16,
 * Q8_0 or Q6_K (the latter two become F32 if options do not say another).
 */
THR_API thr_status thr_head_create_file(thr_context *context, const char *path, const char *tensor,
                                        const thr_head_build_options *options, thr_head **head, thr_error *err);

/*
 * Write a head to the file path (docs/format.md), which appears when it is complete. replace: also where one is there.
 * THR_OK; THR_EEXIST, also with replace for a file that is not a head, nor empty; THR_ENOTFOUND; THR_ENOSPACE; THR_EIO;
 * THR_ECHANGED when the head is of a file that was changed or cut since it was opened; THR_ENOMEM.
 */
THR_API thr_status thr_head_save(const thr_head *head, const char *path, bool replace, thr_error *err);

/* Whether thr_head_save could write to path, for before a head is made: what that returns, but THR_ENOSPACE. */
THR_API thr_status thr_head_check_path(thr_context *context, const char *path, bool replace, thr_error *err);

/*
 * Open such a file by mmap. All that a query believes is checked, which reads all but the weights; thr_head_verify
 * checks every byte.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT for a file that is no head; THR_EVERSION for a newer format; THR_ECORRUPT
 * for one that is damaged or cut; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_head_open(thr_context *context, const char *path, thr_head **head, thr_error *err);

/*
 * Read every byte of an opened file, compare all checksums, check that weights are finite, and hash them again: every
 * word stands under its hashes, which takes as long as making them on one thread. THR_OK, also of a head
 * that was made in memory; THR_ECORRUPT naming the file and section; THR_ECHANGED when the file was changed since it
 * was opened; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_head_verify(thr_head *head, thr_error *err);

/* NULL is allowed. No query may be running. */
THR_API void thr_head_free(thr_head *head);

typedef struct thr_head_info {
    uint32_t n_words, n_dims;
    thr_dtype dtype; /* of the weights */
    bool has_bias;
    bool has_order;                       /* words are not numbered by frequency */
    uint32_t n_bands, n_hashes, n_places; /* of hashes; 0: none */
    uint64_t n_codes;                     /* different ones, in all bands */
    uint32_t n_planes;                    /* of codes; 0: none */
    uint64_t weight_bytes, hash_bytes, plane_bytes;
    uint64_t file_bytes; /* 0 of a head that was made in memory */
    uint32_t format_version;
} thr_head_info;

THR_API thr_head_info thr_head_get_info(const thr_head *head);

/* ------------------------------------------------------------------------------------------------ query */

typedef enum thr_head_screen {
    THR_HEAD_SCREEN_FULL = 0,     /* all words */
    THR_HEAD_SCREEN_FREQUENT = 1, /* the n_frequent most frequent ones */
    THR_HEAD_SCREEN_WTA = 2,      /* and those that hash as the states do */
    THR_HEAD_SCREEN_PLANES = 3,   /* the n_shortlist words of the best logits as plane codes estimate them, which are
                                     scanned all; those of the longest codes, one word in 64 and 64 at most, for their
                                     estimates are the farthest off; and the n_frequent most frequent ones */
    THR_HEAD_SCREEN_AUTO = 4      /* FULL or PLANES, whichever is faster on this machine: see below */
} thr_head_screen;

/*
 * THR_HEAD_SCREEN_AUTO asks a head both ways, twice each after a round to warm up, at the first query of so many states
 * with so long a shortlist, both up to the next power of two, and takes the one whose better time was less for all such
 * queries from then on, until the head is freed. A head without codes, one whose shortlist is of all words, and
 * log-probabilities over all words (THR_HEAD_NORMALISER_EXACT), which score every word anyway, take FULL without
 * asking. Words and logits are the same either way but for what PLANES misses, which thr_head_measure tells;
 * log-probabilities over candidates are over those of the way that was taken. Who wants the same bits in every run
 * names a screen, or one for all runs by `used`.
 */

typedef enum thr_head_normaliser {
    THR_HEAD_NORMALISER_CANDIDATES = 0, /* probabilities of the candidates add up to 1 */
    THR_HEAD_NORMALISER_EXACT = 1,      /* those of all words do: every word is scored once more, for this alone */
    THR_HEAD_NORMALISER_SAMPLED = 2     /* about as those of all words: what other words than candidates have is
                                           estimated from a sample, the same for all states, of the 256 most frequent
                                           words and 128 for each doubling of ranks, so 1,200 of 42,000. Not on GPUs */
} thr_head_normaliser;

/* How the hits of the states of a group are put together: the most that one has, or what they have together. */
typedef enum thr_head_combine { THR_HEAD_COMBINE_LARGEST = 0, THR_HEAD_COMBINE_SUM = 1 } thr_head_combine;

/* Where a query's time went, in seconds; on a GPU all of it is score. */
typedef struct thr_head_times {
    double screen; /* hashes of states, or the scan of codes */
    double choose; /* words that are hit looked up, and candidates put together */
    double score;  /* logits of candidates, the best of them, and what they add up to */
    double exact;  /* the exact normaliser, where it is a pass of its own, or the sample of the other one */
} thr_head_times;

typedef struct thr_head_query_options {
    size_t size; /* sizeof(thr_head_query_options), set by _init */
    thr_head_screen screen;
    thr_head_normaliser normaliser;
    /*
     * T: so many of the most frequent words are candidates; AUTO: 1000, or all of fewer words, but of planes none.
     */
    uint32_t n_frequent;
    uint32_t threshold; /* t: hits, 1 at least, that make a word a candidate; AUTO: 2, or 1 of a single band */
    thr_head_combine combine;
    uint32_t n_shortlist; /* 1 at least; AUTO: 100 and 16 for each of the k, or all of fewer words */
    /*
     * So many states, one behind the other, share their candidates, as the beams of a sentence may: one after the other
     * from the first state on, the last group may be smaller. 1: an answer does not depend on other states. 0: all.
     */
    uint64_t group;
    const uint32_t *always; /* n_always words that are candidates with every screen; or NULL */
    uint64_t n_always;
    uint32_t *n_candidates; /* a place for every state, or NULL: how many words it was given the logits of */
    thr_head_times *times;  /* or NULL: where the query's time went, but for checks and copies of states */
    thr_head_screen *used;  /* or NULL: the screen that answered, which with AUTO is FULL or PLANES */
    /*
     * A place for every state, or NULL: 1 where it is proven that the words are those of the full head, else 0. With
     * FULL they are. With PLANES that follows where the k-th logit is out of reach of every word that the state's
     * shortlist leaves out, by how far its code may be off (head/certify.c): hardly ever with few planes, nearly always
     * with 6 and more. Nothing is known of other screens. States are coded with 8 bits then instead of 4, so that a
     * scan takes about twice as long. The first such query reads all weights, and keeps 12 bytes a word; every one goes
     * over the words again.
     */
    uint8_t *certified;
} thr_head_query_options;

/* Defaults: all words; candidates as the normaliser; of hashes the largest hits, and each state by itself. */
THR_API void thr_head_query_options_init(thr_head_query_options *options);

/* Where a query's answers go: n_rows x k places each, state i's from i * k on, best first. They stay the caller's. */
typedef struct thr_head_answers {
    uint32_t *words;
    float *logits;    /* of words; or NULL */
    float *log_probs; /* natural logarithms of their probabilities; or NULL: nothing is normalised */
} thr_head_answers;

/*
 * The best k words of every state among its candidates. options may be NULL for the defaults. Where a screen lets fewer
 * than k words by, the most frequent of the others are candidates, too, until there are k: so no answer is short. After
 * a first query of the same shape nothing is allocated.
 *
 * Returns THR_OK; THR_EDIM when states->n_dims is not the head's; THR_EINVAL for k = 0 or more than there are words,
 * n_frequent or n_shortlist of more words than there are, a threshold of 0, an always-in word that is none, or options
 * out of range; THR_ERANGE for a state with NaN or infinity or longer than 2^60 (err names it); THR_EUNSUPPORTED for a
 * screen that the head was not built for; THR_ECHANGED when the file was changed or cut since it was opened;
 * THR_ENOMEM, also for memory of a GPU; THR_EDEVICE where a GPU that was asked for by name fails.
 */
THR_API thr_status thr_head_query(thr_head *head, const thr_matrix *states, uint32_t k,
                                  const thr_head_query_options *options, const thr_head_answers *answers,
                                  thr_error *err);

/* What a screen keeps of the answers of the full head. */
typedef struct thr_head_recall {
    double recall;     /* share of the best k words of each state that are among the screen's; equal logits count */
    double worst;      /* the smallest share that one state has */
    double candidates; /* words a state has the logits of, on average */
} thr_head_recall;

/* Measure it on states: one query with these options and one of all words. Returns what thr_head_query does. */
THR_API thr_status thr_head_measure(thr_head *head, const thr_matrix *states, uint32_t k,
                                    const thr_head_query_options *options, thr_head_recall *recall, thr_error *err);

/* What a head loses of another's answers. */
typedef struct thr_head_loss {
    double recall;         /* share of the other's best k words that are among this one's */
    double worst;          /* the smallest share that one state has */
    double first;          /* share of states whose best word is the other's */
    double candidates;     /* words a state has the logits of, on average */
    double log_prob_error; /* of words that both find: the mean difference of their log-probabilities, without sign */
} thr_head_loss;

/*
 * Measure on states what head, asked with these options, loses of what truth answers with all words: how good weights
 * in fewer bytes are. Words are compared by their numbers.
 *
 * Returns what thr_head_query does; THR_EDIM for heads of different numbers of words or dimensions, or no states.
 */
THR_API thr_status thr_head_compare(thr_head *head, thr_head *truth, const thr_matrix *states, uint32_t k,
                                    const thr_head_query_options *options, thr_head_loss *loss, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
