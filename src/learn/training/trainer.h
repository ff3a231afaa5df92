/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - what trainings of all kinds of models have in common: options, the split of the examples, weights,
 * progress, and the device that makes the steps.
 *
 * A kind of model implements thr_trainer_kind. Its own trainer begins with a thr_trainer, so a pointer to one is a
 * pointer to the other.
 */
#pragma once

#include <thresher/tower.h>

#include "base/files/checksum.h"
#include "device/policy.h"
#include "training/lock.h"
#include "training/model_image.h"
#include "training/split.h"
#include "training/weights.h"

typedef struct thr_trainer thr_trainer;
typedef struct thr_learner thr_learner; /* learner.h */

typedef struct thr_trainer_kind {
    size_t size; /* of its trainer */
    const thr_model_kind *model_kind;
    const char *what;                /* "a dual tower" */
    const char *given;               /* what a training depends on: "pairs or options" */
    const thr_device_copier *copier; /* of learners; NULL: only the CPU makes steps */
    double examples_a_second;        /* estimate of the CPU's speed */

    /*
     * Copy the options, read the examples and split them, make the weights and draw them. task: what the training was
     * asked for. *trainer is zero but for its thr_trainer, and is ended also after an error.
     */
    thr_status (*start)(void *trainer, const void *task, thr_error *err);
    void (*end)(void *trainer); /* release all but the thr_trainer */

    thr_model_source (*model)(const void *trainer);
    void (*identify)(const void *trainer, thr_checksum *sum); /* add the examples, and options of this kind */

    /*
     * Run a step on the batch of these examples and return its loss. The learner's leaves the trainer's weights as they
     * are.
     */
    thr_status (*step)(void *trainer, const uint32_t *numbers, double *loss, thr_error *err);
    thr_status (*learner_step)(void *learner, void *trainer, const uint32_t *numbers, double *loss, thr_error *err);

    /* Fill in the validation's results, and in epoch->as_floats whether the model must not be saved yet. */
    thr_status (*validate)(void *trainer, thr_tower_epoch *epoch, thr_error *err);
} thr_trainer_kind;

/* The progress of a training: what a checkpoint holds besides arrays. Every member has eight bytes. */
typedef struct thr_training_state {
    uint64_t epoch;                                  /* completed epochs */
    uint64_t position;                               /* completed steps of the current epoch */
    uint64_t step;                                   /* completed steps of all epochs */
    double loss;                                     /* sum over the steps of the current epoch */
    double seconds;                                  /* time those steps took */
    uint64_t best_epoch;                             /* 0: none yet */
    double best_loss, best_valid_loss, best_quality; /* of best_epoch */
    uint64_t n_learned;                              /* examples learned in completed epochs, with repetitions */
    double learning_seconds;                         /* time those took */
} thr_training_state;

/* The weights of a training, by number; a kind of model that lacks some has n = 0 there. */
enum { THR_TRAINED_TABLES = 0, THR_TRAINED_DENSE = THR_N_SIDES, THR_TRAINED_HITS, THR_N_TRAINED };

struct thr_trainer {
    thr_context *context;
    const thr_trainer_kind *kind;
    const thr_training_options *options;
    const char *path; /* of the model */
    thr_training_lock lock;
    thr_split split;
    uint64_t n_refused; /* lines of the examples' files */
    union {
        thr_weights weights[THR_N_TRAINED];
        struct {
            thr_weights tables[THR_N_SIDES], dense, hits;
        };
    };
    /* The sides' dense tensors, views of dense.values and dense.gradients. */
    float *tensors[THR_N_SIDES][THR_SIDE_TENSORS_MAX], *d_tensors[THR_N_SIDES][THR_SIDE_TENSORS_MAX];
    thr_training_state state;
    thr_device_policy policy;
    thr_learner *learner; /* NULL: steps run on the CPU */
    bool is_ahead;        /* the learner's weights are newer than the trainer's */
};

/* Make the dense weights for these tensors. THR_OK or THR_ENOMEM. */
thr_status thr_training_make_dense(thr_trainer *trainer, const thr_tensor_list lists[THR_N_SIDES], thr_error *err);

/* Whether all weights are finite, including those that no validation example uses. */
bool thr_training_is_finite(const thr_trainer *trainer);

static inline uint64_t thr_trainer_steps(const thr_trainer *trainer) {
    return trainer->split.n_train / trainer->options->batch; /* of an epoch; an incomplete last batch is dropped */
}

/* The rate of the next step: it decays linearly to 0 over the steps of all epochs. */
float thr_training_rate(const thr_trainer *trainer, float rate);

/* Returns THR_ERANGE with a message that names the step, a rate that may be too high, and the model kept so far. */
thr_status thr_training_diverged(const thr_trainer *trainer, float rate, thr_error *err);

/*
 * Run a step on a GPU or on the CPU, count it and return its loss. The CPU takes over if the GPU fails before it
 * changed weights. THR_OK; THR_ERANGE when the loss is not finite; THR_ENOMEM; THR_EDEVICE when the GPU fails and is
 * required, or has newer weights.
 */
thr_status thr_training_step(thr_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err);

/* Choose what runs the steps, after weights have been drawn or read. THR_OK or a status of device/policy.h. */
thr_status thr_training_choose_device(thr_trainer *trainer, thr_error *err);

/*
 * Download weights and state from the GPU if it has newer ones; upload them after the host changed them, if a GPU runs
 * the steps. THR_OK; THR_EDEVICE.
 */
thr_status thr_training_fetch(thr_trainer *trainer, thr_error *err);
thr_status thr_training_put(thr_trainer *trainer, thr_error *err);
