/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdarg.h>
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

bench_table *bench_table_begin(const char *title, const char *columns) {
    bench_table *table = bench_alloc(sizeof *table);
    table->title = title;
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

void bench_print(const bench_table *table) {
    int widths[BENCH_MAX_COLUMNS] = {0};
    const int n_columns = widen(table->columns, widths);
    for (int r = 0; r < table->n_rows; r++)
        (void)widen(table->rows[r], widths);
    printf("### %s\n\n", table->title);
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

void bench_print_text(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)fflush(stdout);
}

void bench_print_title(const char *command) {
    char machine[256];
    bench_machine(machine, sizeof machine);
    bench_print_text("## thresher-bench %s\n\nthresher %s, %s, %s, 1 thread.\n\n", command, thr_version(), machine,
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
    bench_table *table = bench_table_begin("Figures and targets", "figure | target | measured | met");
    for (int i = 0; i < n_figures; i++) {
        const figure *f = &figures[i];
        const bool met = f->at_least ? f->value >= f->target : f->value <= f->target;
        bench_row(table, "%s | %s %.4g | %.4g | %s", f->text, f->at_least ? ">=" : "<=", f->target, f->value,
                  met ? "yes" : "**no**");
    }
    if (n_figures > 0)
        bench_print(table);
}
