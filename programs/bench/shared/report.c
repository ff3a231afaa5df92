/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A figure with the bound it is held to. */
typedef struct figure {
    char text[160];
    double value, target;
    bool at_least; /* the target is a lower bound */
} figure;

enum { MOST_FIGURES = 32 };
static figure figures[MOST_FIGURES];
static int n_figures;

static const char *subject = "";

bench_table *bench_table_begin(const char *name, int n_keys, const char *columns) {
    bench_table *table = bench_alloc(sizeof *table);
    table->name = name;
    table->n_keys = n_keys;
    table->columns = columns;
    return table;
}

static void add(bench_table *table, const char *format, va_list args) {
    char *row = table->rows[table->n_rows - 1];
    const size_t used = strlen(row);
    (void)vsnprintf(row + used, BENCH_ROW - used, format, args);
}

void bench_row(bench_table *table, const char *format, ...) {
    va_list args;
    if (table->n_rows < BENCH_MAX_ROWS)
        table->n_rows++;
    table->rows[table->n_rows - 1][0] = '\0';
    va_start(args, format);
    add(table, format, args);
    va_end(args);
}

void bench_cells(bench_table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)strncat(table->rows[table->n_rows - 1], " | ", BENCH_ROW - strlen(table->rows[table->n_rows - 1]) - 1);
    add(table, format, args);
    va_end(args);
}

/* The cell at *at, of *length bytes, and *at after it; at the end of the row an empty one. */
static const char *next_cell(const char **at, int *length) {
    const char *cell = *at, *end = strstr(cell, " | ");
    *length = (int)(end == NULL ? strlen(cell) : (size_t)(end - cell));
    *at = end == NULL ? cell + *length : end + 3;
    return cell;
}

static int widen(const char *row, int widths[BENCH_MAX_COLUMNS]) {
    int n = 0;
    for (; *row != '\0' && n < BENCH_MAX_COLUMNS; n++) {
        int length;
        (void)next_cell(&row, &length);
        widths[n] = length > widths[n] ? length : widths[n];
    }
    return n;
}

static void print_row(const char *row, const int *widths, int n_columns) {
    printf("|");
    for (int c = 0; c < n_columns; c++) {
        int length;
        const char *cell = next_cell(&row, &length);
        printf(" %.*s%*s |", length, cell, widths[c] - length, "");
    }
    printf("\n");
}

/* ------------------------------------------------------------------------------------------------ rows of results/ */

/*
 * With --csv, append a row of a table in seven fields, between tabs: CPU level, subject, case, number of keys, columns,
 * cells, target. shared/results.py makes a figure of each number.
 */
static void write_row(const bench_table *table, const char *columns, const char *cells, const char *target) {
    if (bench.values->csv == NULL)
        return;
    FILE *file = fopen(bench.values->csv, "a");
    const bool written =
        file != NULL && fprintf(file, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", thr_isa_name(thr_context_isa(bench.context)),
                                subject, table->name, table->n_keys, columns, cells, target) > 0;
    if (file == NULL || fclose(file) != 0 || !written)
        bench_fail("%s: could not be written", bench.values->csv);
}

/* ------------------------------------------------------------------------------------------------ printing */

static void print_text(const bench_table *table) {
    int widths[BENCH_MAX_COLUMNS] = {0};
    const int n_columns = widen(table->columns, widths);
    for (int r = 0; r < table->n_rows; r++)
        (void)widen(table->rows[r], widths);
    printf("### %s\n\n", table->name);
    print_row(table->columns, widths, n_columns);
    printf("|");
    for (int c = 0; c < n_columns; c++) {
        for (int i = 0; i < widths[c] + 2; i++)
            putchar('-');
        putchar('|');
    }
    printf("\n");
    for (int r = 0; r < table->n_rows; r++)
        print_row(table->rows[r], widths, n_columns);
    bench_print_text("\n");
}

void bench_print(const bench_table *table) {
    print_text(table);
    for (int r = 0; r < table->n_rows; r++)
        write_row(table, table->columns, table->rows[r], "");
}

void bench_print_text(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)fflush(stdout);
}

void bench_print_title(const char *of) {
    subject = of;
    bench_print_text("## %s\n\nthresher %s, %s, 1 thread.\n\n", subject, thr_version(),
                     thr_isa_name(thr_context_isa(bench.context)));
}

void bench_figure(bool at_least, double value, double target, const char *format, ...) {
    va_list args;
    if (n_figures == MOST_FIGURES)
        bench_fail("more than %d figures", MOST_FIGURES);
    figure *f = &figures[n_figures++];
    *f = (figure){.value = value, .target = target, .at_least = at_least};
    va_start(args, format);
    (void)vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

void bench_print_figures(void) {
    bench_table *table = bench_table_begin("targets", 1, "figure | target | measured | met");
    const bench_table own = {.name = table->name};
    for (int i = 0; i < n_figures; i++) {
        const figure *f = &figures[i];
        const bool met = f->at_least ? f->value >= f->target : f->value <= f->target;
        char target[32], value[32];
        (void)snprintf(target, sizeof target, "%s %.4g", f->at_least ? ">=" : "<=", f->target);
        (void)snprintf(value, sizeof value, "%.4g", f->value);
        bench_row(table, "%s | %s | %s | %s", f->text, target, value, met ? "yes" : "**no**");
        write_row(&own, f->text, value, target);
    }
    if (n_figures > 0)
        print_text(table);
}
