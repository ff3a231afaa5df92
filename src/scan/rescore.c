/* SPDX-License-Identifier: Apache-2.0 */
/* rescore.c - estimates by all planes, from the records of nested codes, for the screen's survivors only. */
#include "scan/pages.h"
#include "scan/values.h"

enum { AHEAD = 12, LINE = 64 }; /* records being fetched while one is scored */

static const uint8_t *record_of(const thr_scan_corpus *corpus, thr_record_shape shape, uint64_t row) {
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    return segment->records + (row - segment->first_row) * thr_record_size(shape);
}

static void fetch(const uint8_t *record, size_t size) {
    for (size_t i = 0; i < size; i += LINE)
        __builtin_prefetch(record + i);
    __builtin_prefetch(record + size - 1);
}

static uint64_t row_of(const thr_scan_corpus *corpus, const thr_candidate *item) {
    return corpus->hits == NULL ? item->row : item->row >> 32;
}

void thr_scan_rescore(const thr_scan_query *query, thr_candidate *items, size_t n) {
    const thr_scan_corpus *corpus = query->corpus;
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, corpus->segments->lead_offsets);
    const size_t size = thr_record_size(shape), head = thr_record_head(shape);
    thr_scan_read_ahead_records(query, items, n);
    for (size_t i = 0; i < n && i < AHEAD; i++)
        fetch(record_of(corpus, shape, row_of(corpus, &items[i])), size);
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            fetch(record_of(corpus, shape, row_of(corpus, &items[i + AHEAD])), size);
        const uint32_t distance = corpus->hits == NULL ? items[i].distance : thr_values_unpack(&items[i]);
        const uint8_t *record = record_of(corpus, shape, items[i].row);
        const int32_t lead = query->code.total - 2 * (int32_t)distance;
        const int32_t rest = query->kernels->rest_product(record + head, shape.n_planes, shape.n_rows,
                                                          query->rest.digits, query->rest.digit_sum);
        float factor, offset;
        thr_code_record_read_head(shape, record, &factor, &offset);
        const float product = (float)lead * query->lead_gain + (float)rest * query->rest_gain + query->rescore_margin;
        items[i].score = product * factor - offset * query->offset_weight;
        if (corpus->hits != NULL)
            items[i].score = thr_scan_value(query, &items[i], items[i].score + query->bias);
    }
}
