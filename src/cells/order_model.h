/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_model.h - how many of the best rows are in cells that were not read, by where in the order of cells rows were
 * found.
 *
 * Cells are read in an order, the likeliest first. Let T(u) be the number of the best rows that are behind the first u
 * rows of the order. The model takes T as proportional to 1 / u, which is cautious: on books100d T falls as about
 * u^-1.25 for items, and faster for negated items. So of the rows behind u / w, one in w is behind u. If c rows were
 * found between u / w and u, then T(u) = c / (w - 1) is expected.
 *
 * This needs no distances, so it holds for queries and items of any kind as long as the order is right: no cell may be
 * likelier than those before it.
 */
#pragma once

#include <stddef.h>

/* A window of the order: all but the first one of w parts of the rows that were read. Wide ones only count few rows. */
enum { THR_CELLS_WINDOWS = 2, THR_CELLS_FEW = 1 };
extern const double thr_cells_windows[THR_CELLS_WINDOWS];

/*
 * The number of rows that are expected behind the rows that were read, if `found` were found in a window of w, w > 1.
 * Counts half a row more than was found, since a window without rows proves little.
 */
double thr_cells_expected_behind(double found, double w);
