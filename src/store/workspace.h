/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - the memory of searches on a part's device, and what happens where there is too little of it.
 *
 * Codes are placed before it is known what searches will ask for, and leave some memory free. Where that does not do,
 * resident codes make room: they are placed anew, fewer of them, and the search begins again. It then is as slow as
 * codes that come in chunks are, but it is not refused.
 */
#ifndef THR_STORE_WORKSPACE_H
#define THR_STORE_WORKSPACE_H

#include "store/impl.h"

/* Room for at least size bytes; what it held is lost when it has to grow. */
thr_status thr_store_grow(thr_store *store, thr_store_part *part, thr_room_name name, size_t size, void *memory_out,
                          thr_error *err);

void thr_store_free_rooms(const thr_backend *backend, thr_store_part *part);

/* Of the device. */
uint64_t thr_store_room_bytes(const thr_store_part *part);

/* What devices do for a search, or for a step of it; done once more, from its beginning, where room has been made. */
typedef thr_status (*thr_store_work)(void *arg, thr_error *err);

/* Work while no other search does. target: whose codes the store has. THR_ENOMEM where no codes can make more room. */
thr_status thr_store_with_room(thr_store *store, const thr_scan_target *target, thr_store_work work, void *arg,
                               thr_error *err);

#endif
