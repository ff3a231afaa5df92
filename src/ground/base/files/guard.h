/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - maps whose lost bytes read as zeros once thr_guard_files was called. */
#pragma once

#include <thresher/guard.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Install the handler again if another one is installed now. Call it before maps are read, once a call of the library.
 * Costs one system call.
 */
void thr_guard_renew(void);

/*
 * Guard size bytes at data, a read-only map of whole pages. Returns a number for the functions below; 0: not guarded,
 * because there is no guard or no place.
 */
uint32_t thr_guard_begin(const void *data, size_t size);

/* End it before the map is removed. 0 is allowed. */
void thr_guard_end(uint32_t guard);

/* Whether a read of this map failed. 0 is allowed. */
bool thr_guard_lost(uint32_t guard);

/*
 * Whether the file of this map was found unchanged less than a millisecond ago, and has not been cut since: a cut file
 * ends in zeros. Costs no system call, and reads the map. False for 0.
 */
bool thr_guard_is_fresh(uint32_t guard);

/* A check that begins now holds until then. Note it if the check succeeds. 0 is allowed for guard. */
double thr_guard_fresh_until(void);
void thr_guard_note_fresh(uint32_t guard, double until);

/* Whether a read of any map has failed in this process: calls that read maps then check them at their end, too. */
bool thr_guard_fired(void);
