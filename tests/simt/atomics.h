/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomics.h - the atomic operations of src/cuda on global and shared memory. One thread runs at a time, so they are
 * plain ones; on shared memory they are checked. Each returns the old value.
 */
#pragma once

#include "shared.h"
#include "warp.h"

namespace simt {

/* A value whose type is not deduced: it converts to the pointer's. */
template <typename T> struct Same { using type = T; };
template <typename T> using SameT = typename Same<T>::type;

inline int wrapping_sum(int a, int b) {
    return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}

template <typename T, typename F> T update(T *p, Place, F f) {
    const T old = *p;
    *p = f(old);
    return old;
}
template <typename T, typename F> T update(SharedPointer<T> p, Place place, F f) {
    return p.update(place, f);
}

} // namespace simt

#define SIMT_ATOMIC(name, type, result)                                                                                \
    inline type name(type *p, type b, SIMT_HERE) {                                                                     \
        return simt::update(p, {file, line}, [b](type a) -> type {                                                     \
            (void)a;                                                                                                   \
            return result;                                                                                             \
        });                                                                                                            \
    }                                                                                                                  \
    inline type name(simt::SharedPointer<type> p, simt::SameT<type> b, SIMT_HERE) {                                    \
        return simt::update(p, {file, line}, [b](type a) -> type {                                                     \
            (void)a;                                                                                                   \
            return result;                                                                                             \
        });                                                                                                            \
    }
SIMT_ATOMIC(atomicAdd, int, simt::wrapping_sum(a, b))
SIMT_ATOMIC(atomicAdd, unsigned, a + b)
SIMT_ATOMIC(atomicAdd, unsigned long long, a + b)
SIMT_ATOMIC(atomicMax, unsigned, a < b ? b : a)
SIMT_ATOMIC(atomicMax, unsigned long long, a < b ? b : a)
SIMT_ATOMIC(atomicOr, unsigned, a | b)
