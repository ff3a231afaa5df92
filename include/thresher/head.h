/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h - output layers over large vocabularies: the best words of a state, among all words or among a screen's.
 *
 * A head is a weight matrix W of n_words rows and n_dims columns, and a bias b or none. The logit of word w for a state
 * h is <W_w, h> + b_w (WTA-LSH (2)). A screen chooses candidates; their logits are exact and have the same bits with
 * every screen, in every batch, on any number of threads and any CPU.
 *
 * A log-probability is a logit minus the softmax normaliser, ln of the sum of exp(logit), taken over the candidates or
 * over the whole vocabulary. Over the candidates it is too large, by an amount that depends on the state and the
 * screen. This matters when sentences of different lengths are compared.
 *
 * Words are numbered by rows of W, from 0. Equal logits are ordered by the smaller word.
 *
 * In a context with GPUs (thr_context_options.device) queries run on the first GPU: always with "cuda", and with "auto"
 * once they are worth the copy. The first such query copies the head, which stays on the GPU until it is freed. Answers
 * have the same bits.
 *
 * Threads: a head is immutable; many threads may query it at once. On a GPU queries run one after the other.
 */
#ifndef THRESHER_HEAD_H
#define THRESHER_HEAD_H

#include <thresher/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_HEAD_MAX_WORDS  UINT32_C(16777216)
#define THR_HEAD_PATH_BYTES 4096 /* sizes of strings, with the zero byte */
#define THR_HEAD_NAME_BYTES 256
#define THR_HEAD_AUTO       UINT32_MAX /* for a count: choose the default that the field's comment gives */

/* ------------------------------------------------------------------------------------------------ build */

/* What thr_head_create_file took. Names are cut to fit; tensor is empty for a file of rows. */
typedef struct thr_head_taken {
    char path[THR_HEAD_PATH_BYTES]; /* of the file with the tensor */
    char tensor[THR_HEAD_NAME_BYTES];
    char bias[THR_HEAD_NAME_BYTES]; /* empty: no tensor */
    bool tied;                      /* the tensor is the embeddings */
} thr_head_taken;

typedef struct thr_head_build_options {
    /*
     * Type of the stored weights: F32, F16, BF16, or I8, which is integers from -127 to 127 and a scale per word (the
     * product of a row and a state is computed in integers, then scaled). NONE: keep F16 and BF16 weights, else F32.
     */
    thr_dtype dtype;
    /*
     * n_bias values, one per word; NULL: none. A word with a bias of -infinity, or below -2^100, is never answered. A
     * word with a bias below -1000 has no plane code, so PLANES does not find it.
     */
    const float *bias;
    uint64_t n_bias;
    /*
     * n_frequent distinct words, most frequent first; the other words follow in order of their numbers. NULL: words are
     * numbered by frequency.
     */
    const uint32_t *frequent;
    uint64_t n_frequent;
    /*
     * Winner-take-all hashes (WTA-LSH 4.2): n_bands band codes of n_hashes hashes each. A hash is the position of the
     * largest of n_places components, 2 or more. n_bands 0: no hashes, and no
     * such screen. n_hashes 0: as many as fit 32 bits.
     */
    uint32_t n_bands, n_hashes, n_places;
    /*
     * Bits a dimension of plane codes of the words, 1 to 8; 0: no codes, and no such screen. AUTO: as many as
     * give a code 256 bits, so 1 from 256 dimensions on. A scan's time is proportional to the planes; an estimate's
     * error falls with the square root of the dimensions.
     */
    uint32_t n_planes;
    uint64_t seed;
    /*
     * The number of words: later rows of the weights only pad the vocabulary, and are left out with their biases.
     * 0: all rows.
     */
    uint64_t n_words;
    thr_head_taken *taken; /* NULL, or gets the tensor that thr_head_create_file took */
} thr_head_build_options;

/* Defaults: the weights' type, no bias, 128 bands of 8 hashes of 2 components, n_planes AUTO, seed 1. */
THR_API void thr_head_build_options_init(thr_head_build_options *options);

typedef struct thr_head thr_head;

/*
 * Make a head from weights, n_words x n_dims of any dtype, which are copied. options may be NULL for the defaults. The
 * result does not depend on the number of threads. The caller frees *head.
 *
 * Memory: the stored weights; for hashes 4 bytes per word and band and up to 36 bytes per distinct band code, and
 * during the build 4 bytes more per word and band; for codes 1 bit per weight and plane and 4 bytes per word.
 *
 * Returns THR_OK, or
 *   THR_EDIM          no words, more than THR_HEAD_MAX_WORDS, no dimensions, more than THR_MAX_DIMS, a number of biases
 *                     that differs from the words, or words x bands of 2^32 or more
 *   THR_ERANGE        a row of weights is NaN, infinite, longer than 2^60 or too large for F16 (err names it), or a
 *                     bias is NaN or above 2^100, or no word may be answered
 *   THR_EINVAL        options are out of range, or a frequent word does not exist or occurs twice
 *   THR_EUNSUPPORTED  the hash table cannot be built
 *   THR_ENOMEM
 */
THR_API thr_status thr_head_create(thr_context *context, const thr_matrix *weights,
                                   const thr_head_build_options *options, thr_head **head, thr_error *err);

/*
 * Make a head from a file: .npy and other row formats; a tensor of a .safetensors or .gguf file; or of a sharded model:
 * an index (*.safetensors.index.json), a directory with one, a shard beside its index, a part of a split .gguf.
 *
 * tensor is a name, or NULL for the output layer: the tensor with a name such as lm_head.weight, output.weight,
 * embed_out.weight, output_projection.weight or proj.weight. If the model has none, the embeddings are taken, provided
 * that its index or config.json shows that the output layer is tied to them, or that it is a .gguf model with all its
 * parts. options->taken receives what was taken.
 *
 * If options have no bias, it is the tensor of the same name with `bias` for `weight`, for tied embeddings the bias of
 * an output layer with one of the names above, or final_logits_bias, if the model has one of these.
 *
 * Returns what thr_head_create and the reader return, or
 *   THR_ENOTFOUND     there is no such tensor, or a shard of it is missing, or nothing shows that embeddings are tied
 *                     (err lists tensors that exist)
 *   THR_EFORMAT       the tensor is not a matrix, or the bias not a vector, of F32, F16 or BF16; or the matrix is
 *                     transposed, as the embeddings' shape shows
 *   THR_EINVAL        several tensors may be the output layer (err lists them), two may be the bias, or a tensor's name
 *                     for a file without tensors
 *   THR_EUNSUPPORTED  a .gguf tensor is not F32, F16, BF16, Q8_0 or Q6_K (the last two become F32 unless options name
 *                     another dtype)
 */
THR_API thr_status thr_head_create_file(thr_context *context, const char *path, const char *tensor,
                                        const thr_head_build_options *options, thr_head **head, thr_error *err);

/*
 * Write a head to the file path (docs/format.md), which appears when it is complete. replace: path may be a head, or an
 * empty file.
 *
 * Returns THR_OK; THR_EEXIST if path exists without replace, or is another file; THR_ENOTFOUND; THR_ENOSPACE; THR_EIO;
 * THR_ECHANGED if the head's own file was changed or cut after it was opened; THR_ENOMEM.
 */
THR_API thr_status thr_head_save(const thr_head *head, const char *path, bool replace, thr_error *err);

/* Check whether thr_head_save could write to path, before a head is made. Returns as that does, except THR_ENOSPACE. */
THR_API thr_status thr_head_check_path(thr_context *context, const char *path, bool replace, thr_error *err);

/*
 * Open a head's file by mmap. Checks everything that a query relies on, which reads the file except the weights;
 * thr_head_verify checks every byte.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT if the file is not a head; THR_EVERSION for another format
 * version; THR_ECORRUPT if it is damaged or cut short; THR_EIO; THR_ENOMEM. The caller frees *head.
 */
THR_API thr_status thr_head_open(thr_context *context, const char *path, thr_head **head, thr_error *err);

/*
 * Read every byte of an opened file, compare all checksums, check that weights are finite, and hash all words again,
 * which takes as long as a build on one thread.
 *
 * Returns THR_OK, also for a head made in memory; THR_ECORRUPT (err names the file and section); THR_ECHANGED if the
 * file changed after it was opened; THR_EIO; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_head_verify(thr_head *head, thr_error *err);

/* Free; NULL is allowed. No query may be running. */
THR_API void thr_head_free(thr_head *head);

typedef struct thr_head_info {
    uint32_t n_words, n_dims;
    thr_dtype dtype; /* of the weights */
    bool has_bias;
    bool has_order;                       /* words are not numbered by frequency */
    uint32_t n_bands, n_hashes, n_places; /* of hashes; 0: none */
    uint64_t n_codes;                     /* distinct band codes, in all bands */
    uint32_t n_planes;                    /* of plane codes; 0: none */
    uint64_t weight_bytes, hash_bytes, plane_bytes;
    uint64_t file_bytes; /* 0: made in memory */
} thr_head_info;

THR_API thr_head_info thr_head_get_info(const thr_head *head);

/* ------------------------------------------------------------------------------------------------ query */

typedef enum thr_head_screen {
    THR_HEAD_SCREEN_FULL = 0,     /* all words */
    THR_HEAD_SCREEN_FREQUENT = 1, /* the n_frequent most frequent words */
    THR_HEAD_SCREEN_WTA = 2,      /* those, and words that share the state's hashes in at least `threshold` bands */
    THR_HEAD_SCREEN_PLANES = 3,   /* a scan of all plane codes: the n_shortlist words of the best estimated logits; the
                                     words of the longest codes, whose estimates have the largest errors (one in 64, at
                                     most 64); and the n_frequent most frequent words */
    THR_HEAD_SCREEN_AUTO = 4,     /* FULL or PLANES, whichever is faster on this machine: see below */
    THR_HEAD_SCREEN_ALIGN = 5     /* the n_frequent most frequent words, and the words of the group's own list; for
                                     translations, candidates from align.h. Not on GPUs */
} thr_head_screen;

/*
 * THR_HEAD_SCREEN_AUTO measures both screens at the first query of each shape: the number of states and the length of
 * the shortlist, each rounded up to a power of two. It runs each screen twice after a warm-up, takes the one with the
 * better time, and keeps that choice until the head is freed. It takes FULL without measuring if the head has no codes,
 * if the shortlist covers all words, or for log-probabilities over all words (THR_HEAD_NORMALISER_EXACT), which score
 * every word anyway.
 *
 * Words and logits are equal either way, except for words that PLANES misses (thr_head_measure); log-probabilities over
 * candidates depend on the screen. For the same bits in every run name a screen, or reuse the one that `used` returns.
 */

typedef enum thr_head_normaliser {
    THR_HEAD_NORMALISER_CANDIDATES = 0, /* sum over the candidates */
    THR_HEAD_NORMALISER_EXACT = 1,      /* sum over all words, which scores every word for this alone */
    THR_HEAD_NORMALISER_SAMPLED = 2     /* sum over candidates, plus an estimate of the other words from a sample that
                                           all states share: the 256 most frequent words, and 128 for each doubling of
                                           the rank, so 1,200 of 42,000. Not on GPUs */
} thr_head_normaliser;

/* How a group combines its states' hits for a word: the largest count, or the sum. */
typedef enum thr_head_combine { THR_HEAD_COMBINE_LARGEST = 0, THR_HEAD_COMBINE_SUM = 1 } thr_head_combine;

/*
 * Lists of words for groups of states: group g's are words[starts[g]] to words[starts[g + 1] - 1], in any order, also
 * more than once.
 */
typedef struct thr_head_word_lists {
    uint64_t n;             /* number of lists, at least one a group */
    const uint64_t *starts; /* n + 1, which do not decrease */
    const uint32_t *words;
} thr_head_word_lists;

/* Time of a query by stage, in seconds; on a GPU all of it is `score`. */
typedef struct thr_head_times {
    double screen; /* hashing the states, or scanning the codes */
    double choose; /* looking up words with hits, and merging the candidates */
    double score;  /* logits of the candidates, their top k, and their normaliser */
    double exact;  /* the exact or sampled normaliser, if it takes a pass of its own */
} thr_head_times;

typedef struct thr_head_query_options {
    thr_head_screen screen;
    thr_head_normaliser normaliser;
    uint32_t n_frequent; /* T: most frequent words that are candidates; AUTO: 1,000 or all words, 0 with PLANES */
    uint32_t threshold;  /* t: hits that make a word a candidate, 1 or more; AUTO: 2, or 1 with a single band */
    thr_head_combine combine;
    uint32_t n_shortlist; /* 1 or more; AUTO: 100 + 16 k, at most all words */
    /*
     * Number of consecutive states that share their candidates, as the beams of a sentence may; the last group may be
     * smaller. 1: an answer does not depend on other states. 0: all states.
     */
    uint64_t group;
    const uint32_t *always; /* n_always words that are candidates with every screen; or NULL */
    uint64_t n_always;
    const uint32_t *never; /* n_never words that are not answered, although they count in normalisers; or NULL */
    uint64_t n_never;
    uint32_t *n_candidates; /* NULL, or a place per state: number of words whose logits were computed */
    thr_head_times *times;  /* NULL, or gets the time by stage, without checks and copies of states */
    thr_head_screen *used;  /* NULL, or gets the screen that ran: with AUTO, FULL or PLANES */
    /*
     * NULL, or one flag per state: 1 if the words are proven to be those of the full head, else 0. FULL is always
     * proven; PLANES if no word outside the state's shortlist can reach the k-th logit, given the error bound of its
     * code (rarely with few planes, nearly always with 6 and more); other screens never. States are then coded with 8
     * bits instead of 4, which doubles the time of a scan. The first such query reads all weights and allocates 12
     * bytes per word; every such query makes a second pass over the words.
     */
    uint8_t *certified;
    const thr_head_word_lists *lists; /* with ALIGN: a list per group; else not read */
} thr_head_query_options;

/* Defaults: FULL, candidates as the normaliser, AUTO counts, the largest hits of a group, groups of one state. */
THR_API void thr_head_query_options_init(thr_head_query_options *options);

/* Arrays for the answers, n_rows x k each, row-major: state i's from i * k on, best first. The caller owns them. */
typedef struct thr_head_answers {
    uint32_t *words;
    float *logits;    /* or NULL */
    float *log_probs; /* natural logarithms of probabilities; NULL: nothing is normalised */
} thr_head_answers;

/*
 * Find the best k words of every state among its candidates. No screen answers words with a bias of -infinity, nor
 * those of `never`. options may be NULL for the defaults. If a screen passes fewer than k words, the most frequent
 * other words become candidates too, so no answer is short. A second query of the same shape allocates nothing.
 *
 * Returns THR_OK, or
 *   THR_EDIM          states->n_dims is not the head's
 *   THR_EINVAL        k is 0 or more than the words that may be answered, n_frequent or n_shortlist exceed n_words,
 *                     the threshold is 0, a word of `always`, `never` or a list does not exist, ALIGN has fewer lists
 *                     than groups, or options are out of range
 *   THR_ERANGE        a state has NaN or infinity, or is longer than 2^60 (err names it)
 *   THR_EUNSUPPORTED  the head was built without the data of this screen
 *   THR_ECHANGED      the file was changed or cut after it was opened
 *   THR_ENOMEM        also for GPU memory
 *   THR_EDEVICE       a GPU that the context names ("cuda") failed
 */
THR_API thr_status thr_head_query(thr_head *head, const thr_matrix *states, uint32_t k,
                                  const thr_head_query_options *options, const thr_head_answers *answers,
                                  thr_error *err);

/* A query's answers compared with those of all words, of the same head or of another. */
typedef struct thr_head_recall {
    double recall;         /* share of the true best k words that were found, mean over states */
    double worst;          /* the smallest share of a state */
    double first;          /* share of states whose best word is the same */
    double candidates;     /* words scored exactly, mean over states */
    double log_prob_error; /* with another head: mean absolute difference of log-probabilities, over words that both
                              found; else 0 */
} thr_head_recall;

/*
 * Compare head, queried with these options, with truth, queried with all words: measures what fewer bytes of weights
 * lose. Words are matched by number. truth NULL: head itself, which measures the screen; equal logits count.
 *
 * Returns as thr_head_query; THR_EDIM if the heads differ in words or dimensions, or there are no states.
 */
THR_API thr_status thr_head_measure(thr_head *head, thr_head *truth, const thr_matrix *states, uint32_t k,
                                    const thr_head_query_options *options, thr_head_recall *recall, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
