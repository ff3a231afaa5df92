/* SPDX-License-Identifier: Apache-2.0 */
/* jsonl.h - parse the ids in a .jsonl result of `thresher index search`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The number of ids in the list "ids":, -1 if the line has none or another value. Writes the first `most` of them to
 * ids. What follows the list is not read.
 */
int64_t prog_jsonl_ids(const char *line, size_t length, uint64_t *ids, uint64_t most);
