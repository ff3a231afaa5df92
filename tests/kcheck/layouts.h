/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.h - the comparison in the table of layouts of docs/kernels.md. */
#pragma once

/* Print the table. 0; 1 when two layouts disagree; 77 without AVX-512. */
int kcheck_layouts(void);
