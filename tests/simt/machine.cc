/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.cc - running the threads of a block in a random order, and their barriers.
 *
 * Threads that have not begun need no fiber: a fiber whose thread ends takes the next of them. So a kernel without
 * barriers never switches, and there are as many fibers as threads that wait.
 */
#include "scheduler.h"

#include "fiber.h"
#include "report.h"

#include <string>

namespace simt {

Block block;
Thread *current;

namespace {

Thread threads[most_threads];
Warp warps[most_threads / lanes_of_warp];
Thread *waiting_turn[most_threads]; /* fresh or ready */
unsigned n_turns;

void (*body)(const void *);
const void *arguments;
Thread *starting; /* for a fiber that begins or comes from the pool */
Fiber host;       /* whoever launched */
bool abandoned;
uint64_t random_state;

uint32_t next_epoch() {
    static uint32_t last;
    return ++last;
}

uint64_t next_random() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

Thread *pick() {
    if (n_turns == 0)
        return nullptr;
    const unsigned i = static_cast<unsigned>((next_random() >> 32) * n_turns >> 32);
    Thread *thread = waiting_turn[i];
    waiting_turn[i] = waiting_turn[--n_turns];
    return thread;
}

void wake(Thread &thread) {
    thread.state = State::ready;
    waiting_turn[n_turns++] = &thread;
}

[[noreturn]] void report_deadlock(Place place) {
    std::string who;
    unsigned listed = 0;
    for (unsigned i = 0; i < block.n_threads && listed < 8; i++)
        if (threads[i].state == State::meets_warp || threads[i].state == State::meets_block) {
            who += "\n  " + thread_text(i) + " waits at " + place_text(threads[i].place);
            listed++;
        }
    kernel_report(place, "deadlock: all threads that are left wait for each other, %u have returned%s", block.n_done,
                  who.c_str());
}

/* The current thread cannot go on; somebody else does. Returns when it can, or throws when the kernel is abandoned. */
void give_way() {
    Thread &me = *current;
    Thread *next = pick();
    if (!next)
        report_deadlock(me.place);
    if (!next->fiber)
        starting = next;
    fiber_switch(me.fiber, next->fiber ? next->fiber : fiber_take());
    current = &me;
    if (abandoned)
        throw Abandon{};
    me.state = State::runs;
}

/* The current thread's function has returned. */
void thread_ends() {
    Thread &me = *current;
    Warp &warp = *me.warp;
    const uint32_t bit = 1u << me.lane;
    me.state = State::done;
    block.n_done++;
    warp.left |= bit;
    for (unsigned g = 0; g < warp.n_groups; g++)
        if (warp.groups[g].mask & bit)
            kernel_report(warp.groups[g].place,
                          "wrong mask: %s waits for lanes 0x%08x, but of those lane %u (%s) has returned",
                          warp.groups[g].what, warp.groups[g].mask, me.lane, thread_text(me.number).c_str());
    if (block.n_waiting > 0)
        kernel_report(threads[block.first_waiting].place, "divergent barrier: %s waits at %s, but %s has returned",
                      thread_text(block.first_waiting).c_str(), block.what, thread_text(me.number).c_str());
}

/* Run a thread from its first line. Returns who is next, NULL when all have ended or the kernel is abandoned. */
Thread *run_thread(Thread *thread, Fiber *fiber) {
    thread->fiber = fiber;
    thread->state = State::runs;
    current = thread;
    Thread *next = nullptr;
    try {
        body(arguments);
        thread_ends();
        next = pick();
        if (!next && block.n_done < block.n_threads)
            report_deadlock({"", 0});
    } catch (const Abandon &) {
        abandoned = true;
        next = nullptr;
    }
    thread->fiber = nullptr;
    return next;
}

void begin_block(const Launch &what, uint3 index) {
    static uint32_t last_serial;
    Block &b = block;
    b = Block();
    b.index = index;
    b.dim = what.dim;
    b.grid = what.grid;
    b.n_threads = what.dim.x * what.dim.y * what.dim.z;
    b.serial = ++last_serial;
    b.epoch = next_epoch();
    n_turns = 0;
    for (unsigned i = 0; i < b.n_threads; i++) {
        Warp &warp = warps[i / lanes_of_warp];
        Thread &thread = threads[i];
        if (i % lanes_of_warp == 0) {
            warp = Warp();
            warp.threads = &thread;
            warp.tick = 1;
        }
        warp.exists |= 1u << i % lanes_of_warp;
        thread = Thread();
        thread.index = uint3{i % what.dim.x, i / what.dim.x % what.dim.y, i / (what.dim.x * what.dim.y)};
        thread.number = i;
        thread.lane = i % lanes_of_warp;
        thread.warp = &warp;
        waiting_turn[n_turns++] = &thread;
    }
}

} // namespace

void fiber_loop(Fiber *me) {
    for (;;) {
        Thread *thread = starting;
        while (thread && !thread->fiber)
            thread = run_thread(thread, me);
        fiber_give(me);
        fiber_switch(me, thread ? thread->fiber : &host);
    }
}

bool run_block(const Launch &what, uint3 index, uint64_t seed) {
    begin_block(what, index);
    body = what.body;
    arguments = what.arguments;
    random_state = seed | 1;
    abandoned = false;
    starting = pick();
    fiber_switch(&host, fiber_take());
    if (abandoned) /* the others end where they wait */
        for (unsigned i = 0; i < block.n_threads; i++)
            if (threads[i].fiber) {
                current = &threads[i];
                fiber_switch(&host, threads[i].fiber);
            }
    current = nullptr;
    return !abandoned;
}

void wait_for_warp() {
    current->state = State::meets_warp;
    give_way();
}

void wake_lanes(Warp &warp, uint32_t mask) {
    for (; mask; mask &= mask - 1)
        wake(warp.threads[__builtin_ctz(mask)]);
}

void block_meet(const char *what, Place place, int predicate) {
    Thread &me = *current;
    Warp &warp = *me.warp;
    Block &b = block;
    const uint32_t bit = 1u << me.lane;
    me.place = place;
    if (b.n_done > 0) {
        unsigned gone = 0;
        while (threads[gone].state != State::done)
            gone++;
        kernel_report(place, "divergent barrier: %s comes to %s, but %s has returned", thread_text(me.number).c_str(),
                      what, thread_text(gone).c_str());
    }
    if (b.n_waiting > 0) {
        const Thread &first = threads[b.first_waiting];
        if (!same_place(first.place, place) || !same_text(b.what, what))
            kernel_report(place, "divergent barrier: %s comes to %s, but %s waits at %s of %s",
                          thread_text(me.number).c_str(), what, thread_text(first.number).c_str(), b.what,
                          place_text(first.place).c_str());
    } else {
        b.first_waiting = me.number;
        b.what = what;
    }
    for (unsigned g = 0; g < warp.n_groups; g++)
        if (warp.groups[g].mask & bit)
            kernel_report(place,
                          "divergent barrier: %s comes to %s, but lanes 0x%08x of its warp wait for it at %s of %s",
                          thread_text(me.number).c_str(), what, warp.groups[g].arrived, warp.groups[g].what,
                          place_text(warp.groups[g].place).c_str());
    b.gathers_any |= predicate != 0;
    if (++b.n_waiting < b.n_threads) {
        warp.at_barrier |= bit;
        me.state = State::meets_block;
        give_way();
        return;
    }
    b.any = b.gathers_any;
    b.gathers_any = false;
    b.n_waiting = 0;
    b.epoch = next_epoch();
    for (unsigned i = 0; i < b.n_threads; i++) {
        warps[i / lanes_of_warp].at_barrier = 0;
        if (i != me.number)
            wake(threads[i]);
    }
}

} // namespace simt
