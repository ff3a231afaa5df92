/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - a line plot as SVG, small enough to be committed. */
#ifndef THRESHER_PROG_PLOT_H
#define THRESHER_PROG_PLOT_H

#include <stdbool.h>
#include <stdio.h>

enum { PROG_PLOT_SERIES = 8, PROG_PLOT_POINTS = 256 };

typedef struct prog_series {
    char name[48];
    int n;
    double x[PROG_PLOT_POINTS], y[PROG_PLOT_POINTS];
} prog_series;

typedef struct prog_plot {
    const char *title, *x_label, *y_label;
    double x_least; /* points left of it are not drawn */
    double y_least; /* lowest y of the axis; ignored with log_y */
    bool log_y;     /* logarithmic y axis; values must be positive */
    int n_series;
    prog_series series[PROG_PLOT_SERIES];
} prog_plot;

/* Begin a series; its name appears in the legend. */
prog_series *prog_plot_series(prog_plot *plot, const char *name);
void prog_plot_point(prog_series *series, double x, double y);

/* Write the plot. The y axis begins at y_least, but for log_y. */
void prog_plot_print(const prog_plot *plot, FILE *file);

/* Write the plot to a file; returns -1 on failure. */
int prog_plot_write(const prog_plot *plot, const char *path);

#endif
