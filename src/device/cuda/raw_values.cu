#include "device/cuda/raw_values.cuh"

#include "device/cuda/raw_values.hpp"

namespace stretto::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr u64 kMostBlocks = 2048;  // enough to fill every GPU; threads take several places

template <class At>
__global__ void __launch_bounds__(kThreads) values_kernel(At at, u64 count) {
  const u64 stride = u64{gridDim.x} * kThreads;
  for (u64 i = u64{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) at(i);
}

struct Launch {
  u64 count;
  cudaStream_t stream;

  template <class At>
  int operator()(const At& at) const {
    if (count == 0) return 0;
    const u64 blocks = (count + kThreads - 1) / kThreads;
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks));
    configuration.blockDim = dim3(kThreads);
    configuration.stream = stream;
    return cudaLaunchKernelEx(&configuration, values_kernel<At>, at, count);
  }
};

Launch launch_of(const Values& v) { return {v.count, static_cast<cudaStream_t>(v.stream)}; }

}  // namespace

int combine_values(const Values& v) { return with_combination(v, launch_of(v)); }
int negate_values(const Values& v) { return with_negation(v, launch_of(v)); }
int divide_values(const Values& v) { return with_division(v, launch_of(v)); }

}  // namespace stretto::device
