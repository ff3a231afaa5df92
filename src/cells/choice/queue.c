/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a heap of the cells with large keys. */
#include "cells/choice/queue.h"

#include <math.h>
#include <stdbool.h>

static void sift_down(thr_cells_queue *queue, size_t at) {
    uint32_t *heap = queue->cells;
    for (;;) {
        size_t largest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < queue->n_heap; child++) {
            const double a = queue->keys[heap[child]], b = queue->keys[heap[largest]];
            if (a > b || (a == b && heap[child] < heap[largest]))
                largest = child;
        }
        if (largest == at)
            return;
        const uint32_t cell = heap[at];
        heap[at] = heap[largest];
        heap[largest] = cell;
        at = largest;
    }
}

static void make_heap(thr_cells_queue *queue, size_t n) {
    queue->n_heap = n;
    for (size_t i = n / 2; i > 0; i--)
        sift_down(queue, i - 1);
}

thr_cells_queue thr_cells_queue_make(uint32_t *cells, size_t n, const double *keys, double bound) {
    thr_cells_queue queue = {.cells = cells, .keys = keys, .bound = bound, .n_all = n};
    size_t n_heap = 0;
    for (uint32_t c = 0; c < n; c++) { /* without branches: which keys are large is unpredictable */
        const bool is_queued = keys[c] != -INFINITY;
        cells[n_heap] = c;
        n_heap += is_queued & (keys[c] >= bound);
        queue.n += is_queued;
    }
    make_heap(&queue, n_heap);
    return queue;
}

thr_cells_queue thr_cells_queue_of(uint32_t *cells, size_t n, const double *keys) {
    thr_cells_queue queue = {.cells = cells, .keys = keys, .n = n};
    make_heap(&queue, n);
    return queue;
}

/* Make a heap of the cells whose keys are below the bound, or not a number. */
static void refill(thr_cells_queue *queue) {
    size_t n = 0;
    for (uint32_t c = 0; c < queue->n_all; c++)
        if (!(queue->keys[c] >= queue->bound) && queue->keys[c] != -INFINITY)
            queue->cells[n++] = c;
    make_heap(queue, n);
}

uint32_t thr_cells_queue_first(thr_cells_queue *queue) {
    if (queue->n_heap == 0)
        refill(queue);
    return queue->cells[0];
}

uint32_t thr_cells_queue_pop(thr_cells_queue *queue) {
    const uint32_t cell = thr_cells_queue_first(queue);
    queue->cells[0] = queue->cells[--queue->n_heap];
    queue->n--;
    sift_down(queue, 0);
    return cell;
}
