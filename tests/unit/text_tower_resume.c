/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_tower_resume.c - a training stopped at any moment and resumed gives the same model; checkpoints that do not fit.
 */
#define TOWER_TEST "resume"
#include "text_tower_support.h"

static const char pairs[] = NAME("pairs.tsv"), model[] = NAME("model"), stopped[] = NAME("stopped"),
                  checkpoint[] = NAME("stopped.checkpoint");

static void small(thr_tower_train_options *options) {
    tower_small(options);
    options->run.n_epochs = 3;
    options->run.batch = 30;
}

/* Calls of a training that is not slowed down: pairs read; of each epoch its first step and its end. */
enum { CALLS = 1 + 3 * 2 };

static void remove_files(void) {
    (void)unlink(stopped);
    (void)unlink(checkpoint);
}

/* Train, stopped at this call (of every attempt, if again), resumed until it is done. */
static void train_with_stops(const thr_tower_train_options *given, unsigned stop_at, bool slow, bool again) {
    thr_tower_train_options options = *given;
    thr_status status = THR_ECANCELED;
    unsigned attempts = 0;
    remove_files();
    for (bool first = true; status == THR_ECANCELED; first = false) {
        tower_stopper s = {.stop_at = first || again ? stop_at : 0, .slow = slow && first};
        thr_context *context = tower_stoppable(&s, 1 + attempts % 3);
        options.run.resume = !first && access(checkpoint, F_OK) == 0;
        status = thr_tower_train(context, pairs, stopped, &options, NULL, &err);
        thr_context_free(context);
        assert_true(++attempts < 100);
        if (status == THR_ECANCELED && stop_at > 1)
            expect_error(status, THR_ECANCELED, "a checkpoint was written");
    }
    expect_ok(status);
    assert_true(attempts > 1);
    assert_case(tower_same_files(model, stopped), "stopped at call %u: another model", stop_at);
    assert_int_equal(access(checkpoint, F_OK), -1);
}

TEST(a_training_stopped_anywhere_and_resumed_gives_the_same_model) {
    thr_tower_train_options options;
    small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    (void)tower_train(*state, pairs, model, &options);
    for (unsigned at = 1; at <= CALLS; at++)
        train_with_stops(&options, at, false, false);
    for (unsigned at = 3; at <= CALLS; at++) /* as long as each attempt gets further */
        train_with_stops(&options, at, false, true);
}

TEST(the_middle_of_an_epoch_is_no_different) {
    thr_tower_train_options options;
    small(&options);
    options.estimator = THR_ESTIMATOR_TANH;
    options.config.shared_words = true;
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    (void)tower_train(*state, pairs, model, &options);
    for (unsigned at = 3; at <= 7; at += 2)
        train_with_stops(&options, at, true, false);
}

TEST(stopped_while_reading_nothing_is_left) {
    thr_tower_train_options options;
    tower_stopper s = {.stop_at = 1};
    (void)state;
    small(&options);
    tower_write_pairs(pairs, 0, 3000); /* more than are read between reports */
    OWNED(thr_context, context) = tower_stoppable(&s, 1);
    remove_files();
    expect_error(thr_tower_train(context, pairs, stopped, &options, NULL, &err), THR_ECANCELED, "reading pairs");
    assert_true(access(checkpoint, F_OK) != 0 && access(stopped, F_OK) != 0 && test_leftovers(".", stopped) == 0);
    options.run.resume = true;
    expect_error(thr_tower_train(context, pairs, stopped, &options, NULL, &err), THR_ENOTFOUND,
                 "no checkpoint to resume from");
}

/* Leaves a checkpoint of a training with these options that was stopped in its third epoch, and a model. */
static void make_checkpoint(const thr_tower_train_options *options) {
    tower_stopper s = {.stop_at = 6};
    OWNED(thr_context, context) = tower_stoppable(&s, 2);
    remove_files();
    assert_int_equal(thr_tower_train(context, pairs, stopped, options, NULL, &err), THR_ECANCELED);
}

/* Resumes with these options: refused, with these words. */
static void refused(thr_context *context, const thr_tower_train_options *given, thr_status status, const char *words) {
    thr_tower_train_options options = *given;
    options.run.resume = true;
    expect_error(thr_tower_train(context, pairs, stopped, &options, NULL, &err), status, words);
}

TEST(a_checkpoint_of_another_training_is_refused) {
    thr_tower_train_options options, changed;
    small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    make_checkpoint(&options);
#define REFUSED(change, words)                                                                                         \
    do {                                                                                                               \
        changed = options;                                                                                             \
        change;                                                                                                        \
        refused(*state, &changed, THR_EMISMATCH, words);                                                               \
    } while (0)
    REFUSED(changed.config.n_dims++, "other dimensions, bits or switches");
    REFUSED(changed.config.n_pooled++, "other dimensions, bits or switches");
    REFUSED(changed.config.query_bits--, "other dimensions, bits or switches");
    REFUSED(changed.config.item_bits = THR_FLOAT_BITS, "other dimensions, bits or switches");
    REFUSED(changed.config.max_grams--, "other dimensions, bits or switches");
    REFUSED(changed.config.max_words = 5, "other dimensions, bits or switches");
    REFUSED(changed.config.shared_words = true, "other dimensions, bits or switches");
    REFUSED(changed.config.shared_steps = true, "other dimensions, bits or switches");
    REFUSED(changed.config.plain_weights = true, "other dimensions, bits or switches");
    REFUSED(changed.run.batch++, "other pairs or options");
    REFUSED(changed.n_negatives--, "other pairs or options");
    REFUSED(changed.gamma *= 2, "other pairs or options");
    REFUSED(changed.run.rate *= 2, "other pairs or options");
    REFUSED(changed.word_dropout = 0, "other pairs or options");
    REFUSED(changed.float_share = 0, "other pairs or options");
    REFUSED(changed.estimator = THR_ESTIMATOR_TANH, "other pairs or options");
    REFUSED(changed.run.seed++, "other pairs or options");
    REFUSED(changed.run.n_epochs++, "other pairs or options"); /* the rate falls over all of them */
    REFUSED(changed.run.valid_share = 0.3f, "other pairs or options");
    REFUSED(changed.run.valid_path = pairs, "other pairs or options");
    /* the same trigrams, as often, in other words */
    tower_write_pairs(pairs, 1, TOWER_PAIRS);
    REFUSED((void)0, "other pairs");
}

TEST(another_patience_is_no_other_training) {
    thr_tower_train_options options, changed;
    small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    make_checkpoint(&options);
    changed = options;
    changed.run.patience = 7;
    changed.run.resume = true;
    assert_int_equal(tower_train(*state, pairs, stopped, &changed).n_epochs, 3);
    (void)tower_train(*state, pairs, model, &options);
    assert_true(tower_same_files(model, stopped));
}

TEST(other_words_of_the_same_trigrams_are_other_pairs) {
    thr_tower_train_options options;
    FILE *file;
    small(&options);
    options.config.max_grams = 3;
    for (int other = 0; other < 2; other++) {
        file = fopen(pairs, "wb");
        assert_non_null(file);
        for (int i = 0; i < TOWER_PAIRS; i++) /* frequent words give the trigrams, rare ones differ */
            (void)fprintf(file, "aaaa b%d\taaaa aaaa b%d\n", i, i + (other == 1 && i == 7 ? 1000 : 0));
        assert_int_equal(fclose(file), 0);
        if (other == 0)
            make_checkpoint(&options);
        else
            refused(*state, &options, THR_EMISMATCH, "other pairs or options");
    }
}

TEST(other_pairs_to_validate_with_are_refused) {
    thr_tower_train_options options;
    small(&options);
    options.run.valid_path = NAME("valid.tsv");
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    tower_write_pairs(options.run.valid_path, 500, 30);
    make_checkpoint(&options);
    tower_write_pairs(options.run.valid_path, 501, 30);
    refused(*state, &options, THR_EMISMATCH, "other pairs or options");
    tower_write_pairs(options.run.valid_path, 500, 30);
    options.run.resume = true;
    (void)tower_train(*state, pairs, stopped, &options);
}

TEST(the_best_model_must_still_be_there) {
    thr_tower_train_options options;
    small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    make_checkpoint(&options);
    assert_int_equal(unlink(stopped), 0);
    refused(*state, &options, THR_ENOTFOUND, "the best model so far");
}

typedef struct job {
    thr_context *context;
    const thr_tower_train_options *options;
} job;

static thr_status resume(void *arg, thr_error *error) {
    const job *j = arg;
    return thr_tower_train(j->context, pairs, stopped, j->options, NULL, error);
}

RANDOM_TEST(a_damaged_checkpoint_is_refused) {
    thr_tower_train_options options;
    small(&options);
    options.config.n_dims = options.config.n_pooled = 2;
    options.config.max_grams = 4;
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    make_checkpoint(&options);
    options.run.resume = true;
    tower_refuse_damage(checkpoint, 300, &rng, resume, &(job){*state, &options});
    /* a model is no checkpoint */
    size_t size;
    uint8_t *bytes = test_bytes_of(stopped, &size);
    test_write_file(checkpoint, bytes, size);
    refused(*state, &options, THR_EFORMAT, "not a checkpoint");
}
