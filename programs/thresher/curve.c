/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is written as soon as it is known and the plot is drawn from the file, so that a stopped training has its
 * curve, and a resumed one goes on with it.
 */
#include "curve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "program.h"
#include "talk.h"

static const char header[] = "epoch,seconds,examples_per_s,loss,valid_loss,valid_auc\n";
enum { LINE_SIZE = 256, PATH_SIZE = 4096 };

static int cannot(const char *path) {
    prog_error("cannot write %s: %s", path, strerror(errno));
    return PROG_FAILED;
}

int prog_curve_open(prog_curve *curve, const char *path, bool more) {
    FILE *file;

    curve->path = path;
    if (path == NULL)
        return PROG_DONE;
    if (strlen(path) + sizeof ".svg" > PATH_SIZE) {
        prog_error("%s: a shorter name is needed", path);
        return PROG_FAILED;
    }
    file = fopen(path, more ? "a" : "w");
    if (file == NULL)
        return cannot(path);
    /* Where the end is, a stream that appends says for certain after it was sought. */
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) == 0)
        (void)fputs(header, file);
    return fclose(file) == 0 ? PROG_DONE : cannot(path);
}

void prog_curve_add(prog_curve *curve, const thr_tower_epoch *epoch) {
    FILE *file = curve->path == NULL ? NULL : fopen(curve->path, "a");

    if (file == NULL)
        return;
    (void)fprintf(file, "%" PRIu32 ",%.3f,%.0f,%.6f,%.6f,%.6f\n", epoch->epoch, epoch->seconds,
                  epoch->examples_per_second, epoch->loss, epoch->valid_loss, epoch->valid_auc);
    (void)fclose(file);
}

enum { COLUMN_EPOCH = 0, COLUMN_LOSS = 3, COLUMN_VALID_LOSS = 4, COLUMNS = 6 };

/* The numbers of a line; false where they are not COLUMNS, as in the head. */
static bool read_line(const char *line, double numbers[COLUMNS]) {
    for (size_t i = 0; i < COLUMNS; i++) {
        char *end = NULL;

        numbers[i] = strtod(line, &end);
        if (end == line || *end != (i + 1 < COLUMNS ? ',' : '\n'))
            return false;
        line = end + 1;
    }
    return true;
}

static int plot_file(FILE *file, const char *path) {
    static bench_plot plot; /* large */
    char line[LINE_SIZE];
    double numbers[COLUMNS];

    plot = (bench_plot){.title = "Learning curve", .x_label = "epoch", .y_label = "log loss"};
    bench_series *train = bench_plot_series(&plot, "training");
    bench_series *valid = bench_plot_series(&plot, "validation");
    while (fgets(line, sizeof line, file) != NULL) {
        if (!read_line(line, numbers))
            continue;
        bench_plot_point(train, numbers[COLUMN_EPOCH], numbers[COLUMN_LOSS]);
        bench_plot_point(valid, numbers[COLUMN_EPOCH], numbers[COLUMN_VALID_LOSS]);
    }
    return train->n == 0 || bench_plot_write(&plot, path) == 0 ? PROG_DONE : cannot(path);
}

int prog_curve_close(prog_curve *curve) {
    char path[PATH_SIZE];
    FILE *file;
    int rc;

    if (curve->path == NULL)
        return PROG_DONE;
    const char *dot = strrchr(curve->path, '.');
    const int stem = dot != NULL && strchr(dot, '/') == NULL ? (int)(dot - curve->path) : (int)strlen(curve->path);
    (void)snprintf(path, sizeof path, "%.*s.svg", stem, curve->path);
    file = fopen(curve->path, "r");
    if (file == NULL)
        return cannot(curve->path);
    rc = plot_file(file, path);
    (void)fclose(file);
    return rc;
}
