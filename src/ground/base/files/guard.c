/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - a handler of SIGBUS. It replaces the rest of the map, from the page that could not be read, by zero pages
 * and returns, so that the read succeeds. It uses atomics and async-signal-safe calls only.
 *
 * Other code of the process may install a handler of SIGBUS, too, and restore the previous one later. So every map and
 * every search installs this handler again if it finds another one. The handlers found are kept in a list, the newest
 * last. A signal that is not ours goes to the newest. It goes to the next older one if the newest calls this handler
 * again, raises the signal again, or lets the same read fail MOST_REPEATS times. After the oldest comes the default
 * action.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/files/guard.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_MAPS = 4096, FREE = 0, CLAIMED = 1, MOST_HANDLERS = 8, NOBODY = MOST_HANDLERS, MOST_REPEATS = 100 };

/* How long a check of a file holds. A system call for each file would slow searches of many small ones. */
static const double FRESH_S = 0.001;

/* begin: the address, or FREE, or CLAIMED while end is not set yet. */
typedef struct guarded_map {
    atomic_uintptr_t begin, end;
    atomic_bool lost;
    const uint8_t *last; /* the address of the last word; NULL if it is 0, as after a cut */
    uint64_t word;       /* the last word */
    _Atomic double fresh_until;
} guarded_map;

static guarded_map maps[MOST_MAPS];
static atomic_bool installed, fired;
static uintptr_t page_size;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;

/* Handlers that were found, the newest last. */
static struct sigaction found[MOST_HANDLERS];
static atomic_int n_found;

/* The one that a signal was passed on to, or NOBODY, and the address of that signal. */
static atomic_int passed_to = NOBODY;
static atomic_uintptr_t passed_address;
static atomic_int n_repeats; /* of this address, in a row */

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

static bool is_sent(const siginfo_t *info) {
    return info->si_code <= 0; /* by kill or raise; there is no address */
}

/* Whether the handler that a signal was passed on to has passed it back. */
static bool comes_back(const siginfo_t *info) {
    if (atomic_load(&passed_to) == NOBODY)
        return false;
    return is_sent(info) ? info->si_pid == getpid() : (uintptr_t)info->si_addr == atomic_load(&passed_address);
}

/* The read is repeated when the handler returns, and ends the process; a signal that was sent is sent again. */
static void act_by_default(int number, const siginfo_t *info) {
    (void)signal(number, SIG_DFL);
    if (is_sent(info))
        (void)raise(number);
}

static void call(const struct sigaction *action, int number, siginfo_t *info, void *where) {
    if ((action->sa_flags & SA_SIGINFO) != 0)
        action->sa_sigaction(number, info, where);
    else if (action->sa_handler == SIG_DFL || (action->sa_handler == SIG_IGN && !is_sent(info)))
        act_by_default(number, info);
    else if (action->sa_handler != SIG_IGN)
        action->sa_handler(number);
}

/* Pass a signal that is not ours to the handlers that were found, as if this one were not installed. */
static void pass_on(int number, siginfo_t *info, void *where) {
    const uintptr_t address = is_sent(info) ? 0 : (uintptr_t)info->si_addr;
    sigset_t waiting;
    int to = atomic_load(&n_found) - 1;
    if (comes_back(info))
        to = atomic_load(&passed_to) - 1;
    else if (address == 0 || address != atomic_load(&passed_address))
        atomic_store(&n_repeats, 0);
    else
        to -= atomic_fetch_add(&n_repeats, 1) / MOST_REPEATS;
    if (to < 0) {
        act_by_default(number, info);
        return;
    }
    if (!is_sent(info))
        atomic_store(&passed_address, address);
    atomic_store(&passed_to, to);
    call(&found[to], number, info, where);
    /* If the called handler has raised the signal again, it is blocked now, and arrives after this one returns. */
    if (sigpending(&waiting) != 0 || sigismember(&waiting, number) == 0)
        atomic_store(&passed_to, NOBODY);
}

static void handle(int number, siginfo_t *info, void *where) {
    const int why = errno;
    if (is_sent(info) || !give_zeros((uintptr_t)info->si_addr))
        pass_on(number, info, where);
    errno = why;
}

/* ------------------------------------------------------------------------------------------------ install */

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == handle;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b) {
    const bool info = (a->sa_flags & SA_SIGINFO) != 0;
    if (info != ((b->sa_flags & SA_SIGINFO) != 0))
        return false;
    return info ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler;
}

/* Append a handler to the list. One that is in it already was put back: those after it are switched off. */
static void note(const struct sigaction *action) {
    int n = 0;
    const int all = atomic_load(&n_found);
    while (n < all && !is_same(&found[n], action))
        n++;
    if (n == MOST_HANDLERS)
        n--;
    found[n] = *action;
    atomic_store(&n_found, n + 1);
}

/* Install the handler where another one is found. The mutex is held. */
static bool install(void) {
    struct sigaction action, now;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) != 0)
        return false;
    if (is_ours(&now))
        return true;
    note(&now);
    return sigaction(SIGBUS, &action, NULL) == 0;
}

static void lock_for_fork(void) {
    (void)pthread_mutex_lock(&installing);
}

static void unlock_after_fork(void) {
    (void)pthread_mutex_unlock(&installing);
}

static void watch_forks(void) {
    (void)pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

thr_status thr_guard_files(thr_error *err) {
    (void)pthread_once(&forks_are_watched, watch_forks);
    (void)pthread_mutex_lock(&installing);
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    const bool done = install();
    atomic_store(&installed, done || atomic_load(&installed));
    (void)pthread_mutex_unlock(&installing);
    return done ? THR_OK
                : thr_fail(err, THR_EUNSUPPORTED, "no handler of SIGBUS can be installed here: %s", strerror(errno));
}

void thr_guard_renew(void) {
    struct sigaction now;
    if (atomic_load_explicit(&installed, memory_order_acquire) &&
        (sigaction(SIGBUS, NULL, &now) != 0 || !is_ours(&now)))
        (void)thr_guard_files(NULL);
}

/* ------------------------------------------------------------------------------------------------ maps */

static uint64_t word_at(const uint8_t *address) {
    uint64_t word;
    memcpy(&word, address, sizeof word);
    return word;
}

/* The map is guarded already, because this reads it. */
static void note_end(guarded_map *map, const uint8_t *data, size_t size) {
    map->word = size < sizeof map->word ? 0 : word_at(data + size - sizeof map->word);
    map->last = map->word == 0 ? NULL : data + size - sizeof map->word;
    atomic_store(&map->fresh_until, 0);
}

uint32_t thr_guard_begin(const void *data, size_t size) {
    thr_guard_renew();
    if (!atomic_load(&installed) || size == 0)
        return 0;
    for (uint32_t i = 0; i < MOST_MAPS; i++) {
        uintptr_t expected = FREE;
        if (!atomic_compare_exchange_strong(&maps[i].begin, &expected, CLAIMED))
            continue;
        atomic_store(&maps[i].lost, false);
        atomic_store(&maps[i].end, THR_ROUND_UP((uintptr_t)data + size, page_size));
        maps[i].last = NULL;
        atomic_store(&maps[i].begin, (uintptr_t)data);
        note_end(&maps[i], (const uint8_t *)data, size);
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

bool thr_guard_is_fresh(uint32_t guard) {
    if (guard == 0)
        return false;
    const guarded_map *map = &maps[guard - 1];
    return map->last != NULL && thr_clock() < atomic_load_explicit(&map->fresh_until, memory_order_relaxed) &&
           word_at(map->last) == map->word && !atomic_load(&map->lost);
}

double thr_guard_fresh_until(void) {
    return thr_clock() + FRESH_S;
}

void thr_guard_note_fresh(uint32_t guard, double until) {
    if (guard != 0)
        atomic_store_explicit(&maps[guard - 1].fresh_until, until, memory_order_relaxed);
}

bool thr_guard_fired(void) {
    return atomic_load_explicit(&fired, memory_order_acquire);
}
