/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - a line plot as SVG, small enough to be committed. */
#pragma once

#include <stdio.h>

enum { PROG_PLOT_SERIES = 2, PROG_PLOT_POINTS = 256 };

typedef struct prog_series {
    char name[48];
    int n;
    double x[PROG_PLOT_POINTS], y[PROG_PLOT_POINTS];
} prog_series;

typedef struct prog_plot {
    const char *title, *x_label, *y_label;
    int n_series;
    prog_series series[PROG_PLOT_SERIES];
} prog_plot;

/* Begin a series, PROG_PLOT_SERIES at most; its name appears in the legend. */
prog_series *prog_plot_series(prog_plot *plot, const char *name);
void prog_plot_point(prog_series *series, double x, double y);

/* Write the plot; both axes begin at 0, and no number is negative. */
void prog_plot_print(const prog_plot *plot, FILE *file);
