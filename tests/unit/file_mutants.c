/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of posting lists, heads, models, caches and checkpoints with wrong bytes and right checksums: whatever opens is
 * used without harm, and where it can be verified and is, its answers are those of its own contents, by naive models.
 * Indexes: index_mutants.c. THR_TEST_ROUNDS=N makes N mutants of each kind of file.
 */
#define TOWER_TEST "mutants"
#include "dual_tower_support.h"
#include "head_support.h"

#include "fuzz/model_mutator.h"
#include "fuzz/section_mutator.h"
#include "hits/hits.h"
#include "svmlight/read.h"

#include <thresher/rank.h>

static thr_error error;
enum { MUTANT_ROOM = 64, K = 7 };

typedef struct counts {
    uint64_t opened, verified;
} counts;

typedef struct kind {
    const char *name, *path;
    void (*make)(thr_context *context, const char *path);
    size_t (*mutate)(uint8_t *data, size_t size, size_t room, unsigned seed);
    /* Open the mutant, and fail with its name if an answer is wrong. */
    void (*check)(thr_context *context, const char *path, const char *mutant, counts *n);
    uint64_t one_in; /* rounds that are made: others take too long */
} kind;

static bool is_close(double a, double b) {
    return fabs(a - b) <= 1e-4 * fmax(1, fabs(b));
}

static int descending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* ------------------------------------------------------------------------------------------------ posting lists */

enum { HITS_ITEMS = 700, HITS_FEATURES = 20 };

static void make_hits(thr_context *context, const char *path) {
    static float multipliers[HITS_ITEMS], offsets[HITS_ITEMS];
    uint64_t ids[HITS_ITEMS], starts[HITS_ITEMS + 1] = {0}, rng = 4;
    uint32_t features[HITS_ITEMS * HITS_FEATURES];
    thr_hits_build_options options = {0};
    for (uint64_t i = 0; i < HITS_ITEMS; i++) {
        ids[i] = 10 * (i * 33 % HITS_ITEMS);
        multipliers[i] = (float)thr_rng_below(&rng, 4);
        offsets[i] = test_normal(&rng);
        starts[i + 1] = starts[i];
        for (uint32_t f = 0; f < HITS_FEATURES; f++)
            if (f % 3 == 0 ? i / 40 % (f + 1) == 0 : thr_rng_below(&rng, f + 1) == 0)
                features[starts[i + 1]++] = 2 * f;
    }
    options.ids = ids;
    options.n_ids = options.n_values = HITS_ITEMS;
    options.multipliers = multipliers;
    options.offsets = offsets;
    const thr_item_features items = {starts, features, HITS_ITEMS};
    assert_ok(thr_hits_build(context, path, &items, &options, &error), &error);
}

/* The value of a place by the file's own lists. */
static double naive_value(const thr_hits_contents *c, uint32_t place, const uint32_t *features, const float *weights,
                          size_t n) {
    const uint32_t row = c->rows == NULL ? place : c->rows[place];
    double sum = 0;
    for (size_t f = 0; f < n; f++)
        if (thr_lists_has(&c->lists, features[f], place))
            sum += (double)weights[f];
    if (c->multipliers != NULL)
        sum *= (double)c->multipliers[row];
    return c->offsets != NULL ? sum + (double)c->offsets[row] : sum;
}

static void check_hits_search(thr_hits *hits, const char *mutant, uint64_t *rng) {
    const thr_hits_contents *c = &hits->view.contents;
    const uint32_t n_items = c->lists.n_items;
    uint32_t features[5];
    float weights[5], values[K];
    uint64_t ids[K];
    const uint64_t offsets[2] = {0, 5};
    double *naive = test_array(n_items, sizeof *naive), *ordered = test_array(n_items, sizeof *ordered), largest = 1;
    for (size_t f = 0; f < 5; f++) {
        features[f] = (uint32_t)thr_rng_below(rng, 2 * HITS_FEATURES);
        weights[f] = test_normal(rng);
    }
    const thr_hits_queries queries = {1, offsets, features, weights};
    const thr_status status = thr_hits_search(hits, &queries, K, NULL, ids, values, &error);
    for (uint32_t p = 0; p < n_items; p++) {
        naive[p] = ordered[p] = naive_value(c, p, features, weights, 5);
        largest = fmax(largest, fabs(naive[p]));
    }
    qsort(ordered, n_items, sizeof *ordered, descending);
    assert_case(status == THR_OK || (status == THR_ERANGE && largest > 1e30), "%s: verified, and refused: %s", mutant,
                error.text);
    for (size_t j = 0; j < K && j < n_items && status == THR_OK; j++) {
        uint32_t p = 0;
        uint64_t row = 0;
        const bool found = thr_hits_row(hits, ids[j], &row);
        while (found && p < n_items && (c->rows == NULL ? p : c->rows[p]) != row)
            p++;
        assert_case(found && p < n_items && fabs(naive[p] - (double)values[j]) <= 1e-4 * largest &&
                        fabs(ordered[j] - (double)values[j]) <= 1e-4 * largest,
                    "%s: verified, and result %d is wrong", mutant, (int)j);
    }
    free(naive);
    free(ordered);
}

static void check_hits(thr_context *context, const char *path, const char *mutant, counts *n) {
    thr_hits *hits = NULL;
    uint64_t rng = 8;
    if (thr_hits_open(context, path, &hits, &error) != THR_OK)
        return;
    n->opened++;
    if (thr_hits_verify(hits, &error) == THR_OK) {
        n->verified++;
        for (int q = 0; q < 3; q++)
            check_hits_search(hits, mutant, &rng);
    }
    thr_hits_free(hits);
}

/* ------------------------------------------------------------------------------------------------ heads */

static void make_a_head(thr_context *context, const char *path, thr_dtype dtype) {
    const head_case shape = {130, 9, dtype, true, dtype == THR_DTYPE_F32, 4, 2, 4, 2};
    uint64_t rng = 9;
    head_drawn h = head_draw(&shape, &rng, false);
    thr_head *head = head_make(context, &h);
    assert_ok(thr_head_save(head, path, true, &error), &error);
    thr_head_free(head);
}

static void make_head(thr_context *context, const char *path) {
    make_a_head(context, path, THR_DTYPE_F32);
}

static void make_small_head(thr_context *context, const char *path) {
    make_a_head(context, path, THR_DTYPE_I8);
}

/* The logits of all words, by the head's own weights. */
static double *naive_logits(const thr_head *head, const float *state) {
    const thr_head_contents *c = thr_head_of(head);
    float *row = test_array(c->n_dims, sizeof *row);
    double *logits = test_array(c->n_words, sizeof *logits);
    for (uint32_t w = 0; w < c->n_words; w++) {
        thr_head_row(c, head->context->kernels, w, row);
        logits[w] = c->bias == NULL ? 0 : (double)c->bias[w];
        for (uint32_t d = 0; d < c->n_dims; d++)
            logits[w] += (double)row[d] * (double)state[d];
    }
    free(row);
    return logits;
}

/* All words; the codes with a shortlist of all words; and certified answers of a short one. */
static void check_head_query(thr_head *head, const char *mutant, const float *state) {
    const thr_head_info info = thr_head_get_info(head);
    double *logits = naive_logits(head, state), *ordered = test_array(info.n_words, sizeof *ordered), largest = 1;
    memcpy(ordered, logits, info.n_words * sizeof *ordered);
    for (uint32_t w = 0; w < info.n_words; w++)
        largest = isfinite(logits[w]) ? fmax(largest, fabs(logits[w])) : largest;
    qsort(ordered, info.n_words, sizeof *ordered, descending);
    for (int way = 0; way < 3 && info.n_words >= K; way++) {
        uint32_t words[K];
        float found[K];
        uint8_t certified = 1;
        thr_head_query_options o;
        thr_head_query_options_init(&o);
        o.screen = way == 0 ? THR_HEAD_SCREEN_FULL : THR_HEAD_SCREEN_PLANES;
        o.n_shortlist = way == 1 || info.n_words < 3 * K ? info.n_words : 3 * K;
        o.certified = way == 2 ? &certified : NULL;
        const thr_matrix rows = thr_matrix_f32(state, 1, info.n_dims);
        const thr_status status = thr_head_query(head, &rows, K, &o, &(thr_head_answers){words, found, NULL}, &error);
        if (status == THR_EUNSUPPORTED && way > 0)
            continue;
        assert_case(status == THR_OK || (status == THR_ERANGE && largest > 1e30), "%s: verified, and refused: %s",
                    mutant, error.text);
        for (size_t j = 0; j < K && status == THR_OK && certified != 0; j++)
            assert_case(words[j] < info.n_words && isfinite(ordered[j]) &&
                            fabs(logits[words[j]] - (double)found[j]) <= 1e-4 * largest &&
                            fabs(ordered[j] - (double)found[j]) <= 1e-4 * largest,
                        "%s: verified, and word %d is wrong (way %d)", mutant, (int)j, way);
    }
    free(logits);
    free(ordered);
}

static void check_head(thr_context *context, const char *path, const char *mutant, counts *n) {
    thr_head *head = NULL;
    uint64_t rng = 10;
    if (thr_head_open(context, path, &head, &error) != THR_OK)
        return;
    n->opened++;
    const uint32_t n_dims = thr_head_get_info(head).n_dims;
    float *state = test_array(n_dims, sizeof *state);
    const bool verified = thr_head_verify(head, &error) == THR_OK;
    n->verified += verified;
    for (int q = 0; q < 2 && verified; q++) {
        test_gaussian(&rng, state, n_dims);
        check_head_query(head, mutant, state);
    }
    free(state);
    thr_head_free(head);
}

/* ------------------------------------------------------------------------------------------------ rankings */

static void make_rank_model(thr_context *context, const char *path) {
    static const double weights[] = {0.1, -3, 1.0 / 3, 1e-30, -7, 0};
    thr_rank_model *model = NULL;
    assert_ok(thr_rank_model_from_weights(context, weights, 6, &model, &error), &error);
    assert_ok(thr_rank_model_save(model, path, &error), &error);
    thr_rank_model_free(model);
}

static void check_rank_model(thr_context *context, const char *path, const char *mutant, counts *n) {
    thr_rank_model *model = NULL;
    thr_ranking *ranking = NULL;
    double score = 0, naive = 0;
    const uint64_t query = 0;
    if (thr_rank_model_open(context, path, &model, &error) != THR_OK)
        return;
    n->opened++;
    const uint32_t n_features = thr_rank_model_n_features(model);
    float *row = test_array(n_features, sizeof *row);
    for (uint32_t f = 0; f < n_features; f++) {
        row[f] = (float)(f % 3) - 0.5F;
        naive += (double)row[f] * thr_rank_model_weights(model)[f];
        assert_case(isfinite(thr_rank_model_weights(model)[f]), "%s: a weight is not finite", mutant);
    }
    const thr_matrix features = thr_matrix_f32(row, 1, n_features);
    assert_ok(thr_ranking_from_matrix(context, &features, &score, &query, &ranking, &error), &error);
    if (thr_rank_model_predict(model, ranking, &score, &error) == THR_OK)
        assert_case(is_close(score, naive) || !isfinite(naive), "%s: the score is %g, not %g", mutant, score, naive);
    n->verified++;
    thr_ranking_free(ranking);
    thr_rank_model_free(model);
    free(row);
}

static const char EXAMPLES[] = NAME("examples.svm");

static void read_examples(thr_context *context, bool write, thr_svmlight *out) {
    const thr_svmlight_options options = {.use_cache = true, .write_cache = write};
    assert_ok(thr_svmlight_read(context, EXAMPLES, &options, out, &error), &error);
}

/* The cache of a text, beside it. */
static void make_cache(thr_context *context, const char *path) {
    thr_svmlight s;
    test_write_text(EXAMPLES, "2 qid:1 1:0.5 7:2 # a\n1 qid:1 3:-1 # b\n0 qid:2 1:1 2:4 9:0.25\n1 qid:2 9:3 # c\n");
    (void)unlink(path);
    read_examples(context, true, &s);
    thr_svmlight_free(&s);
}

/* Whatever the cache holds, the arrays are valid, of as many rows as they have. */
static void check_cache(thr_context *context, const char *path, const char *mutant, counts *n) {
    thr_svmlight s;
    (void)path;
    read_examples(context, false, &s);
    n->opened += s.from_cache;
    n->verified += s.from_cache;
    for (size_t r = 0; r < s.n_rows; r++) {
        const size_t length = s.dense != NULL ? s.n_features : (size_t)(s.starts[r + 1] - s.starts[r]);
        const float *values = s.dense != NULL ? s.dense + r * length : s.values + s.starts[r];
        const uint32_t *columns = s.dense != NULL ? NULL : s.columns + s.starts[r];
        bool valid = isfinite(s.labels[r]);
        for (size_t v = 0; v < length && valid; v++)
            valid = isfinite(values[v]) &&
                    (columns == NULL || (columns[v] < s.n_features && (v == 0 || columns[v - 1] < columns[v])));
        assert_case(valid, "%s: row %d is not valid", mutant, (int)r);
    }
    thr_svmlight_free(&s);
}

/* ------------------------------------------------------------------------------------------------ towers */

/* Make the fingerprint right: the checksum of all tensors, and of the values of the metadata before it. */
static void recompute_fingerprint(uint8_t *data, size_t size) {
    static const char start[] = "\"__metadata__\":{", name[] = "fingerprint", offsets[] = "\"data_offsets\":[";
    uint64_t n_header;
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    size_t length = 0, at = FUZZ_LENGTH;
    memcpy(&n_header, data, FUZZ_LENGTH);
    uint8_t *end = data + FUZZ_LENGTH + n_header, *text;
    for (uint8_t *entry = data + FUZZ_LENGTH; entry + sizeof offsets < end; entry++) { /* in the order of the header */
        unsigned long long from, to;
        if (memcmp(entry, offsets, sizeof offsets - 1) != 0 ||
            sscanf((const char *)entry + sizeof offsets - 1, "%llu,%llu", &from, &to) != 2)
            continue;
        assert_true(from <= to && to <= size - FUZZ_LENGTH - n_header);
        thr_checksum_add(sum, end + from, (size_t)(to - from));
    }
    while (at + sizeof start <= size && memcmp(data + at, start, sizeof start - 1) != 0)
        at++;
    for (text = data + at + sizeof start - 1; (text = fuzz_next_string(text, end, &length)) != NULL;) {
        const bool is_last = length == sizeof name - 1 && memcmp(text, name, length) == 0;
        text = fuzz_next_string(text + length + 1, end, &length);
        if (text == NULL || is_last)
            break;
        thr_checksum_add(sum, text, length);
        thr_checksum_add(sum, "", 1);
        text += length + 1;
    }
    char digits[17];
    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)thr_checksum_end(sum));
    if (text != NULL && length == 16)
        memcpy(text, digits, 16);
    fuzz_recompute_checksum(data + FUZZ_LENGTH, (size_t)n_header);
}

/* Mostly weights, whose header stays as it is. */
static size_t mutate_tower(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t rng = seed, n_header;
    if (thr_rng_below(&rng, 4) == 0)
        return fuzz_mutate_model(data, size, room, seed);
    memcpy(&n_header, data, FUZZ_LENGTH);
    const size_t first = FUZZ_LENGTH + (size_t)n_header;
    for (uint64_t n = 1 + thr_rng_below(&rng, 3); n > 0; n--)
        fuzz_put(&rng, data + first + 4 * thr_rng_below(&rng, (size - first) / 4), 4, size);
    recompute_fingerprint(data, size);
    return size;
}

static void make_tower(thr_context *context, const char *path) {
    (void)context;
    tower_make(path, THR_FLOAT_BITS, THR_FLOAT_BITS);
}

static void make_code_tower(thr_context *context, const char *path) {
    (void)context;
    tower_make(path, 2, 1);
}

/* The same text alone and in a batch; every number finite, or refused. */
static void check_tower(thr_context *context, const char *path, const char *mutant, counts *n) {
    static const char *const texts[] = {"play chess with ka", "edit a pdf", "", "play chess with ka"};
    thr_tower *tower = NULL;
    if (thr_tower_open(context, path, &tower, &error) != THR_OK)
        return;
    n->opened++;
    const uint32_t n_dims = thr_tower_get_info(tower).config.n_dims;
    float *all = test_array(4 * (size_t)n_dims, sizeof *all), *one = test_array(n_dims, sizeof *one);
    for (int side = 0; side < 2; side++) {
        const thr_status status = thr_tower_encode(tower, (thr_side)side, texts, NULL, 4, all, &error);
        if (status != THR_OK)
            continue;
        n->verified += side == 0;
        assert_ok(thr_tower_encode(tower, (thr_side)side, texts + 3, NULL, 1, one, &error), &error);
        for (uint32_t d = 0; d < 4 * n_dims; d++)
            assert_case(isfinite(all[d]), "%s: a number of a text's vector is %g", mutant, (double)all[d]);
        assert_case(memcmp(all, one, n_dims * sizeof *one) == 0, "%s: a text has two vectors", mutant);
    }
    free(all);
    free(one);
    thr_tower_free(tower);
}

static const char PAIRS[] = NAME("pairs.tsv"), RESUMED[] = NAME("resumed");

static void small_training(thr_tower_train_options *options) {
    tower_small(options);
    options->config.max_grams = 40;
    options->run.n_epochs = 2;
    options->run.batch = 40;
}

/* A training that was stopped in its second epoch. */
static void make_checkpoint(thr_context *context, const char *path) {
    tower_stopper s = {.stop_at = 4};
    thr_context_options options = {0};
    thr_tower_train_options training;
    thr_context *stoppable = NULL;
    (void)context;
    (void)path;
    options.n_threads = 1;
    options.progress = tower_stop;
    options.progress_user = &s;
    assert_ok(thr_context_create(&options, &stoppable, &error), &error);
    small_training(&training);
    tower_write_pairs(PAIRS, 0, TOWER_PAIRS);
    (void)unlink(RESUMED);
    assert_int_equal(thr_tower_train(stoppable, PAIRS, RESUMED, &training, NULL, &error), THR_ECANCELED);
    assert_true(test_exists(path));
    thr_context_free(stoppable);
}

/* The training goes on, or the checkpoint is refused; what it writes is a model. */
static void check_checkpoint(thr_context *context, const char *path, const char *mutant, counts *n) {
    thr_tower_train_options training;
    counts of_model = {0, 0};
    (void)path;
    small_training(&training);
    training.run.resume = true;
    if (thr_tower_train(context, PAIRS, RESUMED, &training, NULL, &error) != THR_OK)
        return;
    n->opened++;
    check_tower(context, RESUMED, mutant, &of_model);
    assert_case(of_model.opened == 1, "%s: training went on, and wrote a model that is refused", mutant);
    n->verified++;
}

static const char REQUESTS[] = NAME("requests.tsv"), ADS[] = NAME("ads.tsv");

static void make_dual(thr_context *context, const char *path) {
    thr_dual_train_options options;
    dual_small(&options);
    options.run.n_epochs = 1;
    dual_write_items(ADS);
    dual_write_requests(REQUESTS, 0, DUAL_REQUESTS);
    (void)dual_train(context, REQUESTS, ADS, path, &options);
}

static void check_dual(thr_context *context, const char *path, const char *mutant, counts *n) {
    static const char *const texts[] = {"age=1 click.category=2 id=3", "brand=1 category=2 new", "", "unknown=1"};
    thr_dual *dual = NULL;
    if (thr_dual_open(context, path, &dual, &error) != THR_OK)
        return;
    n->opened++;
    const uint32_t n_dims = thr_dual_get_info(dual).n_vector;
    float *all = test_array(4 * (size_t)n_dims, sizeof *all);
    for (int side = 0; side < 2; side++)
        if (thr_dual_encode(dual, (thr_side)side, texts, NULL, 4, all, &error) == THR_OK) {
            n->verified += side == 0;
            for (uint32_t d = 0; d < 4 * n_dims; d++)
                assert_case(isfinite(all[d]), "%s: a number of a vector is %g", mutant, (double)all[d]);
        }
    free(all);
    thr_dual_free(dual);
}

/* ------------------------------------------------------------------------------------------------ all */

static const kind kinds[] = {
    {"posting lists", NAME("lists.hits"), make_hits, fuzz_mutate_sections, check_hits, 1},
    {"heads", NAME("head"), make_head, fuzz_mutate_sections, check_head, 1},
    {"int8 heads", NAME("head8"), make_small_head, fuzz_mutate_sections, check_head, 1},
    {"ranking models", NAME("rank.safetensors"), make_rank_model, fuzz_mutate_model, check_rank_model, 1},
    {"caches of examples", NAME("examples.svm.thr-cache"), make_cache, fuzz_mutate_sections, check_cache, 1},
    {"text towers", NAME("tower.safetensors"), make_tower, mutate_tower, check_tower, 1},
    {"text towers with codes", NAME("codes.safetensors"), make_code_tower, mutate_tower, check_tower, 1},
    {"dual towers", NAME("dual.safetensors"), make_dual, mutate_tower, check_dual, 1},
    {"checkpoints", NAME("resumed.checkpoint"), make_checkpoint, fuzz_mutate_model, check_checkpoint, 4},
};

static void check_kind(thr_context *context, const kind *k, uint64_t n_rounds) {
    counts n = {0, 0};
    size_t size;
    (void)unlink(k->path);
    k->make(context, k->path);
    uint8_t *whole = test_read_file(k->path, &size), *data = test_array(size + MUTANT_ROOM, 1);
    const uint64_t n_mutants = (n_rounds + k->one_in - 1) / k->one_in;
    k->check(context, k->path, k->name, &n);
    assert_true(n.opened == 1 && n.verified == 1);
    for (uint64_t round = 0; round < n_mutants; round++) {
        uint64_t rng = (test_seed() << 32) + round;
        char mutant[100];
        (void)snprintf(mutant, sizeof mutant, "%s, mutant %llu", k->name, (unsigned long long)round);
        memcpy(data, whole, size);
        const size_t now = k->mutate(data, size, size + MUTANT_ROOM, (unsigned)thr_rng_next(&rng));
        test_write_file(k->path, data, now);
        k->check(context, k->path, mutant, &n);
    }
    print_message("%s: %d mutants, %d opened, %d verified or used\n", k->name, (int)n_mutants, (int)n.opened - 1,
                  (int)n.verified - 1);
    (void)unlink(k->path);
    free(whole);
    free(data);
}

TEST(mutants_do_no_harm) {
    const char *rounds = getenv("THR_TEST_ROUNDS");
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        check_kind(*state, &kinds[k], rounds == NULL ? 200 : strtoull(rounds, NULL, 10));
    const char *const others[] = {EXAMPLES, PAIRS, RESUMED, REQUESTS, ADS};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        (void)unlink(others[i]);
}

TEST_IN_CONTEXT(1, NULL)
