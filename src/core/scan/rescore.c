/* SPDX-License-Identifier: Apache-2.0 */
/* rescore.c - estimates by all planes, from the records of nested codes, for the screen's survivors only. */
#include "base/minmax.h"
#include "scan/pages.h"
#include "scan/values.h"

#include <math.h>

enum { AHEAD = 16, LINE = 64 }; /* records being fetched while one is scored */

/* Find a row's record of `size` bytes, and fetch it. */
static const uint8_t *fetch(const thr_scan_corpus *corpus, size_t size, uint64_t row) {
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    const uint8_t *record = segment->records + (row - segment->first_row) * size;
    for (size_t i = 0; i < size; i += LINE)
        __builtin_prefetch(record + i);
    __builtin_prefetch(record + size - 1);
    return record;
}

static uint64_t row_of(const thr_scan_corpus *corpus, const thr_candidate *item) {
    return corpus->hits == NULL ? item->row : item->row >> 32;
}

/* With origins: the margin per unit of factor, for items of an origin at this distance. */
static float margin_of(const thr_scan_query *query, double distance) {
    const double random = (double)query->rescore_margin * THR_MIN(distance, query->across);
    const double own = (double)query->own_rescore_margin;
    return (float)sqrt(random * random + own * own);
}

void thr_scan_rescore(const thr_scan_query *query, thr_candidate *items, size_t n) {
    const thr_scan_corpus *corpus = query->corpus;
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, corpus->segments->lead_offsets);
    const size_t size = thr_record_size(shape), head = thr_record_head(shape);
    const uint8_t *records[AHEAD];
    thr_scan_read_ahead_records(query, items, n);
    for (size_t i = 0; i < n && i < AHEAD; i++)
        records[i] = fetch(corpus, size, row_of(corpus, &items[i]));
    for (size_t i = 0; i < n; i++) {
        const uint8_t *record = records[i % AHEAD];
        if (i + AHEAD < n)
            records[i % AHEAD] = fetch(corpus, size, row_of(corpus, &items[i + AHEAD]));
        /* With hits, this replaces the packed row by the row. */
        const uint32_t distance = corpus->hits == NULL ? items[i].distance : thr_values_unpack(&items[i]);
        const int32_t lead = query->code.total - 2 * (int32_t)distance;
        const int32_t rest = query->kernels->rest_product(record + head, shape.n_planes, shape.n_rows,
                                                          query->rest.digits, query->rest.digit_sum);
        float factor, offset;
        thr_code_record_read_head(shape, record, &factor, &offset);
        const thr_origin_term term = thr_scan_term_of(corpus, query->origins, items[i].row);
        const float margin = query->origins == NULL ? query->rescore_margin : margin_of(query, (double)term.distance);
        const float product = (float)lead * query->lead_gain + (float)rest * query->rest_gain + margin;
        items[i].score = product * factor - offset * query->offset_weight + term.base;
        if (corpus->hits != NULL)
            items[i].score = thr_scan_value(query, &items[i], items[i].score + query->bias);
    }
}
