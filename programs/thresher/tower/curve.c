/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is written after each epoch, and the plot is drawn from the file, so a stopped training has its curve and a
 * resumed one continues it.
 */
#include "tower/curve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/plot.h"
#include "cli/program.h"
#include "cli/messages.h"

/* A curve of an earlier version may be replaced: the last column was valid_auc. */
#define ITS_BEGINNING "epoch,seconds,examples_per_s,loss,valid_loss,"
static const char header[] = ITS_BEGINNING "valid_quality\n";
enum { LINE_SIZE = 256, PATH_SIZE = 4096 };

static int cannot(const char *path) {
    prog_error("cannot read %s: %s", path, prog_reason(errno));
    return PROG_FAILED;
}

/* The plot of FILE.csv is FILE.svg. */
static void name_plot(const char *path, char name[PATH_SIZE]) {
    const char *dot = strrchr(path, '.');
    const int stem = dot != NULL && strchr(dot, '/') == NULL ? (int)(dot - path) : (int)strlen(path);

    (void)snprintf(name, PATH_SIZE, "%.*s.svg", stem, path);
}

/* Whether an existing file may be replaced: none, an empty one, or one that begins like ours. */
static int check_kind(const char *path, const char *beginning, const char *kind, bool *is_new) {
    char first[sizeof header] = "";
    FILE *file = prog_out_is_stream(path) ? NULL : fopen(path, "rb");
    const size_t n = file != NULL ? fread(first, 1, strlen(beginning), file) : 0;

    if (file != NULL)
        (void)fclose(file);
    *is_new = n == 0;
    if (n == 0 || strcmp(first, beginning) == 0)
        return PROG_DONE;
    prog_error("%s: exists and is not %s: choose another name for --curve, or delete it first", path, kind);
    return PROG_FAILED;
}

/* Refuse names that the training writes: the model and its checkpoint. */
static int check_model(const char *path, const char *model) {
    char checkpoint[PATH_SIZE];

    (void)snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint", model);
    if (!prog_is_one_file(path, model) && !prog_is_one_file(path, checkpoint))
        return PROG_DONE;
    prog_error("%s: is an output of the training: choose another name for --curve, which also makes "
               "FILE.svg",
               path);
    return PROG_FAILED;
}

/* Whether a file can be made there, tried before hours of training. */
static int can_write(const prog_curve *curve) {
    prog_out out;

    if (prog_out_is_stream(curve->path))
        return PROG_DONE;
    const int rc = prog_out_open(&out, curve->context, curve->path);
    if (rc == PROG_DONE)
        (void)prog_out_close(&out, PROG_FAILED); /* which deletes it */
    return rc;
}

int prog_curve_open(prog_curve *curve, thr_context *context, const char *path, const char *model, bool more) {
    char plot[PATH_SIZE];
    bool is_new = false;

    *curve = (prog_curve){.context = context, .path = path};
    if (path == NULL)
        return PROG_DONE;
    if (strlen(path) + sizeof ".svg" > PATH_SIZE) {
        prog_error("%s: a shorter name is needed", path);
        return PROG_FAILED;
    }
    name_plot(path, plot);
    int rc = check_model(plot, model);

    if (rc == PROG_DONE)
        rc = check_model(path, model);
    if (rc == PROG_DONE)
        rc = check_kind(plot, "<svg", "a plot", &is_new);
    if (rc == PROG_DONE)
        rc = check_kind(path, ITS_BEGINNING, "a learning curve", &is_new);
    if (rc != PROG_DONE || (more && !is_new))
        return rc;
    curve->is_to_begin = true;
    return can_write(curve);
}

/* A training that is refused before its first epoch leaves an older curve as it was. */
static void begin(prog_curve *curve) {
    prog_out out;

    if (!curve->is_to_begin)
        return;
    curve->is_to_begin = false;
    curve->rc = prog_out_open(&out, curve->context, curve->path);
    if (curve->rc == PROG_DONE)
        (void)fputs(header, out.file);
    curve->rc = prog_out_close(&out, curve->rc);
}

/* Open the file at its end; it must still be the one that was begun. */
static void add(prog_curve *curve, const thr_tower_epoch *epoch) {
    if (curve->path != NULL)
        begin(curve);
    if (curve->rc != PROG_DONE)
        return;
    const int descriptor = curve->path != NULL ? open(curve->path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "a") : NULL;

    if (file == NULL)
        return;
    (void)fprintf(file, "%" PRIu32 ",%.3f,%.0f,%.6f,%.6f,%.6f\n", epoch->epoch, epoch->seconds,
                  epoch->examples_per_second, epoch->loss, epoch->valid_loss, epoch->valid_quality);
    (void)fclose(file);
}

void prog_curve_on_epoch(void *user, const thr_tower_epoch *epoch) {
    prog_curve *curve = user;

    prog_note("epoch %" PRIu32 ": loss %.4f, validation %.4f, %s %.4f, %s %s/s%s", epoch->epoch, epoch->loss,
              epoch->valid_loss, curve->quality, epoch->valid_quality, prog_short(epoch->examples_per_second).text,
              curve->examples,
              epoch->as_floats ? " (as floats)"
              : epoch->best    ? ""
                               : " (not better)");
    add(curve, epoch);
}

enum { COLUMN_EPOCH = 0, COLUMN_LOSS = 3, COLUMN_VALID_LOSS = 4, COLUMNS = 6 };

/* Parse the numbers of a line; false if they are not COLUMNS, as in the header. */
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

static int plot_file(const prog_curve *curve, FILE *file) {
    static prog_plot plot; /* large */
    char line[LINE_SIZE];
    double numbers[COLUMNS];
    char path[PATH_SIZE];
    prog_out out;

    plot = (prog_plot){.title = "Learning curve", .x_label = "epoch", .y_label = "log loss"};
    prog_series *train = prog_plot_series(&plot, "training");
    prog_series *valid = prog_plot_series(&plot, "validation");
    while (fgets(line, sizeof line, file) != NULL) {
        if (!read_line(line, numbers))
            continue;
        prog_plot_point(train, numbers[COLUMN_EPOCH], numbers[COLUMN_LOSS]);
        prog_plot_point(valid, numbers[COLUMN_EPOCH], numbers[COLUMN_VALID_LOSS]);
    }
    if (train->n == 0)
        return PROG_DONE;
    name_plot(curve->path, path);
    const int rc = prog_out_open(&out, curve->context, path);

    if (rc == PROG_DONE)
        prog_plot_print(&plot, out.file);
    return prog_out_close(&out, rc);
}

static int plot_epochs(prog_curve *curve) {
    FILE *file;
    int rc;

    if (curve->path == NULL || curve->is_to_begin)
        return PROG_DONE;
    if (curve->rc != PROG_DONE)
        return curve->rc;
    file = fopen(curve->path, "r");
    if (file == NULL)
        return cannot(curve->path);
    rc = plot_file(curve, file);
    (void)fclose(file);
    return rc;
}

bool prog_curve_end(prog_curve *curve, thr_status status, const thr_error *err, int *rc) {
    *rc = plot_epochs(curve);
    if (status == THR_ECANCELED && prog_stop_signal() != 0) { /* the message names the file that was written */
        prog_error("%s", err->text);
        *rc = PROG_SIGNALLED + prog_stop_signal();
    } else if (status != THR_OK) {
        *rc = prog_failed(err);
    } else {
        prog_progress_end();
    }
    return status == THR_OK;
}
