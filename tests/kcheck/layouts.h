/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.h - the comparison of layouts in results/kernels.csv. */
#pragma once

/* Print the table. 0; 1 when two layouts disagree; 77 without AVX-512. */
int kcheck_layouts(void);
