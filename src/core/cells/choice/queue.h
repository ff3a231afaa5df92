/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - cells in descending order of their keys. Few are usually taken, so only those whose key reaches a bound
 * are a heap; the others become one when it is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The arrays are borrowed. */
typedef struct thr_cells_queue {
    uint32_t *cells;    /* a heap of n_heap, its largest key first */
    const double *keys; /* by cell */
    double bound;       /* the least key of the first heap */
    size_t n_heap, n;   /* n: cells in the queue, in the heap or not */
    size_t n_all;       /* of thr_cells_queue_make: the next heap is made of cells 0 to n_all - 1; else 0 */
} thr_cells_queue;

/*
 * Queue all of n cells but those whose key is -INFINITY. cells: memory for n numbers. bound: the least key of the
 * first heap; any value gives the same order.
 */
thr_cells_queue thr_cells_queue_make(uint32_t *cells, size_t n, const double *keys, double bound);

/* Queue n listed cells, all in the first heap. heap: memory for n numbers. keys, not -INFINITY: by cell. */
thr_cells_queue thr_cells_queue_of(uint32_t *heap, const uint32_t *cells, size_t n, const double *keys);

/* The cell with the largest key, of equal ones the lowest number. The queue must not be empty. */
uint32_t thr_cells_queue_first(thr_cells_queue *queue);

/* Remove that cell from the queue, and return it. */
uint32_t thr_cells_queue_pop(thr_cells_queue *queue);
