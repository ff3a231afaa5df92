/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* _Unwind_GetIP, in unwind.h */
#include "sites.h"

#include "support.h"

#include "base/files/checksum.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum { FRAMES = 24, OWN_FRAMES = 1 };

/* One for all sites: rounds are short. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

typedef struct stack {
    size_t n;
    uintptr_t frames[FRAMES];
} stack;

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument) {
    stack *s = argument;
    s->frames[s->n++] = (uintptr_t)_Unwind_GetIP(context);
    return s->n < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uint64_t stack_checksum(void) {
    stack s = {0};
    (void)_Unwind_Backtrace(take_frame, &s);
    const uint64_t sum = thr_checksum_of(s.frames + OWN_FRAMES, (s.n - OWN_FRAMES) * sizeof *s.frames);
    return sum != 0 ? sum : 1;
}

static test_site *find(test_sites *sites, uint64_t sum) {
    size_t at = (size_t)(sum % TEST_SITES_ROOM);
    for (; sites->sites[at].stack != 0 && sites->sites[at].stack != sum; at = (at + 1) % TEST_SITES_ROOM)
        ;
    if (sites->sites[at].stack == 0) {
        if (++sites->n > TEST_SITES_ROOM / 2)
            abort();
        sites->sites[at].stack = sum;
    }
    return &sites->sites[at];
}

void test_sites_forget(test_sites *sites) {
    memset(sites, 0, sizeof *sites);
}

void test_sites_begin(test_sites *sites) {
    (void)pthread_mutex_lock(&mutex);
    sites->round++;
    sites->armed = true;
    sites->failed = false;
    (void)pthread_mutex_unlock(&mutex);
}

static bool fail_locked(test_sites *sites) {
    if (!sites->armed || sites->failed)
        return sites->armed && sites->follow;
    test_site *site = find(sites, stack_checksum());
    if (site->round != sites->round) {
        site->round = sites->round;
        site->times = 0;
    }
    const uint64_t times = ++site->times;
    if (times <= site->failed || ((times & (times - 1)) != 0 && getenv("THR_TEST_ROUNDS") == NULL))
        return false;
    site->failed = times;
    sites->failed = true;
    return true;
}

bool test_sites_fail(test_sites *sites) {
    (void)pthread_mutex_lock(&mutex);
    const bool fails = fail_locked(sites);
    (void)pthread_mutex_unlock(&mutex);
    return fails;
}

bool test_sites_end(test_sites *sites) {
    (void)pthread_mutex_lock(&mutex);
    sites->armed = false;
    const bool failed = sites->failed;
    (void)pthread_mutex_unlock(&mutex);
    return failed;
}
