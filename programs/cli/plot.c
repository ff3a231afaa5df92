/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plot.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 720, HEIGHT = 420, LEFT = 80, RIGHT = 30, TOP = 50, BOTTOM = 60, TICKS = 5 };

static const char *const COLOURS[PROG_PLOT_SERIES] = {"#1b6ca8", "#d1495b"};

prog_series *prog_plot_series(prog_plot *plot, const char *name) {
    prog_series *series = &plot->series[plot->n_series++];
    series->n = 0;
    (void)snprintf(series->name, sizeof series->name, "%s", name);
    return series;
}

void prog_plot_point(prog_series *series, double x, double y) {
    if (series->n == PROG_PLOT_POINTS)
        return;
    series->x[series->n] = x;
    series->y[series->n++] = y;
}

/* The smallest of 1, 2, 5 times a power of ten that is at least `least`. */
static double round_step(double least) {
    const double power = pow(10, floor(log10(least)));
    for (int i = 0; i < 3; i++) {
        static const double STEPS[] = {1, 2, 5};
        if (STEPS[i] * power >= least)
            return STEPS[i] * power;
    }
    return 10 * power;
}

/* An axis from 0 to most. */
typedef struct scale {
    double step, most;
} scale;

static scale scale_of(double most) {
    const double step = round_step(most / TICKS);
    return (scale){step, ceil(most / step - 1e-9) * step};
}

static int ticks(scale s) {
    return (int)(s.most / s.step + 0.5);
}

static double place(scale s, double value, double from, double to) {
    return from + value / s.most * (to - from);
}

void prog_plot_print(const prog_plot *plot, FILE *f) {
    double most_y = 1e-9, most_x = 1e-9;
    for (int i = 0; i < plot->n_series; i++)
        for (int j = 0; j < plot->series[i].n; j++) {
            most_y = fmax(most_y, plot->series[i].y[j]);
            most_x = fmax(most_x, plot->series[i].x[j]);
        }
    const scale x = scale_of(most_x), y = scale_of(most_y);
    const int legend_x = LEFT + 14, legend_y = HEIGHT - BOTTOM - 24 - 20 * (plot->n_series - 1);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"13\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"26\" font-size=\"16\">%s</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, plot->title);
    for (int i = 0; i <= ticks(x); i++) {
        const double v = i * x.step;
        fprintf(f,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                place(x, v, LEFT, WIDTH - RIGHT), TOP, place(x, v, LEFT, WIDTH - RIGHT), HEIGHT - BOTTOM,
                place(x, v, LEFT, WIDTH - RIGHT), HEIGHT - BOTTOM + 20, round(v / x.step) * x.step);
    }
    for (int i = 0; i <= ticks(y); i++) {
        const double v = i * y.step;
        fprintf(f,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, place(y, v, HEIGHT - BOTTOM, TOP), WIDTH - RIGHT, place(y, v, HEIGHT - BOTTOM, TOP), LEFT - 8,
                place(y, v, HEIGHT - BOTTOM, TOP) + 4, round(v / y.step) * y.step);
    }
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
            "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, plot->x_label, (TOP + HEIGHT - BOTTOM) / 2, plot->y_label);
    for (int i = 0; i < plot->n_series; i++) {
        const prog_series *s = &plot->series[i];
        fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", COLOURS[i]);
        for (int j = 0; j < s->n; j++)
            fprintf(f, "%.1f,%.1f ", place(x, s->x[j], LEFT, WIDTH - RIGHT), place(y, s->y[j], HEIGHT - BOTTOM, TOP));
        fprintf(f, "\"/>\n");
        for (int j = 0; j < s->n; j++)
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
                    place(x, s->x[j], LEFT, WIDTH - RIGHT), place(y, s->y[j], HEIGHT - BOTTOM, TOP), COLOURS[i]);
        fprintf(f,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                legend_x, legend_y + 20 * i, COLOURS[i], legend_x + 18, legend_y + 20 * i + 11, s->name);
    }
    fprintf(f, "</svg>\n");
}
