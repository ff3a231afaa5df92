/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - compares matmul with a BLAS, for results/kernels.csv. */
#pragma once

/* Print the table. 0; 1 when two products disagree; 77 where libopenblas.so.0 cannot be loaded. */
int kcheck_blas(void);
