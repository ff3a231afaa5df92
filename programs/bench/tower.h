/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tower.h - one run of `bench tower`: data sets, models, what was measured of them, and what its parts share.
 *
 * A training is of a model, on the pairs of one data set or of all together, with a seed. What comes out of it is a
 * record in the file results.tsv of the directory --keep, found again by a key that names all it depends on but the
 * library's code.
 */
#ifndef THRESHER_BENCH_TOWER_H
#define THRESHER_BENCH_TOWER_H

#include "scan.h"
#include "tower_cache.h"
#include "tower_split.h"

enum { BENCH_N_SETS = 3, BENCH_MAX_SEEDS = 10, BENCH_PATH = 2048 };

typedef struct bench_tower_values {
    const char *data, *keep, *sets, *trends, *tables, *scratch;
    size_t train, words; /* choices */
    uint64_t seeds, epochs, patience, batch, negatives, codes;
    double gamma, rate, word_dropout, float_share;
    bool quick, again, speed;
} bench_tower_values;

typedef struct bench_set {
    const char *name, *file; /* below --data, with columns */
    bool labelled;           /* by people: pairs below BENCH_LEAST_LABEL are bad */
    bool there;
    bool trends; /* and in tables 4, 5 and 6 */
    /* Options of training that suit it. */
    uint32_t n_epochs;
    float word_dropout;
    bench_pairs pairs;
} bench_set;

/* RBE tables 1, 4, 5 and 6. */
typedef struct bench_model {
    const char *name;
    uint32_t n_dims, query_bits, item_bits;
    thr_estimator estimator;
    bool plain_weights;
} bench_model;
typedef enum bench_model_number {
    BENCH_M_1,
    BENCH_M_2,
    BENCH_M_3,
    BENCH_RBE,
    BENCH_M_5,
    BENCH_RBE_2,
    BENCH_RBE_3,
    BENCH_M_2_STRAIGHT,
    BENCH_RBE_2_STRAIGHT,
    BENCH_RBE_STRAIGHT,
    BENCH_RBE_3_STRAIGHT,
    BENCH_M_2_TANH,
    BENCH_RBE_2_TANH,
    BENCH_RBE_TANH,
    BENCH_RBE_3_TANH,
    BENCH_RBE_2_PLAIN,
    BENCH_RBE_PLAIN,
    BENCH_RBE_3_PLAIN,
    BENCH_N_MODELS
} bench_model_number;
extern const bench_model bench_models[BENCH_N_MODELS];

typedef struct bench_tower {
    bench_scan_run run; /* its context has --threads threads, or one, and can be stopped */
    const bench_tower_values *values;
    thr_tower_train_options train; /* what all models are trained with */
    bench_set sets[BENCH_N_SETS];
    bool wanted[BENCH_N_MODELS][BENCH_N_SETS];
    bench_record results[BENCH_N_MODELS][BENCH_N_SETS][BENCH_MAX_SEEDS]; /* without fields where nothing is known */
} bench_tower;

/* ------------------------------------------------------------------------------------------------ tower_data.c */

/* Read the data sets that are there, split them, and write the parts to the scratch directory. */
int bench_tower_read(bench_tower *bench);
/* The file of a part: "train", "test" or "good", of a data set or of "all". */
void bench_tower_file(const bench_tower *bench, const char *set, const char *part, char path[BENCH_PATH]);

/* ----------------------------------------------------------------------------------------------- tower_train.c */

/* --train together: one training serves all data sets. */
bool bench_tower_together(const bench_tower *bench);

/* Train and evaluate all that is wanted and not kept yet. */
int bench_tower_train(bench_tower *bench);

/* ----------------------------------------------------------------------------------------------- tower_codes.c */

/*
 * Recall of the clicked item and AUC by codes: those the model makes, or for a model of floats those made of its item
 * vectors afterwards; and its vectors to the directory --keep, for the peers. Adds to the record.
 */
int bench_tower_codes(bench_tower *bench, const thr_tower *tower, const char *model_path, const bench_set *set,
                      const char *model, uint64_t seed, bench_record *record);

/* ---------------------------------------------------------------------------------------------- tower_tables.c */

/* Mean and standard deviation over the seeds of a number in the records; n 0 where there are none. */
typedef struct bench_mean {
    int n;
    double mean, spread;
} bench_mean;
bench_mean bench_tower_mean(const bench_tower *bench, bench_model_number model, int set, const char *field);

/* Tables and figures of what was measured; with --json a line a model and data set. */
void bench_tower_print(bench_tower *bench);
/* Whether NAME,... has this one. */
bool bench_names(const char *names, const char *name);
/* Whether --tables has this one. */
static inline bool bench_tower_has_table(const bench_tower *bench, const char *name) {
    return bench_names(bench->values->tables, name);
}

/* ---------------------------------------------------------------------------------------------- tower_trends.c */

/* Which trends of RBE's tables 4, 5 and 6 are there. */
void bench_tower_print_trends(bench_tower *bench);

/* ----------------------------------------------------------------------------------------------- tower_speed.c */

/* Examples, texts and queries a second; then tower_scan.c's. */
int bench_tower_speed(bench_tower *bench);
/* A search of as many random codes of 16 bytes as there is room for. */
int bench_tower_scan(bench_tower *bench, const char *model_path);

#endif
