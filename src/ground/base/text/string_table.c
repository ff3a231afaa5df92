/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/string_table.h"

#include <string.h>

uint64_t thr_strings_check(const thr_strings *strings) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < strings->n; i++) {
        const char *text = thr_strings_get(strings, i);
        if (text == NULL || strings->offsets[i] != end || strlen(text) + 1 != strings->offsets[i + 1] - end)
            return i;
        end = strings->offsets[i + 1];
    }
    return end == strings->size ? strings->n + 1 : strings->n;
}
