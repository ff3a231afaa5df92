/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdarg.h>
#include <string.h>

void bench_table_begin(bench_table *table, const char *title, const char *columns) {
    *table = (bench_table){.title = title, .columns = columns};
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

static void print_row(const char *row, const int *widths, int n_columns, FILE *file) {
    fprintf(file, "|");
    for (int c = 0; c < n_columns; c++) {
        int length;
        const char *cell = next_cell(&row, &length);
        fprintf(file, " %.*s%*s |", length, cell, widths[c] - length, "");
    }
    fprintf(file, "\n");
}

void bench_table_print(const bench_table *table, FILE *file) {
    int widths[BENCH_MAX_COLUMNS] = {0};
    const int n_columns = widen(table->columns, widths);
    for (int r = 0; r < table->n_rows; r++)
        (void)widen(table->rows[r], widths);
    fprintf(file, "### %s\n\n", table->title);
    print_row(table->columns, widths, n_columns, file);
    fprintf(file, "|");
    for (int c = 0; c < n_columns; c++) {
        for (int i = 0; i < widths[c] + 2; i++)
            fputc('-', file);
        fputc('|', file);
    }
    fprintf(file, "\n");
    for (int r = 0; r < table->n_rows; r++)
        print_row(table->rows[r], widths, n_columns, file);
    fprintf(file, "\n");
    (void)fflush(file);
}
