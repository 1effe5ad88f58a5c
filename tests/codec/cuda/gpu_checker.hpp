// Every operation of one type on the GPU, compared with the host's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../../../timing/gpu_support.hpp"

namespace stretto::codec {

// Halves, as their bits.
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
template <class T>
constexpr stretto_type kType = STRETTO_F32;
template <>
constexpr stretto_type kType<double> = STRETTO_F64;
template <>
constexpr stretto_type kType<F16> = STRETTO_F16;
template <>
constexpr stretto_type kType<BF16> = STRETTO_BF16;

// Device memory that is poisoned before each use, to reveal unwritten memory.
struct Device {
  void* p = nullptr;
  std::size_t bytes = 0;
  explicit Device(std::size_t n) : bytes(n) { must(cudaMalloc(&p, std::max<std::size_t>(n, 16)), "cudaMalloc"); }
  ~Device() { cudaFree(p); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  void poison(cudaStream_t s) { must(cudaMemsetAsync(p, 0xa5, bytes, s), "cudaMemset"); }
};

// One thread's means: a stream, buffers for up to `most` values, and the comparison of every operation.
template <class T>
class Checker {
 public:
  explicit Checker(std::size_t most)
      : most_(most),
        x_(most * sizeof(T) + 8),
        y_(most * sizeof(T)),
        a_(stretto_combine_bound(kType<T>, most) + 64),
        b_(a_.bytes),
        out_(a_.bytes),
        result_(64),
        range_(64),
        codes_(8 * most),
        host_(a_.bytes),
        got_(a_.bytes) {
    // Other threads capture graphs meanwhile, so nothing here may touch the default stream: it would wait for theirs.
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    std::size_t bytes = 0;
    for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) {
      std::size_t n = 0;
      must(stretto_cuda_workspace(static_cast<stretto_cuda_operation>(op), kType<T>, most, &n), "workspace");
      bytes = std::max(bytes, n);
    }
    must(cudaMalloc(&call_.workspace, bytes), "cudaMalloc");
    must(cudaMallocHost(reinterpret_cast<void**>(&call_.host_result), sizeof(stretto_cuda_result)), "cudaMallocHost");
    call_.workspace_bytes = bytes;
    call_.result = static_cast<stretto_cuda_result*>(result_.p);
    call_.stream = stream_;
  }
  ~Checker() {
    cudaFree(call_.workspace);
    cudaFreeHost(call_.host_result);
    cudaStreamDestroy(stream_);
  }

  // The first use of a kernel may be within a capture, when it has not been loaded yet.
  void check_capture_comes_first() {
    const std::vector<T> x(3000, T(1));
    T* values = static_cast<T*>(x_.p);
    std::size_t bytes = 0;
    must(cudaMemcpyAsync(values, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice, stream_), "copy");
    must(stretto_compress(kType<T>, x.data(), x.size(), 1e-3, host_.data(), host_.size(), &bytes, 0), "compress");
    check_graph(values, x.size(), 1e-3, bytes, "first of all");
  }

  // x, with its preceding values as the other operand of sums. `shift`: values begin at an address that is not aligned
  // for vector loads.
  void check(const std::vector<T>& x, double eps, const std::string& what, bool shift) {
    const std::size_t n = x.size(), capacity = host_.size();
    if (n > most_) stop(what + ": more values than there is room for");
    T* values = static_cast<T*>(x_.p) + (shift ? 1 : 0);
    must(cudaMemcpyAsync(values, x.data(), n * sizeof(T), cudaMemcpyHostToDevice, stream_), "copy");

    std::size_t bytes = 0;
    must(stretto_compress(kType<T>, x.data(), n, eps, host_.data(), capacity, &bytes, 0), what);
    out_.poison(stream_);
    must(stretto_compress_on_stream(kType<T>, values, n, eps, out_.p, out_.bytes, &call_), what);
    compare(bytes, what + ", compress");
    check_graph(values, n, eps, bytes, what);
    const std::vector<char> a(host_.begin(), host_.begin() + static_cast<std::ptrdiff_t>(bytes));
    must(cudaMemcpyAsync(a_.p, a.data(), bytes, cudaMemcpyHostToDevice, stream_), "copy");

    std::vector<T> expected(n), got(n);
    for (const std::uint32_t divisor : {1u, 3u}) {
      must(stretto_decompress(a.data(), bytes, expected.data(), n, divisor), what);
      y_.poison(stream_);
      must(stretto_decompress_on_stream(kType<T>, a_.p, bytes, y_.p, n, divisor, &call_), what);
      must(cudaMemcpyAsync(got.data(), y_.p, n * sizeof(T), cudaMemcpyDeviceToHost, stream_), "copy");
      finished(what + ", decompress");
      if (n && std::memcmp(got.data(), expected.data(), n * sizeof(T))) stop(what + ", decompress: values differ");
    }
    check_range(x, values, what);
    if (before_.size() && before_count_ == n && before_eps_ == eps) check_pairs(a, x, values, what);
    check_recoded(a, n, what);
    std::size_t scaled = 0;  // codes of more than 32 bits
    if (stretto_stream_scale(a.data(), a.size(), 1 << 30, host_.data(), host_.size(), &scaled, 0) == STRETTO_OK)
      check_recoded({host_.begin(), host_.begin() + static_cast<std::ptrdiff_t>(scaled)}, n, what + ", scaled");
    before_ = a;
    before_count_ = n;
    before_eps_ = eps;
  }

 private:
  // Compression captured in a graph, and the graph run: the stream in host_ once more.
  void check_graph(const T* values, std::size_t n, double eps, std::size_t bytes, const std::string& what) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    must(stretto_compress_on_stream(kType<T>, values, n, eps, out_.p, out_.bytes, &call_), what);
    must(cudaStreamEndCapture(stream_, &graph), "capture");
    must(cudaGraphInstantiate(&executable, graph, 0), "graph");
    for (int replay = 0; replay < 2; ++replay) {
      out_.poison(stream_);
      must(cudaGraphLaunch(executable, stream_), "graph");
      compare(bytes, what + ", compress in a graph, replay " + std::to_string(replay));
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  // To a dense stream and back. Overwrites both operands.
  void check_recoded(const std::vector<char>& fixed, std::size_t n, const std::string& what) {
    std::size_t dense = 0, back = 0;
    must(cudaMemcpyAsync(a_.p, fixed.data(), fixed.size(), cudaMemcpyHostToDevice, stream_), "copy");
    must(stretto_stream_slice(fixed.data(), fixed.size(), 0, n, host_.data(), host_.size(), &dense, STRETTO_DENSE),
         what);
    out_.poison(stream_);
    must(stretto_recode_on_stream(kType<T>, STRETTO_CODING_DENSE, a_.p, fixed.size(), n, out_.p, out_.bytes, &call_),
         what);
    compare(dense, what + ", to_dense");
    must(cudaMemcpyAsync(b_.p, host_.data(), dense, cudaMemcpyHostToDevice, stream_), "copy");
    const std::vector<char> stream(host_.begin(), host_.begin() + static_cast<std::ptrdiff_t>(dense));
    must(stretto_stream_slice(stream.data(), dense, 0, n, host_.data(), host_.size(), &back, STRETTO_FIXED), what);
    out_.poison(stream_);
    must(stretto_recode_on_stream(kType<T>, STRETTO_CODING_FIXED, b_.p, dense, n, out_.p, out_.bytes, &call_), what);
    compare(back, what + ", to_fixed");
  }
  void check_range(const std::vector<T>& x, const T* values, const std::string& what) {
    double lo = 0, hi = 0, range[2];
    must(stretto_value_range(kType<T>, x.data(), x.size(), &lo, &hi), what);
    must(stretto_value_range_on_stream(kType<T>, values, x.size(), static_cast<double*>(range_.p), &call_), what);
    must(cudaMemcpyAsync(range, range_.p, sizeof range, cudaMemcpyDeviceToHost, stream_), "copy");
    finished(what + ", range");
    if (range[0] != lo || range[1] != hi) stop(what + ": the range differs");
    // Half of the values or so are left out.
    const double above = hi > lo ? std::max(std::abs(lo), std::abs(hi)) / 2 : 0;
    std::uint64_t left_out = 0;
    must(stretto_value_range_below(kType<T>, x.data(), x.size(), above, &lo, &hi, &left_out), what);
    must(stretto_value_range_below_on_stream(kType<T>, values, x.size(), above, static_cast<double*>(range_.p), &call_),
         what);
    must(cudaMemcpyAsync(range, range_.p, sizeof range, cudaMemcpyDeviceToHost, stream_), "copy");
    finished(what + ", range below");
    if (range[0] != lo || range[1] != hi || call_.host_result->bytes != left_out)
      stop(what + ": the range below a magnitude differs");
  }
  void check_pairs(const std::vector<char>& a, const std::vector<T>& x, const T* values, const std::string& what) {
    const std::size_t n = x.size();
    must(cudaMemcpyAsync(b_.p, before_.data(), before_.size(), cudaMemcpyHostToDevice, stream_), "copy");
    std::vector<char> sum;
    const auto pair = [&](stretto_cuda_operation op, auto host_function, const char* name) {
      std::size_t bytes = 0;
      must(host_function(a.data(), a.size(), before_.data(), before_.size(), host_.data(), host_.size(), &bytes, 0),
           what);
      out_.poison(stream_);
      must(stretto_combine_on_stream(op, kType<T>, a_.p, a.size(), b_.p, before_.size(), n, out_.p, out_.bytes, &call_),
           what);
      compare(bytes, what + ", " + name);
      if (op == STRETTO_CUDA_ADD) sum.assign(host_.begin(), host_.begin() + static_cast<std::ptrdiff_t>(bytes));
    };
    pair(STRETTO_CUDA_ADD, stretto_stream_add, "add");
    pair(STRETTO_CUDA_SUBTRACT, stretto_stream_subtract, "subtract");
    pair(STRETTO_CUDA_MIN, stretto_stream_min, "min");
    pair(STRETTO_CUDA_MAX, stretto_stream_max, "max");
    std::size_t bytes = 0;
    must(stretto_stream_add_values(before_.data(), before_.size(), x.data(), n, host_.data(), host_.size(), &bytes, 0),
         what);
    out_.poison(stream_);
    must(stretto_add_values_on_stream(kType<T>, b_.p, before_.size(), values, n, out_.p, out_.bytes, &call_), what);
    compare(bytes, what + ", add_values");
    must(stretto_quantise_on_stream(kType<T>, values, n, before_eps_, codes_.p, &call_), what);
    out_.poison(stream_);
    must(stretto_add_codes_on_stream(kType<T>, b_.p, before_.size(), codes_.p, values, n, out_.p, out_.bytes, &call_),
         what);
    compare(bytes, what + ", add_codes");
    check_recoded(sum, n, what + ", sum");
  }

  void finished(const std::string& what) {
    must(cudaStreamSynchronize(stream_), what.c_str());
    if (call_.host_result->status != STRETTO_OK)
      stop(what + ": " + stretto_status_name(static_cast<stretto_status>(call_.host_result->status)));
  }
  // The stream in out_ is that in host_.
  void compare(std::size_t bytes, const std::string& what) {
    finished(what);
    if (call_.host_result->bytes != bytes)
      stop(what + ": " + std::to_string(call_.host_result->bytes) + " bytes instead of " + std::to_string(bytes));
    must(cudaMemcpyAsync(got_.data(), out_.p, bytes, cudaMemcpyDeviceToHost, stream_), "copy");
    must(cudaStreamSynchronize(stream_), "synchronise");
    if (std::memcmp(got_.data(), host_.data(), bytes) == 0) return;
    for (std::size_t i = 0; i < bytes; ++i)
      if (got_[i] != host_[i]) stop(what + ": byte " + std::to_string(i) + " of " + std::to_string(bytes) + " differs");
  }

  std::size_t most_;
  Device x_, y_, a_, b_, out_, result_, range_, codes_;
  std::vector<char> host_, got_, before_;
  std::size_t before_count_ = 0;
  double before_eps_ = 0;
  stretto_cuda_call call_ = STRETTO_CUDA_CALL_INIT;
  cudaStream_t stream_ = nullptr;
};

}  // namespace stretto::codec
