/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/error.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "base/normal.h"
#include "context/cpu_quota.h"
#include "context/way_rates.h"
#include "device/gpus.h"
#include "kernel/kernel.h"
#include "parallel/pool.h"

#include <thresher/way.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

/*
 * Reference-counted storage of a context. Its creator and every object made from it hold a reference; the last one
 * frees it.
 */
typedef struct thr_context_users {
    thr_context context;
    atomic_size_t n;
} thr_context_users;

static void *default_allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void default_release(void *user, void *memory) {
    (void)user;
    free(memory);
}

/* The CPUs that this process may use, by its affinity and the quota of its cgroup. */
static uint32_t count_cpus(void) {
    cpu_set_t set;
    const bool known = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0;
    const uint32_t n = known ? (uint32_t)CPU_COUNT(&set) : 1, most = thr_context_cpu_quota("");
    return THR_MIN(n, most);
}

/* With a default number, use the threads that can be started; with a given number, all must start. */
static thr_status start_threads(thr_context *context, uint32_t wanted, thr_error *err) {
    THR_TRY(thr_parallel_pool_create(context, context->n_threads, &context->pool, err));
    context->n_threads = thr_parallel_pool_threads(context->pool);
    return context->n_threads >= wanted
               ? THR_OK
               : thr_fail(err, THR_ENOMEM, "only %u of %u threads could be started: ask for fewer", context->n_threads,
                          wanted);
}

/* Values of THR_ISA. */
#if THR_X86
static const char level_names[] = "scalar, avx2, avx512-vnni or avx512";
#elif THR_ARM64
static const char level_names[] = "scalar, neon or neon-dot";
#else
static const char level_names[] = "scalar";
#endif

static thr_status choose_isa(thr_isa wanted, thr_isa *isa, thr_error *err) {
    const thr_isa best = thr_kernel_isa_best();
    *isa = wanted == THR_ISA_BEST ? best : wanted;
    if ((int)*isa < THR_ISA_SCALAR || (int)*isa > THR_ISA_LAST)
        return thr_fail(err, THR_EINVAL, "isa %d is not a CPU level", (int)wanted);
    if (!thr_kernel_isa_has(*isa))
        return thr_fail(err, THR_EUNSUPPORTED, "this CPU has no %s, only %s", thr_isa_name(*isa), thr_isa_name(best));
    const char *lower = getenv("THR_ISA");
    if (lower == NULL || *lower == '\0')
        return THR_OK;
    for (int level = THR_ISA_SCALAR; level <= THR_ISA_LAST; level++)
        if (thr_kernel_isa_is_built((thr_isa)level) && strcmp(lower, thr_isa_name((thr_isa)level)) == 0) {
            *isa = thr_kernel_isa_lower(*isa, (thr_isa)level);
            return THR_OK;
        }
    return thr_fail(err, THR_EINVAL, "THR_ISA=%s is not a level of this CPU's architecture: use %s", lower,
                    level_names);
}

static thr_status choose_way(int *way, thr_error *err) {
    const char *forced = getenv("THR_KERNEL");
    *way = -1;
    if (forced == NULL || *forced == '\0')
        return THR_OK;
    for (int i = 0; i < THR_N_WAYS; i++)
        if (strcmp(forced, thr_way_name((thr_way)i)) == 0) {
            *way = i;
            return THR_OK;
        }
    return thr_fail(err, THR_EINVAL,
                    "THR_KERNEL=%s is not a kernel: use xor, table or tile, or unset it for the fastest", forced);
}

thr_status thr_context_create(const thr_context_options *options, thr_context **context_out, thr_error *err) {
    static const thr_context_options defaults = {0};
    *context_out = NULL;
    if (options == NULL)
        options = &defaults;
    thr_context made = {.allocator = options->allocator,
                        .n_threads = options->n_threads,
                        .progress = options->progress,
                        .progress_user = options->progress_user};
    if ((made.allocator.allocate == NULL) != (made.allocator.release == NULL))
        return thr_fail(err, THR_EINVAL, "an allocator needs both its functions, allocate and release");
    if (made.allocator.allocate == NULL)
        made.allocator = (thr_allocator){default_allocate, default_release, NULL};
    if (made.n_threads == 0)
        made.n_threads = count_cpus();
    if (made.n_threads > MAX_THREADS)
        return thr_fail(err, THR_EINVAL, "%u threads are more than %d", made.n_threads, MAX_THREADS);
    THR_TRY(choose_isa(options->isa, &made.isa, err));
    THR_TRY(choose_way(&made.forced_way, err));
    made.kernels = thr_kernels_get(made.isa);
    thr_normal_prepare();

    thr_context_users *users = NULL;
    THR_TRY(thr_alloc(&made, 1, sizeof *users, &users, "a context", err));
    made.users = users;
    users->context = made;
    atomic_init(&users->n, 1);
    thr_context *context = &users->context;
    thr_status status = start_threads(context, options->n_threads, err);
    if (status == THR_OK)
        status = thr_context_way_rates_create(context, &context->way_rates, err);
    if (status == THR_OK)
        status = thr_device_gpus_create(context, options->device, &context->gpus, err);
    THR_RETURN_MADE(status, context, context_out, thr_context_free);
}

thr_context *thr_context_retain(thr_context *context) {
    (void)atomic_fetch_add_explicit(&context->users->n, 1, memory_order_relaxed);
    return context;
}

void thr_context_free(thr_context *context) {
    if (context == NULL)
        return;
    thr_context_users *users = context->users;
    if (atomic_fetch_sub_explicit(&users->n, 1, memory_order_acq_rel) > 1)
        return;
    thr_context last = users->context;
    thr_device_gpus_free(&users->context, last.gpus);
    thr_context_way_rates_free(&users->context, last.way_rates);
    thr_parallel_pool_free(&users->context, last.pool);
    thr_release(&last, users);
}

thr_isa thr_context_isa(const thr_context *context) {
    return context->isa;
}

uint32_t thr_context_threads(const thr_context *context) {
    return context->n_threads;
}

const char *thr_build_features(void) {
    static const char features[] = ""
#if THR_WITH_GZ
                                   " gz"
#endif
#if THR_WITH_XZ
                                   " xz"
#endif
#if THR_WITH_HDF5
                                   " hdf5"
#endif
        ;
    return features[0] == ' ' ? features + 1 : features;
}
