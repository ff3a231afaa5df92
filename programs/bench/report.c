/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdarg.h>
#include <string.h>

void bench_table_row(bench_table *table) {
    if (table->n_rows < BENCH_MAX_ROWS)
        table->n_rows++;
    table->n_cells = 0;
}

void bench_table_cell(bench_table *table, const char *format, ...) {
    if (table->n_cells >= BENCH_MAX_COLUMNS || table->n_rows == 0)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(table->cells[table->n_rows - 1][table->n_cells++], BENCH_CELL, format, args);
    va_end(args);
}

void bench_table_print(const bench_table *table, FILE *file) {
    int widths[BENCH_MAX_COLUMNS] = {0}, n_columns = 0;
    for (; table->columns[n_columns] != NULL; n_columns++) {
        widths[n_columns] = (int)strlen(table->columns[n_columns]);
        for (int r = 0; r < table->n_rows; r++) {
            const int width = (int)strlen(table->cells[r][n_columns]);
            widths[n_columns] = width > widths[n_columns] ? width : widths[n_columns];
        }
    }
    fprintf(file, "### %s\n\n|", table->title);
    for (int c = 0; c < n_columns; c++)
        fprintf(file, " %-*s |", widths[c], table->columns[c]);
    fprintf(file, "\n|");
    for (int c = 0; c < n_columns; c++) {
        for (int i = 0; i < widths[c] + 2; i++)
            fputc('-', file);
        fputc('|', file);
    }
    for (int r = 0; r < table->n_rows; r++) {
        fprintf(file, "\n|");
        for (int c = 0; c < n_columns; c++)
            fprintf(file, " %-*s |", widths[c], table->cells[r][c]);
    }
    fprintf(file, "\n\n");
    (void)fflush(file);
}
