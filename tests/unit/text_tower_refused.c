/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_refused.c - options out of range, structs of other sizes, numbers that run away, disks that are full. */
#define _DEFAULT_SOURCE /* mount */
#define TOWER_TEST      "refused"
#include "text_tower_support.h"

#include <errno.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/mount.h>
#endif

static const char pairs[] = NAME("pairs.tsv"), model[] = NAME("model"), other[] = NAME("other");

TEST(options_out_of_range_are_named) {
    thr_tower_train_options options;
#define REFUSED(change, words)                                                                                         \
    do {                                                                                                               \
        tower_small(&options);                                                                                         \
        change;                                                                                                        \
        expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EINVAL, words);                  \
    } while (0)
    REFUSED(options.config.n_dims = 0, "0 dimensions");
    REFUSED(options.config.n_dims = 1025, "1025 dimensions");
    REFUSED(options.config.n_pooled = 4097, "4097 pooled");
    REFUSED(options.config.query_bits = 9, "9 query bits");
    REFUSED(options.config.item_bits = 0, "0 item bits");
    REFUSED(options.config.max_grams = 0, "0 letter trigrams");
    REFUSED(options.config.max_words = 65536, "65536 words");
    REFUSED(options.run.batch = 1, "batches of 1");
    REFUSED(options.run.batch = 65537, "batches of 65537");
    REFUSED(options.n_negatives = 20, "20 negatives");
    REFUSED(options.run.n_epochs = 0, "no epochs");
    REFUSED(options.gamma = 0, "gamma of 0");
    REFUSED(options.gamma = NAN, "gamma of nan");
    REFUSED(options.run.rate = -1, "rate of -1");
    REFUSED(options.run.rate = INFINITY, "rate of inf");
    REFUSED(options.word_dropout = 1, "share of 1 ");
    REFUSED(options.word_dropout = NAN, "share of nan");
    REFUSED(options.word_dropout = -0.1f, "share of -0.1");
    REFUSED(options.float_share = 1, "share of 1 ");
    REFUSED(options.float_share = NAN, "share of nan");
    REFUSED(options.float_share = -1, "share of -1");
    REFUSED(options.run.valid_share = 0, "share of 0 ");
    REFUSED(options.run.valid_share = 0.51f, "share of 0.51");
    REFUSED(options.run.valid_share = NAN, "share of nan");
    REFUSED(options.estimator = (thr_estimator)3, "no thr_estimator");
    REFUSED(options.estimator = (thr_estimator)-1, "no thr_estimator");
    assert_int_not_equal(access(model, F_OK), 0);
}

TEST(defaults_are_taken_without_options) {
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    expect_error(thr_tower_train(*state, pairs, other, NULL, NULL, &err), THR_EFORMAT, "two batches of 512");
}

TEST(numbers_that_run_away_end_a_training_and_keep_the_best_model) {
    static const uint32_t bits[][2] = {{3, 2}, {1, 1}, {32, 32}};
    static const float rates[] = {1e37f, 3e38f};
    thr_tower_train_options options;
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    tower_small(&options);
    (void)tower_train(*state, pairs, other, &options);
    for (size_t i = 0; i < 6; i++) {
        tower_small(&options);
        options.config.query_bits = bits[i / 2][0];
        options.config.item_bits = bits[i / 2][1];
        options.run.rate = rates[i % 2];
        options.run.n_epochs = 20;
        (void)unlink(model);
        assert_int_equal(link(other, model), 0); /* the file that was there */
        thr_tower_report report;
        expect_error(thr_tower_train(*state, pairs, model, &options, &report, &err), THR_ERANGE, "at step ");
        if (report.best_epoch == 0) {
            assert_true(tower_same_files(model, other));
            assert_non_null(strstr(err.text, "no model was written"));
        } else {
            assert_non_null(strstr(err.text, "the best model so far was kept"));
            thr_tower_free(tower_open(*state, model));
        }
    }
}

TEST(a_path_that_cannot_be_written_is_refused_at_once) {
    thr_tower_train_options options;
    tower_small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    expect_error(thr_tower_train(*state, NAME("none.tsv"), "no-such-directory/model", &options, NULL, &err),
                 THR_ENOTFOUND, "no-such-directory/model");
    assert_int_equal(mkdir(NAME("dir"), 0777), 0);
    expect_error(thr_tower_train(*state, pairs, NAME("dir"), &options, NULL, &err), THR_EIO, "is a directory");
    assert_int_equal(rmdir(NAME("dir")), 0);
}

TEST(inputs_and_files_of_another_kind_are_not_replaced) {
    static const char text[] = "of the user's", checkpoint[] = NAME("model.checkpoint");
    thr_tower_train_options options;
    size_t size = 0;
    tower_small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    options.run.valid_path = other;
    expect_error(thr_tower_train(*state, pairs, pairs, &options, NULL, &err), THR_EINVAL, "is also the input");
    tower_write_pairs(other, 0, TOWER_PAIRS);
    expect_error(thr_tower_train(*state, pairs, other, &options, NULL, &err), THR_EINVAL, "is also the input");
    options.run.valid_path = NULL;
    expect_error(thr_tower_train(*state, pairs, other, &options, NULL, &err), THR_EEXIST, "is not a model of");
    (void)unlink(model);
    test_write_text(checkpoint, text);
    expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EEXIST, checkpoint);
    char *bytes = tower_read(checkpoint, &size);
    assert_string_equal(bytes, text);
    (void)unlink(checkpoint);
    (void)unlink(other);
    test_write_text(model, "");
    (void)tower_train(*state, pairs, model, &options);
}

static bool mount_small(const char *dir) {
#if defined(__linux__)
    return mount("tmpfs", dir, "tmpfs", 0, "size=64k") == 0;
#else
    (void)dir;
    return false;
#endif
}

static void unmount(const char *dir) {
#if defined(__linux__)
    (void)umount(dir);
#endif
    (void)rmdir(dir);
}

/* Both a model and its checkpoint, which is three times as large, may find no room. */
TEST(a_full_disk_is_enospace_and_the_old_model_stays) {
    static const char disk[] = NAME("disk"), on_disk[] = NAME("disk") "/model";
    thr_tower_train_options options;
    thr_error large_err, checkpoint_err;
    tower_small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    (void)mkdir(disk, 0777);
    if (!mount_small(disk)) {
        (void)rmdir(disk);
        print_message("a small disk cannot be mounted (%s): left out\n", strerror(errno));
        skip();
    }
    options.run.n_epochs = 1; /* without a checkpoint */
    const thr_status small = thr_tower_train(*state, pairs, on_disk, &options, NULL, NULL);
    size_t size = 0;
    char *before = tower_read(on_disk, &size);
    options.config.n_pooled = 100;
    const thr_status large = thr_tower_train(*state, pairs, on_disk, &options, NULL, &large_err);
    size_t after_size = 0;
    char *after = tower_read(on_disk, &after_size);
    const bool same = before != NULL && after != NULL && size == after_size && memcmp(before, after, size) == 0;
    const bool clean = test_leftovers(NAME("disk"), "") == 0;
    options.config.n_pooled = 11;
    options.run.n_epochs = 2;
    const thr_status checkpoint = thr_tower_train(*state, pairs, on_disk, &options, NULL, &checkpoint_err);
    (void)unlink(on_disk);
    (void)unlink(NAME("disk") "/model.checkpoint");
    unmount(disk); /* before anything is asserted */
    assert_int_equal(small, THR_OK);
    assert_error(large, THR_ENOSPACE, &large_err, on_disk);
    assert_true(same);
    assert_true(clean);
    assert_error(checkpoint, THR_ENOSPACE, &checkpoint_err, "model.checkpoint");
}
