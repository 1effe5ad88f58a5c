// Times calls on a GPU between events, with operands in memory rather than in the cache.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../timing/gpu_support.hpp"

inline void* device(std::size_t bytes) {
  void* p = nullptr;
  stretto::codec::must(cudaMalloc(&p, std::max<std::size_t>(bytes, 256)), "cudaMalloc");
  return p;
}

// Fills n device values at x with copies of a field.
inline void tile(const std::vector<float>& field, float* x, std::size_t n) {
  using stretto::codec::must;
  std::size_t full = std::min(field.size(), n);
  must(cudaMemcpy(x, field.data(), 4 * full, cudaMemcpyHostToDevice), "copy");
  for (; full < n; full *= 2)  // whole tiles, doubled on the device
    must(cudaMemcpy(x + full, x, 4 * std::min(full, n - full), cudaMemcpyDeviceToDevice), "copy");
}

// Memory of several times the cache's size, which no timed call reads.
class ColdCache {
 public:
  ColdCache() {
    using stretto::codec::must;
    int cache = 0;
    must(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0), "attribute");
    cache_bytes_ = static_cast<std::size_t>(cache);
    bytes_ = 4 * cache_bytes_;
    memory_ = device(bytes_);
    must(cudaMemset(memory_, 0, bytes_), "memset");
    range_ = static_cast<double*>(device(64));
  }
  std::size_t cache_bytes() const { return cache_bytes_; }
  std::size_t bytes() const { return bytes_; }
  // Fills the cache with this memory, without lines to write back. Uses the call's workspace and result, in stream
  // order.
  void flush(const stretto_cuda_call& call) const {
    using stretto::codec::must;
    must(stretto_value_range_on_stream(STRETTO_F32, memory_, bytes_ / 4, range_, &call), "flush");
  }

 private:
  std::size_t cache_bytes_ = 0, bytes_ = 0;
  void* memory_ = nullptr;
  double* range_ = nullptr;
};

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    stretto::codec::must(cudaEventCreate(&begin_), "event");
    stretto::codec::must(cudaEventCreate(&end_), "event");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  template <class F>
  double seconds(F call) {
    using stretto::codec::must;
    must(cudaEventRecord(begin_, stream_), "event");
    call();
    must(cudaEventRecord(end_, stream_), "event");
    must(cudaEventSynchronize(end_), "event");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return ms * 1e-3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
};

inline double median(std::vector<double> t) {
  std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
  return t[t.size() / 2];
}
