/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings and evaluations of `bench tower`, each kept as soon as it is done. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "talk.h"
#include "tower.h"

enum { FLOATS = THR_FLOAT_BITS, FORMAT = 2 /* of the records: their names and what they mean */ };

const bench_model bench_models[BENCH_N_MODELS] = {
    [BENCH_M_1] = {"m_1", 64, FLOATS, FLOATS, THR_ESTIMATOR_VARIANT, false},
    [BENCH_M_2] = {"m_2", 64, 1, 1, THR_ESTIMATOR_VARIANT, false},
    [BENCH_M_3] = {"m_3", 128, 1, 1, THR_ESTIMATOR_VARIANT, false},
    [BENCH_RBE] = {"rbe*", 64, 3, 2, THR_ESTIMATOR_VARIANT, false},
    [BENCH_M_5] = {"m_5", 64, FLOATS, 2, THR_ESTIMATOR_VARIANT, false},
    [BENCH_RBE_2] = {"rbe_2", 64, 2, 2, THR_ESTIMATOR_VARIANT, false},
    [BENCH_RBE_3] = {"rbe_3", 64, 3, 3, THR_ESTIMATOR_VARIANT, false},
    [BENCH_M_2_STRAIGHT] = {"m_2 straight", 64, 1, 1, THR_ESTIMATOR_STRAIGHT, false},
    [BENCH_RBE_2_STRAIGHT] = {"rbe_2 straight", 64, 2, 2, THR_ESTIMATOR_STRAIGHT, false},
    [BENCH_RBE_STRAIGHT] = {"rbe* straight", 64, 3, 2, THR_ESTIMATOR_STRAIGHT, false},
    [BENCH_RBE_3_STRAIGHT] = {"rbe_3 straight", 64, 3, 3, THR_ESTIMATOR_STRAIGHT, false},
    [BENCH_M_2_TANH] = {"m_2 tanh", 64, 1, 1, THR_ESTIMATOR_TANH, false},
    [BENCH_RBE_2_TANH] = {"rbe_2 tanh", 64, 2, 2, THR_ESTIMATOR_TANH, false},
    [BENCH_RBE_TANH] = {"rbe* tanh", 64, 3, 2, THR_ESTIMATOR_TANH, false},
    [BENCH_RBE_3_TANH] = {"rbe_3 tanh", 64, 3, 3, THR_ESTIMATOR_TANH, false},
    [BENCH_RBE_2_PLAIN] = {"rbe_2 plain", 64, 2, 2, THR_ESTIMATOR_VARIANT, true},
    [BENCH_RBE_PLAIN] = {"rbe* plain", 64, 3, 2, THR_ESTIMATOR_VARIANT, true},
    [BENCH_RBE_3_PLAIN] = {"rbe_3 plain", 64, 3, 3, THR_ESTIMATOR_VARIANT, true},
};

bool bench_tower_together(const bench_tower *bench) {
    return bench->values->train == 1;
}

static void choose_model(const bench_model *model, uint64_t seed, thr_tower_train_options *options) {
    options->config.n_dims = model->n_dims;
    options->config.query_bits = model->query_bits;
    options->config.item_bits = model->item_bits;
    options->config.plain_weights = model->plain_weights;
    options->estimator = model->estimator;
    options->seed = seed;
    options->format =
        (thr_pairs_format){.query_column = 1, .item_column = 2, .label_column = 3, .least_label = BENCH_LEAST_LABEL};
}

/* Which pairs are learned from: a data set's, or those of all that are there, by name. */
static void name_pairs(const bench_tower *bench, int s, char *name, size_t size) {
    (void)snprintf(name, size, "%s", bench_tower_together(bench) ? "" : bench->sets[s].name);
    for (int i = 0; bench_tower_together(bench) && i < BENCH_N_SETS; i++)
        if (bench->sets[i].there)
            (void)snprintf(name + strlen(name), size - strlen(name), "%s%s", name[0] == '\0' ? "" : "+",
                           bench->sets[i].name);
}

/* The key of a record: all that it depends on but the library's code. */
static void make_key(const bench_tower *bench, const thr_tower_train_options *o, int s, char key[BENCH_KEY]) {
    const thr_tower_config *c = &o->config;
    char name[128];
    name_pairs(bench, s, name, sizeof name);
    (void)snprintf(key, BENCH_KEY,
                   "%d; %s; %s %" PRIu32 " dims %" PRIu32 "/%" PRIu32 " bits, %" PRIu32 " pooled, %" PRIu32
                   " grams, %" PRIu32 " words%s%s%s, estimator %d; %" PRIu32 " epochs, patience %" PRIu32
                   ", batch %" PRIu32 ", %" PRIu32
                   " negatives, gamma %g, rate %g, dropout %g, floats %g, valid %g%s; seed %" PRIu64 "; thresher %s",
                   FORMAT, bench->sets[s].name, name, c->n_dims, c->query_bits, c->item_bits, c->n_pooled, c->max_grams,
                   c->max_words, c->shared_words ? ", shared words" : "", c->shared_steps ? ", shared steps" : "",
                   c->plain_weights ? ", plain weights" : "", (int)o->estimator, o->n_epochs, o->patience, o->batch,
                   o->n_negatives, (double)o->gamma, (double)o->rate, (double)o->word_dropout, (double)o->float_share,
                   (double)o->valid_share, bench->values->quick ? ", quick" : "", o->seed, thr_version());
}

/* Quality on the test part: AUC against bad pairs, log loss of good ones. */
static int evaluate(bench_tower *bench, const thr_tower *tower, const bench_set *set, bench_record *record) {
    thr_tower_quality quality, good;
    thr_pairs_format format = {.query_column = 1, .item_column = 2};
    char path[BENCH_PATH];
    bench_tower_file(bench, set->name, "good", path);
    if (thr_tower_eval(tower, path, &format, &good, &bench->run.err) != THR_OK)
        return -1;
    quality = good;
    if (set->labelled) {
        format.label_column = 3;
        format.least_label = BENCH_LEAST_LABEL;
        bench_tower_file(bench, set->name, "test", path);
        if (thr_tower_eval(tower, path, &format, &quality, &bench->run.err) != THR_OK)
            return -1;
    }
    bench_record_set(record, "auc", quality.auc);
    bench_record_set(record, "loss", good.loss);
    bench_record_set(record, "auc_sampled", good.auc);
    return 0;
}

/* The records of a trained model, one a data set, kept. */
static int judge(bench_tower *bench, const char *model_path, bench_model_number model,
                 const thr_tower_train_options *options, const thr_tower_report *report, int only, int seed) {
    thr_tower *tower = NULL;
    if (thr_tower_open(bench->run.context, model_path, &tower, &bench->run.err) != THR_OK)
        return -1;
    char keep[BENCH_PATH];
    (void)snprintf(keep, sizeof keep, "%s/results.tsv", bench->values->keep);
    int rc = 0;
    for (int s = 0; rc == 0 && s < BENCH_N_SETS; s++) {
        const bench_set *set = &bench->sets[s];
        bench_record *record = &bench->results[model][s][seed];
        if (!set->there || (only >= 0 && s != only))
            continue;
        *record = (bench_record){.n = 0};
        make_key(bench, options, s, record->key);
        bench_record_set(record, "n_epochs", report->n_epochs);
        bench_record_set(record, "best_epoch", report->best_epoch);
        bench_record_set(record, "train_loss", report->loss);
        bench_record_set(record, "valid_loss", report->valid_loss);
        bench_record_set(record, "valid_auc", report->valid_auc);
        bench_record_set(record, "examples_per_s", report->examples_per_second);
        rc = evaluate(bench, tower, set, record);
        if (rc == 0 && (model == BENCH_M_1 || model == BENCH_RBE || model == BENCH_M_5))
            rc = bench_tower_codes(bench, tower, model_path, set, bench_models[model].name, options->seed, record);
        if (rc == 0 && bench_cache_add(keep, record) != 0)
            rc = bench_fail(&bench->run, "%s: not written: name another directory with --keep", keep);
        if (rc == 0)
            prog_note("%s, %s, seed %" PRIu64 ": AUC %.4f, log loss %.4f, best of %.0f epochs: %.0f", set->name,
                      bench_models[model].name, options->seed, bench_record_get(record, "auc"),
                      bench_record_get(record, "loss"), bench_record_get(record, "n_epochs"),
                      bench_record_get(record, "best_epoch"));
    }
    thr_tower_free(tower);
    return rc;
}

/* A training whose loss was no longer finite has records without figures, so that it is not tried again. */
static int note_divergence(bench_tower *bench, bench_model_number model, const thr_tower_train_options *options,
                           int only, int seed) {
    char keep[BENCH_PATH];
    (void)snprintf(keep, sizeof keep, "%s/results.tsv", bench->values->keep);
    prog_note("%s, seed %" PRIu64 ": %s", bench_models[model].name, options->seed, bench->run.err.text);
    bench->run.err = (thr_error){.status = THR_OK};
    for (int s = 0; s < BENCH_N_SETS; s++) {
        bench_record *record = &bench->results[model][s][seed];
        if (!bench->sets[s].there || (only >= 0 && s != only))
            continue;
        *record = (bench_record){.n = 0};
        make_key(bench, options, s, record->key);
        bench_record_set(record, "diverged", 1);
        if (bench_cache_add(keep, record) != 0)
            return bench_fail(&bench->run, "%s: not written: name another directory with --keep", keep);
    }
    return 0;
}

/* Everything that is known already of a training on set `only` (-1: on all); false when some of it is missing. */
static bool find(bench_tower *bench, bench_model_number model, const thr_tower_train_options *options, int only,
                 int seed) {
    char keep[BENCH_PATH], key[BENCH_KEY];
    bool all = !bench->values->again;
    (void)snprintf(keep, sizeof keep, "%s/results.tsv", bench->values->keep);
    for (int s = 0; all && s < BENCH_N_SETS; s++) {
        if (!bench->sets[s].there || (only >= 0 && s != only))
            continue;
        make_key(bench, options, s, key);
        all = bench_cache_find(keep, key, &bench->results[model][s][seed]);
    }
    return all;
}

static int train_one(bench_tower *bench, bench_model_number model, int only, int seed) {
    thr_tower_train_options options = bench->train;
    if (only >= 0) {
        options.n_epochs = bench->sets[only].n_epochs;
        options.word_dropout = bench->sets[only].word_dropout;
    }
    thr_tower_report report;
    char pairs[BENCH_PATH], path[BENCH_PATH];
    choose_model(&bench_models[model], bench->run.program->globals.seed + (uint64_t)seed, &options);
    if (find(bench, model, &options, only, seed))
        return 0;
    bench_tower_file(bench, only < 0 ? "all" : bench->sets[only].name, "train", pairs);
    (void)snprintf(path, sizeof path, "%s/model.safetensors", bench->run.scratch);
    const thr_status status = thr_tower_train(bench->run.context, pairs, path, &options, &report, &bench->run.err);
    if (status == THR_ERANGE)
        return note_divergence(bench, model, &options, only, seed);
    if (status != THR_OK)
        return -1;
    const int rc = judge(bench, path, model, &options, &report, only, seed);
    (void)unlink(path);
    return rc;
}

/* Seeds outside, so that a run that is cut has whole tables of fewer seeds. */
int bench_tower_train(bench_tower *bench) {
    for (int seed = 0; seed < (int)bench->values->seeds; seed++)
        for (int m = 0; m < BENCH_N_MODELS; m++) {
            bool wanted = false;
            for (int s = 0; s < BENCH_N_SETS; s++)
                wanted |= bench->wanted[m][s];
            if (wanted && bench_tower_together(bench) && train_one(bench, (bench_model_number)m, -1, seed) != 0)
                return -1;
            for (int s = 0; !bench_tower_together(bench) && s < BENCH_N_SETS; s++)
                if (bench->wanted[m][s] && train_one(bench, (bench_model_number)m, s, seed) != 0)
                    return -1;
        }
    return 0;
}
