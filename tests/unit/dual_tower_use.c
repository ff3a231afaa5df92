/* SPDX-License-Identifier: Apache-2.0 */
/* dual_tower_use.c - vectors and hits of an open model add up to what a training computed; its file, whole or not. */
#define TOWER_TEST "dual-use"
#include "dual_tower_support.h"

#include <thresher/metric.h>

#include "dual_tower/model_file.h"
#include "dual_tower/trainer.h"
#include "metric/gauc.h"

static const char items[] = NAME("items.tsv"), requests[] = NAME("requests.tsv"), model[] = NAME("model"),
                  damaged[] = NAME("damaged");

/* A model with all tensors, of words that are in 5 requests at least. */
static thr_tower_report make_model(thr_context *context, bool ipnn, bool hits) {
    thr_dual_train_options options;
    dual_small(&options);
    options.config.n_products = ipnn ? 3 : 0;
    options.config.hits = hits;
    options.min_count = 5;
    options.hits_rate = 0.5f;
    dual_write_items(items);
    dual_write_requests(requests, 0, 300);
    return dual_train(context, requests, items, model, &options);
}

/* The columns of a table's lines, as texts; the table's bytes are the caller's to free. */
typedef struct columns {
    char *bytes;
    size_t n;
    const char *texts[2][400];
    size_t lengths[2][400];
} columns;

static void read_columns(const char *path, columns *c) {
    size_t size = 0;
    c->bytes = tower_read(path, &size);
    c->n = 0;
    for (char *line = c->bytes; *line != '\0'; c->n++) {
        char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
        assert_true(c->n < 400 && tab != NULL && end != NULL);
        c->texts[0][c->n] = line;
        c->lengths[0][c->n] = (size_t)(tab - line);
        c->texts[1][c->n] = tab + 1;
        c->lengths[1][c->n] = (size_t)(end - tab - 1);
        line = end + 1;
    }
}

static bool has_word(const char *text, size_t length, const thr_dual_hit *hit) {
    for (size_t at = 0; at + hit->length <= length; at++)
        if ((at == 0 || text[at - 1] == ' ') && memcmp(text + at, hit->word, hit->length) == 0 &&
            (at + hit->length == length || text[at + hit->length] == ' '))
            return true;
    return false;
}

/* The score of a user and an item as a search would find it. */
static double score(const thr_dual *dual, const float *user, const float *item, const columns *users, size_t u,
                    const columns *all, size_t i) {
    thr_dual_hit hits[16];
    size_t n = 0;
    double sum = 0;
    for (uint32_t d = 0; d < thr_dual_get_info(dual).n_vector; d++)
        sum += (double)user[d] * (double)item[d];
    expect_ok(thr_dual_hits(dual, users->texts[0][u], users->lengths[0][u], hits, 16, &n, &err));
    assert_true(n <= 16);
    for (size_t h = 0; h < n; h++)
        if (has_word(all->texts[1][i], all->lengths[1][i], &hits[h]))
            sum += (double)hits[h].weight;
    return sum;
}

/* Scores of all requests of a file by the trainer's way. */
typedef struct judged {
    thr_dual_lexicon lexicon;
    thr_dual_items items;
    thr_dual_requests requests;
    thr_dual_map map;
    thr_dual_evaluation all;
    thr_dual_model model;
} judged;

static void judge(thr_context *context, thr_tensors **tensors, judged *j) {
    uint64_t fingerprint = 0;
    memset(j, 0, sizeof *j);
    expect_ok(thr_tensors_open(context, model, tensors, &err));
    expect_ok(thr_dual_read(context, *tensors, model, &j->model, &fingerprint, &err));
    expect_ok(thr_dual_items_read(context, items, &j->lexicon, &j->items, &err));
    expect_ok(thr_dual_requests_read(context, requests, &j->items, &j->lexicon, &j->requests, &err));
    expect_ok(thr_dual_map_make(context, &j->lexicon, j->model.words, &j->map, &err));
    const thr_dual_data data = {&j->model, &j->lexicon, &j->items, &j->map};
    const thr_dual_some some = {&j->requests, NULL, j->requests.n};
    expect_ok(thr_dual_evaluate_all(context, &data, &some, NULL, &j->all, &err));
}

static void free_judged(thr_context *context, thr_tensors *tensors, judged *j) {
    thr_dual_lexicon_free(context, &j->lexicon);
    thr_dual_items_free(context, &j->items);
    thr_dual_requests_free(context, &j->requests);
    thr_dual_map_free(context, &j->map);
    thr_dual_evaluation_free(context, &j->all);
    thr_dual_words_free(context, &j->model);
    thr_tensors_free(tensors);
}

TEST(vectors_and_hits_add_up_to_the_scores) {
    for (int kind = 0; kind < 4; kind++) {
        columns users, all;
        judged j;
        thr_tensors *tensors = NULL;
        double most = 0;
        (void)make_model(*state, kind % 2 == 0, kind / 2 == 0);
        dual_write_requests(requests, 900, 300); /* with words that were not learned */
        judge(*state, &tensors, &j);
        read_columns(requests, &users);
        read_columns(items, &all);
        thr_dual *dual = dual_open(*state, model);
        const uint32_t n_vector = thr_dual_get_info(dual).n_vector;
        float *u = test_new(users.n * n_vector, sizeof *u), *a = test_new(all.n * n_vector, sizeof *a);
        expect_ok(thr_dual_encode(dual, THR_SIDE_QUERY, users.texts[0], users.lengths[0], users.n, u, &err));
        expect_ok(thr_dual_encode(dual, THR_SIDE_ITEM, all.texts[1], all.lengths[1], all.n, a, &err));
        for (size_t r = 0; r < users.n; r++)
            for (size_t e = (size_t)j.requests.ad_offsets[r]; e < j.requests.ad_offsets[r + 1]; e++) {
                const uint32_t item = j.requests.ads[e];
                const double want = score(dual, u + r * n_vector, a + item * n_vector, &users, r, &all, item);
                assert_case(fabs((double)j.all.scores[e] - want) <= 3e-6 * (1 + fabs(want)),
                            "kind %d, request %zu, ad %zu: %.9g, should be %.9g", kind, r, e, (double)j.all.scores[e],
                            want);
                most = fmax(most, fabs(want));
            }
        assert_true(most > 0.1);
        thr_dual_free(dual);
        free_judged(*state, tensors, &j);
    }
}

typedef struct encoding {
    const thr_dual *dual;
    const columns *users;
    const float *want;
} encoding;

static void check_same_vectors(thr_context *context, void *arg) {
    const encoding *e = arg;
    OWNED(thr_dual, dual) = dual_open(context, model);
    const size_t n_vector = thr_dual_get_info(dual).n_vector, n = e->users->n;
    float *got = test_new(n * n_vector, sizeof *got);
    expect_ok(thr_dual_encode(dual, THR_SIDE_QUERY, e->users->texts[0], e->users->lengths[0], n, got, &err));
    assert_memory_equal(got, e->want, n * n_vector * sizeof *got);
    for (size_t i = 0; i < n; i += 37) { /* one by one */
        expect_ok(
            thr_dual_encode(dual, THR_SIDE_QUERY, e->users->texts[0] + i, e->users->lengths[0] + i, 1, got, &err));
        assert_memory_equal(got, e->want + i * n_vector, n_vector * sizeof *got);
    }
}

TEST(a_vector_is_the_same_wherever_it_is_made) {
    columns users;
    (void)make_model(*state, true, true);
    read_columns(requests, &users);
    OWNED(thr_dual, dual) = dual_open(*state, model);
    float *want = test_new(users.n * thr_dual_get_info(dual).n_vector, sizeof *want);
    expect_ok(thr_dual_encode(dual, THR_SIDE_QUERY, users.texts[0], users.lengths[0], users.n, want, &err));
    encoding e = {dual, &users, want};
    tower_each_context(check_same_vectors, &e);
}

TEST(hits_are_words_of_the_text) {
    static const char text[] = "age=1 click.category=3:2 seen.category=3 click.brand=99:4 bought.brand=1 click.x";
    thr_dual_hit hits[8];
    size_t n = 0;
    (void)make_model(*state, true, true);
    thr_dual *dual = dual_open(*state, model);
    expect_ok(thr_dual_hits(dual, text, strlen(text), hits, 8, &n, &err));
    assert_int_equal(n, 3); /* the field counts for brand=99; of bought and click.x nothing was learned */
    assert_true(hits[0].length == 10 && memcmp(hits[0].word, "category=3", 10) == 0);
    assert_ptr_equal(hits[0].word, text + 12);
    assert_true(hits[1].length == 10 && memcmp(hits[1].word, "category=3", 10) == 0);
    assert_true(hits[2].length == 8 && memcmp(hits[2].word, "brand=99", 8) == 0 && hits[2].weight != 0);
    assert_true(hits[0].weight > 0); /* the best ads of the log are of that category */
    hits[1].weight = 77;
    expect_ok(thr_dual_hits(dual, text, strlen(text), hits, 1, &n, &err));
    assert_true(n == 3 && hits[1].weight == 77); /* no more than there is room for */
    expect_error(thr_dual_hits(dual, "a=1:1e99", 8, hits, 8, &n, &err), THR_ERANGE, "not finite");
    thr_dual_free(dual);
    (void)make_model(*state, true, false);
    dual = dual_open(*state, model);
    expect_ok(thr_dual_hits(dual, text, strlen(text), hits, 8, &n, &err));
    assert_int_equal(n, 0);
    thr_dual_free(dual);
}

TEST(texts_that_are_wrong_are_refused) {
    const char *const texts[] = {"a=1", "a=1:1e99", ".a=1"};
    float out[3 * 10];
    (void)make_model(*state, true, true);
    OWNED(thr_dual, dual) = dual_open(*state, model);
    expect_ok(thr_dual_encode(dual, THR_SIDE_QUERY, texts, NULL, 1, out, &err));
    expect_error(thr_dual_encode(dual, THR_SIDE_QUERY, texts, NULL, 2, out, &err), THR_ERANGE, "not finite");
    expect_error(thr_dual_encode(dual, THR_SIDE_QUERY, texts + 2, NULL, 1, out, &err), THR_EFORMAT, "no name");
    expect_ok(thr_dual_encode(dual, THR_SIDE_ITEM, texts, NULL, 3, out, &err)); /* items have no numbers */
    expect_error(thr_dual_encode(dual, (thr_side)2, texts, NULL, 1, out, &err), THR_EINVAL, "side 2");
    assert_int_equal(truncate(model, 0), 0);
    expect_error(thr_dual_encode(dual, THR_SIDE_QUERY, texts, NULL, 1, out, &err), THR_ECHANGED, model);
    size_t n;
    expect_error(thr_dual_hits(dual, texts[0], 3, NULL, 0, &n, &err), THR_ECHANGED, model);
}

TEST(quality_is_that_of_the_metrics) {
    thr_dual_quality quality;
    judged j;
    thr_tensors *tensors = NULL;
    double gauc = 0, recall = 0, by_value = 0;
    const thr_tower_report report = make_model(*state, true, true);
    dual_write_requests(requests, 400, 200);
    thr_dual *dual = dual_open(*state, model);
    expect_ok(thr_dual_eval(dual, requests, items, &quality, &err));
    judge(*state, &tensors, &j);
    const thr_ranked ranked = {j.requests.n, j.requests.ad_offsets, j.all.scores, NULL, j.requests.values};
    expect_ok(thr_metric_gauc(&ranked, &gauc, &err)); /* no best ad of the log has an equal one */
    expect_ok(thr_metric_top_recall(&ranked, 5, &recall, &by_value, &err));
    assert_true(quality.gauc == gauc && quality.recall_5 == recall && quality.value_recall_5 == by_value);
    assert_true(quality.n_requests == 200 && quality.n_ads == 200 * DUAL_ADS && quality.recall_10 == 1);
    assert_true(quality.gauc > 0.6 && report.valid_quality > 0.6);
    test_write_text(requests, "u\tad1\n");
    expect_error(thr_dual_eval(dual, requests, items, &quality, &err), THR_EINVAL, "none of 1 requests");
    thr_dual_free(dual);
    free_judged(*state, tensors, &j);
}

/* ------------------------------------------------------------------------------------------------ files */

TEST(models_of_other_kinds_are_distinguished) {
    thr_tower *tower = NULL;
    thr_dual *dual = NULL;
    bool is_dual = false;
    (void)make_model(*state, false, true);
    expect_ok(thr_dual_probe(*state, model, &is_dual, &err));
    assert_true(is_dual);
    expect_error(thr_tower_open(*state, model, &tower, &err), THR_EFORMAT, "is not a model of texts");
    tower_make(damaged, 2, 2);
    expect_ok(thr_dual_probe(*state, damaged, &is_dual, &err));
    assert_false(is_dual);
    expect_error(thr_dual_open(*state, damaged, &dual, &err), THR_EFORMAT, "is not a dual tower");
    assert_null(dual);
    expect_error(thr_dual_probe(*state, NAME("none"), &is_dual, &err), THR_ENOTFOUND, NAME("none"));
}

TEST(a_newer_version_is_refused_as_that) {
    static const char key[] = "\"thresher.dual\":\"";
    size_t size = 0, at = 0;
    thr_dual *dual = NULL;
    (void)make_model(*state, true, true);
    char *bytes = tower_read(model, &size);
    while (at + sizeof key < size && memcmp(bytes + at, key, sizeof key - 1) != 0)
        at++;
    bytes[at + sizeof key - 1] = '2';
    test_write_file(damaged, bytes, size);
    expect_error(thr_dual_open(*state, damaged, &dual, &err), THR_EVERSION, "version 2, this build reads version 1");
}

/* Of every bit that is flipped, and wherever the file is cut: refused, unless a blank of the header became another. */
RANDOM_TEST(damage_anywhere_is_found) {
    size_t size = 0;
    (void)make_model(*state, true, true);
    char *bytes = tower_read(model, &size);
    for (unsigned i = 0; i < 1500; i++) {
        const bool cut = i % 8 == 0;
        const size_t at = (size_t)thr_rng_below(&rng, i % 2 == 0 ? size : 4000);
        const char kept = bytes[at];
        bytes[at] = (char)(bytes[at] ^ (1 << thr_rng_below(&rng, 8)));
        const bool is_blank = kept == ' ' && strchr("\t\r\n", bytes[at]) != NULL;
        FILE *file = fopen(damaged, "wb");
        assert_non_null(file);
        assert_true(fwrite(bytes, 1, cut ? at : size, file) == (cut ? at : size) && fclose(file) == 0);
        thr_dual *dual = NULL;
        const thr_status status = thr_dual_open(*state, damaged, &dual, &err);
        assert_case(status == THR_EFORMAT || status == THR_ECORRUPT || status == THR_EVERSION ||
                        (is_blank && status == THR_OK),
                    "seed %llu: byte %zu of %zu %s: status %s", (unsigned long long)test_seed(), at, size,
                    cut ? "and all after it gone" : "changed", thr_status_name(status));
        thr_dual_free(dual);
        bytes[at] = kept;
    }
}

/* ------------------------------------------------------------------------------------------------ memory */

typedef struct job {
    thr_context *context;
    thr_dual *dual;
    columns users;
} job;

static thr_status do_open(void *arg, thr_error *error) {
    job *j = arg;
    thr_dual *dual = NULL;
    const thr_status status = thr_dual_open(j->context, model, &dual, error);
    assert_true((status == THR_OK) == (dual != NULL));
    thr_dual_free(dual);
    return status;
}

static thr_status do_encode(void *arg, thr_error *error) {
    job *j = arg;
    float *out = test_new(j->users.n * thr_dual_get_info(j->dual).n_vector, sizeof *out);
    const thr_status status =
        thr_dual_encode(j->dual, THR_SIDE_QUERY, j->users.texts[0], j->users.lengths[0], j->users.n, out, error);
    return status;
}

static thr_status do_eval(void *arg, thr_error *error) {
    job *j = arg;
    thr_dual_quality quality;
    return thr_dual_eval(j->dual, requests, items, &quality, error);
}

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    job j = {.context = test_context(2, THR_ISA_BEST, &memory)};
    (void)make_model(*state, true, true);
    read_columns(requests, &j.users);
    tower_fail_allocations(&memory, do_open, &j);
    j.dual = dual_open(j.context, model);
    tower_fail_allocations(&memory, do_encode, &j);
    tower_fail_allocations(&memory, do_eval, &j);
    thr_dual_free(j.dual);
    thr_context_free(j.context);
    assert_int_equal(atomic_load(&memory.live), 0);
}
