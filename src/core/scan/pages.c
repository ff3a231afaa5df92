/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "scan/pages.h"

#include "base/blocks.h"
#include "base/files/file.h"

#include <sys/resource.h>
#include <unistd.h>

bool thr_scan_reads_ahead(thr_read_ahead *state) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return false;
    if (usage.ru_inblock != state->blocks_read)
        *state = (thr_read_ahead){.blocks_read = usage.ru_inblock};
    return thr_may_read_ahead(state) && ++state->passes > 0;
}

/* Pages that a call has announced, by number: a later one may take the place of an earlier one. */
enum { ANNOUNCED = 64 };
typedef struct announced_pages {
    uintptr_t page_size, numbers[ANNOUNCED];
} announced_pages;

static announced_pages none_announced(void) {
    return (announced_pages){.page_size = (uintptr_t)sysconf(_SC_PAGESIZE)};
}

/* Announce bytes, unless all their pages were announced: neighbours share pages, and a small segment has few. */
static void announce(announced_pages *pages, const void *bytes, size_t size) {
    const uintptr_t end = ((uintptr_t)bytes + size - 1) / pages->page_size;
    bool is_new = false;
    for (uintptr_t page = (uintptr_t)bytes / pages->page_size; page <= end; page++) {
        is_new |= pages->numbers[page % ANNOUNCED] != page;
        pages->numbers[page % ANNOUNCED] = page;
    }
    if (is_new)
        thr_map_read_ahead(bytes, size);
}

void thr_scan_read_ahead_records(const thr_scan_query *query, const thr_candidate *items, size_t n) {
    const thr_scan_corpus *corpus = query->corpus;
    if (!query->reads_ahead)
        return;
    const thr_record_shape shape = thr_record_shape_of(corpus->quantiser->n_dims, corpus->quantiser->item_bits,
                                                       corpus->lead, corpus->segments->lead_offsets);
    const size_t size = thr_record_size(shape);
    announced_pages pages = none_announced();
    for (size_t i = 0; i < n; i++) {
        const uint64_t row = corpus->hits == NULL ? items[i].row : items[i].row >> 32;
        const thr_segment *segment = thr_scan_segment_of(corpus, row);
        announce(&pages, segment->records + (row - segment->first_row) * size, size);
    }
}

void thr_scan_read_ahead_vectors(const thr_scan_query *query, const thr_candidate *items, size_t n) {
    const thr_scan_corpus *corpus = query->corpus;
    if (!query->reads_ahead)
        return;
    const size_t size = thr_row_size(corpus);
    announced_pages pages = none_announced();
    for (size_t i = 0; i < n; i++) {
        const thr_segment *segment = thr_scan_segment_of(corpus, items[i].row);
        const uint64_t item = items[i].row - segment->first_row;
        announce(&pages, (const char *)segment->vectors + item * size, size);
        if (segment->inverse_norms != NULL && segment->halves == NULL)
            announce(&pages, segment->inverse_norms + item, sizeof *segment->inverse_norms);
        if (segment->halves != NULL)
            announce(&pages, segment->halves + item, sizeof *segment->halves);
        if (segment->scales != NULL)
            announce(&pages, segment->scales + item, sizeof *segment->scales);
    }
}

void thr_scan_read_ahead_blocks(const thr_scan_corpus *corpus) {
    for (size_t i = 0; i < corpus->n_segments; i++) {
        const thr_segment *s = &corpus->segments[i];
        const size_t n_blocks = thr_blocks_of(s->n_items);
        thr_map_read_ahead(s->codes, n_blocks * thr_block_size(corpus->quantiser->n_dims, corpus->lead));
        if (s->block_norms != NULL)
            thr_map_read_ahead(s->block_norms, n_blocks * sizeof *s->block_norms);
        if (s->factors != NULL)
            thr_map_read_ahead(s->factors, s->n_items * sizeof *s->factors);
        if (s->offsets != NULL)
            thr_map_read_ahead(s->offsets, s->n_items * sizeof *s->offsets);
        if (s->leads != NULL)
            thr_map_read_ahead(s->leads, s->n_items * (s->lead_offsets ? 2 : 1) * sizeof *s->leads);
    }
}
