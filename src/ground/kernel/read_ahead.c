/* SPDX-License-Identifier: Apache-2.0 */
/* read_ahead.c - how far ahead codes are requested for one query; table.c sets it. */
#include "kernel/read_ahead.h"

size_t thr_kernel_read_ahead = THR_READ_AHEAD;
