/* SPDX-License-Identifier: Apache-2.0 */
/* adam_op.h - a step of Adam as a GPU's operations have it (device/learn_ops.h). */
#pragma once

#include "device/learn_ops.h"
#include "kernel/layers.h"

static inline thr_device_adam thr_nn_adam_op(const thr_adam_step *adam) {
    return (thr_device_adam){.scale = adam->scale,
                             .beta1 = adam->beta1,
                             .rest1 = adam->rest1,
                             .beta2 = adam->beta2,
                             .rest2 = adam->rest2,
                             .rate = adam->rate,
                             .root = adam->root,
                             .epsilon = adam->epsilon,
                             .decay = adam->decay};
}
