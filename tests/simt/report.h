/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - saying what a kernel or its host code did wrong.
 */
#pragma once

#include <string>

#include "machine.h"

namespace simt {

/* A line of source as text: "src/cuda/store/screen.cu:31". */
std::string place_text(Place place);

/* A thread of the running block: "thread 5", "thread (1, 2, 0)". */
std::string thread_text(unsigned number);

/*
 * Report what happened in the running kernel, at a place: the text names kernel, block, place and seed besides. Comes
 * back by throwing Abandon, to the bottom of the fiber, where a handler took the report.
 */
[[noreturn]] void kernel_report(Place place, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Report the faults of a finished launch, or of host code. Returns if a handler took the report. */
void host_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The bottom of a fiber catches this; nothing else does. */
struct Abandon {};

} // namespace simt
