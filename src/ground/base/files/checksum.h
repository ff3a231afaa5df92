/* SPDX-License-Identifier: Apache-2.0 */
/* checksum.h - XXH3-64 over one or many pieces. xxHash is compiled in, so nothing is linked. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct thr_checksum thr_checksum; /* a running sum */

/* Storage for a thr_checksum, 64-byte aligned. */
enum { THR_CHECKSUM_SIZE = 640 };
typedef struct thr_checksum_room {
    _Alignas(64) unsigned char bytes[THR_CHECKSUM_SIZE];
} thr_checksum_room;

thr_checksum *thr_checksum_start(thr_checksum_room *room);
void thr_checksum_add(thr_checksum *sum, const void *data, size_t size);
uint64_t thr_checksum_end(const thr_checksum *sum);

/* Return the checksum of size bytes at data. */
uint64_t thr_checksum_of(const void *data, size_t size);

/* A number of the time, the process and a count, almost certainly unlike all others, of other processes too. */
uint64_t thr_checksum_unique(void);
