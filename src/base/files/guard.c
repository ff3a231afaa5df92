/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - a handler of SIGBUS. It replaces the rest of the map, from the page that could not be read, by zero pages
 * and returns, so that the read succeeds. It uses atomics and two system calls only.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/files/guard.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_MAPS = 4096, FREE = 0, CLAIMED = 1 };

/* begin: the address, or FREE, or CLAIMED while end is not set yet. */
typedef struct guarded_map {
    atomic_uintptr_t begin, end;
    atomic_bool lost;
} guarded_map;

static guarded_map maps[MOST_MAPS];
static atomic_bool installed, fired;
static uintptr_t page_size;
static struct sigaction before;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------------------------------------ handler */

static bool give_zeros(uintptr_t address) {
    for (size_t i = 0; i < MOST_MAPS; i++) {
        const uintptr_t begin = atomic_load(&maps[i].begin), end = atomic_load(&maps[i].end);
        if (begin <= CLAIMED || address < begin || address >= end)
            continue;
        const uintptr_t page = address / page_size * page_size;
        atomic_store(&maps[i].lost, true);
        atomic_store(&fired, true);
        return mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    return false;
}

/* A signal that is not ours: do what would have been done without us. */
static void pass_on(int number, siginfo_t *info, void *where) {
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, where);
    } else if (before.sa_handler == SIG_DFL || (before.sa_handler == SIG_IGN && info->si_code > 0)) {
        /* The read is repeated when this returns, and ends the process; a signal that was sent is sent again. */
        (void)signal(number, SIG_DFL);
        if (info->si_code <= 0)
            (void)raise(number);
    } else if (before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    }
}

static void handle(int number, siginfo_t *info, void *where) {
    const int why = errno;
    if (info->si_code <= 0 || !give_zeros((uintptr_t)info->si_addr))
        pass_on(number, info, where);
    errno = why;
}

thr_status thr_guard_files(thr_error *err) {
    struct sigaction action;
    bool failed = false;
    (void)pthread_mutex_lock(&installing);
    if (!atomic_load(&installed)) {
        page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
        memset(&action, 0, sizeof action);
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        (void)sigemptyset(&action.sa_mask);
        failed = sigaction(SIGBUS, NULL, &before) != 0 || sigaction(SIGBUS, &action, NULL) != 0;
        atomic_store(&installed, !failed);
    }
    (void)pthread_mutex_unlock(&installing);
    return failed ? thr_fail(err, THR_EUNSUPPORTED, "no handler of SIGBUS can be installed here: %s", strerror(errno))
                  : THR_OK;
}

/* ------------------------------------------------------------------------------------------------ maps */

uint32_t thr_guard_begin(const void *data, size_t size) {
    if (!atomic_load(&installed) || size == 0)
        return 0;
    for (uint32_t i = 0; i < MOST_MAPS; i++) {
        uintptr_t expected = FREE;
        if (!atomic_compare_exchange_strong(&maps[i].begin, &expected, CLAIMED))
            continue;
        atomic_store(&maps[i].lost, false);
        atomic_store(&maps[i].end, ((uintptr_t)data + size + page_size - 1) / page_size * page_size);
        atomic_store(&maps[i].begin, (uintptr_t)data);
        return i + 1;
    }
    return 0;
}

void thr_guard_end(uint32_t guard) {
    if (guard != 0)
        atomic_store(&maps[guard - 1].begin, FREE);
}

bool thr_guard_lost(uint32_t guard) {
    return guard != 0 && atomic_load(&maps[guard - 1].lost);
}

bool thr_guard_fired(void) {
    return atomic_load_explicit(&fired, memory_order_acquire);
}
