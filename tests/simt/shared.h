/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h - shared memory whose every access is checked: bounds, values nobody wrote, races.
 *
 * THR_SHARED(type, name, count) declares an array that is used like type name[count], with these limits, which the
 * compiler enforces: an element is read or written as a whole (read a uint4, then take its .x); `auto x = name[i]`
 * needs the type spelled out; &name[i] is a pointer that atomics take, not a type *.
 */
#pragma once

#include <type_traits>

#include "machine.h"

#define THR_SHARED(type, name, count)                                                                                  \
    static ::simt::Shared<type, (count)> name;                                                                         \
    name.enter(#name, {__FILE__, __LINE__})

namespace simt {

/* Who touched an element in a way since the last barrier; last is the lane or warp that did so last. */
struct Touch {
    uint32_t epoch; /* of block, else it is old and means nothing */
    uint32_t warps; /* mask */
    uint32_t lanes; /* mask, of the only warp */
    uint32_t tick;  /* of that warp */
    unsigned first, last;
    Place place; /* of last */
};

/* What is known of an element. */
struct Cell {
    uint32_t written; /* serial of the block that wrote it */
    Touch write, read, atomic;
};

/* What all shared arrays are to the checks. */
struct SharedArray {
    const char *name;
    Place place;
    uint32_t serial; /* of the block that last declared it */
    size_t count, size;
    Cell *cells;
};

/* All threads come here; the first of a block takes the bytes. */
void shared_declare(SharedArray &array);

/* Called before the access; each reports errors of it. An index below 0 is a very large one. */
void shared_read(const SharedArray &array, size_t i, Place place);
void shared_write(const SharedArray &array, size_t i, Place place);
void shared_atomic(const SharedArray &array, size_t i, Place place);

/* An element with the place where it is used; it must be used at once. */
template <typename T> class SharedPointer;
template <typename T> class SharedElement {
  public:
    SharedElement(SharedArray *array, T *values, size_t i, Place place)
        : array_(array), values_(values), i_(i), place_(place) {}

    operator T() && { return get(); }
    T operator=(T value) && { return set(value); }
    T operator=(SharedElement &&other) && { return set(other.get()); }
    SharedElement(SharedElement &&) = default;

    /* Makes `c ? name[i] : 0` ambiguous where 0 is no T: it would be an int here, and T with nvcc. */
    template <typename U, std::enable_if_t<std::is_arithmetic_v<U> && !std::is_same_v<U, T>, int> = 0>
    SharedElement(U) = delete;

    T operator+=(T b) && { return set(static_cast<T>(get() + b)); }
    T operator-=(T b) && { return set(static_cast<T>(get() - b)); }
    T operator*=(T b) && { return set(static_cast<T>(get() * b)); }
    T operator|=(T b) && { return set(static_cast<T>(get() | b)); }
    T operator&=(T b) && { return set(static_cast<T>(get() & b)); }
    T operator^=(T b) && { return set(static_cast<T>(get() ^ b)); }
    T operator<<=(unsigned b) && { return set(static_cast<T>(get() << b)); }
    T operator>>=(unsigned b) && { return set(static_cast<T>(get() >> b)); }
    T operator++() && { return set(static_cast<T>(get() + 1)); }
    T operator--() && { return set(static_cast<T>(get() - 1)); }
    T operator++(int) && {
        const T old = get();
        set(static_cast<T>(old + 1));
        return old;
    }
    T operator--(int) && {
        const T old = get();
        set(static_cast<T>(old - 1));
        return old;
    }

    SharedPointer<T> operator&() && { return SharedPointer<T>(array_, values_, i_); }

  private:
    T get() const {
        shared_read(*array_, i_, place_);
        return values_[i_];
    }
    T set(T value) const {
        shared_write(*array_, i_, place_);
        values_[i_] = value;
        return value;
    }

    SharedArray *array_;
    T *values_;
    size_t i_;
    Place place_;
};

/* An index, and its place in the source. */
struct Index {
    template <typename I, std::enable_if_t<std::is_integral_v<I> || std::is_enum_v<I>, int> = 0>
    Index(I index, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : i(static_cast<size_t>(index)), place{file, line} {}
    template <typename T>
    Index(SharedElement<T> &&element, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : i(static_cast<size_t>(static_cast<T>(static_cast<SharedElement<T> &&>(element)))), place{file, line} {}

    size_t i;
    Place place;
};

/* A pointer into a shared array. It may point anywhere; reads and writes through it are checked. */
template <typename T> class SharedPointer {
  public:
    SharedPointer(SharedArray *array, T *values, size_t i) : array_(array), values_(values), i_(i) {}

    SharedElement<T> operator[](Index index) const { return {array_, values_, i_ + index.i, index.place}; }
    SharedPointer operator+(ptrdiff_t n) const { return {array_, values_, i_ + static_cast<size_t>(n)}; }
    SharedPointer operator-(ptrdiff_t n) const { return {array_, values_, i_ - static_cast<size_t>(n)}; }

    /* One indivisible step: the old value goes to f, its answer becomes the new. Returns the old. */
    template <typename F> T update(Place place, F f) const {
        shared_atomic(*array_, i_, place);
        const T old = values_[i_];
        values_[i_] = f(old);
        return old;
    }

  private:
    SharedArray *array_;
    T *values_;
    size_t i_;
};

template <typename T, size_t n> class Shared : public SharedArray {
  public:
    static_assert(std::is_trivially_copyable_v<T>, "shared memory has no constructors");

    void enter(const char *its_name, Place its_place) {
        if (serial == block.serial)
            return;
        name = its_name;
        place = its_place;
        count = n;
        size = sizeof(T);
        cells = cells_;
        shared_declare(*this);
    }

    SharedElement<T> operator[](Index index) { return {this, values_, index.i, index.place}; }
    T operator[](Index index) const {
        shared_read(*this, index.i, index.place);
        return values_[index.i];
    }

  private:
    T values_[n];
    Cell cells_[n];
};

} // namespace simt
