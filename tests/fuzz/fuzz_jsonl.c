/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jsonl.c - bytes taken as a line of results: whatever is read as ids is read again from the list as printed. */
#include <inttypes.h>
#include <stdio.h>

#include "input/jsonl.h"
#include "fuzz/io_fuzz.h"

static void check_again(const uint64_t *ids, int64_t n) {
    enum { ID_BYTES = 21 };
    char *line = malloc((size_t)n * ID_BYTES + 16);
    uint64_t *again = malloc((size_t)n * sizeof *again);
    fuzz_check(line != NULL && again != NULL);
    char *to = line + sprintf(line, "{\"ids\": [");
    for (int64_t i = 0; i < n; i++)
        to += sprintf(to, "%s%" PRIu64, i > 0 ? "," : "", ids[i]);
    to += sprintf(to, "]");
    fuzz_check(prog_jsonl_ids(line, (size_t)(to - line), again, (uint64_t)n) == n);
    fuzz_check(memcmp(again, ids, (size_t)n * sizeof *ids) == 0);
    free(again);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *line = malloc(size + 1);
    fuzz_check(line != NULL);
    if (size > 0)
        memcpy(line, data, size);
    line[size] = '\0';
    const int64_t n = prog_jsonl_ids(line, size, NULL, 0);
    fuzz_check(n >= -1 && n <= (int64_t)size);
    if (n > 0) {
        uint64_t *ids = malloc((size_t)n * sizeof *ids), first = 0;
        fuzz_check(ids != NULL);
        fuzz_check(prog_jsonl_ids(line, size, ids, (uint64_t)n) == n);
        fuzz_check(prog_jsonl_ids(line, size, &first, 1) == n && first == ids[0]);
        check_again(ids, n);
        free(ids);
    }
    free(line);
    return 0;
}
