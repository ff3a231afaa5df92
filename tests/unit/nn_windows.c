/* SPDX-License-Identifier: Apache-2.0 */
/* nn_windows.c - windows of three words and their maxima, and what goes back to the words. */
#include "nn/windows.h"

#include "nn_support.h"

enum { WORDS = 40, MOST_TEXTS = 120, MOST_WORDS = 30 };

typedef struct problem {
    size_t n_columns;
    thr_texts texts;
    size_t offsets[MOST_TEXTS + 1];
    uint32_t words[MOST_TEXTS * MOST_WORDS + 5];
    float *vectors, *bias, *d_pooled, *d_vectors_before, *d_bias_before;
    float *pooled, *d_vectors, *d_bias; /* expected */
    uint16_t *where;
} problem;

/* Few different words and coarse numbers: words repeat in a text, and maxima are tied. */
static problem *make_problem(size_t n_texts, size_t n_columns, uint64_t *rng) {
    problem *p = test_new(1, sizeof *p);
    p->n_columns = n_columns;
    p->offsets[0] = 5;
    for (size_t i = 0; i < n_texts; i++)
        p->offsets[i + 1] = p->offsets[i] + (size_t)thr_rng_below(rng, 1 + thr_rng_below(rng, MOST_WORDS));
    for (size_t e = 0; e < p->offsets[n_texts]; e++)
        p->words[e] = (uint32_t)thr_rng_below(rng, WORDS);
    p->texts = (thr_texts){n_texts, p->offsets, p->words};
    p->vectors = nn_normal(rng, WORDS * 3 * n_columns);
    for (size_t i = 0; i < WORDS * 3 * n_columns; i++)
        p->vectors[i] = rintf(p->vectors[i] * 2);
    p->bias = nn_normal(rng, n_columns);
    p->d_pooled = nn_normal(rng, n_texts * n_columns);
    p->d_vectors_before = nn_normal(rng, WORDS * 3 * n_columns);
    p->d_bias_before = nn_normal(rng, n_columns);
    p->pooled = test_new(n_texts * n_columns + 1, sizeof(float));
    p->where = test_new(n_texts * n_columns + 1, sizeof(uint16_t));
    p->d_vectors = nn_copy(p->d_vectors_before, WORDS * 3 * n_columns);
    p->d_bias = nn_copy(p->d_bias_before, n_columns);
    return p;
}

static void solve_naively(problem *p) {
    const size_t n = p->n_columns;
    for (size_t i = 0; i < p->texts.n_texts; i++)
        for (size_t c = 0; c < n; c++) {
            const uint32_t *words = p->words + p->offsets[i];
            const size_t n_words = p->offsets[i + 1] - p->offsets[i];
            float best = p->bias[c];
            size_t where = 0;
            for (size_t t = 0; t < n_words; t++) {
                float z = t > 0 ? p->vectors[(words[t - 1] * 3 + 0) * n + c] : 0;
                z += p->vectors[(words[t] * 3 + 1) * n + c];
                z += t + 1 < n_words ? p->vectors[(words[t + 1] * 3 + 2) * n + c] : 0;
                z += p->bias[c];
                if (t == 0 || z > best) {
                    best = z;
                    where = t;
                }
            }
            p->pooled[i * n + c] = best;
            p->where[i * n + c] = (uint16_t)where;
            const float d = p->d_pooled[i * n + c];
            p->d_bias[c] += d;
            if (n_words > 0)
                p->d_vectors[(words[where] * 3 + 1) * n + c] += d;
            if (n_words > 0 && where > 0)
                p->d_vectors[(words[where - 1] * 3 + 0) * n + c] += d;
            if (where + 1 < n_words)
                p->d_vectors[(words[where + 1] * 3 + 2) * n + c] += d;
        }
}

static void check_problem(thr_context *context, void *arg) {
    const problem *p = arg;
    const size_t n = p->n_columns, n_pooled = p->texts.n_texts * n;
    float *pooled = test_new(n_pooled + 1, sizeof *pooled);
    uint16_t *where = test_new(n_pooled + 1, sizeof *where);
    float *d_vectors = nn_copy(p->d_vectors_before, WORDS * 3 * n), *d_bias = nn_copy(p->d_bias_before, n);
    memset(where, 0xff, n_pooled * sizeof *where);
    thr_nn_windows_forward(context, &p->texts, p->vectors, p->bias, n, pooled, where);
    for (size_t i = 0; i < n_pooled; i++)
        assert_case(pooled[i] == p->pooled[i] && where[i] == p->where[i],
                    "seed %llu, %zu columns: text %zu, column %zu is %.9g from %u, should be %.9g from %u",
                    (unsigned long long)test_seed(), n, i / n, i % n, (double)pooled[i], where[i], (double)p->pooled[i],
                    p->where[i]);
    thr_nn_windows_backward(context, &p->texts, where, p->d_pooled, n, d_vectors, d_bias);
    assert_same_floats(d_vectors, p->d_vectors, WORDS * 3 * n, "d_vectors, %zu texts x %zu", p->texts.n_texts, n);
    assert_same_floats(d_bias, p->d_bias, n, "d_bias, %zu texts x %zu", p->texts.n_texts, n);
}

RANDOM_TEST(maxima_and_what_goes_back_are_the_naive_ones) {
    const size_t columns[] = {1, 7, 16, 33, 48, 288}, texts[] = {0, 1, 31, 33, MOST_TEXTS};
    for (size_t c = 0; c < COUNT_OF(columns); c++)
        for (size_t t = 0; t < COUNT_OF(texts); t++) {
            problem *p = make_problem(texts[t], columns[c], &rng);
            solve_naively(p);
            nn_each_context(check_problem, p);
        }
}

TEST(the_first_of_equal_windows_wins) {
    enum { COLUMNS = 40 };
    thr_context *context = test_new_context(1);
    float *vectors = test_new(3 * COLUMNS, sizeof *vectors), *bias = test_new(COLUMNS, sizeof *bias);
    for (size_t c = 0; c < COLUMNS; c++)
        vectors[COLUMNS + c] = 1.0f; /* the middle alone: all windows of this word are equal */
    const uint32_t words[4] = {0, 0, 0, 0};
    const size_t offsets[2] = {0, 4};
    const thr_texts texts = {1, offsets, words};
    float pooled[COLUMNS];
    uint16_t where[COLUMNS];
    memset(where, 0xff, sizeof where);
    thr_nn_windows_forward(context, &texts, vectors, bias, COLUMNS, pooled, where);
    for (size_t c = 0; c < COLUMNS; c++)
        assert_true(pooled[c] == 1.0f && where[c] == 0);
}

TEST(the_longest_text_is_counted_to_its_end) {
    enum { COLUMNS = 35 };
    thr_context *context = test_new_context(1);
    float *vectors = test_new(2 * 3 * COLUMNS, sizeof *vectors), *bias = test_new(COLUMNS, sizeof *bias);
    uint32_t *words = test_new(THR_TEXT_WORDS_MAX, sizeof *words);
    words[THR_TEXT_WORDS_MAX - 1] = 1;
    for (size_t c = 0; c < COLUMNS; c++)
        vectors[4 * COLUMNS + c] = 1.0f;
    const size_t offsets[2] = {0, THR_TEXT_WORDS_MAX};
    const thr_texts texts = {1, offsets, words};
    float pooled[COLUMNS], d_bias[COLUMNS] = {0};
    uint16_t where[COLUMNS];
    thr_nn_windows_forward(context, &texts, vectors, bias, COLUMNS, pooled, where);
    memset(vectors, 0, 2 * 3 * COLUMNS * sizeof *vectors);
    thr_nn_windows_backward(context, &texts, where, pooled, COLUMNS, vectors, d_bias);
    for (size_t c = 0; c < COLUMNS; c++) {
        assert_true(pooled[c] == 1.0f && where[c] == THR_TEXT_WORDS_MAX - 1);
        assert_true(d_bias[c] == 1.0f && vectors[4 * COLUMNS + c] == 1.0f && vectors[c] == 1.0f);
        assert_true(vectors[COLUMNS + c] == 0.0f && vectors[5 * COLUMNS + c] == 0.0f);
    }
}

/* The sum of r tanh(pooled) in double, for central differences: a maximum's gradient is that of the window it is. */
static double loss_of(const problem *p, const double *vectors, const double *r) {
    const size_t n = p->n_columns;
    double sum = 0;
    for (size_t i = 0; i < p->texts.n_texts; i++)
        for (size_t c = 0; c < n; c++) {
            const uint32_t *words = p->words + p->offsets[i];
            const size_t n_words = p->offsets[i + 1] - p->offsets[i];
            double best = n_words == 0 ? (double)p->bias[c] : -1e300;
            for (size_t t = 0; t < n_words; t++) {
                double z = (double)p->bias[c] + vectors[(words[t] * 3 + 1) * n + c];
                z += t > 0 ? vectors[words[t - 1] * 3 * n + c] : 0;
                z += t + 1 < n_words ? vectors[(words[t + 1] * 3 + 2) * n + c] : 0;
                best = fmax(best, z);
            }
            sum += r[i * n + c] * tanh(best);
        }
    return sum;
}

RANDOM_TEST(gradients_are_those_of_finite_differences) {
    enum { COLUMNS = 9, TEXTS = 30, NUMBERS = WORDS * 3 * COLUMNS };
    problem *p = make_problem(TEXTS, COLUMNS, &rng);
    thr_context *context = test_new_context(2);
    double *vectors = test_new(NUMBERS, sizeof *vectors), *r = test_new(TEXTS * COLUMNS, sizeof *r);
    for (size_t i = 0; i < NUMBERS; i++) { /* fine numbers: no ties, which have no gradient */
        p->vectors[i] = 0.3f * test_normal(&rng);
        vectors[i] = (double)p->vectors[i];
    }
    for (size_t i = 0; i < TEXTS * COLUMNS; i++)
        r[i] = (double)p->d_pooled[i];
    thr_nn_windows_forward(context, &p->texts, p->vectors, p->bias, COLUMNS, p->pooled, p->where);
    for (size_t i = 0; i < TEXTS * COLUMNS; i++)
        p->d_pooled[i] *= 1.0f - tanhf(p->pooled[i]) * tanhf(p->pooled[i]);
    memset(p->d_vectors, 0, NUMBERS * sizeof(float));
    thr_nn_windows_backward(context, &p->texts, p->where, p->d_pooled, COLUMNS, p->d_vectors, p->d_bias);
    for (size_t i = 0; i < NUMBERS; i += 7) {
        const double h = 1e-6, x = vectors[i];
        vectors[i] = x + h;
        double slope = loss_of(p, vectors, r);
        vectors[i] = x - h;
        slope = (slope - loss_of(p, vectors, r)) / (2 * h);
        vectors[i] = x;
        /* Sums of some tens of numbers about 1, of 24 bits; differences of a loss about 100 in double. */
        assert_case(fabs(slope - (double)p->d_vectors[i]) <= 1e-5, "number %zu: %.9g, should be %.9g", i,
                    (double)p->d_vectors[i], slope);
    }
}
