/* SPDX-License-Identifier: Apache-2.0 */
/* What `bench tower` prints: RBE's tables 2, 4, 5 and 6 on our data, codes against codes, and figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "program.h"
#include "tower.h"

static const double TARGET_LIFT = 80, TARGET_LIFT_SETS = 2, TARGET_ORDER = 4;

bench_mean bench_tower_mean(const bench_tower *bench, bench_model_number model, int set, const char *field) {
    bench_mean m = {0};
    double squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < BENCH_MAX_SEEDS; s++) {
            const double x = bench_record_get(&bench->results[model][set][s], field);
            if (isnan(x))
                continue;
            if (pass == 0) {
                m.mean += (x - m.mean) / ++m.n;
            } else {
                squares += (x - m.mean) * (x - m.mean);
            }
        }
    m.spread = m.n > 1 ? sqrt(squares / (m.n - 1)) : 0;
    return m;
}

/* "-" where nothing was measured, or every training diverged. */
static void cell(bench_table *table, bench_mean m) {
    if (m.n == 0)
        bench_table_cell(table, "-");
    else if (m.n == 1)
        bench_table_cell(table, "%.4f", m.mean);
    else
        bench_table_cell(table, "%.4f ± %.4f", m.mean, m.spread);
}

static void bits_cell(bench_table *table, uint32_t bits) {
    if (bits == THR_FLOAT_BITS)
        bench_table_cell(table, "float");
    else
        bench_table_cell(table, "%u", bits);
}

/* How far of the way from m_3 to m_1 an AUC is beyond m_3's, in per cent (RBE 8.1); NaN where there is no way. */
static double lift(const bench_tower *bench, int set, double auc, double from) {
    const bench_mean low = bench_tower_mean(bench, BENCH_M_3, set, "auc"),
                     high = bench_tower_mean(bench, BENCH_M_1, set, "auc");
    return low.n == 0 || high.n == 0 || !(high.mean > low.mean) ? NAN : 100 * (auc - from) / (high.mean - low.mean);
}

static void lift_cell(bench_table *table, double percent) {
    if (isnan(percent))
        bench_table_cell(table, "-");
    else
        bench_table_cell(table, "%.1f", percent);
}

/* ------------------------------------------------------------------------------------------------ table 2 */

static const bench_model_number ORDER[] = {BENCH_M_2, BENCH_M_3, BENCH_RBE, BENCH_M_5, BENCH_M_1};
enum { N_ORDER = sizeof ORDER / sizeof *ORDER };

/* m_2 < m_3 < rbe* <= m_5 <= m_1: how many of the four hold for the means. */
static int order(bench_tower *bench, int set) {
    int n_held = 0;
    for (int i = 0; i + 1 < N_ORDER; i++) {
        const bench_mean a = bench_tower_mean(bench, ORDER[i], set, "auc"),
                         b = bench_tower_mean(bench, ORDER[i + 1], set, "auc");
        const bool held = i < 2 ? a.mean < b.mean : a.mean <= b.mean;
        n_held += held;
        if (!held)
            bench_say(&bench->run, "%s: %s is above %s by %.4f; over %d seeds they spread by %.4f and %.4f.\n\n",
                      bench->sets[set].name, bench_models[ORDER[i]].name, bench_models[ORDER[i + 1]].name,
                      a.mean - b.mean, a.n, a.spread, b.spread);
    }
    return n_held;
}

static void print_accuracy(bench_tower *bench, int set) {
    static const char *const columns[] = {"model",    "dims", "query bits", "item bits",
                                          "log loss", "AUC",  "lift %",     NULL};
    static const bench_model_number rows[] = {BENCH_M_1, BENCH_M_2, BENCH_M_3, BENCH_RBE, BENCH_M_5};
    static bench_table table;
    char title[128];
    (void)snprintf(title, sizeof title, "Table 2, %s: AUC against %s", bench->sets[set].name,
                   bench->sets[set].labelled ? "pairs that people called bad" : "sampled items");
    table = (bench_table){.title = title, .columns = columns};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bench_model *model = &bench_models[rows[i]];
        const bench_mean auc = bench_tower_mean(bench, rows[i], set, "auc"),
                         base = bench_tower_mean(bench, BENCH_M_3, set, "auc");
        bench_table_row(&table);
        bench_table_cell(&table, "%s", model->name);
        bench_table_cell(&table, "%u", model->n_dims);
        bits_cell(&table, model->query_bits);
        bits_cell(&table, model->item_bits);
        cell(&table, bench_tower_mean(bench, rows[i], set, "loss"));
        cell(&table, auc);
        lift_cell(&table, rows[i] == BENCH_M_1 || rows[i] == BENCH_M_3 ? NAN : lift(bench, set, auc.mean, base.mean));
    }
    bench_print(&bench->run, &table);
    const bench_mean low = bench_tower_mean(bench, BENCH_M_3, set, "auc"),
                     high = bench_tower_mean(bench, BENCH_M_1, set, "auc");
    bench_say(&bench->run, "From m_3 to m_1, the reference gap: %.4f.\n\n", high.mean - low.mean);
}

static void print_table_2(bench_tower *bench) {
    int n_lifted = 0, n_sets = 0;
    for (int s = 0; s < BENCH_N_SETS; s++) {
        if (!bench->sets[s].there)
            continue;
        print_accuracy(bench, s);
        const double percent = lift(bench, s, bench_tower_mean(bench, BENCH_RBE, s, "auc").mean,
                                    bench_tower_mean(bench, BENCH_M_3, s, "auc").mean);
        n_lifted += percent >= TARGET_LIFT;
        n_sets++;
        bench_figure(&bench->run, "rbe_auc_lift_percent", percent, TARGET_LIFT, true,
                     "AUC lift of rbe* from m_3 toward m_1, %s, %%", bench->sets[s].name);
        bench_figure(&bench->run, "order_of_models", order(bench, s), TARGET_ORDER, true,
                     "of m_2 < m_3 < rbe* <= m_5 <= m_1 hold, %s", bench->sets[s].name);
    }
    if (n_sets > 1)
        bench_figure(&bench->run, "sets_with_lift", n_lifted, TARGET_LIFT_SETS, true,
                     "data sets where that lift is %.0f %% or more", TARGET_LIFT);
}

/* ------------------------------------------------------------------------------------------------ 4, 5, 6 */

/* Columns of a table that has some for every data set, and their names. */
typedef struct wide_table {
    bench_table table;
    char names[BENCH_MAX_COLUMNS][BENCH_CELL];
    const char *columns[BENCH_MAX_COLUMNS + 1];
    int n;
} wide_table;
static wide_table wide;

static void add_column(const char *set, const char *name) {
    (void)snprintf(wide.names[wide.n], BENCH_CELL, "%s%s%s", set, *set == '\0' ? "" : ", ", name);
    wide.columns[wide.n] = wide.names[wide.n];
    wide.n++;
}

static void start_table(const char *title) {
    memset(&wide, 0, sizeof wide);
    wide.table.title = title;
    wide.table.columns = wide.columns;
    add_column("", "model");
}

static void print_table_4(bench_tower *bench) {
    static const bench_model_number rows[] = {BENCH_M_2, BENCH_RBE_2, BENCH_RBE, BENCH_RBE_3};
    start_table("Table 4: bits a dimension, log loss and AUC");
    add_column("", "query bits");
    add_column("", "item bits");
    for (int s = 0; s < BENCH_N_SETS; s++)
        if (bench->sets[s].trends) {
            add_column(bench->sets[s].name, "loss");
            add_column(bench->sets[s].name, "AUC");
        }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench_table_row(&wide.table);
        bench_table_cell(&wide.table, "%s", bench_models[rows[i]].name);
        bits_cell(&wide.table, bench_models[rows[i]].query_bits);
        bits_cell(&wide.table, bench_models[rows[i]].item_bits);
        for (int s = 0; s < BENCH_N_SETS; s++)
            if (bench->sets[s].trends) {
                cell(&wide.table, bench_tower_mean(bench, rows[i], s, "loss"));
                cell(&wide.table, bench_tower_mean(bench, rows[i], s, "auc"));
            }
    }
    bench_print(&bench->run, &wide.table);
}

static void print_table_5(bench_tower *bench) {
    static const bench_model_number rows[][3] = {{BENCH_M_2, BENCH_M_2_STRAIGHT, BENCH_M_2_TANH},
                                                 {BENCH_RBE_2, BENCH_RBE_2_STRAIGHT, BENCH_RBE_2_TANH},
                                                 {BENCH_RBE, BENCH_RBE_STRAIGHT, BENCH_RBE_TANH},
                                                 {BENCH_RBE_3, BENCH_RBE_3_STRAIGHT, BENCH_RBE_3_TANH}};
    static const char *const estimators[] = {"variant", "straight", "tanh"};
    start_table("Table 5: how gradients pass signs, AUC");
    for (int s = 0; s < BENCH_N_SETS; s++)
        for (int e = 0; e < 3 && bench->sets[s].trends; e++)
            add_column(bench->sets[s].name, estimators[e]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench_table_row(&wide.table);
        bench_table_cell(&wide.table, "%s", bench_models[rows[i][0]].name);
        for (int s = 0; s < BENCH_N_SETS; s++)
            for (int e = 0; e < 3 && bench->sets[s].trends; e++)
                cell(&wide.table, bench_tower_mean(bench, rows[i][e], s, "auc"));
    }
    bench_print(&bench->run, &wide.table);
}

static void print_table_6(bench_tower *bench) {
    static const bench_model_number rows[][2] = {
        {BENCH_RBE_2_PLAIN, BENCH_RBE_2}, {BENCH_RBE_PLAIN, BENCH_RBE}, {BENCH_RBE_3_PLAIN, BENCH_RBE_3}};
    start_table("Table 6: residuals in full and weighted 1/2, 1/4, ..., AUC");
    for (int s = 0; s < BENCH_N_SETS; s++)
        if (bench->sets[s].trends) {
            add_column(bench->sets[s].name, "no weights");
            add_column(bench->sets[s].name, "weights");
            add_column(bench->sets[s].name, "lift %");
        }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bench_table_row(&wide.table);
        bench_table_cell(&wide.table, "%s", bench_models[rows[i][1]].name);
        for (int s = 0; s < BENCH_N_SETS; s++)
            if (bench->sets[s].trends) {
                const bench_mean plain = bench_tower_mean(bench, rows[i][0], s, "auc"),
                                 weighted = bench_tower_mean(bench, rows[i][1], s, "auc");
                cell(&wide.table, plain);
                cell(&wide.table, weighted);
                lift_cell(&wide.table, lift(bench, s, weighted.mean, plain.mean));
            }
    }
    bench_print(&bench->run, &wide.table);
}

/* ------------------------------------------------------------------------------------------------ codes */

static void codes_row(bench_tower *bench, bench_table *table, int set, const char *words, bench_model_number model,
                      const char *bytes, const char *recall, const char *auc) {
    bench_table_row(table);
    bench_table_cell(table, "%s", bench->sets[set].name);
    bench_table_cell(table, "%s", words);
    if (bytes == NULL)
        bench_table_cell(table, "256");
    else
        bench_table_cell(table, "%.1f", bench_tower_mean(bench, model, set, bytes).mean);
    cell(table, bench_tower_mean(bench, model, set, recall));
    cell(table, bench_tower_mean(bench, model, set, auc));
}

static void print_codes(bench_tower *bench) {
    static const char *const columns[] = {"data", "codes", "bytes an item", "recall@100 of the right item",
                                          "AUC",  NULL};
    static bench_table table;
    table = (bench_table){.title = "Codes that are learned, and codes made of m_1's vectors", .columns = columns};
    for (int s = 0; s < BENCH_N_SETS; s++) {
        if (!bench->sets[s].there)
            continue;
        codes_row(bench, &table, s, "m_1, floats", BENCH_M_1, NULL, "recall", "auc");
        codes_row(bench, &table, s, "m_1, XFBQ of 2 bits", BENCH_M_1, "xfbq2_bytes", "xfbq2_recall", "xfbq2_auc");
        codes_row(bench, &table, s, "m_1, XFBQ of 2 bits, queries of 3", BENCH_M_1, "xfbq2_bytes",
                  "xfbq2_coarse_recall", "xfbq2_coarse_auc");
        codes_row(bench, &table, s, "m_1, XFBQ of 1 bit", BENCH_M_1, "xfbq1_bytes", "xfbq1_recall", "xfbq1_auc");
        codes_row(bench, &table, s, "rbe*", BENCH_RBE, "bytes", "recall", "auc");
        codes_row(bench, &table, s, "m_5, queries of floats", BENCH_M_5, "bytes", "recall", "auc");
    }
    bench_print(&bench->run, &table);
    for (int s = 0; s < BENCH_N_SETS; s++) {
        if (!bench->sets[s].there)
            continue;
        const bench_mean recall = bench_tower_mean(bench, BENCH_RBE, s, "recall"),
                         auc = bench_tower_mean(bench, BENCH_RBE, s, "auc"),
                         xfbq_recall = bench_tower_mean(bench, BENCH_M_1, s, "xfbq2_recall"),
                         xfbq_auc = bench_tower_mean(bench, BENCH_M_1, s, "xfbq2_auc");
        bench_figure(&bench->run, "rbe_recall_over_xfbq", recall.mean - xfbq_recall.mean, 0, true,
                     "recall@100 of rbe* less that of 2-bit XFBQ on m_1, %s", bench->sets[s].name);
        bench_figure(&bench->run, "rbe_auc_over_xfbq", auc.mean - xfbq_auc.mean, 0, true,
                     "AUC of rbe* less that of 2-bit XFBQ on m_1, %s", bench->sets[s].name);
    }
}

/* ------------------------------------------------------------------------------------------------ all */

static void print_json_line(bench_tower *bench, bench_model_number model, int set) {
    static const char *const fields[] = {
        "auc",          "loss",      "auc_sampled",         "recall",           "bytes",
        "xfbq2_recall", "xfbq2_auc", "xfbq2_coarse_recall", "xfbq2_coarse_auc", "xfbq2_bytes",
        "xfbq1_recall", "xfbq1_auc", "xfbq1_bytes",         "n_items",          "n_epochs",
        "best_epoch",   "valid_auc"};
    prog_json json = prog_json_to(stdout);
    char key[BENCH_FIELD_NAME + 16];
    prog_json_open(&json, '{');
    prog_json_key_text(&json, "train", bench_tower_together(bench) ? "together" : "own");
    prog_json_key_text(&json, "data", bench->sets[set].name);
    prog_json_key_text(&json, "model", bench_models[model].name);
    prog_json_key_count(&json, "n_seeds", (uint64_t)bench_tower_mean(bench, model, set, "auc").n);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const bench_mean m = bench_tower_mean(bench, model, set, fields[f]);
        if (m.n == 0)
            continue;
        prog_json_key_real(&json, fields[f], m.mean);
        (void)snprintf(key, sizeof key, "%s_spread", fields[f]);
        prog_json_key_real(&json, key, m.spread);
    }
    prog_json_close(&json, '}');
    prog_json_end(&json);
}

void bench_tower_print(bench_tower *bench) {
    for (int s = 0; s < BENCH_N_SETS && bench->run.program->globals.json; s++)
        for (int m = 0; m < BENCH_N_MODELS; m++)
            if (bench->wanted[m][s])
                print_json_line(bench, (bench_model_number)m, s);
    if (bench_tower_has_table(bench, "2"))
        print_table_2(bench);
    if (bench_tower_has_table(bench, "4"))
        print_table_4(bench);
    if (bench_tower_has_table(bench, "5"))
        print_table_5(bench);
    if (bench_tower_has_table(bench, "6"))
        print_table_6(bench);
    bench_tower_print_trends(bench);
    if (bench_tower_has_table(bench, "codes"))
        print_codes(bench);
    bench_say(&bench->run,
              "Mean ± standard deviation over seeds. Lift: of the way from m_3's AUC to m_1's, how much.\n\n");
}
