// Bitcomp of NVIDIA's nvCOMP (the wheel nvidia-libnvcomp-cu13, from 6.0), by its native interface; no other has error
// bounds. Source: https://docs.nvidia.com/cuda/nvcomp/bitcomp.html. The largest error is half of delta, which is
// rounded down to a power of two.
#pragma once

#include <nvcomp/native/bitcomp.h>

#include "gpu_timing.hpp"
#include "peer_codec.hpp"

class Bitcomp : public Codec {
 public:
  Bitcomp(const char* mode, bitcompAlgorithm_t algorithm, const Work& work)
      : Codec("Bitcomp", mode, work), out_(device(bitcompMaxBuflen(4 * work.n))) {
    check(bitcompCreatePlan(&plan_, 4 * work.n, BITCOMP_FP32_DATA, BITCOMP_LOSSY_FP_TO_SIGNED, algorithm), "plan");
    check(bitcompSetStream(plan_, work.stream), "stream");
  }
  ~Bitcomp() override { bitcompDestroyPlan(plan_); }
  Bitcomp(const Bitcomp&) = delete;
  Bitcomp& operator=(const Bitcomp&) = delete;

  void compress(float eps) override { check(bitcompCompressLossy_fp32(plan_, work_.x, out_, 2 * eps), "compress"); }
  std::size_t compressed() override {
    std::size_t bytes = 0;
    decompressed();
    check(bitcompGetCompressedSize(out_, &bytes), "size");
    return bytes;
  }
  void decompress(float) override { check(bitcompUncompress(plan_, out_, work_.y), "decompress"); }
  void decompressed() override { stretto::codec::must(cudaStreamSynchronize(work_.stream), "Bitcomp"); }

 private:
  static void check(bitcompResult_t result, const char* what) {
    if (result != BITCOMP_SUCCESS)
      stretto::codec::stop(std::string("Bitcomp: ") + what + ": error " + std::to_string(result));
  }
  bitcompHandle_t plan_ = nullptr;
  void* out_;
};
