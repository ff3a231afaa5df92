/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_memory.c - every allocation failing in turn, in all that a model does. */
#define TOWER_TEST "memory"
#include "text_tower_support.h"

static const char model[] = NAME("model"), pairs[] = NAME("pairs.tsv"), valid[] = NAME("valid.tsv");

typedef struct job {
    thr_context *context;
    thr_tower *tower;
    thr_tower_train_options options;
} job;

static thr_status do_train(void *arg, thr_error *error) {
    job *j = arg;
    return thr_tower_train(j->context, pairs, model, &j->options, NULL, error);
}

static thr_status do_open(void *arg, thr_error *error) {
    job *j = arg;
    thr_tower *tower = NULL;
    const thr_status status = thr_tower_open(j->context, model, &tower, error);
    assert_true((status == THR_OK) == (tower != NULL));
    thr_tower_free(tower);
    return status;
}

static thr_status do_encode(void *arg, thr_error *error) {
    job *j = arg;
    enum { N = 200 };
    char room[N][TOWER_TEXT_ROOM];
    const char *texts[N];
    float out[N * 9];
    for (uint64_t i = 0; i < N; i++) {
        tower_text(i, room[i]);
        texts[i] = room[i];
    }
    return thr_tower_encode(j->tower, THR_SIDE_QUERY, texts, NULL, N, out, error);
}

static thr_status do_eval(void *arg, thr_error *error) {
    job *j = arg;
    thr_tower_quality quality;
    return thr_tower_eval(j->tower, pairs, NULL, &quality, error);
}

static thr_status do_read(void *arg, thr_error *error) {
    job *j = arg;
    thr_reader *texts = NULL, *rows = NULL;
    thr_matrix some = {.n_rows = 1};
    thr_status status = thr_reader_open(j->context, NAME("pairs.tsv:2"), &texts, error);
    if (status == THR_OK)
        status = thr_tower_reader(j->tower, THR_SIDE_ITEM, texts, &rows, error);
    while (status == THR_OK && some.n_rows != 0)
        status = thr_reader_next(rows, 50, &some, error);
    thr_reader_free(rows);
    thr_reader_free(texts);
    return status;
}

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    job j = {.context = test_context(2, THR_ISA_BEST, &memory)};
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    tower_write_pairs(valid, 500, 30);
    tower_small(&j.options);
    j.options.run.n_epochs = 2;
    tower_fail_allocations(&memory, do_train, &j);
    j.options.run.valid_path = valid;
    j.options.config.shared_words = true;
    j.options.config.item_bits = THR_FLOAT_BITS;
    tower_fail_allocations(&memory, do_train, &j);
    tower_fail_allocations(&memory, do_open, &j);
    j.tower = tower_open(j.context, model);
    tower_fail_allocations(&memory, do_encode, &j);
    tower_fail_allocations(&memory, do_eval, &j);
    tower_fail_allocations(&memory, do_read, &j);
    thr_tower_free(j.tower);
    thr_context_free(j.context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

/* The progress function of a training that is stopped in its second epoch. */
static bool stop_at_fourth(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)what;
    (void)done;
    (void)total;
    return ++*(int *)user != 4;
}

static thr_status do_resume(void *arg, thr_error *error) {
    job *j = arg;
    j->options.run.resume = access(NAME("model.checkpoint"), F_OK) == 0; /* the end of one removes it */
    return thr_tower_train(j->context, pairs, model, &j->options, NULL, error);
}

TEST(every_allocation_may_fail_on_the_way_on) {
    test_memory memory = {0};
    thr_context_options context_options = {0};
    thr_context *stopping = NULL;
    int calls = 0;
    job j = {.context = test_context(1, THR_ISA_BEST, &memory)};
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    tower_small(&j.options);
    context_options.progress = stop_at_fourth;
    context_options.progress_user = &calls;
    expect_ok(thr_context_create(&context_options, &stopping, &err));
    assert_int_equal(thr_tower_train(stopping, pairs, model, &j.options, NULL, &err), THR_ECANCELED);
    tower_fail_allocations(&memory, do_resume, &j);
    assert_int_not_equal(access(NAME("model.checkpoint"), F_OK), 0);
    thr_context_free(stopping);
    thr_context_free(j.context);
    assert_int_equal(atomic_load(&memory.live), 0);
}
