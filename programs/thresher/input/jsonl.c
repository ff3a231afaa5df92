/* SPDX-License-Identifier: Apache-2.0 */
#include "input/jsonl.h"

#include "base/text/json.h"

/* The list after the key. */
static int64_t take_ids(thr_json *json, uint64_t *ids, uint64_t most) {
    uint64_t n = 0, id;

    if (!thr_json_take(json, '['))
        return -1;
    if (thr_json_take(json, ']'))
        return 0;
    do {
        if (thr_json_take_count(json, &id, NULL) != THR_OK)
            return -1;
        if (n < most)
            ids[n] = id;
        n++;
    } while (thr_json_take(json, ','));
    return thr_json_take(json, ']') ? (int64_t)n : -1;
}

int64_t prog_jsonl_ids(const char *line, size_t length, uint64_t *ids, uint64_t most) {
    thr_json json = thr_json_of("", line, length);

    if (!thr_json_take(&json, '{'))
        return -1;
    do {
        if (thr_json_take_key(&json, "ids"))
            return take_ids(&json, ids, most);
        if (thr_json_skip(&json, NULL) != THR_OK || !thr_json_take(&json, ':') || thr_json_skip(&json, NULL) != THR_OK)
            return -1;
    } while (thr_json_take(&json, ','));
    return -1;
}
