/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_model.c - encoder, decoder and attention beside a model in double and beside PyTorch, the same bits however
 * sentences are put together; and which files are no models.
 */
#include "translate_support.h"

#include "base/files/file.h"
#include "nn_support.h"

static const char PATH[] = "unit-translate-model.safetensors";
enum { NO_SKIP = SIZE_MAX, SENTENCES = 5, STEPS = 6, ROWS_MOST = 12 };

static const model_shape SHAPES[] = {
    {9, 8, 5, 3, 10, 7, 1, THR_DTYPE_F32, false}, {7, 11, 6, 9, 34, 40, 2, THR_DTYPE_F32, false},
    {5, 4, 1, 1, 2, 1, 3, THR_DTYPE_F16, false},  {9, 8, 5, 3, 10, 7, 1, THR_DTYPE_BF16, false},
    {9, 8, 5, 3, 10, 10, 2, THR_DTYPE_F32, true},
};
enum { PLAIN = 4 };

/* What is read of a file. */
typedef struct loaded {
    thr_context *context;
    thr_tensors *tensors;
    thr_seq2seq model;
    thr_matrix weights;
    float *bias;
} loaded;

static thr_status load(thr_context *context, loaded *l, thr_error *error) {
    *l = (loaded){.context = context};
    const thr_status status = thr_tensors_open(context, PATH, &l->tensors, error);
    return status != THR_OK
               ? status
               : thr_translate_seq2seq_read(context, l->tensors, PATH, &l->model, &l->weights, &l->bias, error);
}

static void unload(loaded *l) {
    thr_release(l->context, l->bias);
    thr_translate_seq2seq_free(l->context, &l->model);
    thr_tensors_free(l->tensors);
}

/* Sentences of falling lengths, the last without words; words of a forced translation each. */
typedef struct task {
    model *m;
    uint32_t words[SENTENCES * MODEL_PLACES], forced[SENTENCES][STEPS];
    size_t starts[SENTENCES + 1];
} task;

static task draw_task(model *m, uint64_t *rng) {
    static const size_t lengths[SENTENCES] = {MODEL_PLACES, 7, 7, 3, 1};
    task t = {.m = m};
    for (size_t i = 0; i < SENTENCES; i++) {
        t.starts[i + 1] = t.starts[i] + lengths[i];
        for (size_t j = t.starts[i]; j < t.starts[i + 1]; j++)
            t.words[j] = j + 1 == t.starts[i + 1] ? THR_WORD_END : (uint32_t)thr_rng_below(rng, m->shape.n_source);
        for (size_t s = 0; s < STEPS; s++)
            t.forced[i][s] = (uint32_t)thr_rng_below(rng, m->shape.n_target);
    }
    return t;
}

/* States of every sentence's forced words, all sentences together. */
static void force(thr_seq2seq_work *work, const task *t, float *states, uint32_t *attended) {
    const size_t d = (size_t)t->m->shape.n_dims;
    expect_ok(thr_translate_seq2seq_encode(work, t->words, t->starts, SENTENCES, &err));
    expect_ok(thr_translate_seq2seq_begin(work, NULL, SENTENCES, &err));
    for (size_t s = 0; s < STEPS; s++) {
        uint32_t words[SENTENCES];
        for (size_t i = 0; i < SENTENCES; i++)
            words[i] = t->forced[i][s];
        expect_ok(thr_translate_seq2seq_step(work, words, states + s * SENTENCES * d, attended + s * SENTENCES, &err));
    }
}

/* ------------------------------------------------------------------------------------------------ numbers */

RANDOM_TEST(states_are_those_of_a_model_in_double) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        model *m = model_make(&SHAPES[i]);
        const size_t d = (size_t)m->shape.n_dims;
        loaded l;
        model_write(*state, m, PATH, NO_SKIP);
        expect_ok(load(*state, &l, &err));
        thr_seq2seq_work work = {.context = *state, .model = &l.model};
        const task t = draw_task(m, &rng);
        float *states = test_new(STEPS * SENTENCES * d, sizeof *states);
        uint32_t attended[STEPS * SENTENCES];
        force(&work, &t, states, attended);
        const double bound = m->shape.dtype == THR_DTYPE_F32 ? 2e-5 : m->shape.dtype == THR_DTYPE_F16 ? 2e-3 : 2e-2;
        for (size_t k = 0; k < SENTENCES; k++) {
            static naive_sentence sentence;
            double right[MODEL_UNITS];
            naive_encode(m, t.words + t.starts[k], t.starts[k + 1] - t.starts[k], &sentence);
            naive_row row = sentence.first;
            for (size_t s = 0; s < STEPS; s++) {
                const size_t place = naive_step(m, &sentence, &row, t.forced[k][s], right);
                for (size_t j = 0; j < d; j++)
                    assert_case(fabs(states[(s * SENTENCES + k) * d + j] - right[j]) < bound,
                                "seed %llu, shape %zu, sentence %zu, step %zu, %zu: %g, should be %g",
                                (unsigned long long)test_seed(), i, k, s, j,
                                (double)states[(s * SENTENCES + k) * d + j], right[j]);
                if (m->shape.dtype == THR_DTYPE_F32 && !m->shape.plain)
                    assert_int_equal(attended[s * SENTENCES + k], place);
            }
        }
        thr_translate_seq2seq_work_free(&work);
        unload(&l);
    }
}

/*
 * PyTorch 2: nn.Embedding, nn.LSTM of two layers in both directions, nn.LSTM of two layers from the states of both,
 * then softmax(s A m^T) m and tanh(C [c ; s]), the tensors drawn as model_make draws them; the source 4 3 0 5 </s>, the
 * words <s> 3 6 4.
 */
static const float torch_states[4][3] = {{0.070154734f, -0.105744891f, -0.0276299566f},
                                         {0.0930399224f, -0.16813767f, -0.0466076024f},
                                         {0.113904379f, -0.215441748f, -0.0595492087f},
                                         {0.120446861f, -0.231318265f, -0.0642248094f}};

TEST(states_are_those_of_pytorch) {
    static const model_shape shape = {6, 7, 3, 4, 4, 3, 2, THR_DTYPE_F32, false};
    static const uint32_t words[] = {4, 3, 0, 5, THR_WORD_END}, forced[] = {THR_WORD_START, 3, 6, 4};
    static const size_t starts[] = {0, 5};
    model *m = model_make(&shape);
    loaded l;
    float got[3];
    model_write(*state, m, PATH, NO_SKIP);
    expect_ok(load(*state, &l, &err));
    thr_seq2seq_work work = {.context = *state, .model = &l.model};
    expect_ok(thr_translate_seq2seq_encode(&work, words, starts, 1, &err));
    expect_ok(thr_translate_seq2seq_begin(&work, NULL, 1, &err));
    for (size_t s = 0; s < 4; s++) {
        expect_ok(thr_translate_seq2seq_step(&work, &forced[s], got, NULL, &err));
        for (size_t j = 0; j < 3; j++)
            assert_true(fabsf(got[j] - torch_states[s][j]) < 1e-5f);
    }
    thr_translate_seq2seq_work_free(&work);
    unload(&l);
}

/* ------------------------------------------------------------------------------------------------ the same bits */

typedef struct right {
    const task *t;
    const float *states;
    const uint32_t *attended;
} right;

static void check_bits(thr_context *context, void *arg) {
    const right *r = arg;
    const task *t = r->t;
    const size_t d = (size_t)t->m->shape.n_dims;
    float *states = test_new(STEPS * SENTENCES * d, sizeof *states);
    uint32_t attended[STEPS * SENTENCES];
    loaded l;
    expect_ok(load(context, &l, &err));
    thr_seq2seq_work work = {.context = context, .model = &l.model};
    force(&work, t, states, attended);
    assert_same_floats(states, r->states, STEPS * SENTENCES * d, "all sentences together");
    assert_memory_equal(attended, r->attended, sizeof attended);
    for (size_t i = 0; i < SENTENCES; i++) {
        expect_ok(thr_translate_seq2seq_encode(&work, t->words, t->starts + i, 1, &err));
        expect_ok(thr_translate_seq2seq_begin(&work, NULL, 1, &err));
        for (size_t s = 0; s < STEPS; s++) {
            expect_ok(thr_translate_seq2seq_step(&work, &t->forced[i][s], states, NULL, &err));
            assert_same_floats(states, r->states + (s * SENTENCES + i) * d, d, "a sentence by itself");
        }
    }
    /* the last sentence's rows thrice and the second's once, put in another order at every step */
    static const uint32_t begin[] = {1, 4, 4, 4}, order[] = {0, 3, 1, 2};
    expect_ok(thr_translate_seq2seq_encode(&work, t->words, t->starts, SENTENCES, &err));
    expect_ok(thr_translate_seq2seq_begin(&work, begin, 4, &err));
    for (size_t s = 0; s < STEPS; s++) {
        const uint32_t words[] = {t->forced[1][s], t->forced[4][s], t->forced[4][s], t->forced[4][s]};
        expect_ok(thr_translate_seq2seq_step(&work, words, states, NULL, &err));
        for (size_t i = 0; i < 4; i++)
            assert_same_floats(states + i * d, r->states + (s * SENTENCES + begin[i]) * d, d, "rows in order");
        expect_ok(thr_translate_seq2seq_reorder(&work, order, 4, &err));
    }
    thr_translate_seq2seq_work_free(&work);
    unload(&l);
}

RANDOM_TEST(bits_depend_on_neither_batch_nor_threads_nor_cpu) {
    rng += 3;
    model *m = model_make(&SHAPES[1]);
    model_write(*state, m, PATH, NO_SKIP);
    const task t = draw_task(m, &rng);
    float *states = test_new(STEPS * SENTENCES * m->shape.n_dims, sizeof *states);
    uint32_t attended[STEPS * SENTENCES];
    loaded l;
    expect_ok(load(*state, &l, &err));
    thr_seq2seq_work work = {.context = *state, .model = &l.model};
    force(&work, &t, states, attended);
    right r = {&t, states, attended};
    nn_each_context(check_bits, &r);
    thr_translate_seq2seq_work_free(&work);
    unload(&l);
}

/* ------------------------------------------------------------------------------------------------ memory */

RANDOM_TEST(a_step_like_one_before_allocates_nothing) {
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    rng = 1;
    model *m = model_make(&SHAPES[0]);
    model_write(context, m, PATH, NO_SKIP);
    const task t = draw_task(m, &rng);
    float states[STEPS * SENTENCES * 7];
    uint32_t attended[STEPS * SENTENCES];
    static const uint32_t order[] = {0, 1, 2, 3, 4};
    loaded l;
    expect_ok(load(context, &l, &err));
    thr_seq2seq_work work = {.context = context, .model = &l.model};
    size_t before = 0;
    for (int round = 0; round < 2; round++) {
        before = memory.calls;
        force(&work, &t, states, attended);
        expect_ok(thr_translate_seq2seq_reorder(&work, order, SENTENCES, &err));
        expect_ok(thr_translate_seq2seq_reorder(&work, order, SENTENCES, &err));
    }
    assert_int_equal(memory.calls, before);
    thr_translate_seq2seq_work_free(&work);
    unload(&l);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

RANDOM_TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    rng = 1;
    model *m = model_make(&SHAPES[2]);
    const task t = draw_task(m, &rng);
    static const uint32_t order[] = {0, 1};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    model_write(context, m, PATH, NO_SKIP);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        loaded l;
        float states[SENTENCES];
        test_oom_arm(&oom);
        thr_status status = load(context, &l, &err);
        thr_seq2seq_work work = {.context = context, .model = &l.model};
        if (status == THR_OK)
            status = thr_translate_seq2seq_encode(&work, t.words, t.starts, SENTENCES, &err);
        if (status == THR_OK)
            status = thr_translate_seq2seq_begin(&work, NULL, SENTENCES, &err);
        if (status == THR_OK)
            status = thr_translate_seq2seq_step(&work, t.forced[0], states, NULL, &err);
        if (status == THR_OK)
            status = thr_translate_seq2seq_reorder(&work, order, 2, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        thr_translate_seq2seq_work_free(&work);
        unload(&l);
    }
    thr_context_free(context);
}

/* -------------------------------------------------------------------------------------------------- refusals */

static void refused(thr_context *context, const model *m, size_t skip, thr_status wanted, const char *part) {
    loaded l;
    model_write(context, m, PATH, skip);
    expect_error(load(context, &l, &err), wanted, part);
    assert_non_null(strstr(err.text, PATH));
    unload(&l);
}

TEST(a_missing_tensor_is_named) {
    model *m = model_make(&SHAPES[0]);
    for (size_t i = 0; i < m->n; i++) {
        char part[MODEL_NAME + 32];
        (void)snprintf(part, sizeof part, "has no tensor '%s'", m->names[i]);
        refused(*state, m, i, THR_EFORMAT, part);
    }
}

TEST(another_shape_is_named) {
    for (size_t axis = 0; axis < 2; axis++) {
        model *m = model_make(&SHAPES[0]);
        for (size_t i = 0; i < m->n; i++) {
            thr_tensor *t = &m->tensors[i];
            /* half of the axis, or all but one of an odd one: any such file is whole */
            if (t->dtype == THR_DTYPE_U8 || axis >= t->n_axes || t->shape[axis] == 1)
                continue;
            const uint64_t before = t->shape[axis];
            t->shape[axis]--;
            loaded l;
            model_write(*state, m, PATH, NO_SKIP);
            expect_error(load(*state, &l, &err), THR_EFORMAT, NULL);
            unload(&l);
            t->shape[axis] = before;
        }
    }
    model *m = model_make(&SHAPES[0]);
    model_tensor(m, "combine.weight")->shape[0] = 6;
    refused(*state, m, NO_SKIP, THR_EFORMAT, "tensor 'combine.weight' has shape 6 x 20, expected 7 x 20");
    model_tensor(m, "combine.weight")->shape[0] = 7;
    model_tensor(m, "output.bias")->n_axes = 2;
    model_tensor(m, "output.bias")->shape[1] = 1;
    refused(*state, m, NO_SKIP, THR_EFORMAT, "tensor 'output.bias' has 2 axes, expected 1");
}

TEST(numbers_that_are_none_are_named) {
    model *m = model_make(&SHAPES[0]);
    for (size_t i = 0; i < m->n; i++) {
        if (m->tensors[i].dtype == THR_DTYPE_U8)
            continue;
        float *values = (float *)(uintptr_t)m->tensors[i].data;
        const float before = values[0];
        char part[MODEL_NAME + 64];
        values[0] = i % 2 == 0 ? NAN : INFINITY;
        (void)snprintf(part, sizeof part, "row 0 of tensor '%s' holds NaN or infinity", m->names[i]);
        refused(*state, m, NO_SKIP, THR_ERANGE, part);
        values[0] = before;
    }
}

TEST(words_that_are_none_are_refused) {
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"<unk>\n<s>\n</s>\na\nb\nc\nd\ne\nf\n", NULL},
        {"<unk>\n<s>\n</s>\na\nb\nc\nd\ne\nf", NULL},
        {"<unk>\n</s>\n<s>\na\nb\nc\nd\ne\nf\n", "word 1 of 'source.words' is '</s>', expected <s>"},
        {"<unk>\n<s>\n</s>\na\nb\nc\nd\ne\n", "'source.words' has fewer than the 9 words that have rows"},
        {"<unk>\n<s>\n</s>\na\nb\nc\nd\ne\nf\ng\n", "'source.words' has more than the 9 words that have rows"},
        {"<unk>\n<s>\n</s>\na\nb\nc\nb\ne\nf\n", "words 4 and 6 of 'source.words' are the same, 'b'"},
        {"<unk>\n<s>\n</s>\na\n\nc\nd\ne\nf\n", "word 4 of 'source.words' is empty"},
        {"<unk>\n<s>\n</s>\na\nb b\nc\nd\ne\nf\n", "word 4 of 'source.words' is empty, holds a space, or is no UTF-8"},
        {"<unk>\n<s>\n</s>\na\n\xff\nc\nd\ne\nf\n", "word 4 of 'source.words' is empty, holds a space, or is no UTF-8"},
    };
    model *m = model_make(&SHAPES[0]);
    thr_tensor *words = model_tensor(m, "source.words");
    const thr_tensor before = *words;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        loaded l;
        words->data = cases[i].text;
        words->shape[0] = strlen(cases[i].text);
        if (cases[i].part != NULL) {
            refused(*state, m, NO_SKIP, THR_EFORMAT, cases[i].part);
            continue;
        }
        model_write(*state, m, PATH, NO_SKIP);
        expect_ok(load(*state, &l, &err));
        unload(&l);
    }
    *words = before;
}

TEST(other_files_are_no_models) {
    model *m = model_make(&SHAPES[0]);
    m->format = "pt";
    refused(*state, m, NO_SKIP, THR_EFORMAT, "is no model of translations: the format of its metadata is not");
    m->format = "thresher.seq2seq";
    m->version = "2";
    refused(*state, m, NO_SKIP, THR_EVERSION, "a model of version 2, this build reads 1: use a newer one");
    m->version = "1";
    model_tensor(m, "attention.weight")->dtype = THR_DTYPE_I32;
    refused(*state, m, NO_SKIP, THR_EFORMAT, "tensor 'attention.weight' is not of F32, F16 or BF16");
}

TEST(attention_has_two_tensors_or_none) {
    static const char *const parts[] = {"attention.weight", "combine.weight"};
    for (size_t i = 0; i < 2; i++) {
        model *m = model_make(&SHAPES[0]);
        (void)snprintf(m->names[model_tensor(m, parts[i]) - m->tensors], MODEL_NAME, "other");
        refused(*state, m, NO_SKIP, THR_EFORMAT, parts[i]);
    }
    const model_shape odd = {9, 8, 5, 3, 7, 7, 1, THR_DTYPE_F32, true};
    model *m = model_make(&odd);
    refused(*state, m, NO_SKIP, THR_EFORMAT, "tensor 'output.weight' has rows of 7: the length must be even");
    m = model_make(&SHAPES[PLAIN]);
    loaded l;
    model_write(*state, m, PATH, NO_SKIP);
    expect_ok(load(*state, &l, &err));
    assert_true(l.model.attention == NULL && l.model.n_units == 10 && l.model.n_dims == 10);
    unload(&l);
}

static int set_up(void **state) {
    *state = test_context(2, THR_ISA_BEST, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)remove(PATH);
    thr_context_free(*state);
    return 0;
}

TEST_GROUP(set_up, tear_down)
