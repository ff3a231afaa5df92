/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jsonl.c - bytes taken as a line of results: whatever is read as ids is written again and found in the line. */
#include <inttypes.h>
#include <stdio.h>

#include "input/jsonl.h"
#include "fuzz/io_fuzz.h"

/* The list as the program writes it, but for zeros in front of numbers. */
static void check_text(const char *line, const uint64_t *ids, int64_t n) {
    const char *text = strstr(line, "\"ids\":[") + strlen("\"ids\":[");
    for (int64_t i = 0; i < n; i++) {
        char number[24];
        (void)snprintf(number, sizeof number, "%" PRIu64, ids[i]);
        while (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
            text++;
        fuzz_check(strncmp(text, number, strlen(number)) == 0);
        text += strlen(number);
        fuzz_check(*text++ == (i + 1 < n ? ',' : ']'));
    }
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
        check_text(line, ids, n);
        free(ids);
    }
    free(line);
    return 0;
}
