// cuSZp (https://github.com/szcompressor/cuSZp), from the user's copy of its sources: its modes for one-dimensional
// float32.
#pragma once

#include <cuSZp/cuSZp_entry_1D_f32.h>
#include <cuSZp/cuSZp_kernels_1D_f32.h>

#include "gpu_timing.hpp"
#include "peer_codec.hpp"

using stretto::codec::must;

// A one-dimensional mode of cuSZp: its kernels and functions.
struct Mode {
  const char* name;
  void (*compress)(const float*, unsigned char*, volatile unsigned*, volatile unsigned*, volatile int*, float,
                   std::size_t);
  void (*decompress)(float*, const unsigned char*, volatile unsigned*, volatile unsigned*, volatile int*, float,
                     std::size_t);
  void (*call_compress)(float*, unsigned char*, std::size_t, std::size_t*, float, cudaStream_t);
  void (*call_decompress)(float*, unsigned char*, std::size_t, std::size_t, float, cudaStream_t);
};
constexpr Mode kCuszpModes[] = {
    {"fixed", cuSZp_compress_kernel_1D_fixed_f32, cuSZp_decompress_kernel_1D_fixed_f32, cuSZp_compress_1D_fixed_f32,
     cuSZp_decompress_1D_fixed_f32},
    {"plain", cuSZp_compress_kernel_1D_plain_f32, cuSZp_decompress_kernel_1D_plain_f32, cuSZp_compress_1D_plain_f32,
     cuSZp_decompress_1D_plain_f32},
    {"outlier", cuSZp_compress_kernel_1D_outlier_f32, cuSZp_decompress_kernel_1D_outlier_f32,
     cuSZp_compress_1D_outlier_f32, cuSZp_decompress_1D_outlier_f32},
};

class CuSZp : public Codec {
 public:
  CuSZp(const Mode& mode, const Work& work) : Codec("cuSZp", mode.name, work), mode_(mode) {
    const std::size_t a_group = std::size_t{tblock_size} * thread_chunk;
    groups_ = static_cast<unsigned>((work.n + a_group - 1) / a_group);
    rates_ = groups_ * a_group / 32;  // a byte per block, before the blocks
    // signs, 32 planes and an outlier per block
    out_ = static_cast<unsigned char*>(device(rates_ + 140 * (rates_ + 1)));
    offsets_ = static_cast<unsigned*>(device(flag_bytes()));
    local_ = offsets_ + groups_ + 1;
    flags_ = reinterpret_cast<int*>(local_ + groups_ + 1);
  }
  void compress(float eps) override {
    clear_flags();
    mode_.compress<<<groups_, tblock_size, kSharedBytes, work_.stream>>>(work_.x, out_, offsets_, local_, flags_, eps,
                                                                         work_.n);
    must(cudaGetLastError(), "cuSZp");
  }
  std::size_t compressed() override {
    unsigned blocks = 0;
    decompressed();
    must(cudaMemcpy(&blocks, offsets_ + groups_, sizeof blocks, cudaMemcpyDeviceToHost), "copy");
    return bytes_ = rates_ + blocks;
  }
  void decompress(float eps) override {
    clear_flags();
    mode_.decompress<<<groups_, tblock_size, kSharedBytes, work_.stream>>>(work_.y, out_, offsets_, local_, flags_, eps,
                                                                           work_.n);
    must(cudaGetLastError(), "cuSZp");
  }
  void decompressed() override { must(cudaStreamSynchronize(work_.stream), "cuSZp"); }

  bool has_calls() const override { return true; }
  void call_compress(float eps) override { mode_.call_compress(work_.x, out_, work_.n, &bytes_, eps, work_.stream); }
  void call_decompress(float eps) override { mode_.call_decompress(work_.y, out_, work_.n, bytes_, eps, work_.stream); }

 private:
  static constexpr std::size_t kSharedBytes = 2 * sizeof(unsigned);  // as cuSZp's functions ask for
  std::size_t flag_bytes() const { return 3 * sizeof(unsigned) * (groups_ + 1); }
  void clear_flags() { must(cudaMemsetAsync(offsets_, 0, flag_bytes(), work_.stream), "memset"); }

  const Mode& mode_;
  unsigned groups_;
  std::size_t rates_, bytes_ = 0;
  unsigned char* out_;
  unsigned *offsets_, *local_;
  int* flags_;
};
