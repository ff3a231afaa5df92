/* SPDX-License-Identifier: Apache-2.0 */
#include "fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {
namespace {

/* Gives stacks back when the library that the emulator is in is closed. */
struct Pool {
    Fiber *first;
    ~Pool();
} pool;
Fiber *coming_from; /* who switched last */
Fiber *entering;    /* a fiber that runs for the first time */

size_t page_size() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/* THR_SIMT_STACK bytes, 64 KiB without; sanitizers need more, and a page is taken only when it is touched. */
size_t stack_size() {
#ifdef SIMT_ASAN
    size_t size = 256 * 1024;
#else
    size_t size = 64 * 1024;
#endif
    if (const char *text = std::getenv("THR_SIMT_STACK"))
        size = std::strtoull(text, nullptr, 0);
    const size_t page = page_size();
    return (size < 16 * 1024 ? 16 * 1024 : size + page - 1) / page * page;
}

Pool::~Pool() {
    while (Fiber *fiber = first) {
        first = fiber->next;
        char *stack = static_cast<char *>(const_cast<void *>(fiber->stack));
#ifdef SIMT_ASAN
        __asan_unpoison_memory_region(stack, fiber->size); /* who maps this place next finds it clean */
#endif
        (void)munmap(stack - page_size(), page_size() + fiber->size);
        delete fiber;
    }
}

/* After any switch, on the side that was switched to. */
void arrived(void *fake_stack) {
#ifdef SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, &coming_from->stack, &coming_from->size);
#else
    (void)fake_stack;
#endif
}

} // namespace

extern "C" __attribute__((visibility("hidden"), noreturn)) void simt_fiber_entry() {
    arrived(nullptr);
    fiber_loop(entering);
}

#ifndef SIMT_UCONTEXT

/* Keep what a callee must keep on the stack it leaves, and take the same from the other. */
extern "C" __attribute__((visibility("hidden"))) void simt_fiber_swap(void **from, void *to);
__asm__(".text\n"
        ".globl simt_fiber_swap\n"
        ".hidden simt_fiber_swap\n"
        ".type simt_fiber_swap, @function\n"
        "simt_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size simt_fiber_swap, .-simt_fiber_swap\n");

static void prepare(Fiber *fiber, char *stack, size_t size) {
    /* Six registers, where to return to, and the return address of that: the stack is aligned as after a call. */
    void **top = reinterpret_cast<void **>(stack + size) - 1;
    *top = nullptr;
    *--top = reinterpret_cast<void *>(&simt_fiber_entry);
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    fiber->stack_pointer = top;
}

static void swap(Fiber *from, Fiber *to) {
    simt_fiber_swap(&from->stack_pointer, to->stack_pointer);
}

#else

static void prepare(Fiber *fiber, char *stack, size_t size) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = size;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, simt_fiber_entry, 0);
}

static void swap(Fiber *from, Fiber *to) {
    swapcontext(&from->context, &to->context);
}

#endif

Fiber *fiber_take() {
    if (Fiber *fiber = pool.first) {
        pool.first = fiber->next;
        return fiber;
    }
    /* An inaccessible page below reports a stack that was too small. */
    const size_t page = page_size(), size = stack_size();
    void *all = mmap(nullptr, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all, page, PROT_NONE) != 0) {
        std::perror("simt: no memory for the stack of a fiber");
        std::abort();
    }
    char *stack = static_cast<char *>(all) + page;
    Fiber *fiber = new Fiber();
    fiber->stack = stack;
    fiber->size = size;
    prepare(fiber, stack, size);
    entering = fiber;
    return fiber;
}

void fiber_give(Fiber *fiber) {
    fiber->next = pool.first;
    pool.first = fiber;
}

void fiber_switch(Fiber *from, Fiber *to) {
    coming_from = from;
#ifdef SIMT_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
    swap(from, to);
    arrived(from->fake_stack);
}

} // namespace simt
