/* SPDX-License-Identifier: Apache-2.0 */
/* The trends that RBE's tables 4, 5 and 6 show, one by one: is the first model's AUC above the second's here, too? */
#include <math.h>
#include <stdio.h>

#include "tower.h"

static const struct {
    const char *table;
    bench_model_number more, less; /* in the paper */
    const char *paper;             /* its difference */
} TRENDS[] = {
    {"4", BENCH_RBE_2, BENCH_M_2, "+0.0253"},
    {"4", BENCH_RBE, BENCH_RBE_2, "+0.0033"},
    {"4", BENCH_RBE_3, BENCH_RBE, "+0.0029"},
    {"5", BENCH_M_2_TANH, BENCH_M_2, "+0.0011"},
    {"5", BENCH_RBE_2, BENCH_RBE_2_TANH, "+0.0022"},
    {"5", BENCH_RBE_TANH, BENCH_RBE, "+0.0002"},
    {"5", BENCH_RBE_3, BENCH_RBE_3_TANH, "+0.0020"},
    {"5", BENCH_RBE_2, BENCH_RBE_2_STRAIGHT, "+, both converge"},
    {"5", BENCH_RBE, BENCH_RBE_STRAIGHT, "+, hardly converges"},
    {"5", BENCH_RBE_3, BENCH_RBE_3_STRAIGHT, "+, hardly converges"},
    {"6", BENCH_RBE_2, BENCH_RBE_2_PLAIN, "+0.0086"},
    {"6", BENCH_RBE, BENCH_RBE_PLAIN, "+0.0079"},
    {"6", BENCH_RBE_3, BENCH_RBE_3_PLAIN, "+0.0089"},
};

/* A difference of means with its standard error. Whether it is above 0 shows; whether that is chance, too. */
static void difference_cell(bench_table *table, bench_mean a, bench_mean b) {
    if (a.n == 0 || b.n == 0)
        bench_table_cell(table, "-");
    else if (a.n == 1 || b.n == 1)
        bench_table_cell(table, "%+.4f", a.mean - b.mean);
    else
        bench_table_cell(table, "%+.4f ± %.4f", a.mean - b.mean,
                         sqrt(a.spread * a.spread / a.n + b.spread * b.spread / b.n));
}

void bench_tower_print_trends(bench_tower *bench) {
    static const char *columns[5 + BENCH_N_SETS];
    static bench_table table;
    int n = 0;
    columns[n++] = "table";
    columns[n++] = "model";
    columns[n++] = "less that of";
    columns[n++] = "paper";
    for (int s = 0; s < BENCH_N_SETS; s++)
        if (bench->sets[s].trends)
            columns[n++] = bench->sets[s].name;
    columns[n] = NULL;
    table = (bench_table){.title = "Trends of the paper: differences of AUC, above 0 where ours has the trend",
                          .columns = columns};
    for (size_t i = 0; i < sizeof TRENDS / sizeof *TRENDS; i++) {
        if (!bench_tower_has_table(bench, TRENDS[i].table))
            continue;
        bench_table_row(&table);
        bench_table_cell(&table, "%s", TRENDS[i].table);
        bench_table_cell(&table, "%s", bench_models[TRENDS[i].more].name);
        bench_table_cell(&table, "%s", bench_models[TRENDS[i].less].name);
        bench_table_cell(&table, "%s", TRENDS[i].paper);
        for (int s = 0; s < BENCH_N_SETS; s++)
            if (bench->sets[s].trends)
                difference_cell(&table, bench_tower_mean(bench, TRENDS[i].more, s, "auc"),
                                bench_tower_mean(bench, TRENDS[i].less, s, "auc"));
    }
    if (table.n_rows != 0)
        bench_print(&bench->run, &table);
}
