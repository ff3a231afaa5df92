/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_state.h - the launch that runs, as reports name it.
 */
#pragma once

#include <string>

#include "machine.h"

namespace simt {

struct Running {
    const char *kernel;
    Place place;
    uint64_t seed, number;

    std::string text() const;
};

extern Running running;

} // namespace simt
