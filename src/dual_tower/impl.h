/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - the members of an open dual tower. */
#ifndef THR_DUAL_TOWER_IMPL_H
#define THR_DUAL_TOWER_IMPL_H

#include "tensors/safetensors.h"
#include "dual_tower/model.h"

struct thr_dual {
    thr_context *context;
    thr_tensors *tensors;
    thr_dual_model model;
    uint64_t fingerprint;
};

#endif
