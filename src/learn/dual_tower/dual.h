/* SPDX-License-Identifier: Apache-2.0 */
/* dual.h - the members of an open dual tower. */
#pragma once

#include "tensors/safetensors.h"
#include "dual_tower/model.h"

struct thr_dual {
    thr_context *context;
    thr_tensors *tensors;
    thr_dual_model model;
    uint64_t fingerprint;
};
