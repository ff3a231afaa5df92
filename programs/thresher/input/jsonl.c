/* SPDX-License-Identifier: Apache-2.0 */
#include "input/jsonl.h"

#include <stdbool.h>
#include <string.h>

/* Parse the whole number at *text, and advance *text past it. */
static bool take_number(const char **text, uint64_t *number) {
    const char *digit = *text;

    *number = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t value = (uint64_t)(*digit - '0');

        if (*number > (UINT64_MAX - value) / 10)
            return false;
        *number = *number * 10 + value;
    }
    if (digit == *text)
        return false;
    *text = digit;
    return true;
}

int64_t prog_jsonl_ids(const char *line, size_t length, uint64_t *ids, uint64_t most) {
    static const char key[] = "\"ids\":[";
    const char *text = strstr(line, key);
    uint64_t n = 0, id;

    if (text == NULL || strlen(line) != length)
        return -1;
    text += strlen(key);
    if (*text == ']')
        return 0;
    do {
        if (!take_number(&text, &id))
            return -1;
        if (n < most)
            ids[n] = id;
        n++;
    } while (*text++ == ',');
    return text[-1] == ']' ? (int64_t)n : -1;
}
