/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_vectors.c - models of given vectors: training, files, encoding, and refusals. */
#define TOWER_TEST "vectors"
#include "text_tower_support.h"
#include "io/reader.h"

enum { N = 150, DIMS = 10 };

static float *make_rows(uint64_t seed) {
    float *rows = test_new((size_t)N * DIMS, sizeof *rows);
    test_gaussian(&seed, rows, (size_t)N * DIMS);
    return rows;
}

static void small(thr_tower_train_options *options, bool items_alone) {
    thr_tower_train_options_init_vectors(options, items_alone);
    options->config.n_dims = 16;
    options->config.item_bits = 2;
    options->config.query_bits = 3;
    options->run.valid_share = 0.15f;
    options->run.n_epochs = 3;
    options->run.batch = 20;
}

/* queries NULL: items alone. */
static thr_status train_rows(thr_context *context, const float *queries, const float *items, const char *path,
                             const thr_tower_train_options *options, thr_error *error) {
    const thr_matrix views[2] = {thr_matrix_f32(queries, N, DIMS), thr_matrix_f32(items, N, DIMS)};
    thr_reader *readers[2] = {NULL, NULL};
    thr_tower_report report;
    thr_status status = thr_reader_from_matrix(context, &views[1], &readers[1], error);
    if (status == THR_OK && queries != NULL)
        status = thr_reader_from_matrix(context, &views[0], &readers[0], error);
    if (status == THR_OK)
        status = thr_tower_train_vectors(context, readers[0], readers[1], path, options, &report, error);
    thr_reader_free(readers[0]);
    thr_reader_free(readers[1]);
    return status;
}

typedef struct job {
    const float *queries, *items;
    thr_tower_train_options options;
    const char *path, *same_as;
} job;

static void train_the_same(thr_context *context, void *arg) {
    const job *j = arg;
    expect_ok(train_rows(context, j->queries, j->items, j->path, &j->options, &err));
    assert_true(tower_same_files(j->path, j->same_as));
}

TEST(the_same_vectors_give_the_same_model) {
    float *items = make_rows(1), *queries = make_rows(2);
    for (int alone = 0; alone < 2; alone++) {
        job j = {.queries = alone ? NULL : queries, .items = items, .path = NAME("b"), .same_as = NAME("a")};
        small(&j.options, alone == 1);
        j.options.float_share = alone ? 0 : 0.4f;
        expect_ok(train_rows(*state, j.queries, items, NAME("a"), &j.options, &err));
        tower_each_context(train_the_same, &j);
    }
}

TEST(a_stopped_training_resumes_to_the_same_model) {
    float *items = make_rows(1);
    thr_tower_train_options options;
    small(&options, true);
    expect_ok(train_rows(*state, NULL, items, NAME("a"), &options, &err));
    unsigned n_stops = 0;
    for (unsigned stop = 3; stop < 40; stop++) {
        tower_stopper stopper = {.stop_at = stop};
        thr_context *context = tower_stoppable(&stopper, 2);
        options.run.resume = false;
        const thr_status status = train_rows(context, NULL, items, NAME("b"), &options, &err);
        thr_context_free(context);
        if (status == THR_OK)
            break;
        assert_int_equal(status, THR_ECANCELED);
        if (!test_exists(NAME("b.checkpoint")))
            continue;
        n_stops++;
        options.run.resume = true;
        float kept = items[3];
        items[3] += 1;
        expect_error(train_rows(*state, NULL, items, NAME("b"), &options, &err), THR_EMISMATCH, "pairs");
        items[3] = kept;
        expect_ok(train_rows(*state, NULL, items, NAME("b"), &options, &err));
        assert_true(tower_same_files(NAME("a"), NAME("b")));
    }
    assert_true(n_stops > 0);
}

/* Codes of a model keep the order of the vectors' own cosines better than chance. */
TEST(codes_find_the_vector_they_were_made_of) {
    float *items = make_rows(1), codes[N * 16], queries[N * 16];
    unsigned char packed[N * 2 * 2];
    thr_tower_train_options options;
    small(&options, true);
    options.config.query_bits = THR_FLOAT_BITS;
    options.run.n_epochs = 20;
    expect_ok(train_rows(*state, NULL, items, NAME("a"), &options, &err));
    OWNED(thr_tower, tower) = tower_open(*state, NAME("a"));
    const thr_tower_info info = thr_tower_get_info(tower);
    assert_int_equal(info.config.n_inputs, DIMS);
    assert_int_equal(info.n_parameters, 2 * (DIMS + DIMS * 16 + 16) + 16 * DIMS + DIMS + DIMS * 16 + 16);
    const thr_matrix rows = thr_matrix_f32(items, N, DIMS);
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_ITEM, &rows, codes, &err));
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_QUERY, &rows, queries, &err));
    expect_ok(thr_tower_pack(tower, THR_SIDE_ITEM, codes, N, packed, &err));
    size_t n_found = 0;
    for (size_t q = 0; q < N; q++) {
        size_t best = 0;
        double most = -INFINITY;
        for (size_t i = 0; i < N; i++) {
            double product = 0, square = 0;
            for (size_t d = 0; d < 16; d++) {
                product += (double)queries[q * 16 + d] * (double)codes[i * 16 + d];
                square += (double)codes[i * 16 + d] * (double)codes[i * 16 + d];
            }
            if (product / sqrt(square) > most) {
                most = product / sqrt(square);
                best = i;
            }
        }
        n_found += best == q;
    }
    assert_case(n_found > N * 9 / 10, "only %zu of %d vectors found", n_found, N);
}

/* The reader returns what thr_tower_encode_vectors does, whatever the lengths of the vectors. */
TEST(a_reader_encodes_rows) {
    float *items = make_rows(1), want[N * 16];
    thr_tower_train_options options;
    small(&options, true);
    expect_ok(train_rows(*state, NULL, items, NAME("a"), &options, &err));
    OWNED(thr_tower, tower) = tower_open(*state, NAME("a"));
    const thr_matrix view = thr_matrix_f32(items, N, DIMS);
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_ITEM, &view, want, &err));
    for (size_t i = 0; i < (size_t)N * DIMS; i++)
        items[i] *= 4;
    thr_reader *given = NULL, *reader = NULL;
    expect_ok(thr_reader_from_matrix(*state, &view, &given, &err));
    expect_ok(thr_tower_reader(tower, THR_SIDE_ITEM, given, &reader, &err));
    assert_true(thr_reader_get_shape(reader).n_rows == N && thr_reader_get_shape(reader).seekable);
    for (int pass = 0; pass < 2; pass++) {
        thr_matrix rows;
        uint64_t n = 0;
        do {
            expect_ok(thr_reader_next(reader, 64, &rows, &err));
            if (rows.n_rows != 0)
                assert_memory_equal(rows.data, want + n * 16, (size_t)rows.n_rows * 16 * sizeof(float));
            n += rows.n_rows;
        } while (rows.n_rows != 0);
        assert_int_equal(n, N);
        expect_ok(thr_io_reader_seek(reader, 0, &err));
    }
    thr_reader_free(reader);
    thr_reader_free(given);
}

/* An epoch reports the recall that a naive search finds with the model; files are validated unchanged. */
typedef struct last_epoch {
    double recall;
} last_epoch;

static void keep_recall(void *user, const thr_tower_epoch *epoch) {
    ((last_epoch *)user)->recall = epoch->valid_quality;
}

/* Whether item i is among the ten with the largest products, ties to smaller numbers. */
static bool is_best(const float *query, const float *items, size_t n_dims, size_t i) {
    double scores[N];
    size_t n_before = 0;
    for (size_t j = 0; j < N; j++) {
        double product = 0, square = 0;
        for (size_t d = 0; d < n_dims; d++) {
            product += (double)query[d] * (double)items[j * n_dims + d];
            square += (double)items[j * n_dims + d] * (double)items[j * n_dims + d];
        }
        scores[j] = product / sqrt(square);
    }
    for (size_t j = 0; j < N; j++)
        n_before += scores[j] > scores[i] || (!(scores[j] < scores[i]) && j < i);
    return n_before < 10;
}

TEST(recall_is_that_of_a_naive_search_of_the_validation_file) {
    float *items = make_rows(1), *others = make_rows(3), codes[N * 16], queries[N * 16];
    thr_tower_train_options options;
    last_epoch last = {.recall = -1};
    small(&options, true);
    options.config.query_bits = THR_FLOAT_BITS;
    options.run.n_epochs = 1;
    options.run.valid_path = NAME("valid.fvecs");
    options.run.on_epoch = keep_recall;
    options.run.on_epoch_user = &last;
    FILE *file = fopen(options.run.valid_path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < N; i++) {
        const uint32_t n_dims = DIMS;
        assert_true(fwrite(&n_dims, sizeof n_dims, 1, file) == 1 &&
                    fwrite(others + i * DIMS, sizeof(float), DIMS, file) == DIMS);
    }
    (void)fclose(file);
    expect_ok(train_rows(*state, NULL, items, NAME("a"), &options, &err));
    OWNED(thr_tower, tower) = tower_open(*state, NAME("a"));
    const thr_matrix rows = thr_matrix_f32(others, N, DIMS);
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_ITEM, &rows, codes, &err));
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_QUERY, &rows, queries, &err));
    size_t n_found = 0;
    for (size_t q = 0; q < N; q++)
        for (size_t i = 0; i < N; i++)
            n_found += is_best(others + q * DIMS, others, DIMS, i) && is_best(queries + q * 16, codes, 16, i);
    const double want = (double)n_found / (10 * N);
    assert_case(fabs(last.recall - want) < 0.005, "recall %g, not %g", last.recall, want);
    expect_error(train_rows(*state, others, items, NAME("c"), &options, &err), THR_EUNSUPPORTED, "items alone");
}

TEST(bad_vectors_are_named) {
    thr_context *context = *state;
    float *items = make_rows(1), *queries = make_rows(2);
    thr_tower_train_options options;
    small(&options, true);
    items[4 * DIMS + 2] = NAN;
    expect_error(train_rows(context, NULL, items, NAME("c"), &options, &err), THR_ERANGE, "row 4, dimension 2");
    memset(items + 4 * DIMS, 0, DIMS * sizeof *items);
    expect_error(train_rows(context, queries, items, NAME("c"), &options, &err), THR_ERANGE, "row 4 is a zero vector");
    items[4 * DIMS] = 1;
    options.run.batch = 100;
    expect_error(train_rows(context, NULL, items, NAME("c"), &options, &err), THR_EFORMAT, "two batches of 100");
    small(&options, true);
    options.config.n_dims = 8 * DIMS + 1;
    expect_error(train_rows(context, NULL, items, NAME("c"), &options, &err), THR_EDIM,
                 "81 dimensions for codes of vectors of 10");
    options.config.n_dims = 16;
    options.teacher_share = 2;
    expect_error(train_rows(context, NULL, items, NAME("c"), &options, &err), THR_EINVAL, "a share of 2");
    small(&options, true);
    options.run.valid_path = "pairs.tsv";
    expect_error(train_rows(context, NULL, items, NAME("c"), &options, &err), THR_ENOTFOUND, "pairs.tsv");
    assert_false(test_exists(NAME("c")));
}

TEST(sides_must_have_one_shape) {
    thr_context *context = *state;
    float *items = make_rows(1), *queries = make_rows(2);
    thr_tower_train_options options;
    small(&options, true);
    const struct {
        const thr_matrix *queries;
        const char *message;
    } cases[] = {{ROWS(queries, N - 1, DIMS), "149 vectors"}, {ROWS(queries, N, DIMS - 1), "of 9 dimensions"}};
    for (size_t i = 0; i < 2; i++) {
        thr_reader *given = NULL, *others = NULL;
        expect_ok(thr_reader_from_matrix(context, cases[i].queries, &given, &err));
        expect_ok(thr_reader_from_matrix(context, ROWS(items, N, DIMS), &others, &err));
        expect_error(thr_tower_train_vectors(context, given, others, NAME("c"), &options, NULL, &err), THR_EDIM,
                     cases[i].message);
        thr_reader_free(given);
        thr_reader_free(others);
    }
    assert_false(test_exists(NAME("c")));
}

TEST(models_of_texts_and_of_vectors_refuse_the_others_input) {
    float *items = make_rows(1), out[N * 16];
    thr_tower_train_options options;
    const char *const texts[] = {"edit pdf"};
    const thr_matrix rows = thr_matrix_f32(items, N, DIMS), narrow = thr_matrix_f32(items, N, DIMS - 1);
    small(&options, true);
    expect_ok(train_rows(*state, NULL, items, NAME("a"), &options, &err));
    tower_make(NAME("texts"), 3, 2);
    thr_tower *of_vectors = tower_open(*state, NAME("a")), *of_texts = tower_open(*state, NAME("texts"));
    thr_tower_quality quality;
    thr_reader *reader = NULL, *given = NULL;
    expect_error(thr_tower_encode(of_vectors, THR_SIDE_ITEM, texts, NULL, 1, out, &err), THR_EUNSUPPORTED,
                 "cannot encode texts");
    expect_error(thr_tower_encode_vectors(of_texts, THR_SIDE_ITEM, &rows, out, &err), THR_EUNSUPPORTED,
                 "cannot encode vectors");
    expect_error(thr_tower_encode_vectors(of_vectors, THR_SIDE_ITEM, &narrow, out, &err), THR_EDIM, "of 9 dimensions");
    expect_error(thr_tower_eval(of_vectors, NAME("pairs.tsv"), NULL, &quality, &err), THR_EUNSUPPORTED, "pairs");
    expect_ok(thr_reader_open(*state, NAME("pairs.tsv"), &given, &err));
    expect_error(thr_tower_reader(of_vectors, THR_SIDE_ITEM, given, &reader, &err), THR_EINVAL, "is a text");
    expect_error(thr_tower_train_vectors(*state, NULL, given, NAME("c"), &options, NULL, &err), THR_EINVAL,
                 "a text holds no vectors");
    thr_reader_free(given);
    items[5] = INFINITY;
    expect_error(thr_tower_encode_vectors(of_vectors, THR_SIDE_ITEM, &rows, out, &err), THR_ERANGE,
                 "row 0, dimension 5");
    thr_tower_free(of_vectors);
    thr_tower_free(of_texts);
}

static void write_pairs(void) {
    FILE *pairs = fopen(NAME("ids.tsv"), "w"), *ids = fopen(NAME("ids.txt"), "w");
    assert_true(pairs != NULL && ids != NULL);
    for (int i = 0; i < N; i++) {
        (void)fprintf(pairs, "%d\tid %d\n", i, i);
        (void)fprintf(ids, "id %d\n", N - 1 - i);
    }
    assert_int_equal(fclose(pairs) | fclose(ids), 0);
}

/* Items in reverse, found by their ids, give the model of items row by row. */
TEST(pairs_by_id_are_those_row_by_row) {
    float *items = make_rows(1), *queries = make_rows(2), *reversed = make_rows(1);
    thr_tower_train_options options;
    small(&options, false);
    for (size_t i = 0; i < N; i++)
        memcpy(reversed + i * DIMS, items + (N - 1 - i) * DIMS, DIMS * sizeof *items);
    write_pairs();
    expect_ok(train_rows(*state, queries, items, NAME("a"), &options, &err));
    options.pairs_path = NAME("ids.tsv");
    options.item_ids_path = NAME("ids.txt");
    expect_ok(train_rows(*state, queries, reversed, NAME("b"), &options, &err));
    assert_true(tower_same_files(NAME("a"), NAME("b")));
}

typedef struct memory_job {
    thr_context *context;
    const float *items;
} memory_job;

static thr_status train_and_encode(void *arg, thr_error *error) {
    const memory_job *j = arg;
    thr_tower_train_options options;
    float out[N * 16];
    thr_tower *tower = NULL;
    small(&options, true);
    options.run.n_epochs = 1;
    options.pairs_path = NAME("ids.tsv");
    options.item_ids_path = NAME("ids.txt");
    thr_status status = train_rows(j->context, j->items, j->items, NAME("m"), &options, error);
    if (status == THR_OK)
        status = thr_tower_open(j->context, NAME("m"), &tower, error);
    if (status == THR_OK)
        status = thr_tower_encode_vectors(tower, THR_SIDE_ITEM, ROWS(j->items, N, DIMS), out, error);
    thr_tower_free(tower);
    return status;
}

TEST(every_failed_allocation_is_an_error) {
    float *items = make_rows(1);
    test_memory memory = {0};
    write_pairs();
    memory_job j = {test_context(1, THR_ISA_BEST, &memory), items};
    tower_fail_allocations(&memory, train_and_encode, &j);
    thr_context_free(j.context);
}
