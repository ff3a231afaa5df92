/* SPDX-License-Identifier: Apache-2.0 */
#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#include "base/files/checksum.h"

#include <stdatomic.h>

#include <unistd.h>

#include "base/clock.h"

_Static_assert(sizeof(XXH3_state_t) <= THR_CHECKSUM_SIZE, "the room holds xxHash's state");

thr_checksum *thr_checksum_start(thr_checksum_room *room) {
    XXH3_state_t *state = (XXH3_state_t *)(void *)room->bytes;
    XXH3_INITSTATE(state);
    (void)XXH3_64bits_reset(state);
    return (thr_checksum *)(void *)state;
}

void thr_checksum_add(thr_checksum *sum, const void *data, size_t size) {
    (void)XXH3_64bits_update((XXH3_state_t *)(void *)sum, data, size);
}

uint64_t thr_checksum_end(const thr_checksum *sum) {
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)sum);
}

uint64_t thr_checksum_of(const void *data, size_t size) {
    return XXH3_64bits(data, size);
}

uint64_t thr_checksum_unique(void) {
    static atomic_uint counter;
    struct {
        double time;
        int64_t process;
        uint64_t count;
    } seed = {thr_clock(), (int64_t)getpid(), atomic_fetch_add(&counter, 1)};
    return thr_checksum_of(&seed, sizeof seed);
}
