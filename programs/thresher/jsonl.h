/* SPDX-License-Identifier: Apache-2.0 */
/* jsonl.h - the ids in a line of what `thresher index search` writes as .jsonl. */
#ifndef THRESHER_PROGRAM_JSONL_H
#define THRESHER_PROGRAM_JSONL_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many ids the list behind "ids": has, -1 when the line has none, or one of something else. The first `most` of
 * them are written to ids. line[length] is a zero byte; others before it make the line no result.
 */
int64_t prog_jsonl_ids(const char *line, size_t length, uint64_t *ids, uint64_t most);

#endif
