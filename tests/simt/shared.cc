/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.cc - the checks of shared memory.
 *
 * Two accesses race if they are of different threads, one at least writes, not both are atomic, and nothing orders
 * them: a barrier of the block (another epoch), or a meeting of lanes of the warp (a tick that was seen). For each
 * element it is enough to know the last write, and which warps and lanes read it, or did atomics, in this epoch: more
 * than one warp among these means that no write of the epoch goes well with them.
 */
#include "shared.h"

#include "report.h"

namespace simt {
namespace {

[[noreturn]] void report_race(const SharedArray &array, size_t i, Place place, const char *mine, const char *theirs,
                              const Touch &touch) {
    const unsigned me = current->number;
    unsigned other = touch.last != me ? touch.last : touch.first;
    if (other == me) /* between its own accesses others of its warp came */
        other = me - current->lane + static_cast<unsigned>(__builtin_ctz(touch.lanes & ~(1u << current->lane)));
    kernel_report(place, "race: %s %s %s[%zu], which %s %s at %s with no barrier between", thread_text(me).c_str(),
                  mine, array.name, i, thread_text(other).c_str(), theirs, place_text(touch.place).c_str());
}

/* Is there somebody in touch whose access the current thread cannot have seen? */
bool conflicts(const Touch &touch) {
    if (touch.epoch != block.epoch)
        return false;
    const Thread &me = *current;
    const Warp &warp = *me.warp;
    if (touch.warps & ~(1u << me.number / lanes_of_warp))
        return true;
    if (touch.tick < warp.seen_all[me.lane])
        return false;
    for (uint32_t rest = touch.lanes & ~(1u << me.lane); rest; rest &= rest - 1)
        if (touch.tick >= warp.seen[me.lane][__builtin_ctz(rest)])
            return true;
    return false;
}

void touch_alone(Touch &touch, Place place) {
    const Thread &me = *current;
    touch =
        Touch{block.epoch, 1u << me.number / lanes_of_warp, 1u << me.lane, me.warp->tick, me.number, me.number, place};
}

/* Add the current thread. Of lanes of one warp those it has seen are forgotten: who sees it sees them. */
void touch_too(Touch &touch, Place place) {
    const Thread &me = *current;
    const uint32_t warp = 1u << me.number / lanes_of_warp;
    if (touch.epoch != block.epoch || (touch.warps == warp && !conflicts(touch))) {
        const unsigned first = touch.epoch == block.epoch ? touch.first : me.number;
        touch_alone(touch, place);
        touch.first = first;
        return;
    }
    touch.warps |= warp;
    touch.lanes |= 1u << me.lane;
    touch.last = me.number;
    touch.place = place;
}

Cell &cell_of(const SharedArray &array, size_t i, Place place) {
    if (array.serial != block.serial || !current)
        kernel_report(place, "shared array %s is used, but its declaration was not come by in this block", array.name);
    if (i >= array.count)
        kernel_report(place, "shared index: %s uses %s[%lld], which has %zu elements (declared at %s)",
                      thread_text(current->number).c_str(), array.name, static_cast<long long>(i), array.count,
                      place_text(array.place).c_str());
    return array.cells[i];
}

void check_written(const SharedArray &array, size_t i, Place place, const Cell &cell) {
    if (cell.written != block.serial)
        kernel_report(place, "unwritten shared memory: %s reads %s[%zu], which no thread of the block has written",
                      thread_text(current->number).c_str(), array.name, i);
}

} // namespace

void shared_declare(SharedArray &array) {
    array.serial = block.serial;
    block.shared += array.count * array.size;
    if (block.shared > most_shared)
        kernel_report(array.place, "shared memory: with %s the block has %zu bytes of it, and %zu are the most",
                      array.name, block.shared, most_shared);
}

void shared_read(const SharedArray &array, size_t i, Place place) {
    Cell &cell = cell_of(array, i, place);
    check_written(array, i, place, cell);
    if (conflicts(cell.write))
        report_race(array, i, place, "reads", "writes", cell.write);
    if (conflicts(cell.atomic))
        report_race(array, i, place, "reads", "changes atomically", cell.atomic);
    touch_too(cell.read, place);
}

void shared_write(const SharedArray &array, size_t i, Place place) {
    Cell &cell = cell_of(array, i, place);
    if (conflicts(cell.write))
        report_race(array, i, place, "writes", "writes", cell.write);
    if (conflicts(cell.read))
        report_race(array, i, place, "writes", "reads", cell.read);
    if (conflicts(cell.atomic))
        report_race(array, i, place, "writes", "changes atomically", cell.atomic);
    cell.written = block.serial;
    cell.read.epoch = cell.atomic.epoch = 0;
    touch_alone(cell.write, place);
}

void shared_atomic(const SharedArray &array, size_t i, Place place) {
    Cell &cell = cell_of(array, i, place);
    check_written(array, i, place, cell);
    if (conflicts(cell.write))
        report_race(array, i, place, "changes atomically", "writes", cell.write);
    if (conflicts(cell.read))
        report_race(array, i, place, "changes atomically", "reads", cell.read);
    touch_too(cell.atomic, place);
}

} // namespace simt
