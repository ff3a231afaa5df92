/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - what the program says of GPUs.
 */
#ifndef THRESHER_PROGRAM_GPUS_H
#define THRESHER_PROGRAM_GPUS_H

#include "program.h"

/* After a search for the best k: what screens the codes, and why no GPU does where one was wanted. */
void prog_tell_device(const program *run);

#endif
