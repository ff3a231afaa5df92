/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h - checks of posting lists from untrusted files. Return NULL, or a sentence that names the fault. */
#pragma once

#include "lists/lists.h"

/*
 * Check all that memory safety needs: with lists that pass, a search reads within the arrays and adds within
 * thr_lists_n_windows whole windows. Places may still be n_items or more.
 */
const char *thr_lists_check_bounds(const thr_lists *lists);

/*
 * Check the rest, after thr_lists_check_bounds: places ascend below n_items, sizes are right, and every element belongs
 * to an entry.
 */
const char *thr_lists_check_contents(const thr_lists *lists);
