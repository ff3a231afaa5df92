/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h - whether lists that come from outside are what lists.h says. Answers are NULL, or what is wrong. */
#ifndef THR_LISTS_VALIDATE_H
#define THR_LISTS_VALIDATE_H

#include "lists/lists.h"

/* All that a search believes: it will read within the groups, and add up within the blocks of n_items items. */
const char *thr_lists_check(const thr_lists *lists);

/* What is left: places ascend, items are there and as many as is said, and every block stands in an entry. */
const char *thr_lists_check_contents(const thr_lists *lists);

#endif
