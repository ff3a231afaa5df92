/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a heap of the cells with large keys. */
#include "cells/queue.h"

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
    thr_cells_queue queue = {.cells = cells, .keys = keys, .n = n};
    size_t n_heap = 0;
    for (size_t i = 0; i < n; i++)
        if (keys[cells[i]] >= bound) {
            const uint32_t cell = cells[i];
            cells[i] = cells[n_heap];
            cells[n_heap++] = cell;
        }
    make_heap(&queue, n_heap);
    return queue;
}

uint32_t thr_cells_queue_first(thr_cells_queue *queue) {
    if (queue->n_heap == 0)
        make_heap(queue, queue->n);
    return queue->cells[0];
}

uint32_t thr_cells_queue_pop(thr_cells_queue *queue) {
    const uint32_t cell = thr_cells_queue_first(queue);
    queue->cells[0] = queue->cells[--queue->n_heap];
    queue->cells[queue->n_heap] = queue->cells[--queue->n];
    sift_down(queue, 0);
    return cell;
}
