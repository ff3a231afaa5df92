/* SPDX-License-Identifier: Apache-2.0 */
/* planes.h - kernels that are compiled once for every number of planes. */
#ifndef THR_KERNEL_PLANES_H
#define THR_KERNEL_PLANES_H

/* Expand CASE for every number of planes, inside a switch, so that each is compiled with its own constant. */
#define THR_EACH_PLANES(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)

#endif
