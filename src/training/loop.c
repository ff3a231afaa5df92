/* SPDX-License-Identifier: Apache-2.0 */
#include "training/loop.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"

/* The order of an epoch depends on the seed and its number alone: a resumed training goes on as it would have. */
static void shuffle(const thr_course *course) {
    uint64_t rng = course->seed ^ (course->state->epoch + 1) * 0x9e3779b97f4a7c15u;
    memcpy(course->split->order, course->split->train, course->split->n_train * sizeof *course->split->order);
    for (size_t i = course->split->n_train - 1; i > 0; i--) {
        const size_t j = (size_t)thr_rng_below(&rng, i + 1);
        const uint32_t kept = course->split->order[i];
        course->split->order[i] = course->split->order[j];
        course->split->order[j] = kept;
    }
}

/* The steps of the epoch under way that are left. */
static thr_status run_steps(const thr_course *course, thr_error *err) {
    thr_course_state *state = course->state;
    const uint64_t batch = course->batch, n_steps = thr_course_steps(course);
    char what[48];
    (void)snprintf(what, sizeof what, "epoch %llu of %u", (unsigned long long)state->epoch + 1, course->n_epochs);
    thr_progress progress = thr_progress_start(course->context, what, n_steps * batch);
    shuffle(course);
    for (; state->position < n_steps; state->position++) {
        const double begin = thr_clock();
        double loss = 0;
        THR_TRY(thr_progress_step(&progress, state->position * batch, err));
        THR_TRY(course->step(course->user, course->split->order + state->position * batch, &loss, err));
        state->loss += loss;
        state->seconds += thr_clock() - begin;
    }
    return thr_progress_end(&progress, n_steps * batch, err);
}

/* Judge the model, keep it where it is the best so far, and say so. */
static thr_status end_epoch(const thr_course *course, thr_error *err) {
    thr_course_state *state = course->state;
    const uint64_t n_steps = thr_course_steps(course);
    thr_tower_epoch epoch = {.epoch = (uint32_t)state->epoch + 1,
                             .n_pairs = n_steps * course->batch,
                             .seconds = state->seconds,
                             .loss = state->loss / (double)n_steps};
    epoch.examples_per_second = (double)epoch.n_pairs / state->seconds;
    THR_TRY(course->judge(course->user, &epoch, err));
    state->epoch++;
    epoch.best = !epoch.as_floats && (state->best_epoch == 0 || epoch.valid_loss < state->best_valid_loss);
    if (epoch.best) {
        THR_TRY(course->save(course->user, err));
        state->best_epoch = state->epoch;
        state->best_loss = epoch.loss;
        state->best_valid_loss = epoch.valid_loss;
        state->best_auc = epoch.valid_auc;
    }
    state->n_learned += epoch.n_pairs;
    state->learning_seconds += state->seconds;
    state->position = 0;
    state->loss = state->seconds = 0;
    if (course->on_epoch != NULL)
        course->on_epoch(course->on_epoch_user, &epoch);
    return THR_OK;
}

static bool is_done(const thr_course *course) {
    const thr_course_state *state = course->state;
    return state->epoch >= course->n_epochs ||
           (course->patience != 0 && state->best_epoch != 0 && state->epoch >= state->best_epoch + course->patience);
}

/* A training that is stopped can go on: where it stands is written down. */
thr_status thr_training_run(const thr_course *course, thr_error *err) {
    while (!is_done(course)) {
        const thr_status status = run_steps(course, err);
        if (course->fetch != NULL && (status == THR_OK || status == THR_ECANCELED))
            THR_TRY(course->fetch(course->user, err));
        if (status == THR_ECANCELED) {
            THR_TRY(course->checkpoint(course->user, err));
            return thr_fail(err, THR_ECANCELED,
                            "stopped in epoch %llu; a checkpoint was written: resume goes on from there",
                            (unsigned long long)course->state->epoch + 1);
        }
        THR_TRY(status);
        THR_TRY(end_epoch(course, err));
        if (!is_done(course))
            THR_TRY(course->checkpoint(course->user, err));
    }
    return THR_OK;
}
