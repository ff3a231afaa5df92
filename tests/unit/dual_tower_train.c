/* SPDX-License-Identifier: Apache-2.0 */
/* dual_tower_train.c - the same model for any threads and level, stopped or not; what it learns; refusals. */
#define TOWER_TEST "dual-train"
#include "dual_tower_support.h"

static const char items[] = NAME("items.tsv"), requests[] = NAME("requests.tsv"), model[] = NAME("model"),
                  other[] = NAME("other"), checkpoint[] = NAME("other.checkpoint");

static void write_files(void) {
    dual_write_items(items);
    dual_write_requests(requests, 0, DUAL_REQUESTS);
}

static void check_same_file(thr_context *context, void *arg) {
    const thr_dual_train_options *options = arg;
    (void)unlink(other);
    (void)dual_train(context, requests, items, other, options);
    assert_case(tower_same_files(model, other), "%u threads at %s give another model", thr_context_threads(context),
                thr_isa_name(thr_context_isa(context)));
}

TEST(a_model_is_the_same_for_any_threads_and_level) {
    static const struct {
        uint32_t n_products;
        bool hits;
        thr_dual_loss loss;
        thr_dual_value value;
        thr_dual_optimiser optimiser;
    } kinds[] = {{3, true, THR_DUAL_LOSS_NDCG, THR_DUAL_VALUE_SWAP, THR_DUAL_ADAM},
                 {0, false, THR_DUAL_LOSS_SUM, THR_DUAL_VALUE_DIFFERENCE, THR_DUAL_FTRL},
                 {5, false, THR_DUAL_LOSS_PRODUCT, THR_DUAL_VALUE_SWAP, THR_DUAL_FTRL},
                 {0, true, THR_DUAL_LOSS_SUM, THR_DUAL_VALUE_SWAP, THR_DUAL_ADAM}};
    write_files();
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        thr_dual_train_options options;
        dual_small(&options);
        options.config.n_products = kinds[i].n_products;
        options.config.hits = kinds[i].hits;
        options.loss = kinds[i].loss;
        options.value = kinds[i].value;
        options.optimiser = kinds[i].optimiser;
        options.l1 = 1e-3f;
        thr_context *context = test_context(1, THR_ISA_SCALAR, NULL);
        (void)dual_train(context, requests, items, model, &options);
        thr_context_free(context);
        tower_each_context(check_same_file, &options);
    }
}

TEST(a_seed_gives_a_model_and_another_seed_another) {
    thr_dual_train_options options;
    dual_small(&options);
    write_files();
    (void)dual_train(*state, requests, items, model, &options);
    options.run.seed = 2;
    (void)dual_train(*state, requests, items, other, &options);
    assert_false(tower_same_files(model, other));
}

static void note_epoch(void *user, const thr_tower_epoch *epoch) {
    double *first = user;
    assert_true(isfinite(epoch->loss) && epoch->valid_quality >= 0 && epoch->valid_quality <= 1 && epoch->seconds > 0);
    if (epoch->epoch == 1)
        *first = epoch->valid_loss;
}

TEST(learning_makes_validation_better) {
    dual_write_items(items);
    dual_write_requests(requests, 0, 1500);
    for (int kind = 0; kind < 5; kind++) {
        thr_dual_train_options options;
        double first = 0;
        dual_small(&options);
        options.config.n_products = kind % 2 == 0 ? 3 : 0;
        options.config.hits = kind / 2 % 2 == 0;
        options.optimiser = kind == 4 ? THR_DUAL_FTRL : THR_DUAL_ADAM;
        options.embedding_rate = kind == 4 ? 0.1f : 0.01f;
        options.run.n_epochs = 10;
        options.run.on_epoch = note_epoch;
        options.run.on_epoch_user = &first;
        const thr_tower_report report = dual_train(*state, requests, items, model, &options);
        assert_case(report.valid_loss < first && report.valid_quality > 0.9, "kind %d: loss %g after %g, GAUC %g", kind,
                    report.valid_loss, first, report.valid_quality);
        assert_true(report.n_pairs + report.n_valid == 1500 && report.n_valid > 150);
        assert_true(report.examples_per_second > 0);
    }
}

TEST(requests_to_validate_with_may_have_a_file_of_their_own) {
    thr_dual_train_options options;
    write_files();
    dual_small(&options);
    options.run.valid_path = NAME("valid.tsv");
    options.run.valid_share = 0; /* not looked at */
    dual_write_requests(options.run.valid_path, 5000, 33);
    const thr_tower_report report = dual_train(*state, requests, items, model, &options);
    assert_true(report.n_pairs == DUAL_REQUESTS && report.n_valid == 33);
    test_write_text(options.run.valid_path, "u\tad1\nu\tad1 ~ad2\n");
    expect_error(thr_dual_train(*state, requests, items, other, &options, NULL, &err), THR_EFORMAT,
                 "2 to validate with, of which 160 and 0 have an ad that is better");
}

static uint32_t count_user_words(thr_context *context, const thr_dual_train_options *options) {
    thr_dual *dual = NULL;
    (void)dual_train(context, requests, items, model, options);
    expect_ok(thr_dual_open(context, model, &dual, &err));
    const uint32_t n = thr_dual_get_info(dual).n_user_words;
    thr_dual_free(dual);
    return n;
}

TEST(words_that_are_rare_are_not_learned) {
    thr_dual_train_options options;
    write_files();
    dual_small(&options);
    options.min_count = 1;
    const uint32_t all = count_user_words(*state, &options);
    options.min_count = 10;
    const uint32_t some = count_user_words(*state, &options);
    assert_true(some < all && some > 0);
    options.min_count = 1000;
    expect_error(thr_dual_train(*state, requests, items, model, &options, NULL, &err), THR_EFORMAT,
                 "no word of users occurs in 1000 requests");
}

TEST(options_out_of_range_are_named) {
    thr_dual_train_options options;
    write_files();
    (void)unlink(other);
#define REFUSED(change, words)                                                                                         \
    do {                                                                                                               \
        dual_small(&options);                                                                                          \
        change;                                                                                                        \
        expect_error(thr_dual_train(*state, requests, items, other, &options, NULL, &err), THR_EINVAL, words);         \
    } while (0)
    REFUSED(options.config.n_embedding = 0, "0 numbers of an embedding");
    REFUSED(options.config.n_hidden = 4097, "4097 hidden numbers");
    REFUSED(options.config.n_dims = 0, "0 dimensions");
    REFUSED(options.config.n_products = 1025, "1025 dimensions of products");
    REFUSED(options.run.batch = 0, "batches of 0");
    REFUSED(options.run.batch = 65537, "batches of 65537");
    REFUSED(options.run.n_epochs = 0, "no epochs");
    REFUSED(options.min_count = 0, "words in 0 requests");
    REFUSED(options.run.valid_share = 0, "share of 0 ");
    REFUSED(options.run.valid_share = NAN, "share of nan");
    REFUSED(options.loss = (thr_dual_loss)3, "no thr_dual_loss");
    REFUSED(options.value = (thr_dual_value)-1, "no thr_dual_value");
    REFUSED(options.optimiser = (thr_dual_optimiser)2, "no thr_dual_optimiser");
    REFUSED(options.run.rate = 0, "a rate of 0");
    REFUSED(options.embedding_rate = -1, "a rate of embeddings of -1");
    REFUSED(options.hits_rate = INFINITY, "a rate of hits of inf");
    REFUSED(options.l1 = -1, "an l1 of -1");
    REFUSED(options.l2 = NAN, "an l2 of nan");
    dual_small(&options);
    options.run.batch = 1000;
    expect_error(thr_dual_train(*state, requests, items, other, &options, NULL, &err), THR_EFORMAT, "a batch of 1000");
    assert_int_not_equal(access(other, F_OK), 0);
}

TEST(numbers_that_run_away_end_a_training) {
    thr_dual_train_options options;
    write_files();
    (void)unlink(other);
    for (int kind = 0; kind < 3; kind++) {
        dual_small(&options);
        *(kind == 0 ? &options.run.rate : kind == 1 ? &options.embedding_rate : &options.hits_rate) = 3e38f;
        expect_error(thr_dual_train(*state, requests, items, other, &options, NULL, &err), THR_ERANGE,
                     "no longer finite at step");
    }
}

/* ------------------------------------------------------------------------------------------------ resume */

/* Calls of a training that is not slowed down: two files read; of each epoch its first step and its end. */
enum { CALLS = 2 + 3 * 2 };

static void stop_and_resume(const thr_dual_train_options *given, unsigned stop_at, bool slow) {
    thr_dual_train_options options = *given;
    tower_stopper s = {.stop_at = stop_at, .slow = slow};
    thr_context *context = tower_stoppable(&s, 2);
    (void)unlink(other);
    (void)unlink(checkpoint);
    assert_int_equal(thr_dual_train(context, requests, items, other, &options, NULL, &err), THR_ECANCELED);
    thr_context_free(context);
    options.run.resume = access(checkpoint, F_OK) == 0;
    assert_true(options.run.resume == (stop_at > 2));
    context = test_context(3, THR_ISA_BEST, NULL);
    expect_ok(thr_dual_train(context, requests, items, other, &options, NULL, &err));
    thr_context_free(context);
    assert_case(tower_same_files(model, other), "stopped at call %u: another model", stop_at);
    assert_int_not_equal(access(checkpoint, F_OK), 0);
}

TEST(a_training_stopped_anywhere_and_resumed_gives_the_same_model) {
    thr_dual_train_options options;
    write_files();
    for (int optimiser = THR_DUAL_ADAM; optimiser <= THR_DUAL_FTRL; optimiser++) {
        dual_small(&options);
        options.optimiser = (thr_dual_optimiser)optimiser;
        options.config.hits = optimiser == THR_DUAL_ADAM;
        (void)dual_train(*state, requests, items, model, &options);
        for (unsigned at = 1; at <= CALLS; at++)
            stop_and_resume(&options, at, false);
        stop_and_resume(&options, 5, true); /* in the middle of an epoch */
    }
}

TEST(a_checkpoint_of_another_training_is_refused) {
    thr_dual_train_options options, changed;
    tower_stopper s = {.stop_at = 6};
    OWNED(thr_context, context) = tower_stoppable(&s, 1);
    write_files();
    dual_small(&options);
    assert_int_equal(thr_dual_train(context, requests, items, other, &options, NULL, &err), THR_ECANCELED);
#define OTHER(change, words)                                                                                           \
    do {                                                                                                               \
        changed = options;                                                                                             \
        changed.run.resume = true;                                                                                     \
        change;                                                                                                        \
        expect_error(thr_dual_train(*state, requests, items, other, &changed, NULL, &err), THR_EMISMATCH, words);      \
    } while (0)
    OTHER(changed.config.n_dims++, "other dimensions, bits or switches");
    OTHER(changed.config.hits = false, "other dimensions, bits or switches");
    OTHER(changed.min_count = 10, "other requests, items or options");
    OTHER(changed.run.batch++, "other requests, items or options");
    OTHER(changed.run.seed++, "other requests, items or options");
    OTHER(changed.l2 = 1, "other requests, items or options");
    OTHER(changed.loss = THR_DUAL_LOSS_SUM, "other requests, items or options");
    OTHER(changed.run.valid_share = 0.3f, "other requests");
    dual_write_requests(requests, 0, DUAL_REQUESTS + 1);
    OTHER((void)0, "other requests");
    write_files();
    (void)unlink(other);
    changed = options;
    changed.run.resume = true;
    expect_error(thr_dual_train(*state, requests, items, other, &changed, NULL, &err), THR_ENOTFOUND,
                 "the best model so far");
}

typedef struct job {
    thr_context *context;
    thr_dual_train_options options;
    const char *path;
} job;

static thr_status do_train(void *arg, thr_error *error) {
    job *j = arg;
    return thr_dual_train(j->context, requests, items, j->path, &j->options, NULL, error);
}

RANDOM_TEST(a_damaged_checkpoint_is_refused) {
    thr_dual_train_options options;
    tower_stopper s = {.stop_at = 6};
    thr_context *context = tower_stoppable(&s, 1);
    write_files();
    dual_small(&options);
    assert_int_equal(thr_dual_train(context, requests, items, other, &options, NULL, &err), THR_ECANCELED);
    thr_context_free(context);
    options.run.resume = true;
    tower_refuse_damage(checkpoint, 150, &rng, do_train, &(job){*state, options, other});
}

/* ------------------------------------------------------------------------------------------------ memory */

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    job j = {.context = test_context(2, THR_ISA_BEST, &memory), .path = model};
    dual_write_items(items);
    dual_write_requests(requests, 0, 60);
    dual_small(&j.options);
    j.options.run.n_epochs = 2;
    tower_fail_allocations(&memory, do_train, &j);
    j.options.run.valid_path = NAME("valid.tsv");
    dual_write_requests(j.options.run.valid_path, 500, 20);
    tower_fail_allocations(&memory, do_train, &j);
    thr_context_free(j.context);
    assert_int_equal(atomic_load(&memory.live), 0);
}
