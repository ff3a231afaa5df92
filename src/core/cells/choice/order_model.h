/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_model.h - how many of the best rows are in cells that were not read, by where in the order of cells rows were
 * found.
 *
 * Cells are read in an order, the likeliest first. Let T(u) be the number of the best k rows that are not among the
 * first u rows read. The model is T(u) = a / u for some a. It is cautious: on books100d T falls as about u^-1.25 for
 * items, and faster for negated items. The c best rows found between rows u / w and u (an interval of width w) give a:
 *
 *   c = T(u / w) - T(u) = (w - 1) a / u, so T(u) = c / (w - 1).
 *
 * This needs no distances, so it holds for queries and items of any kind as long as the order is right: no cell may be
 * likelier than those before it.
 */
#pragma once

#include <stddef.h>

/* The widths of the intervals. The wide one, the second, counts if at most MOST_IN_WIDE rows were found in it. */
enum { THR_CELLS_INTERVALS = 2, THR_CELLS_MOST_IN_WIDE = 1 };
extern const double thr_cells_widths[THR_CELLS_INTERVALS];

/*
 * The number of rows that are expected behind the rows that were read, if `found` were found in an interval of
 * width w > 1. Counts half a row more than was found, since an interval without rows proves little.
 */
double thr_cells_expected_behind(double found, double w);
