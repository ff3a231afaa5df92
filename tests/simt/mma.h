/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma.h - stands in for NVIDIA's header of the same name: nvcuda::wmma for products of bytes, summed as int.
 *
 * m16n16k16, m32n8k16 and m8n32k16. Which lane holds which elements of a fragment is nobody's business with CUDA, and
 * is another order here. Memory is read and written lane by lane, through pointers to global or to shared memory.
 */
#ifndef SIMT_MMA_H
#define SIMT_MMA_H

#include "atomics.h"
#include "report.h"
#include "shared.h"
#include "warp.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <typename Use, int m, int n, int k, typename T, typename Layout = void> struct fragment {
    static_assert((m == 16 && n == 16 && k == 16) || (m == 32 && n == 8 && k == 16) || (m == 8 && n == 32 && k == 16),
                  "these shapes are for bytes");
    static constexpr int n_rows = std::is_same_v<Use, matrix_b> ? k : m;
    static constexpr int n_columns = std::is_same_v<Use, matrix_a> ? k : n;
    static constexpr int num_elements = n_rows * n_columns / 32;
    static constexpr int num_storage_elements = num_elements;
    using element_type = T;
    using storage_element_type = T;

    T x[num_elements];
};

namespace inner {

/* Element e of the matrix, by rows, is x[e / 32] of lane e % 32. */
template <typename F> int place_of(int i, int ldm, bool by_columns) {
    const int e = i * 32 + static_cast<int>(simt::current->lane), row = e / F::n_columns, column = e % F::n_columns;
    return by_columns ? column * ldm + row : row * ldm + column;
}

template <typename T> T load(const T *p, int i, simt::Place) {
    return p[i];
}
template <typename T> T load(simt::SharedPointer<T> p, int i, simt::Place place) {
    return p[simt::Index(i, place.file, place.line)];
}
template <typename T> void store(T *p, int i, T value, simt::Place) {
    p[i] = value;
}
template <typename T> void store(simt::SharedPointer<T> p, int i, T value, simt::Place place) {
    p[simt::Index(i, place.file, place.line)] = value;
}

template <typename T> bool is_aligned(const T *p) {
    return reinterpret_cast<uintptr_t>(p) % 32 == 0;
}
template <typename T> bool is_aligned(simt::SharedPointer<T> p) {
    return p.offset() * sizeof(T) % 32 == 0;
}

/* All lanes are here, and the memory is as CUDA wants it. */
template <typename T, typename P> void come(const char *what, simt::Place place, P p, unsigned ldm) {
    simt::warp_meet(what, place, 0xffffffffu, false, simt::resolve_nothing, nullptr);
    if (!is_aligned(p))
        simt::kernel_report(place, "%s: the address is no multiple of 32 bytes", what);
    if (ldm * sizeof(T) % 16 != 0)
        simt::kernel_report(place, "%s: rows are %u elements apart, which is no multiple of 16 bytes", what, ldm);
}

template <typename F, typename P> void load_all(F &f, P p, unsigned ldm, bool by_columns, simt::Place place) {
    using T = typename F::element_type;
    come<T>("load_matrix_sync", place, p, ldm);
    for (int i = 0; i < F::num_elements; i++)
        f.x[i] = load(p, place_of<F>(i, static_cast<int>(ldm), by_columns), place);
}

/* A warp's fragments as one matrix. */
template <typename F> struct Matrix {
    typename F::element_type at[F::n_rows][F::n_columns];

    void gather(const F &f, int lane) {
        for (int i = 0; i < F::num_elements; i++)
            at[(i * 32 + lane) / F::n_columns][(i * 32 + lane) % F::n_columns] = f.x[i];
    }
};

inline int sum_of(long long sum, bool saturates) {
    if (saturates)
        sum = max(min(sum, 0x7fffffffll), -0x80000000ll);
    return static_cast<int>(static_cast<unsigned>(static_cast<unsigned long long>(sum)));
}

} // namespace inner

template <typename Use, int m, int n, int k, typename T, typename Layout>
void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, simt::SameT<T> value) {
    for (T &x : f.x)
        x = value;
}

template <typename Use, int m, int n, int k, typename T, typename Layout, typename P>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout> &f, P p, unsigned ldm, SIMT_HERE) {
    static_assert(!std::is_same_v<Layout, void>, "an accumulator is loaded with a layout");
    inner::load_all(f, p, ldm, std::is_same_v<Layout, col_major>, {file, line});
}

template <int m, int n, int k, typename T, typename P>
void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, P p, unsigned ldm, layout_t layout, SIMT_HERE) {
    inner::load_all(f, p, ldm, layout == mem_col_major, {file, line});
}

template <int m, int n, int k, typename T, typename P>
void store_matrix_sync(P p, const fragment<accumulator, m, n, k, T> &f, unsigned ldm, layout_t layout, SIMT_HERE) {
    using F = fragment<accumulator, m, n, k, T>;
    inner::come<T>("store_matrix_sync", {file, line}, p, ldm);
    for (int i = 0; i < F::num_elements; i++)
        inner::store(p, inner::place_of<F>(i, static_cast<int>(ldm), layout == mem_col_major), f.x[i], {file, line});
}

/* d = a b + c; d may be c. */
template <int m, int n, int k, typename T, typename LayoutA, typename LayoutB>
void mma_sync(fragment<accumulator, m, n, k, int> &d, const fragment<matrix_a, m, n, k, T, LayoutA> &a,
              const fragment<matrix_b, m, n, k, T, LayoutB> &b, const fragment<accumulator, m, n, k, int> &c,
              bool saturates = false, SIMT_HERE) {
    using A = fragment<matrix_a, m, n, k, T, LayoutA>;
    using B = fragment<matrix_b, m, n, k, T, LayoutB>;
    using C = fragment<accumulator, m, n, k, int>;
    struct Operands {
        C *d;
        const A *a;
        const B *b;
        const C *c;
        bool saturates;
    } mine = {&d, &a, &b, &c, saturates};
    const simt::Resolve resolve = [](void *const *lanes, uint32_t) {
        inner::Matrix<A> as;
        inner::Matrix<B> bs;
        for (int lane = 0; lane < 32; lane++) {
            as.gather(*static_cast<Operands *>(lanes[lane])->a, lane);
            bs.gather(*static_cast<Operands *>(lanes[lane])->b, lane);
        }
        for (int lane = 0; lane < 32; lane++) {
            const Operands &o = *static_cast<Operands *>(lanes[lane]);
            for (int e = 0; e < C::num_elements; e++) {
                long long sum = o.c->x[e];
                for (int i = 0; i < k; i++)
                    sum += as.at[(e * 32 + lane) / n][i] * bs.at[i][(e * 32 + lane) % n];
                o.d->x[e] = inner::sum_of(sum, o.saturates);
            }
        }
    };
    simt::warp_meet("mma_sync", {file, line}, 0xffffffffu, false, resolve, &mine);
}

} // namespace wmma
} // namespace nvcuda

#endif
