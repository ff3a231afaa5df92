/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harness.h - what the emulator's own tests share: checks, device memory that frees itself, reports that are caught.
 */
#pragma once

#include <cuda_runtime.h>

#include "fiber.h"
#include "simt_control.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(truth)                                                                                                   \
    ((truth) ? (void)0 : ((void)std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth), std::exit(1)))

/* Catches reports while it lives. */
struct Caught {
    std::string text;
    unsigned n = 0;

    Caught() {
        simt_on_report(
            [](const char *report, void *state) {
                Caught &me = *static_cast<Caught *>(state);
                me.text += report;
                me.n++;
            },
            this);
    }
    ~Caught() { simt_on_report(nullptr, nullptr); }
    Caught(const Caught &) = delete;
    Caught &operator=(const Caught &) = delete;

    bool says(const char *words) const { return text.find(words) != std::string::npos; }
};

template <typename T> class OnDevice {
  public:
    explicit OnDevice(size_t n) : n_(n) { CHECK(cudaMalloc(&p_, n * sizeof(T)) == cudaSuccess); }
    explicit OnDevice(const std::vector<T> &values) : OnDevice(values.size()) {
        CHECK(cudaMemcpyAsync(p_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    }
    ~OnDevice() { (void)cudaFree(p_); }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    operator T *() const { return p_; }
    std::vector<T> values() const {
        std::vector<T> all(n_);
        CHECK(cudaMemcpyAsync(all.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
        return all;
    }

  private:
    size_t n_;
    T *p_ = nullptr;
};

/* Nothing went wrong since this was asked last. */
inline bool all_well() {
    return cudaGetLastError() == cudaSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess;
}
