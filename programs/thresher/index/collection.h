/* SPDX-License-Identifier: Apache-2.0 */
/* collection.h - collections of shards, where a command takes them like an index. */
#pragma once

#include "cli/program.h"

/* Whether a directory has a list of shards. */
bool prog_is_collection(const char *dir);

/* Describe a collection, or verify every byte of it. Returns PROG_DONE, or an exit code after printing an error. */
int prog_print_collection(program *run, const char *dir, bool verify);

/*
 * Print an error if the index in directory dir is a shard of a collection, and return whether it is one: a collection
 * does not open after a shard was changed by itself.
 */
bool prog_refuse_shard(const program *run, const char *dir);
