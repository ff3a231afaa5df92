/* SPDX-License-Identifier: Apache-2.0 */
/* order_model.c - the misses expected by the positions of the rows found. */
#include "cells/choice/order_model.h"

/*
 * Among the first rows of the order T falls more slowly than 1 / u, so a wide interval with many rows promises too
 * much. With one row or none, a wide interval is the only proof of few misses.
 */
const double thr_cells_widths[THR_CELLS_INTERVALS] = {4, 16};

double thr_cells_expected_behind(double found, double w) {
    return (found + 0.5) / (w - 1);
}
