/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_runtime.h - replaces NVIDIA's header, so that .cu files compile as plain C++17 and run on the CPU.
 *
 * See README.md for what is checked. Compile with -x c++ -std=c++17 -ffp-contract=off and this folder before others.
 */
#pragma once

#include "dialect.h"
#include "arithmetic.h"
#include "runtime.h"
#include "machine.h"
#include "shared.h"
#include "warp.h"
#include "atomics.h"
#include "launch.h"
