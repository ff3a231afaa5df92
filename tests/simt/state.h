/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what the parts of the runtime share: the device in use, errors that are remembered, failures that are
 * wanted.
 */
#pragma once

#include "runtime.h"

namespace simt {

constexpr int most_devices = 64;

/* How many devices there are, THR_SIMT_DEVICES or 1, and the memory of each, THR_SIMT_MEMORY or 1 GiB. */
int n_devices();
size_t device_memory();

/* The calling thread's device. */
int current_device();

/* Reasons to refuse any call: no driver, no device, the current device lost. */
cudaError_t usable();

/* Remember the error of a call for cudaGetLastError; returns it. */
cudaError_t remember(cudaError_t error);

/* A kernel on the current device failed; synchronising reports it, once. */
void set_pending(cudaError_t error);
cudaError_t take_pending();

/* Is this one to fail? A launch or copy that does loses the current device. */
bool fails_alloc();
bool fails_launch();
bool fails_copy();

/* Does the stream exist, and belong to the current device? */
cudaError_t check_stream(cudaStream_t stream);

/* All device memory is there for a launch; afterwards AddressSanitizer keeps hosts away from it. */
void open_memory();
void close_memory();

/* Look at the margins of all allocations; reports the first that was overwritten. */
bool check_margins(const char *when);

/* The seed, and how many launches there were with it. */
uint64_t launch_seed(uint64_t *number);

} // namespace simt
