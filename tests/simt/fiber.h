/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fiber.h - stacks to run on, and going from one to another.
 *
 * Fibers are never ended: one that has nothing to do goes back to a pool, suspended in its loop, with its stack and
 * what AddressSanitizer keeps beside it. All of this belongs to whoever holds the machine.
 */
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif

/* On other machines, or here on request: slower by a system call. */
#if !defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_UCONTEXT 1
#endif
#ifdef SIMT_UCONTEXT
#include <ucontext.h>
#endif

namespace simt {

struct Fiber {
    void *stack_pointer;
    const void *stack; /* its lowest byte */
    size_t size;
    void *fake_stack; /* AddressSanitizer's */
    Fiber *next;      /* in the pool */
#ifdef SIMT_UCONTEXT
    ucontext_t context;
#endif
};

/* A fiber that waits in its loop, or a new one about to enter it. */
Fiber *fiber_take();

/* Back to the pool. The fiber may give itself back; it goes on until it switches. */
void fiber_give(Fiber *fiber);

/* Suspend from, which is what runs, and go on with to. Returns when somebody switches back. */
void fiber_switch(Fiber *from, Fiber *to);

/* What every fiber runs, for ever: machine.cc has it. */
[[noreturn]] void fiber_loop(Fiber *me);

} // namespace simt
