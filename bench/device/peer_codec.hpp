// The interface of a codec in bench_gpu_peer: stretto's, or a public one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// Data of all codecs: x, and y as each decodes it.
struct Work {
  cudaStream_t stream;
  std::size_t n;
  float *x, *y;
};

class Codec {
 public:
  Codec(const char* codec, const char* mode, const Work& work) : name(codec), mode(mode), work_(work) {}
  virtual ~Codec() = default;
  virtual void compress(float eps) = 0;             // x to the codec's own stream; enqueued
  virtual std::size_t compressed() = 0;             // waits; the stream's length
  virtual void decompress(float eps) = 0;           // the stream to y; enqueued
  virtual void decompressed() = 0;                  // waits
  virtual bool has_calls() const { return false; }  // also has functions that allocate and wait
  virtual void call_compress(float) {}
  virtual void call_decompress(float) {}
  const char *const name, *const mode;

 protected:
  const Work& work_;
};
