/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h - where memory, threads and the CPU level come from.
 *
 * Create a context first; every other object is created from one. A context is reference-counted: its creator and
 * every object created from it hold a reference. Releasing the last one frees its threads, GPUs
 * and memory, so a context and its objects may be freed in any order, from any thread. The allocator and progress
 * callbacks must stay valid until then.
 *
 * Threads: a context may be used from several threads at once.
 */
#ifndef THRESHER_CONTEXT_H
#define THRESHER_CONTEXT_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_context thr_context;

/* Set both functions or neither; they must be thread-safe. allocate returns NULL when there is no memory. */
typedef struct thr_allocator {
    void *(*allocate)(void *user, size_t size); /* aligned as malloc aligns */
    void (*release)(void *user, void *memory);  /* never called with NULL */
    void *user;
} thr_allocator;

/*
 * Called during long work, from the thread that started it, a few times per second at most. what names the work
 * ("build"); done and total count items; total is 0 while it is unknown. Return true to continue, false to stop: the
 * call then returns THR_ECANCELED.
 *
 * Every callback of this library, also of other headers, must return. The library is C: a C++ exception or a longjmp
 * that leaves a callback skips the library's frames: locks and memory are never released, or the process ends. Catch
 * exceptions inside, stop the call (here by false, elsewhere by a status or 0 rows), and throw them again after it.
 */
typedef bool (*thr_progress_fn)(void *user, const char *what, uint64_t done, uint64_t total);

/* CPU levels; each contains the lower ones of its architecture. */
typedef enum thr_isa {
    THR_ISA_BEST = 0,       /* of this machine */
    THR_ISA_SCALAR = 1,     /* plain C, the specification */
    THR_ISA_AVX2 = 2,       /* x86: AVX2, F16C, BMI2, POPCNT */
    THR_ISA_AVX512 = 3,     /* x86: AVX-512 F, BW, DQ, VL, VBMI, VPOPCNTDQ, BITALG, VNNI, and GFNI */
    THR_ISA_NEON = 4,       /* 64-bit ARM: Advanced SIMD, which every such CPU has */
    THR_ISA_NEON_DOT = 5,   /* 64-bit ARM: NEON with the dot products of int8, FEAT_DotProd */
    THR_ISA_AVX512_VNNI = 6 /* x86, below THR_ISA_AVX512: AVX-512 F, BW, DQ, VL and VNNI */
} thr_isa;

typedef struct thr_context_options {
    thr_allocator allocator; /* all NULL: malloc and free */
    uint32_t n_threads;      /* 0: one per CPU that the process may use (affinity, quota of its cgroup) */
    thr_isa isa;             /* the highest level to use; the environment variable THR_ISA can lower it further */
    thr_progress_fn progress;
    void *progress_user;
    /*
     * Where to run: "cpu" (the default, NULL); "cuda", all GPUs; "cuda:0" or "cuda:0,2", these GPUs; or "auto". With
     * "auto" an index, posting lists, a head or a training moves to a GPU once its uses so far are estimated to take
     * the CPU longer than the copy, and back to the CPU if the GPU fails or lacks memory (docs/gpu.md). Posting lists,
     * heads and trainings use the first GPU only. The string is copied.
     */
    const char *device;
} thr_context_options;

/*
 * Create a context. options may be NULL for the defaults.
 *
 * Returns THR_OK, or
 *   THR_EINVAL        half an allocator, more than 1,024 threads, an unknown device, or an unknown value of THR_ISA or
 *                     THR_KERNEL (way.h)
 *   THR_EUNSUPPORTED  this CPU does not have the level
 *   THR_EDEVICE       "cuda", and no GPU can be used (err has the reason; device.h)
 *   THR_ENOMEM        or fewer than options->n_threads threads could be started; with 0 those that start are used
 */
THR_API thr_status thr_context_create(const thr_context_options *options, thr_context **context, thr_error *err);

/*
 * Release the reference that thr_context_create returned; NULL is allowed. Do not use the context
 * afterwards. Objects created from it keep working until they are freed.
 */
THR_API void thr_context_free(thr_context *context);

/* The level in use, and its name ("avx512"). */
THR_API thr_isa thr_context_isa(const thr_context *context);
THR_API const char *thr_isa_name(thr_isa isa);

/* The number of threads that work at once, including the calling one. */
THR_API uint32_t thr_context_threads(const thr_context *context);

/*
 * Where work runs: "cpu" or "cuda:0 (NVIDIA H200)". The string lives as long as the context. With "auto", each index,
 * posting lists, head or training that cannot use the GPU runs on the CPU. The text then ends with the reason of the
 * first such fallback: "cpu; REASON", or "cuda:0 (NVIDIA H200); REASON" while other objects use the GPU. A search or
 * training may change the text.
 */
THR_API const char *thr_context_device(const thr_context *context);

/* Optional parts in this build, separated by spaces: "gz xz hdf5". Never NULL. */
THR_API const char *thr_build_features(void);

#ifdef __cplusplus
}
#endif

#endif
