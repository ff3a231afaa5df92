/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.cc - streams and events. Streams are synchronous; only their devices are stored.
 */
#include "state.h"

#include "simt_control.h"

#include <mutex>
#include <set>

struct CUstream_st {
    int device;
};

struct CUevent_st {
    int device;
};

namespace simt {
namespace {

std::mutex lock;
std::set<cudaStream_t> streams;
std::set<cudaEvent_t> events;

bool is_stream(cudaStream_t stream) {
    return !stream || streams.count(stream) > 0;
}

} // namespace

cudaError_t check_stream(cudaStream_t stream) {
    const std::lock_guard<std::mutex> guard(lock);
    if (!stream)
        return cudaSuccess;
    return streams.count(stream) > 0 && stream->device == current_device() ? cudaSuccess
                                                                           : cudaErrorInvalidResourceHandle;
}

} // namespace simt

size_t simt_handles(void) {
    const std::lock_guard<std::mutex> guard(simt::lock);
    return simt::streams.size() + simt::events.size();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags) {
    if (const cudaError_t error = simt::usable())
        return simt::remember(error);
    if (!pStream || flags > cudaStreamNonBlocking)
        return simt::remember(cudaErrorInvalidValue);
    const std::lock_guard<std::mutex> guard(simt::lock);
    *pStream = new CUstream_st{simt::current_device()};
    simt::streams.insert(*pStream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    {
        const std::lock_guard<std::mutex> guard(simt::lock);
        if (simt::streams.erase(stream) == 0)
            return simt::remember(cudaErrorInvalidResourceHandle);
        delete stream;
    }
    return simt::remember(simt::usable());
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cudaError_t error = simt::usable();
    if (!error) {
        const std::lock_guard<std::mutex> guard(simt::lock);
        error = simt::is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    }
    return simt::remember(error ? error : simt::take_pending());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    cudaError_t error = simt::usable();
    if (!error) {
        const std::lock_guard<std::mutex> guard(simt::lock);
        if (!simt::is_stream(stream) || simt::events.count(event) == 0)
            error = cudaErrorInvalidResourceHandle;
        else if (flags)
            error = cudaErrorInvalidValue;
    }
    return simt::remember(error);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    if (const cudaError_t error = simt::usable())
        return simt::remember(error);
    if (!event || flags > cudaEventDisableTiming)
        return simt::remember(cudaErrorInvalidValue);
    const std::lock_guard<std::mutex> guard(simt::lock);
    *event = new CUevent_st{simt::current_device()};
    simt::events.insert(*event);
    return cudaSuccess;
}

/* The stream must be of the event's device. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    cudaError_t error = simt::usable();
    if (!error) {
        const std::lock_guard<std::mutex> guard(simt::lock);
        const int device = simt::streams.count(stream) ? stream->device : simt::current_device();
        if (!simt::is_stream(stream) || simt::events.count(event) == 0 || event->device != device)
            error = cudaErrorInvalidResourceHandle;
    }
    return simt::remember(error);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    {
        const std::lock_guard<std::mutex> guard(simt::lock);
        if (simt::events.erase(event) == 0)
            return simt::remember(cudaErrorInvalidResourceHandle);
        delete event;
    }
    return simt::remember(simt::usable());
}
