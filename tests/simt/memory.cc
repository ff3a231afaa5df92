/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.cc - device and pinned memory with margins around it, and copies.
 *
 * Margins hold a pattern that is looked at after every launch and when memory is given back; they are poisoned for
 * AddressSanitizer. What is inside has another pattern at first, which is no number one would hope for.
 */
#include "state.h"

#include "fiber.h"
#include "report.h"
#include "simt_control.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
namespace {

constexpr size_t margin = 256; /* also the alignment of cudaMalloc */
constexpr size_t most_pinned = size_t{1} << 36;
constexpr unsigned char margin_byte = 0xbd, fresh_byte = 0xcd;

enum class Kind { device, pinned };

struct Allocation {
    void *raw; /* what malloc gave */
    size_t size;
    Kind kind;
    int device;
    uint64_t number;
    unsigned n_users; /* a launch, copies: while there are none, AddressSanitizer keeps hosts away */
};

std::mutex lock;
std::map<uintptr_t, Allocation> allocations; /* by first byte */
size_t in_use[most_devices], pinned_in_use;
uint64_t n_allocations;
unsigned n_launches_open;

uintptr_t address(const void *p) {
    return reinterpret_cast<uintptr_t>(p);
}

/* The allocation that an address lies in, or just after; NULL for none. */
std::pair<const uintptr_t, Allocation> *find(uintptr_t at) {
    auto after = allocations.upper_bound(at);
    if (after == allocations.begin())
        return nullptr;
    --after;
    return at <= after->first + after->second.size ? &*after : nullptr;
}

void guard(uintptr_t at, size_t size, bool on) {
#ifdef SIMT_ASAN
    if (on)
        __asan_poison_memory_region(reinterpret_cast<void *>(at), size);
    else
        __asan_unpoison_memory_region(reinterpret_cast<void *>(at), size);
#else
    (void)at, (void)size, (void)on;
#endif
}

void guard_margins(uintptr_t at, size_t size, bool on) {
    guard(at - margin, margin, on);
    guard(at + size, margin, on);
}

/* Device memory is for kernels and copies; other reads and writes by the host are reported. */
void open(uintptr_t at, Allocation &allocation) {
    if (allocation.kind == Kind::device && allocation.n_users++ == 0)
        guard(at, allocation.size, false);
}

void close(uintptr_t at, Allocation &allocation) {
    if (allocation.kind == Kind::device && --allocation.n_users == 0)
        guard(at, allocation.size, true);
}

/* Compares by hand: memcmp would be watched. Answers the distance of the first byte from the allocation, 0 for none. */
__attribute__((no_sanitize("address"), noinline)) ptrdiff_t damage(uintptr_t at, size_t size) {
    const unsigned char *p = reinterpret_cast<const unsigned char *>(at);
    for (size_t i = 0; i < margin; i++)
        if (p[size + i] != margin_byte)
            return static_cast<ptrdiff_t>(i) + 1;
    for (size_t i = 1; i <= margin; i++)
        if (*(p - i) != margin_byte)
            return -static_cast<ptrdiff_t>(i);
    return 0;
}

const char *kind_text(Kind kind) {
    return kind == Kind::device ? "device" : "pinned";
}

/* Reports damage, once: the margin is restored first. */
bool check_one(uintptr_t at, const Allocation &allocation, const char *when) {
    const ptrdiff_t distance = damage(at, allocation.size);
    if (distance == 0)
        return true;
    guard_margins(at, allocation.size, false);
    std::memset(reinterpret_cast<void *>(at - margin), margin_byte, margin);
    std::memset(reinterpret_cast<void *>(at + allocation.size), margin_byte, margin);
    guard_margins(at, allocation.size, true);
    host_report("global overrun: byte %td %s %s allocation %llu of %zu bytes at %p was written\n  %s",
                distance > 0 ? distance : -distance, distance > 0 ? "behind" : "before", kind_text(allocation.kind),
                static_cast<unsigned long long>(allocation.number), allocation.size, reinterpret_cast<void *>(at),
                when);
    return false;
}

cudaError_t allocate(void **p, size_t size, Kind kind) {
    if (const cudaError_t error = usable())
        return error;
    if (!p)
        return cudaErrorInvalidValue;
    *p = nullptr;
    if (size == 0)
        return cudaSuccess;
    if (fails_alloc())
        return cudaErrorMemoryAllocation;
    const std::lock_guard<std::mutex> holds(lock);
    const int device = current_device();
    const size_t most = device_memory();
    if (size > most_pinned || (kind == Kind::device && (in_use[device] > most || size > most - in_use[device])))
        return cudaErrorMemoryAllocation;
    char *raw = static_cast<char *>(std::malloc(size + 3 * margin));
    if (!raw)
        return cudaErrorMemoryAllocation;
    char *first = raw + margin + (margin - address(raw) % margin) % margin;
    std::memset(first - margin, margin_byte, margin);
    std::memset(first, fresh_byte, size);
    std::memset(first + size, margin_byte, margin);
    guard_margins(address(first), size, true);
    Allocation &allocation = allocations[address(first)];
    allocation = Allocation{raw, size, kind, device, ++n_allocations, n_launches_open};
    if (kind == Kind::device && n_launches_open == 0)
        guard(address(first), size, true);
    (kind == Kind::device ? in_use[device] : pinned_in_use) += size;
    *p = first;
    return cudaSuccess;
}

/* Memory goes back even where the answer is an error of the device, as it does when a process ends. */
cudaError_t release(void *p, Kind kind) {
    if (!p)
        return usable();
    const std::lock_guard<std::mutex> holds(lock);
    const auto found = allocations.find(address(p));
    if (found == allocations.end() || found->second.kind != kind) {
        host_report("free: %p is no %s allocation%s", p, kind_text(kind),
                    found != allocations.end() ? " but of the other kind"
                    : find(address(p))         ? " but a place inside of one"
                                               : "");
        return cudaErrorInvalidValue;
    }
    const Allocation allocation = found->second;
    const bool whole = check_one(found->first, allocation, "found when it was given back");
    guard(found->first - margin, margin + allocation.size + margin, false);
    allocations.erase(found);
    (kind == Kind::device ? in_use[allocation.device] : pinned_in_use) -= allocation.size;
    std::free(allocation.raw);
    return whole ? usable() : cudaErrorInvalidValue;
}

/* A side of a copy: is it on a device, and if so, in one allocation from end to end? */
bool check_side(const char *side, const void *p, size_t size, bool must_be_device) {
    const auto *found = find(address(p));
    if (found && address(p) == found->first + found->second.size && size > 0)
        found = nullptr;
    const bool on_device = found && found->second.kind == Kind::device;
    if (on_device != must_be_device) {
        host_report("copy: %s %p is%s device memory", side, p, on_device ? "" : " no");
        return false;
    }
    if (found && size > found->second.size - (address(p) - found->first)) {
        host_report("copy: %s, %zu bytes at %p, leaves its allocation of %zu bytes at %p", side, size, p,
                    found->second.size, reinterpret_cast<void *>(found->first));
        return false;
    }
    return true;
}

/* A side of a copy is open as long as this lives. */
class InUse {
  public:
    explicit InUse(const void *p) : at_(address(p)) { use(open); }
    ~InUse() { use(close); }
    InUse(const InUse &) = delete;
    InUse &operator=(const InUse &) = delete;

  private:
    void use(void (*what)(uintptr_t, Allocation &)) const {
        const std::lock_guard<std::mutex> holds(lock);
        if (auto *found = find(at_))
            what(found->first, found->second);
    }

    uintptr_t at_;
};

cudaError_t copy(void *to, const void *from, size_t size, cudaMemcpyKind kind) {
    if (const cudaError_t error = usable())
        return error;
    if (kind < cudaMemcpyHostToDevice || kind > cudaMemcpyDeviceToDevice)
        return cudaErrorInvalidMemcpyDirection;
    if (size == 0)
        return cudaSuccess;
    {
        const std::lock_guard<std::mutex> holds(lock);
        if (!check_side("cudaMemcpyAsync's destination", to, size, kind != cudaMemcpyDeviceToHost) ||
            !check_side("cudaMemcpyAsync's source", from, size, kind != cudaMemcpyHostToDevice))
            return cudaErrorInvalidValue;
    }
    if (!fails_copy()) {
        const InUse to_use(to), from_use(from);
        std::memmove(to, from, size);
    }
    return cudaSuccess;
}

cudaError_t set(void *p, int value, size_t size) {
    if (const cudaError_t error = usable())
        return error;
    if (size == 0)
        return cudaSuccess;
    {
        const std::lock_guard<std::mutex> holds(lock);
        if (!check_side("cudaMemsetAsync's destination", p, size, true))
            return cudaErrorInvalidValue;
    }
    if (!fails_copy()) {
        const InUse use(p);
        std::memset(p, value, size);
    }
    return cudaSuccess;
}

cudaError_t in_stream(cudaStream_t stream) {
    const cudaError_t error = usable();
    return error ? error : check_stream(stream);
}

} // namespace

void open_memory() {
    const std::lock_guard<std::mutex> holds(lock);
    n_launches_open++;
    for (auto &[at, allocation] : allocations)
        open(at, allocation);
}

void close_memory() {
    const std::lock_guard<std::mutex> holds(lock);
    n_launches_open--;
    for (auto &[at, allocation] : allocations)
        close(at, allocation);
}

bool check_margins(const char *when) {
    const std::lock_guard<std::mutex> holds(lock);
    for (const auto &[at, allocation] : allocations)
        if (!check_one(at, allocation, when))
            return false;
    return true;
}

} // namespace simt

using simt::Kind;
using simt::remember;

size_t simt_allocated(void) {
    const std::lock_guard<std::mutex> holds(simt::lock);
    size_t sum = 0;
    for (const size_t bytes : simt::in_use)
        sum += bytes;
    return sum;
}

size_t simt_pinned(void) {
    const std::lock_guard<std::mutex> holds(simt::lock);
    return simt::pinned_in_use;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    if (const cudaError_t error = simt::usable())
        return remember(error);
    const std::lock_guard<std::mutex> holds(simt::lock);
    const size_t used = simt::in_use[simt::current_device()];
    *total = simt::device_memory();
    *free = used < *total ? *total - used : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **devPtr, size_t size) {
    return remember(simt::allocate(devPtr, size, Kind::device));
}

cudaError_t cudaFree(void *devPtr) {
    return remember(simt::release(devPtr, Kind::device));
}

cudaError_t cudaMallocHost(void **ptr, size_t size) {
    return remember(simt::allocate(ptr, size, Kind::pinned));
}

cudaError_t cudaFreeHost(void *ptr) {
    return remember(simt::release(ptr, Kind::pinned));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
    const cudaError_t error = simt::in_stream(stream);
    return remember(error ? error : simt::copy(dst, src, count, kind));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream) {
    const cudaError_t error = simt::in_stream(stream);
    return remember(error ? error : simt::set(devPtr, value, count));
}
