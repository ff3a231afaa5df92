/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - what runs at a moment: one block of one kernel, its warps and threads.
 *
 * There is one machine. A launch holds it from its first block to its last, whatever host thread it comes from, so
 * nothing here needs a lock. Threads are fibers that give way only in warp_meet and block_meet.
 */
#pragma once

#include "dialect.h"

namespace simt {

constexpr unsigned lanes_of_warp = 32;
constexpr unsigned most_threads = 1024;
constexpr size_t most_shared = 48 * 1024;

/* A line of source. */
struct Place {
    const char *file;
    int line;
};

struct Fiber;
struct Warp;

enum class State : unsigned char { fresh, runs, ready, meets_warp, meets_block, done };

struct Thread {
    uint3 index;
    unsigned number; /* in its block */
    unsigned lane;
    Warp *warp;
    Fiber *fiber; /* NULL before it began and after it ended */
    State state;
    Place place; /* where it waits */
};

/* Lanes that wait for each other at an intrinsic. */
struct Group {
    const char *what;
    Place place;
    uint32_t mask, arrived;
};

/*
 * Order in a warp is kept as ticks: lane i has seen what lane j did at tick t if t < seen_all[i] or t < seen[i][j].
 * A meeting of all lanes is a tick of all; one of some lanes joins what they have seen.
 */
struct Warp {
    Thread *threads;
    uint32_t exists, left, at_barrier; /* masks of lanes */
    unsigned n_groups;
    Group groups[lanes_of_warp];
    void *data[lanes_of_warp]; /* what a waiting lane brought */
    uint32_t tick;
    uint32_t seen_all[lanes_of_warp];
    uint32_t seen[lanes_of_warp][lanes_of_warp];
};

struct Block {
    uint3 index;
    dim3 dim, grid;
    unsigned n_threads, n_done;
    uint32_t serial; /* another for every block there ever was */
    uint32_t epoch;  /* another for every stretch between barriers there ever was */
    size_t shared;   /* bytes of the arrays that were declared so far */
    unsigned n_waiting, first_waiting;
    const char *what;      /* the barrier they wait at */
    bool gathers_any, any; /* any: of the last barrier */
};

extern Block block;
extern Thread *current; /* NULL outside of kernels */

/* Given the data of all lanes of a mask, once they are all there, by lane: computes what each of them takes away. */
using Resolve = void (*)(void *const *lanes, uint32_t mask);

/*
 * Wait until all lanes of the mask are at the same intrinsic at the same place with the same mask, then resolve.
 * orders: what they did in shared memory before is seen by all of them afterwards.
 */
void warp_meet(const char *what, Place place, uint32_t mask, bool orders, Resolve resolve, void *data);

/* Wait for all threads of the block; block.any is whether any predicate held then. */
void block_meet(const char *what, Place place, int predicate);

} // namespace simt

#define threadIdx (::simt::current->index)
#define blockIdx  (::simt::block.index)
#define blockDim  (::simt::block.dim)
#define gridDim   (::simt::block.grid)
