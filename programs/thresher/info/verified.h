/* SPDX-License-Identifier: Apache-2.0 */
/* verified.h - the report of a successful verification. */
#pragma once

#include "cli/program.h"

/* kind: "index", "hits" or "head", the key that path has in JSON. start: of prog_seconds, when reading began. */
void prog_print_verified(const program *run, const char *kind, const char *path, uint64_t bytes, double start);
