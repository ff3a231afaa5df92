/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.h - makes a call fail at each of its call sites in turn, one site a round.
 *
 * A site is a stack of callers. It fails in several rounds: at its first call, its second, its fourth, its eighth and
 * so on, so that loops fail at their beginning and in their middle. With THR_TEST_ROUNDS in the environment it fails
 * at each call.
 *
 *     static test_sites sites;
 *     test_sites_forget(&sites);
 *     do {
 *         test_sites_begin(&sites);
 *         work, in which each call of the kind fails if test_sites_fail(&sites)
 *     } while (test_sites_end(&sites));
 *
 * Threads: all functions may be called by several threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEST_SITES_ROOM = 8192 }; /* a power of two; half of them are used at most */

typedef struct test_site {
    uint64_t stack;        /* a checksum; 0: no site */
    uint64_t failed;       /* the number of its last call in a round that has failed */
    uint64_t round, times; /* calls in `round` */
} test_site;

typedef struct test_sites {
    bool follow;        /* set by the caller: all later calls of a round fail, too */
    bool armed, failed; /* in the present round */
    uint64_t round;
    size_t n;
    test_site sites[TEST_SITES_ROOM];
} test_sites;

/* Begin with no sites. */
void test_sites_forget(test_sites *sites);

void test_sites_begin(test_sites *sites);

/* Whether the caller should fail: once a round, at the first site and number of calls that has not failed before. */
bool test_sites_fail(test_sites *sites);

/* End a round; whether there was a failure in it. */
bool test_sites_end(test_sites *sites);
