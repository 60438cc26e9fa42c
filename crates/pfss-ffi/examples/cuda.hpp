// Functions of the CUDA driver, so that the programs compile without a toolkit, and what the programs do with their codes.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

// From cuda.h.
extern "C" {
using CUdeviceptr = unsigned long long;
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamDestroy_v2(void* stream);
int cuStreamBeginCapture_v2(void* stream, unsigned mode);
int cuStreamEndCapture(void* stream, void** graph);
int cuGraphDestroy(void* graph);
int cuMemAlloc_v2(CUdeviceptr* address, size_t bytes);
int cuMemFree_v2(CUdeviceptr address);
int cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, void* stream);
int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, void* stream);
}

constexpr unsigned NON_BLOCKING = 1, CAPTURE_RELAXED = 2;

inline void driver(int code, const char* what) {
    if (code == 0) return;
    std::fprintf(stderr, "%s: driver code %d\n", what, code);
    std::exit(1);
}
