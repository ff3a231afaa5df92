/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.h - the machine's services for launches and warp barriers.
 */
#pragma once

#include "launch.h"
#include "machine.h"

#include <cstring>

namespace simt {

/* Texts of one kernel mostly have one address. */
inline bool same_text(const char *a, const char *b) {
    return a == b || !std::strcmp(a, b);
}

inline bool same_place(Place a, Place b) {
    return a.line == b.line && same_text(a.file, b.file);
}

/* Run a block to its end. false: a report was taken by a handler and the block is abandoned. */
bool run_block(const Launch &what, uint3 index, uint64_t seed);

/* The current lane waits until it is woken; the lanes of a mask can go on. */
void wait_for_warp();
void wake_lanes(Warp &warp, uint32_t mask);

} // namespace simt
