/* SPDX-License-Identifier: Apache-2.0 */
/* decode_way.h - a test set, a model and one head's file, and one way to translate by them. */
#ifndef THRESHER_BENCH_DECODE_WAY_H
#define THRESHER_BENCH_DECODE_WAY_H

#include "decode.h"
#include "texts.h"

/* Of the hashes: the fastest of some settings that lost little BLEU, on the model in data/translate and its test. */
enum { BENCH_BANDS = 256, BENCH_HASHES = 5, BENCH_PLACES = 4 };

/* Of most tables; states of its full search are kept, and recall is found on them. */
enum { BENCH_BEAM = 12 };

/* How a test set is translated. */
typedef struct bench_way {
    const char *name; /* of the screen */
    thr_head_screen screen;
    uint32_t n_frequent, threshold, n_shortlist; /* THR_HEAD_AUTO where there is no such thing */
    uint32_t beam;
} bench_way;

typedef struct bench_outcome {
    bench_way how;
    double seconds, head_seconds, bleu;
    double same; /* share of the texts whose translation is the full head's with that beam */
    double
        recall; /* of the full head's best words, as many as the beam has, on the states of its search; 0: not found */
} bench_outcome;

typedef struct bench_decoding {
    bench_scan_run *run;
    const bench_decode_set *set;
    char head[1100]; /* the file that all screens ask, so that none is built in a time that is measured */
    bench_texts sources, references, full; /* full: translations of all words with this beam */
    thr_translator_info info;              /* of the model, after the first way */
    thr_head *own;                         /* of the model, for recall */
    float *states;                         /* the first that the full head was asked with, n_states of them */
    uint64_t n_states;
} bench_decoding;

/* Read the set and make the head, of a context of one thread; to be closed in either case. -1 after saying why not. */
int bench_decoding_open(bench_decoding *d, bench_scan_run *run, const bench_decode_set *set);
void bench_decoding_close(bench_decoding *d);

/* Translate and judge. The first way has the full head and BENCH_BEAM; other beams begin with the full head, too. */
int bench_decode_way(bench_decoding *d, const bench_way *how, bench_outcome *outcome);

#endif
