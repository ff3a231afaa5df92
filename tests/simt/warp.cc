/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.cc - lanes that meet, what can be wrong with that, and what they exchange.
 */
#include "warp.h"

#include "report.h"
#include "scheduler.h"

#include <cstdlib>
#include <cstring>

namespace simt {
namespace {

[[noreturn]] void report_mask(const char *what, Place place, uint32_t mask, unsigned lane, const char *why) {
    kernel_report(place, "wrong mask: %s of %s has mask 0x%08x, but lane %u %s", what,
                  thread_text(current->number).c_str(), mask, lane, why);
}

/* Everybody whom the mask names can still come here. */
void check_mask(const Warp &warp, const char *what, Place place, uint32_t mask) {
    const unsigned lane = current->lane;
    if (!(mask >> lane & 1u))
        report_mask(what, place, mask, lane, "calls it and is not in its mask");
    if (const uint32_t missing = mask & ~warp.exists)
        report_mask(what, place, mask, static_cast<unsigned>(__builtin_ctz(missing)), "does not exist in this block");
    if (const uint32_t gone = mask & warp.left)
        report_mask(what, place, mask, static_cast<unsigned>(__builtin_ctz(gone)), "has returned");
    if (const uint32_t away = mask & warp.at_barrier)
        report_mask(what, place, mask, static_cast<unsigned>(__builtin_ctz(away)), "waits at a barrier of the block");
}

/* The group that waits for the current lane here; a new one where there is none. */
Group &find_group(Warp &warp, const char *what, Place place, uint32_t mask) {
    const uint32_t bit = 1u << current->lane;
    Group *mine = nullptr;
    for (unsigned g = 0; g < warp.n_groups; g++) {
        Group &group = warp.groups[g];
        const bool same = same_place(group.place, place) && same_text(group.what, what);
        if (same && group.mask == mask) {
            mine = &group;
        } else if ((group.mask & bit) && (mask & group.arrived)) {
            if (same)
                kernel_report(place,
                              "different masks: %s of %s has mask 0x%08x, but lanes 0x%08x wait there with 0x%08x",
                              what, thread_text(current->number).c_str(), mask, group.arrived, group.mask);
            kernel_report(place,
                          "divergent warp: %s comes to %s for lanes 0x%08x, but lanes 0x%08x wait for it at %s of %s",
                          thread_text(current->number).c_str(), what, mask, group.arrived, group.what,
                          place_text(group.place).c_str());
        }
    }
    if (mine)
        return *mine;
    warp.groups[warp.n_groups] = Group{what, place, mask, 0};
    return warp.groups[warp.n_groups++];
}

/* What lanes of the mask did before is seen by all of them from now on. */
void order(Warp &warp, uint32_t mask) {
    const uint32_t now = ++warp.tick;
    if (mask == warp.exists) {
        for (uint32_t &seen : warp.seen_all)
            seen = now;
        return;
    }
    uint32_t joined[lanes_of_warp] = {0}, all = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
        all = warp.seen_all[lane] > all ? warp.seen_all[lane] : all;
        for (unsigned j = 0; j < lanes_of_warp; j++)
            joined[j] = warp.seen[lane][j] > joined[j] ? warp.seen[lane][j] : joined[j];
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        joined[__builtin_ctz(rest)] = now;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        warp.seen_all[__builtin_ctz(rest)] = all;
        std::memcpy(warp.seen[__builtin_ctz(rest)], joined, sizeof(joined));
    }
}

/* THR_SIMT_STRICT=1: only __syncwarp orders memory, which is all that CUDA promises. */
bool is_strict() {
    static const bool strict = [] {
        const char *text = std::getenv("THR_SIMT_STRICT");
        return text && *text == '1';
    }();
    return strict;
}

} // namespace

void warp_meet(const char *what, Place place, uint32_t mask, bool orders, Resolve resolve, void *data) {
    Thread &me = *current;
    Warp &warp = *me.warp;
    me.place = place;
    check_mask(warp, what, place, mask);
    Group &group = find_group(warp, what, place, mask);
    group.arrived |= 1u << me.lane;
    warp.data[me.lane] = data;
    if (group.arrived != mask) {
        wait_for_warp();
        return;
    }
    group = warp.groups[--warp.n_groups];
    resolve(warp.data, mask);
    if (orders || !is_strict())
        order(warp, mask);
    wake_lanes(warp, mask & ~(1u << me.lane));
}

/* ---------------------------------------------------------------------------------------------------- answers */

void resolve_nothing(void *const *, uint32_t) {}

void resolve_exchange(void *const *lanes, uint32_t mask) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        Exchange &mine = *static_cast<Exchange *>(lanes[__builtin_ctz(rest)]);
        mine.out = mask >> mine.from & 1u ? static_cast<const Exchange *>(lanes[mine.from])->in : undefined_bits;
    }
}

void resolve_any(void *const *lanes, uint32_t mask) {
    bool any = false;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        any = any || static_cast<const Vote *>(lanes[__builtin_ctz(rest)])->mine;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        static_cast<Vote *>(lanes[__builtin_ctz(rest)])->any = any;
}

/* As PTX has them: segments begin at multiples of width, which is a power of two up to 32; deltas have 5 bits. */
unsigned lane_at(unsigned lane, int source, int width) {
    const unsigned w = static_cast<unsigned>(width);
    return (lane & ~(w - 1)) | (static_cast<unsigned>(source) & (w - 1));
}

unsigned lane_up(unsigned lane, unsigned delta, int width) {
    const unsigned in_segment = lane & (static_cast<unsigned>(width) - 1);
    delta %= lanes_of_warp;
    return delta > in_segment ? lane : lane - delta;
}

unsigned lane_down(unsigned lane, unsigned delta, int width) {
    const unsigned w = static_cast<unsigned>(width), in_segment = lane & (w - 1);
    delta %= lanes_of_warp;
    return delta >= w - in_segment ? lane : lane + delta;
}

unsigned lane_xor(unsigned lane, int other, int width) {
    const unsigned w = static_cast<unsigned>(width), target = lane ^ static_cast<unsigned>(other) % lanes_of_warp;
    /* An earlier segment may be read, a later one not. */
    return target >= (lane & ~(w - 1)) + w ? lane : target;
}

} // namespace simt
