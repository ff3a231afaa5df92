/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_process.cc - launches of several host threads, and how a process ends when nobody takes a report.
 */
#include "harness.h"

#include <cstring>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

__global__ void rounds(unsigned *out, unsigned n_rounds) {
    THR_SHARED(unsigned, ring, 64);
    unsigned x = threadIdx.x;
    for (unsigned round = 0; round < n_rounds; round++) {
        ring[threadIdx.x] = x;
        __syncthreads();
        x = ring[(threadIdx.x + 1) % 64] + __shfl_xor_sync(0xffffffffu, x, 1);
        __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = x;
}

static std::vector<unsigned> run_rounds() {
    const OnDevice<unsigned> out(128);
    THR_LAUNCH(rounds, 2, 64, nullptr, out, 10u);
    CHECK(all_well());
    return out.values();
}

static void test_threads() {
    const std::vector<unsigned> want = run_rounds();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&want] {
            for (int time = 0; time < 10; time++)
                CHECK(run_rounds() == want);
        });
    for (std::thread &thread : threads)
        thread.join();
}

/* Run f in another process; returns what it said, which must have been its end. */
template <typename F> static std::string last_words(F f) {
    int pipe_ends[2];
    CHECK(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (dup2(pipe_ends[1], STDERR_FILENO) < 0)
            _exit(0);
        f();
        _exit(0);
    }
    close(pipe_ends[1]);
    std::string words;
    char part[512];
    for (ssize_t n = 0; (n = read(pipe_ends[0], part, sizeof(part))) > 0;)
        words.append(part, static_cast<size_t>(n));
    close(pipe_ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    return words;
}

__global__ void leave_one() {
    if (threadIdx.x == 5)
        return;
    __syncthreads();
}

__global__ void write_behind(unsigned *p) {
    p[3] = 1;
}
__global__ void read_behind(const unsigned *p, unsigned *out) {
    out[0] = p[3];
}

/* Uses so much stack that a fiber has none left. */
__device__ __attribute__((noinline)) unsigned deep(volatile unsigned *p, unsigned depth) {
    volatile unsigned here[256];
    here[depth % 256] = *p;
    return depth ? deep(here, depth - 1) + here[depth % 256] : here[0];
}
__global__ void dive(unsigned *p) {
    *p = deep(p, 100000);
}

/* Ordered by chance: CUDA's shuffles order no memory. */
__global__ void shuffle_between() {
    THR_SHARED(unsigned, slots, 32);
    slots[threadIdx.x] = 0;
    __syncwarp();
    slots[threadIdx.x] = threadIdx.x;
    (void)__shfl_sync(0xffffffffu, 1, 0);
    (void)static_cast<unsigned>(slots[threadIdx.x ^ 1]);
}

/* Strictness is read once in a process, so this comes first. */
static void test_ends() {
    const std::string report = last_words([] { THR_LAUNCH(leave_one, 1, 32, nullptr); });
    CHECK(report.find("simt: divergent barrier: ") == 0 && report.find("thread 5 has returned") != std::string::npos);
    CHECK(report.find("kernel leave_one") != std::string::npos);

    const std::string overrun = last_words([] {
        const OnDevice<unsigned> p(3);
        THR_LAUNCH(write_behind, 1, 1, nullptr, p);
    });
#ifdef SIMT_ASAN
    CHECK(overrun.find("use-after-poison") != std::string::npos);
    const std::string read_words = last_words([] {
        const OnDevice<unsigned> p(3), out(1);
        THR_LAUNCH(read_behind, 1, 1, nullptr, p, out);
    });
    CHECK(read_words.find("use-after-poison") != std::string::npos);
    CHECK(read_words.find("read_behind") != std::string::npos);
    const std::string host = last_words([] {
        const OnDevice<unsigned> p(3);
        const volatile unsigned *at = p;
        CHECK(*at == 1);
    });
    CHECK(host.find("use-after-poison") != std::string::npos);
#else
    CHECK(overrun.find("simt: global overrun: byte 1 behind device allocation") == 0);
#endif
    const std::string strict = last_words([] {
        CHECK(setenv("THR_SIMT_STRICT", "1", 1) == 0);
        THR_LAUNCH(shuffle_between, 1, 32, nullptr);
    });
    CHECK(strict.find("simt: race: thread ") == 0);
    (void)last_words([] {
        const OnDevice<unsigned> p(1);
        THR_LAUNCH(dive, 1, 1, nullptr, p);
    });
    const std::string leak = last_words([] { simt_fail("nonsense"); });
    CHECK(leak.find("is not a failure") != std::string::npos);
}

int main() {
    test_ends();
    THR_LAUNCH(shuffle_between, 1, 32, nullptr);
    CHECK(all_well());
    test_threads();
    CHECK(simt_allocated() == 0);
    return 0;
}
