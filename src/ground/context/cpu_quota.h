/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_quota.h - the CPU time that cgroups allow this process. */
#pragma once

#include <stdint.h>

/*
 * The CPUs that the cgroup of this process and those above it allow, rounded up: the least of cpu.max (version 2) and
 * of cpu.cfs_quota_us over cpu.cfs_period_us (version 1). UINT32_MAX: no limit. Files that cannot be read
 * limit nothing. root: the directory that has proc/ and sys/, "" for that of the system.
 */
uint32_t thr_context_cpu_quota(const char *root);
