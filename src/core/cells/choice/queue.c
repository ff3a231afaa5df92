/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a heap of the cells with large keys. */
#include "cells/choice/queue.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool is_before(const thr_cells_queue *queue, uint32_t a, uint32_t b) {
    const double key = queue->keys[a], other = queue->keys[b];
    return (key > other) | ((key == other) & (a < b));
}

/*
 * Move the cell at place `top` down to where it belongs. First the place moves to a leaf: at each level the child with
 * the larger key moves up. Then the cell rises from the leaf, usually by few levels. So few branches are unpredictable.
 */
static void sift_down(thr_cells_queue *queue, size_t top) {
    uint32_t *heap = queue->cells;
    const uint32_t cell = heap[top];
    size_t at = top;
    for (size_t child = 2 * at + 1; child < queue->n_heap; child = 2 * at + 1) {
        child += child + 1 < queue->n_heap && is_before(queue, heap[child + 1], heap[child]);
        heap[at] = heap[child];
        at = child;
    }
    while (at > top && is_before(queue, cell, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = cell;
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

thr_cells_queue thr_cells_queue_of(uint32_t *heap, const uint32_t *cells, size_t n, const double *keys) {
    thr_cells_queue queue = {.cells = heap, .keys = keys, .n = n};
    memcpy(heap, cells, n * sizeof *heap);
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
