/* SPDX-License-Identifier: Apache-2.0 */
/* host_device.h - attributes for inline functions that CPU code and GPU kernels share. Both give the same results. */
#pragma once

#ifdef __CUDACC__
#define THR_ANYWHERE static __host__ __device__ inline
#else
#define THR_ANYWHERE static inline
#endif
