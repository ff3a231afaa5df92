/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomics.h - atomic operations on global and shared memory. One thread runs at a time, so they are plain ones; on
 * shared memory they are checked. Each returns the old value.
 */
#pragma once

#include "shared.h"
#include "warp.h"

namespace simt {

/* A value whose type is not deduced: it converts to the pointer's. */
template <typename T> struct Same { using type = T; };
template <typename T> using SameT = typename Same<T>::type;

template <typename T> T wrapping_sum(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
        return a + b;
    }
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
#define SIMT_ATOMIC_CAS(type)                                                                                          \
    inline type atomicCAS(type *p, type compare, type b, SIMT_HERE) {                                                  \
        return simt::update(p, {file, line}, [=](type a) -> type { return a == compare ? b : a; });                    \
    }                                                                                                                  \
    inline type atomicCAS(simt::SharedPointer<type> p, simt::SameT<type> compare, simt::SameT<type> b, SIMT_HERE) {    \
        return simt::update(p, {file, line}, [=](type a) -> type { return a == compare ? b : a; });                    \
    }
#define SIMT_ATOMICS(type)                                                                                             \
    SIMT_ATOMIC(atomicMin, type, b < a ? b : a)                                                                        \
    SIMT_ATOMIC(atomicMax, type, a < b ? b : a)                                                                        \
    SIMT_ATOMIC(atomicOr, type, a | b)                                                                                 \
    SIMT_ATOMIC(atomicAnd, type, a &b)                                                                                 \
    SIMT_ATOMIC(atomicXor, type, a ^ b)                                                                                \
    SIMT_ATOMIC_CAS(type)

SIMT_ATOMICS(int)
SIMT_ATOMICS(unsigned)
SIMT_ATOMICS(unsigned long long)
SIMT_ATOMIC(atomicMin, long long, b < a ? b : a)
SIMT_ATOMIC(atomicMax, long long, a < b ? b : a)
SIMT_ATOMIC_CAS(unsigned short)
SIMT_ATOMIC(atomicAdd, int, simt::wrapping_sum(a, b))
SIMT_ATOMIC(atomicAdd, unsigned, a + b)
SIMT_ATOMIC(atomicAdd, unsigned long long, a + b)
SIMT_ATOMIC(atomicAdd, float, a + b)
SIMT_ATOMIC(atomicAdd, double, a + b)
SIMT_ATOMIC(atomicSub, int, simt::wrapping_sum(a, simt::wrapping_sum(~b, 1)))
SIMT_ATOMIC(atomicSub, unsigned, a - b)
SIMT_ATOMIC(atomicExch, int, b)
SIMT_ATOMIC(atomicExch, unsigned, b)
SIMT_ATOMIC(atomicExch, unsigned long long, b)
SIMT_ATOMIC(atomicExch, float, b)
SIMT_ATOMIC(atomicInc, unsigned, a >= b ? 0 : a + 1)
SIMT_ATOMIC(atomicDec, unsigned, a == 0 || a > b ? b : a - 1)
