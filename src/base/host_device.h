/* SPDX-License-Identifier: Apache-2.0 */
/* host_device.h - for functions in headers that kernels for GPUs call, too, and that give the same there. */
#ifndef THR_BASE_HOST_DEVICE_H
#define THR_BASE_HOST_DEVICE_H

#ifdef __CUDACC__
#define THR_ANYWHERE static __host__ __device__ inline
#else
#define THR_ANYWHERE static inline
#endif

#endif
