/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_locale.c - reads and writes in a locale with a decimal comma: the same bits and bytes.
 *
 * The locale is made by localedef in the test's directory, for none with a comma may be installed.
 */
#include "unit/io_files.h"

#include <locale.h>

#include <thresher/metric.h>
#include <thresher/rank.h>
#include <thresher/ranking.h>

#include "base/text/number.h"
#include "io/numeral.h"
#include "dual_tower/words.h"
#include "text_tower/read_pairs.h"

static const double weights[] = {0.1, -2.5, 1.0 / 3, 1e-300, -0x1.fffffffffffffp1023};
static const char *const numerals[] = {
    "0.5", "-1234.5678e-3", "0.10000000149011612", "3.14159265358979323846264338327950288", "1e-40", ".5"};
static const char pairs_text[] = "a\tb\t0.75\na\tc\t0.25\na\td\t1,5\na\te\t 1.5\na\tf\tinf\n";
static const char ranking_text[] = "1.5 qid:1 1:0.30000001 2:1e-3\n0.25 qid:1 1:2.75\n";

enum { N_WEIGHTS = COUNT_OF(weights), N_NUMERALS = COUNT_OF(numerals), PAIRS = 5, TEXT_MOST = 1024 };

/* Everything that was read and written; compared byte by byte, so set to 0 before. */
typedef struct everything {
    double numerals[N_NUMERALS], weights[N_WEIGHTS], labels[2];
    float halves[N_NUMERALS], word, features[4];
    uint64_t n_pairs, n_refused;
    bool good[PAIRS];
    char signature[THR_BLEU_SIGNATURE_SIZE], model[TEXT_MOST], large[32];
} everything;

static void take_numerals(everything *all) {
    for (size_t i = 0; i < N_NUMERALS; i++) {
        const char *const end = numerals[i] + strlen(numerals[i]);
        thr_numeral number;
        assert_ptr_equal(thr_numeral_scan(numerals[i], end, &number), end);
        all->numerals[i] = thr_numeral_double(&number);
        all->halves[i] = thr_numeral_float(&number);
    }
    (void)thr_number_text(all->large, sizeof all->large, "%.2f", 1234567.875);
}

/* A model as LIBLINEAR's text, written and read. */
static void take_model(everything *all) {
    thr_rank_model *model = NULL;
    expect_ok(thr_rank_model_from_weights(io_context, weights, N_WEIGHTS, &model, &err));
    expect_ok(thr_rank_model_save(model, in_dir("model.txt"), &err));
    thr_rank_model_free(model);
    FILE *file = fopen(in_dir("model.txt"), "rb");
    assert_non_null(file);
    assert_true(fread(all->model, 1, TEXT_MOST - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    expect_ok(thr_rank_model_open(io_context, in_dir("model.txt"), &model, &err));
    memcpy(all->weights, thr_rank_model_weights(model), sizeof all->weights);
    thr_rank_model_free(model);
}

static void take_ranking(everything *all) {
    bytes file = {0};
    thr_ranking *ranking = NULL;
    put_text(&file, ranking_text);
    expect_ok(thr_ranking_open(io_context, write_file("rows.svm", &file), NULL, &ranking, &err));
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    memcpy(all->labels, view.labels, sizeof all->labels);
    assert_true(view.n_rows == 2 && view.n_features == 2 && (view.dense != NULL || view.sparse.values != NULL));
    memcpy(all->features, view.dense != NULL ? view.dense : view.sparse.values, 3 * sizeof(float));
    thr_ranking_free(ranking);
    drop(&file);
}

static void take_pairs(everything *all) {
    const thr_pairs_format format = {.query_column = 1, .item_column = 2, .label_column = 3, .least_label = 0.5f};
    bytes file = {0};
    thr_pair_rows rows;
    thr_pair_row row;
    bool got = true;
    put_text(&file, pairs_text);
    expect_ok(thr_text_pair_rows_open(io_context, write_file("pairs.tsv", &file), &format, &rows, &err));
    while (thr_text_pair_rows_next(&rows, &row, &got, &err) == THR_OK && got)
        all->good[all->n_pairs++] = row.good;
    all->n_refused = rows.n_refused;
    thr_text_pair_rows_close(&rows);
    drop(&file);
}

static void take_all(everything *all) {
    static const char word[] = "price=usd:1.5";
    size_t length = sizeof word - 1;
    thr_bleu_options bleu = {0};
    memset(all, 0, sizeof *all);
    take_numerals(all);
    take_model(all);
    take_ranking(all);
    take_pairs(all);
    assert_true(thr_dual_cut_number(word, &length, &all->word));
    bleu.smoothing = THR_BLEU_SMOOTHING_FLOOR;
    bleu.smoothing_value = 0.25;
    expect_ok(thr_bleu_signature(&bleu, 1, all->signature, &err));
}

static void in_shell(const char *command) {
    char line[256];
    (void)snprintf(line, sizeof line, "cd %s && %s", test_dir, command);
    (void)!system(line);
}

/* A locale whose numbers have a comma, and dots between thousands; false where there is no localedef. */
static bool set_comma(void) {
    static const char *const others[] = {"LC_CTYPE", "LC_COLLATE", "LC_MONETARY", "LC_TIME", "LC_MESSAGES"};
    bytes source = {0};
    put_text(&source, "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
    for (size_t i = 0; i < COUNT_OF(others); i++)
        for (size_t part = 0; part < 3; part++) {
            put_text(&source, part == 2 ? "END " : "");
            put_text(&source, part == 1 ? "copy \"POSIX\"" : others[i]);
            put_text(&source, "\n");
        }
    (void)write_file("comma", &source);
    drop(&source);
    in_shell("localedef -c --no-archive -i ./comma ./comma_XX >localedef.log 2>&1"); /* it warns, and fails */
    const bool is_set = setenv("LOCPATH", test_dir, 1) == 0 && setlocale(LC_ALL, "comma_XX") != NULL;
    in_shell("rm -rf comma_XX");
    return is_set;
}

TEST(a_comma_for_a_point_changes_no_bit) {
    everything *points = test_new(1, sizeof *points), *commas = test_new(1, sizeof *commas);
    char text[16];
    take_all(points);
    assert_string_equal(points->large, "1234567.88");
    assert_non_null(strstr(points->signature, "[0.25]"));
    assert_true(points->word == 1.5f && points->labels[0] == 1.5 && points->features[2] == 2.75f);
    assert_true(points->n_pairs == 4 && points->n_refused == 1 && points->good[0] && !points->good[1]);
    assert_memory_equal(points->weights, weights, sizeof weights);
    if (!set_comma()) {
        skip();
    }
    (void)snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5"); /* the locale is the process's */
    take_all(commas);
    (void)setlocale(LC_ALL, "C");
    assert_string_equal(commas->large, points->large);
    assert_string_equal(commas->signature, points->signature);
    assert_string_equal(commas->model, points->model);
    assert_true(commas->word == points->word && commas->n_refused == points->n_refused);
    assert_memory_equal(commas, points, sizeof *points);
}
