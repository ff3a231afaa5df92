/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_windows.c - windows, their maxima and the way back to words on an emulated GPU have the bits of room nn's. */
#include "cuda_support.h"

#include "nn/dense.h"
#include "nn/windows.h"

enum { WORDS = 40, MOST_TEXTS = 120, MOST_WORDS = 30 };

typedef struct problem {
    size_t n_columns, n_positions;
    thr_texts texts;
    size_t offsets[MOST_TEXTS + 1];
    uint32_t words[MOST_TEXTS * MOST_WORDS];
    uint32_t text_of[MOST_TEXTS * MOST_WORDS], first[WORDS + 1], positions[MOST_TEXTS * MOST_WORDS];
    float *vectors, *bias, *d_pooled, *d_vectors, *d_bias;
    float *pooled; /* expected */
    uint16_t *where;
} problem;

static void find_positions(problem *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->texts.n_texts; i++)
        for (size_t e = p->offsets[i]; e < p->offsets[i + 1]; e++)
            p->text_of[e] = (uint32_t)i;
    for (uint32_t word = 0; word < WORDS; word++) {
        for (size_t e = 0; e < p->n_positions; e++)
            if (p->words[e] == word)
                p->positions[n++] = (uint32_t)e;
        p->first[word + 1] = (uint32_t)n;
    }
}

/*
 * Texts of 0, 1, 2 and more words. Word 0 is nearly everywhere, also beside itself, the last one nowhere; numbers
 * are coarse, so that maxima are tied.
 */
static problem *make_problem(size_t n_texts, size_t n_columns, uint64_t *rng) {
    problem *p = test_new(1, sizeof *p);
    p->n_columns = n_columns;
    for (size_t i = 0; i < n_texts; i++)
        p->offsets[i + 1] =
            p->offsets[i] + (i < 3 ? i : (size_t)thr_rng_below(rng, 1 + thr_rng_below(rng, MOST_WORDS)));
    p->n_positions = p->offsets[n_texts];
    for (size_t e = 0; e < p->n_positions; e++)
        p->words[e] = (uint32_t)(thr_rng_below(rng, 2) == 0 ? 0 : thr_rng_below(rng, WORDS - 1));
    p->texts = (thr_texts){n_texts, p->offsets, p->words};
    find_positions(p);
    p->vectors = nn_normal(rng, WORDS * 3 * n_columns);
    for (size_t i = 0; i < WORDS * 3 * n_columns; i++)
        p->vectors[i] = rintf(p->vectors[i] * 2) / 4;
    p->bias = nn_normal(rng, n_columns);
    p->d_pooled = nn_normal(rng, n_texts * n_columns);
    p->d_vectors = nn_normal(rng, WORDS * 3 * n_columns);
    p->d_bias = nn_normal(rng, n_columns);
    p->pooled = test_new(n_texts * n_columns, sizeof(float));
    p->where = test_new(n_texts * n_columns, sizeof(uint16_t));
    thr_nn_windows_forward(gpu.context, &p->texts, p->vectors, p->bias, n_columns, p->pooled, p->where);
    thr_nn_tanh_forward(gpu.context, p->pooled, n_texts * n_columns, p->pooled);
    return p;
}

static thr_device_texts put_texts(const problem *p) {
    return (thr_device_texts){.offsets = gpu_offsets(p->offsets, p->texts.n_texts + 1),
                              .words = gpu_put(p->words, p->n_positions * sizeof *p->words),
                              .n_texts = (uint32_t)p->texts.n_texts};
}

static void check_forward(const problem *p) {
    const size_t n = p->texts.n_texts * p->n_columns;
    const thr_windows_op op = {.texts = put_texts(p),
                               .vectors = gpu_floats(p->vectors, WORDS * 3 * p->n_columns),
                               .bias = gpu_floats(p->bias, p->n_columns),
                               .n_columns = (uint32_t)p->n_columns,
                               .pooled = gpu_floats(NULL, n),
                               .where = gpu_put(NULL, n * sizeof(uint16_t))};
    gpu_do(windows, &op);
    gpu_assert_same(op.pooled, p->pooled, n, "what is pooled");
    uint16_t *where = gpu_get(op.where, n * sizeof *where);
    for (size_t i = 0; i < n; i++)
        assert_case(where[i] == p->where[i], "seed %llu: text %zu, column %zu is from window %u, not %u",
                    (unsigned long long)test_seed(), i / p->n_columns, i % p->n_columns, p->where[i], where[i]);
    gpu_forget();
}

static void check_back(problem *p) {
    const size_t n = p->texts.n_texts * p->n_columns, n_vectors = WORDS * 3 * p->n_columns;
    const thr_windows_back_op op = {.texts = put_texts(p),
                                    .first = gpu_put(p->first, sizeof p->first),
                                    .positions = gpu_put(p->positions, p->n_positions * sizeof *p->positions),
                                    .text_of = gpu_put(p->text_of, p->n_positions * sizeof *p->text_of),
                                    .n_words = WORDS,
                                    .n_columns = (uint32_t)p->n_columns,
                                    .pooled = gpu_floats(p->pooled, n),
                                    .where = gpu_put(p->where, n * sizeof *p->where),
                                    .d_pooled = gpu_floats(p->d_pooled, n),
                                    .d_vectors = gpu_floats(p->d_vectors, n_vectors)};
    const thr_sum_rows_op sum = {gpu_floats(p->d_bias, p->n_columns), op.d_pooled, op.texts.n_texts, op.n_columns};
    thr_nn_tanh_backward(gpu.context, p->pooled, p->d_pooled, n, p->d_pooled);
    thr_nn_windows_backward(gpu.context, &p->texts, p->where, p->d_pooled, p->n_columns, p->d_vectors, p->d_bias);
    gpu_do(windows_back, &op);
    gpu_do(sum_rows, &sum);
    gpu_assert_same(op.d_pooled, p->d_pooled, n, "gradients before tanh");
    gpu_assert_same(op.d_vectors, p->d_vectors, n_vectors, "gradients of words");
    gpu_assert_same(sum.sum, p->d_bias, p->n_columns, "the bias's gradient");
    gpu_forget();
}

RANDOM_TEST(windows_are_pooled_and_sent_back_as_on_the_cpu) {
    static const struct {
        size_t n_texts, n_columns;
    } shapes[] = {{1, 1}, {2, 3}, {MOST_TEXTS, 5}, {30, 33}, {9, 96}, {17, 100}, {6, 288}};
    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        problem *p = make_problem(shapes[s].n_texts, shapes[s].n_columns, &rng);
        check_forward(p);
        check_back(p);
    }
}

/* More positions than are looked up at a time, so some of them for a second and a third time. */
RANDOM_TEST(a_word_that_is_everywhere_is_sent_all_of_it) {
    rng += 1;
    problem *p = make_problem(MOST_TEXTS, 7, &rng);
    assert_true(p->first[1] > 3 * 96);
    check_back(p);
}

TEST(nothing_to_do_is_no_failure) {
    const uint64_t launches = gpu.emulator.launches();
    gpu_do(windows, &(thr_windows_op){.n_columns = 3});
    gpu_do(windows_back, &(thr_windows_back_op){.n_columns = 3});
    assert_int_equal(gpu.emulator.launches(), launches);
}
