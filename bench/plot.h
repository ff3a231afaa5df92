/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - a line plot as SVG, small enough to be committed. */
#ifndef THRESHER_BENCH_PLOT_H
#define THRESHER_BENCH_PLOT_H

#include <stdbool.h>
#include <stdio.h>

enum { BENCH_PLOT_SERIES = 8, BENCH_PLOT_POINTS = 256 };

typedef struct bench_series {
    char name[48];
    int n;
    double x[BENCH_PLOT_POINTS], y[BENCH_PLOT_POINTS];
} bench_series;

typedef struct bench_plot {
    const char *title, *x_label, *y_label;
    double x_least; /* points left of it are not drawn */
    double y_least; /* where the y axis begins, or below; not with log_y */
    bool log_y;     /* y, which then is above 0, by powers of ten */
    int n_series;
    bench_series series[BENCH_PLOT_SERIES];
} bench_plot;

/* Begin a series; its name stands in the legend. */
bench_series *bench_plot_series(bench_plot *plot, const char *name);
void bench_plot_point(bench_series *series, double x, double y);

/* Write the plot. The y axis begins at y_least, but for log_y. */
void bench_plot_print(const bench_plot *plot, FILE *file);

/* The same to a file of its own; -1 when it cannot be written. */
int bench_plot_write(const bench_plot *plot, const char *path);

#endif
