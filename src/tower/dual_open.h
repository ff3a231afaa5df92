/* SPDX-License-Identifier: Apache-2.0 */
/* dual_open.h - an open dual tower, as the room sees it. */
#ifndef THR_TOWER_DUAL_OPEN_H
#define THR_TOWER_DUAL_OPEN_H

#include "io/safetensors.h"
#include "tower/dual_model.h"

struct thr_dual {
    thr_context *context;
    thr_tensors *tensors;
    thr_dual_model model;
    uint64_t fingerprint;
};

#endif
