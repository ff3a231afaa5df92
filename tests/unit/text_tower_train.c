/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_train.c - the same model for any number of threads and CPU level; seeds, patience, validation, labels. */
#define TOWER_TEST "train"
#include "text_tower_support.h"

static const char pairs[] = NAME("pairs.tsv"), model[] = NAME("model"), other[] = NAME("other");

static void check_same_file(thr_context *context, void *arg) {
    const thr_tower_train_options *options = arg;
    (void)unlink(other);
    (void)tower_train(context, pairs, other, options);
    assert_case(tower_same_files(model, other), "%u threads at %s give another model: bits %u and %u, estimator %d",
                thr_context_threads(context), thr_isa_name(thr_context_isa(context)), options->config.query_bits,
                options->config.item_bits, (int)options->estimator);
}

TEST(a_model_is_the_same_for_any_threads_and_level) {
    static const struct {
        uint32_t query_bits, item_bits;
        thr_estimator estimator;
        bool shared_words, shared_steps, plain_weights;
        float dropout, floats;
    } kinds[] = {{3, 2, THR_ESTIMATOR_VARIANT, false, false, false, 0.2f, 0.5f},
                 {32, 32, THR_ESTIMATOR_VARIANT, false, false, false, 0, 0.5f},
                 {32, 2, THR_ESTIMATOR_VARIANT, false, false, false, 0, 0.5f},
                 {8, 1, THR_ESTIMATOR_TANH, true, false, false, 0.5f, 0.7f},
                 {4, 3, THR_ESTIMATOR_STRAIGHT, false, true, true, 0.2f, 0}};
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        thr_tower_train_options options;
        tower_small(&options);
        options.config.query_bits = kinds[i].query_bits;
        options.config.item_bits = kinds[i].item_bits;
        options.config.shared_words = kinds[i].shared_words;
        options.config.shared_steps = kinds[i].shared_steps;
        options.config.plain_weights = kinds[i].plain_weights;
        options.estimator = kinds[i].estimator;
        options.word_dropout = kinds[i].dropout;
        options.float_share = kinds[i].floats;
        thr_context *context = test_context(1, THR_ISA_SCALAR, NULL);
        (void)tower_train(context, pairs, model, &options);
        thr_context_free(context);
        tower_each_context(check_same_file, &options);
    }
}

TEST(a_larger_model_is_the_same_too) {
    thr_tower_train_options options;
    tower_small(&options);
    options.config.n_dims = 40; /* more than a vector, and no multiple of one */
    options.config.n_pooled = 75;
    options.config.max_grams = 1000;
    options.run.batch = 150;
    options.n_negatives = 30;
    options.run.n_epochs = 2;
    tower_write_pairs(pairs, 0, 500);
    thr_context *context = test_context(1, THR_ISA_SCALAR, NULL);
    (void)tower_train(context, pairs, model, &options);
    thr_context_free(context);
    tower_each_context(check_same_file, &options);
}

TEST(a_seed_gives_a_model_and_another_seed_another) {
    thr_tower_train_options options;
    tower_small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    (void)tower_train(*state, pairs, model, &options);
    (void)tower_train(*state, pairs, other, &options);
    assert_true(tower_same_files(model, other));
    options.run.seed = 2;
    (void)tower_train(*state, pairs, other, &options);
    assert_false(tower_same_files(model, other));
}

typedef struct epochs {
    uint32_t n, best;
    double losses[16];
    uint64_t n_pairs;
} epochs;

static void note_epoch(void *user, const thr_tower_epoch *epoch) {
    epochs *seen = user;
    assert_int_equal(epoch->epoch, seen->n + 1);
    assert_true(epoch->seconds > 0 && epoch->examples_per_second > 0);
    assert_true(isfinite(epoch->loss) && epoch->valid_quality >= 0 && epoch->valid_quality <= 1);
    assert_true(seen->n < 16);
    seen->losses[seen->n++] = epoch->valid_loss;
    seen->n_pairs += epoch->n_pairs;
    if (epoch->best)
        seen->best = epoch->epoch;
}

TEST(the_best_epoch_is_kept_and_patience_ends_a_training) {
    thr_tower_train_options options;
    epochs seen = {0};
    tower_small(&options);
    options.run.on_epoch = note_epoch;
    options.run.on_epoch_user = &seen;
    options.run.n_epochs = 16;
    options.run.patience = 2;
    options.run.rate = 0.5f; /* so that it gets worse soon */
    options.float_share = 0;
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_int_equal(report.n_epochs, seen.n);
    assert_int_equal(report.best_epoch, seen.best);
    assert_true(seen.n < 16);
    assert_int_equal(seen.n, seen.best + 2);
    for (uint32_t i = 0; i < seen.n; i++)
        assert_true(seen.losses[i] >= report.valid_loss);
    assert_true(seen.losses[seen.best - 1] == report.valid_loss);
    assert_int_equal(access(NAME("model.checkpoint"), F_OK), -1);

    /* what came after the best epoch was not kept: more patience gives the same model as long as nothing is better */
    options.run.patience = 3;
    memset(&seen, 0, sizeof seen);
    if (tower_train(*state, pairs, other, &options).best_epoch == report.best_epoch)
        assert_true(tower_same_files(model, other));

    memset(&seen, 0, sizeof seen);
    options.run.on_epoch = note_epoch;
    options.run.n_epochs = 8;
    options.run.patience = 0;
    assert_int_equal(tower_train(*state, pairs, other, &options).n_epochs, 8);
    assert_int_equal(seen.n, 8);
}

TEST(learning_makes_validation_better) {
    thr_tower_train_options options;
    epochs seen = {0};
    tower_small(&options);
    options.config.n_dims = options.config.n_pooled = 24;
    options.config.max_grams = 500;
    options.run.n_epochs = 12;
    options.run.on_epoch = note_epoch;
    options.run.on_epoch_user = &seen;
    tower_write_pairs(pairs, 0, 600);
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_case(report.valid_quality > 0.85, "AUC %g", report.valid_quality);
    assert_case(report.valid_loss < seen.losses[0] && report.valid_loss < log(5), "loss %g", report.valid_loss);
    assert_true(report.n_pairs + report.n_valid == 600 && report.n_valid > 30 && report.n_refused == 0);
    assert_true(seen.n_pairs == 12 * (report.n_pairs / options.run.batch) * options.run.batch);
}

TEST(pairs_to_validate_with_may_have_a_file_of_their_own) {
    thr_tower_train_options options;
    tower_small(&options);
    options.run.valid_path = NAME("valid.tsv");
    options.run.valid_share = 0; /* not looked at */
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    tower_write_pairs(NAME("valid.tsv"), 1000, 33);
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_int_equal(report.n_pairs, TOWER_PAIRS);
    assert_int_equal(report.n_valid, 33);
    options.run.valid_path = NAME("none.tsv");
    expect_error(thr_tower_train(*state, pairs, other, &options, NULL, &err), THR_ENOTFOUND, "none.tsv");
    test_write_text(NAME("valid.tsv"), "edit\tedit\n");
    options.run.valid_path = NAME("valid.tsv");
    expect_error(thr_tower_train(*state, pairs, other, &options, NULL, &err), THR_EFORMAT, "two pairs");
}

TEST(queries_are_on_one_side_of_the_split) {
    thr_tower_train_options options;
    FILE *file = fopen(pairs, "wb");
    assert_non_null(file);
    for (unsigned i = 0; i < 400; i++) /* ten queries, forty times each */
        (void)fprintf(file, "query%u\titem %u\n", i % 10, i);
    assert_int_equal(fclose(file), 0);
    tower_small(&options);
    options.run.valid_share = 0.3f;
    options.run.n_epochs = 1;
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_true(report.n_valid % 40 == 0 && report.n_valid != 0 && report.n_pairs + report.n_valid == 400);
}

TEST(bad_pairs_are_not_learned_from) {
    thr_tower_train_options options;
    char text[TOWER_TEXT_ROOM];
    FILE *good = fopen(pairs, "wb"), *labelled = fopen(NAME("labelled.csv"), "wb");
    assert_true(good != NULL && labelled != NULL);
    (void)fprintf(labelled, "label,item,query\n");
    for (uint64_t i = 0; i < TOWER_PAIRS; i++) {
        tower_text(i, text);
        const int number = (int)i;
        (void)fprintf(good, "%.6s %d\t%s\n", text, number, text);
        (void)fprintf(labelled, "%s,%s,%.6s %d\n", i % 2 == 0 ? "2" : "2.5", text, text, number);
        (void)fprintf(labelled, "%s,\"bad, %s\",%.6s %d\n", i % 2 == 0 ? "1.99" : "-inf", text, text, number);
    }
    assert_true(fclose(good) == 0 && fclose(labelled) == 0);
    tower_small(&options);
    (void)tower_train(*state, pairs, model, &options);
    options.format =
        (thr_pairs_format){.query_column = 3, .item_column = 2, .label_column = 1, .least_label = 2, .header = true};
    (void)tower_train(*state, NAME("labelled.csv"), other, &options);
    assert_true(tower_same_files(model, other));
}

TEST(the_smallest_numbers_train_a_model_that_opens) {
    thr_tower_train_options options;
    tower_small(&options);
    options.config.n_dims = options.config.n_pooled = options.config.max_grams = options.config.max_words = 1;
    options.run.batch = 2;
    options.n_negatives = 1;
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    (void)tower_train(*state, pairs, model, &options);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    const thr_tower_info info = thr_tower_get_info(tower);
    const char *text = "edit";
    float code = 0;
    assert_true(info.n_grams == 1 && info.config.n_dims == 1 && info.config.max_words == 1);
    expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, &text, NULL, 1, &code, &err));
    assert_true(fabsf(code) == 1.5f || fabsf(code) == 0.5f);
}
