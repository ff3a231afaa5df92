/* SPDX-License-Identifier: Apache-2.0 */
#include "info/rank_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "input/endings.h"
#include "cli/json.h"
#include "output/plain.h"
#include "cli/messages.h"

enum { SHOWN = 5 }; /* of the weights, the largest first */

/* Find the largest weights by magnitude, equal ones by number; returns how many to show. */
static uint32_t find_largest(const double *weights, uint32_t n, uint32_t largest[SHOWN]) {
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = found < SHOWN ? found++ : SHOWN;

        for (; at > 0 && fabs(weights[i]) > fabs(weights[largest[at - 1]]); at--)
            if (at < SHOWN)
                largest[at] = largest[at - 1];
        if (at < SHOWN)
            largest[at] = i;
    }
    return found;
}

/*
 * Weights are scaled by a power of two before squaring, so that very large and very small ones do not overflow or
 * vanish.
 */
static double length_of(const double *weights, uint32_t n) {
    double most = 0, sum = 0;
    int exponent = 0;

    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, fabs(weights[i]));
    (void)frexp(most, &exponent);
    for (uint32_t i = 0; i < n; i++) {
        const double weight = ldexp(weights[i], -exponent);
        sum += weight * weight;
    }
    return ldexp(sqrt(sum), exponent);
}

static void print_json(const char *path, const double *weights, uint32_t n) {
    prog_json json = prog_json_object();

    prog_json_key_text(&json, "file", path);
    prog_json_key_text(&json, "kind", "ranking model");
    prog_json_key_count(&json, "n_features", n);
    prog_json_key_real(&json, "length", length_of(weights, n));
    prog_json_end_object(&json);
}

static void print_text(const char *path, const double *weights, uint32_t n) {
    uint32_t largest[SHOWN];
    const uint32_t shown = find_largest(weights, n, largest);

    prog_line("file        %s", path);
    (void)printf("model       linear ranking, %s %s\n", prog_exact(n).text, n == 1 ? "feature" : "features");
    (void)printf("length      %.6g\n", length_of(weights, n));
    for (uint32_t i = 0; i < shown; i++)
        (void)printf("%s%" PRIu32 ": %.6g%s", i == 0 ? "largest     " : "", largest[i] + 1, weights[largest[i]],
                     i + 1 < shown ? ", " : "\n");
}

bool prog_is_liblinear(const char *path) {
    return prog_has_bytes(path, 0, "solver_type ");
}

int prog_print_rank_model(program *run, const char *path, bool *is) {
    thr_error err = {.status = THR_OK};
    thr_rank_model *model = NULL;
    const thr_status status = thr_rank_model_open(run->context, path, &model, &err);

    *is = status != THR_EFORMAT;
    if (status != THR_OK)
        return *is ? prog_failed(&err) : PROG_DONE;
    if (run->globals.json)
        print_json(path, thr_rank_model_weights(model), thr_rank_model_n_features(model));
    else
        print_text(path, thr_rank_model_weights(model), thr_rank_model_n_features(model));
    thr_rank_model_free(model);
    return PROG_DONE;
}
