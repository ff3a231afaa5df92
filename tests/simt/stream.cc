/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.cc - streams and events. Streams are synchronous; only their devices are stored.
 */
#include "state.h"

#include "simt_control.h"

#include <chrono>
#include <mutex>
#include <set>

struct CUstream_st {
    int device;
};

struct CUevent_st {
    int device;
    bool timed, recorded;
    std::chrono::steady_clock::time_point at;
};

namespace simt {
namespace {

std::mutex lock;
std::set<cudaStream_t> streams;
std::set<cudaEvent_t> events;

bool is_default(cudaStream_t stream) {
    return !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

bool is_stream(cudaStream_t stream) {
    return is_default(stream) || streams.count(stream) > 0;
}

} // namespace

cudaError_t check_stream(cudaStream_t stream) {
    const std::lock_guard<std::mutex> guard(lock);
    if (is_default(stream))
        return cudaSuccess;
    return streams.count(stream) > 0 && stream->device == current_device() ? cudaSuccess
                                                                           : cudaErrorInvalidResourceHandle;
}

} // namespace simt

size_t simt_handles(void) {
    const std::lock_guard<std::mutex> guard(simt::lock);
    return simt::streams.size() + simt::events.size();
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream) {
    return cudaStreamCreateWithFlags(pStream, 0);
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

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return cudaStreamSynchronize(stream);
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

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    if (const cudaError_t error = simt::usable())
        return simt::remember(error);
    if (!event || flags > (cudaEventBlockingSync | cudaEventDisableTiming))
        return simt::remember(cudaErrorInvalidValue);
    const std::lock_guard<std::mutex> guard(simt::lock);
    *event = new CUevent_st{simt::current_device(), !(flags & cudaEventDisableTiming), false, {}};
    simt::events.insert(*event);
    return cudaSuccess;
}

/* The stream must be of the event's device. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    cudaError_t error = simt::usable();
    if (!error) {
        const std::lock_guard<std::mutex> guard(simt::lock);
        const int device = simt::streams.count(stream) ? stream->device : simt::current_device();
        if (!simt::is_stream(stream) || simt::events.count(event) == 0 || event->device != device) {
            error = cudaErrorInvalidResourceHandle;
        } else {
            event->recorded = true;
            event->at = std::chrono::steady_clock::now();
        }
    }
    return simt::remember(error);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cudaError_t error = simt::usable();
    if (!error) {
        const std::lock_guard<std::mutex> guard(simt::lock);
        error = simt::events.count(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    }
    return simt::remember(error ? error : simt::take_pending());
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    cudaError_t error = simt::usable();
    if (!error) {
        const std::lock_guard<std::mutex> guard(simt::lock);
        if (simt::events.count(start) == 0 || simt::events.count(end) == 0 || !start->timed || !end->timed ||
            !start->recorded || !end->recorded || start->device != end->device)
            error = cudaErrorInvalidResourceHandle;
        else
            *ms = std::chrono::duration<float, std::milli>(end->at - start->at).count();
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
