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

/* A row of results/, but for the machine's name, date and commit, which shared/results.py adds. */
enum { ROOM = 2 * BENCH_ROW };
typedef struct csv_row {
    const char *name;
    char data[ROOM], system[ROOM], setting[ROOM]; /* data: in front of the name */
} csv_row;

/* NULL without --csv. */
static FILE *open_csv(void) {
    FILE *file = bench.values->csv == NULL ? NULL : fopen(bench.values->csv, "a");
    if (bench.values->csv != NULL && file == NULL)
        bench_fail("%s: could not be written", bench.values->csv);
    return file;
}

static void close_csv(FILE *file) {
    if (file != NULL && fclose(file) != 0)
        bench_fail("%s: could not be written", bench.values->csv);
}

/* A cell in quotes, and a comma. */
static void write_text(FILE *file, const char *text) {
    (void)putc('"', file);
    for (; *text != '\0'; text++)
        (void)fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    (void)fputs("\",", file);
}

/* One figure; cells that are no number are left out. */
static void write_figure(FILE *file, const csv_row *row, const char *unit, const char *value, const char *target) {
    char number[BENCH_ROW], *end;
    size_t n = 0;
    for (const char *c = value; *c != '\0'; c++)
        if (*c != ',')
            number[n++] = *c;
    number[n] = '\0';
    (void)strtod(number, &end);
    if (n == 0 || *end != '\0')
        return;
    write_text(file, thr_isa_name(thr_context_isa(bench.context)));
    (void)fputs(",,", file);
    write_text(file, subject);
    char name[2 * ROOM] = "";
    (void)snprintf(name, sizeof name, "%s%s", row->data, row->name);
    write_text(file, name);
    write_text(file, row->system);
    write_text(file, row->setting);
    write_text(file, unit);
    (void)fprintf(file, "%s,,%s\n", number, target);
}

/* Append words to text, which has room for ROOM bytes. */
static void append(char *text, const char *words) {
    (void)strncat(text, words, ROOM - strlen(text) - 1);
}

/* column: what a key is, with its value. "what" and "setting" are no names to repeat in each row. */
static void add_key(csv_row *row, const char *column, const char *value) {
    if (strcmp(column, "system") == 0) {
        row->system[0] = '\0';
        append(row->system, value);
    } else if (strcmp(column, "data") == 0) {
        append(row->data, value);
        append(row->data, ": ");
    } else if (*value != '\0') {
        append(row->setting, row->setting[0] != '\0' ? "; " : "");
        if (strcmp(column, "what") != 0 && strcmp(column, "setting") != 0) {
            append(row->setting, column);
            append(row->setting, " ");
        }
        append(row->setting, value);
    }
}

static void write_figures(FILE *file, const bench_table *table, const char *cells) {
    const char *columns = table->columns;
    csv_row row = {.system = "Thresher", .name = table->name};
    for (int c = 0; *columns != '\0'; c++) {
        char column[BENCH_ROW], value[BENCH_ROW];
        int length;
        const char *at = next_cell(&columns, &length);
        (void)snprintf(column, sizeof column, "%.*s", length, at);
        at = next_cell(&cells, &length);
        (void)snprintf(value, sizeof value, "%.*s", length, at);
        if (c < table->n_keys)
            add_key(&row, column, value);
        else
            write_figure(file, &row, column, value, "");
    }
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
    FILE *file = open_csv();
    print_text(table);
    for (int r = 0; r < table->n_rows && file != NULL; r++)
        write_figures(file, table, table->rows[r]);
    close_csv(file);
}

void bench_print_text(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)fflush(stdout);
}

void bench_print_title(const char *of) {
    char machine[256];
    bench_machine(machine, sizeof machine);
    subject = of;
    bench_print_text("## %s\n\nthresher %s, %s, %s, 1 thread.\n\n", subject, thr_version(), machine,
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
    FILE *file = open_csv();
    for (int i = 0; i < n_figures; i++) {
        const figure *f = &figures[i];
        const bool met = f->at_least ? f->value >= f->target : f->value <= f->target;
        char target[32], value[32];
        (void)snprintf(target, sizeof target, "%s %.4g", f->at_least ? ">=" : "<=", f->target);
        (void)snprintf(value, sizeof value, "%.4g", f->value);
        bench_row(table, "%s | %s | %s | %s", f->text, target, value, met ? "yes" : "**no**");
        if (file != NULL)
            write_figure(file, &(csv_row){.system = "Thresher", .name = "targets"}, f->text, value, target);
    }
    close_csv(file);
    if (n_figures > 0)
        print_text(table);
}
