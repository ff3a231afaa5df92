/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "launch.h"
#include "report_state.h"
#include "simt_control.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace simt {

Running running;

namespace {

std::mutex lock;
void (*handler)(const char *text, void *state);
void *handler_state;

std::string format_text(const char *format, va_list arguments) {
    char text[2048];
    if (std::vsnprintf(text, sizeof(text), format, arguments) < 0)
        return format;
    return text;
}

/* Comes back where a handler took it. */
void deliver(const std::string &text) {
    void (*f)(const char *, void *);
    void *state;
    {
        const std::lock_guard<std::mutex> guard(lock);
        f = handler;
        state = handler_state;
    }
    if (!f) {
        (void)std::fprintf(stderr, "%s\n", text.c_str());
        std::abort();
    }
    f(text.c_str(), state);
}

} // namespace

std::string place_text(Place place) {
    return std::string(place.file) + ":" + std::to_string(place.line);
}

std::string thread_text(unsigned number) {
    const dim3 dim = block.dim;
    if (dim.y == 1 && dim.z == 1)
        return "thread " + std::to_string(number);
    return "thread (" + std::to_string(number % dim.x) + ", " + std::to_string(number / dim.x % dim.y) + ", " +
           std::to_string(number / (dim.x * dim.y)) + ")";
}

std::string Running::text() const {
    char numbers[128];
    (void)std::snprintf(numbers, sizeof(numbers), "seed %" PRIu64 ", launch %" PRIu64, seed, number);
    return std::string("kernel ") + kernel + ", launched at " + place_text(place) + "\n  " + numbers +
           "; THR_SIMT_SEED repeats it";
}

void kernel_report(Place place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string text = "simt: " + format_text(format, arguments) + "\n  ";
    va_end(arguments);
    if (place.line)
        text += "at " + place_text(place) + ", ";
    text += "block " + std::to_string(block.index.x);
    if (block.grid.y > 1 || block.grid.z > 1)
        text += ", " + std::to_string(block.index.y) + ", " + std::to_string(block.index.z);
    deliver(text + " of " + running.text());
    throw Abandon{};
}

void host_report(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const std::string text = "simt: " + format_text(format, arguments);
    va_end(arguments);
    deliver(text);
}

} // namespace simt

void simt_on_report(void (*f)(const char *text, void *state), void *state) {
    const std::lock_guard<std::mutex> guard(simt::lock);
    simt::handler = f;
    simt::handler_state = state;
}
