/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - THR_LAUNCH(kernel, n_blocks, n_threads, stream, arguments...), the kernel<<<...>>>(...) of this dialect.
 *
 * n_blocks and n_threads are unsigned or dim3. Write an instance of a template in parentheses. The
 * arguments are converted and copied once, as for a GPU. cudaGetLastError returns errors afterwards.
 */
#pragma once

#include <tuple>
#include <utility>

#include "machine.h"
#include "runtime.h"

#define THR_LAUNCH(kernel, ...) ::simt::Launcher{#kernel, {__FILE__, __LINE__}}(kernel, __VA_ARGS__)

namespace simt {

struct Launch {
    const char *kernel;
    Place place;
    dim3 grid, dim;
    cudaStream_t stream;
    void (*body)(const void *arguments);
    const void *arguments;
};

/* Run all blocks of a launch, then look at the margins of all allocations. Sets the error that is asked for later. */
void launch(const Launch &what);

struct Launcher {
    const char *kernel;
    Place place;

    template <typename... P, typename... A>
    void operator()(void (*f)(P...), dim3 grid, dim3 dim, cudaStream_t stream, A &&...arguments) const {
        static_assert(sizeof...(P) == sizeof...(A), "a kernel is given all its arguments");
        struct Bound {
            void (*f)(P...);
            std::tuple<P...> arguments;
        };
        const Bound bound = {f, std::tuple<P...>(static_cast<P>(std::forward<A>(arguments))...)};
        launch({kernel, place, grid, dim, stream,
                [](const void *p) {
                    const Bound &b = *static_cast<const Bound *>(p);
                    std::apply(b.f, b.arguments);
                },
                &bound});
    }
};

} // namespace simt
