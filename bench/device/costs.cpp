#include "bench/device/costs.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/device/memory.hpp"
#include "codec/codec.hpp"
#include "codec/numbers/grid.hpp"
#include "payload/element_kinds.hpp"
#include "timing/rows.hpp"

namespace stretto::bench {
namespace {

using codec::cuda::Arguments;
using codec::cuda::StreamOperation;
using device::MemoryKind;

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

class Measurement {
 public:
  Measurement(const float* values, std::size_t large, double eps, int repeats)
      : large_(large), eps_(eps), repeats_(repeats), x_(MemoryKind::device, large), y_(MemoryKind::device, large) {
    Copier().to_device(x_.data(), values, large);
  }

  DeviceCosts run() {
    DeviceCosts c;
    c.launch = launch();
    c.look = median_of([this] { stream_.finish(); });
    const Memory pinned(MemoryKind::pinned, large_);
    c.staging = slope([&](std::size_t n) { stream_.copy(pinned.data(), x_.data(), n); }).byte;
    c.copy = slope([&](std::size_t n) { stream_.copy(y_.data(), x_.data(), n); }).byte;
    c.combine = slope([&](std::size_t n) { combine(n); }).byte;
    const Line compress = slope([&](std::size_t n) { write(StreamOperation::compress, n, &a_); });
    const std::size_t bytes = stream_bytes();
    c.ratio = static_cast<double>(large_) / static_cast<double>(bytes);
    // Writes streams of both lengths as operands.
    const Line decompress = with_streams([&](std::size_t n, std::size_t length) { read(n, length); });
    const Line add = with_streams([&](std::size_t n, std::size_t length) { sum(StreamOperation::add, n, length); });
    const Line fused =
        with_streams([&](std::size_t n, std::size_t length) { sum(StreamOperation::add_values, n, length); });
    c.compress = compress.byte;
    c.decompress = decompress.byte;
    c.add = add.byte;
    c.fused = fused.byte;
    c.call = std::max({compress.call, decompress.call, add.call, fused.call, c.launch});
    return c;
  }

 private:
  struct Line {
    double call = 0, byte = 0;
  };

  static constexpr std::size_t kPart = 16;  // ratio of the two lengths

  template <class F>
  double median_of(F f) {
    std::vector<double> all;
    for (int i = 0; i <= repeats_; ++i) {
      const auto begin = Clock::now();
      f();
      if (i > 0) all.push_back(since(begin));
    }
    return timing::median(std::move(all));
  }

  // Times two lengths from enqueueing to end. Their difference excludes the host's time to notice the end.
  template <class F>
  Line slope(F f) {
    const auto time = [&](std::size_t n) {
      return median_of([&] {
        f(n);
        stream_.finish();
      });
    };
    const double small = time(large_ / kPart);
    return line(small, time(large_));  // the longer length last: its stream stays for later reads
  }
  Line line(double small, double large) const {
    const double n = static_cast<double>(large_), byte = std::max(0.0, (large - small) / (n - n / kPart));
    return {std::max(0.0, small - byte * n / kPart), byte};
  }

  template <class F>
  Line with_streams(F f) {
    double seconds[2];
    const std::size_t lengths[2] = {large_ / kPart, large_};
    for (int i = 0; i < 2; ++i) {
      write(StreamOperation::compress, lengths[i], &a_);
      const std::size_t bytes = stream_bytes();
      seconds[i] = median_of([&] {
        f(lengths[i], bytes);
        stream_.finish();
      });
      stream_bytes();  // checks the outcome
    }
    return line(seconds[0], seconds[1]);
  }

  double launch() {
    constexpr int calls = 64;
    combine(1024);  // CUDA loads a kernel at its first launch
    stream_.finish();
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) combine(1024);
    const double seconds = since(begin);
    stream_.finish();
    return seconds / calls;
  }

  void combine(std::size_t n) {
    device::Values v{};
    v.operation = static_cast<device::u32>(payload::Op::sum);
    v.type = static_cast<device::u32>(payload::Type::f32);
    v.count = n / sizeof(float);
    v.left = x_.data();
    v.right = x_.data();
    v.out = y_.data();
    v.divisor = 1;
    v.stream = stream_.get();
    check(plugin().combine_values(v), "a combination");
  }

  Arguments arguments(StreamOperation operation, std::size_t n) {
    Arguments a{};
    a.operation = operation;
    a.type = codec::cuda::Type::f32;
    a.count = n / sizeof(float);
    a.x = x_.data();
    a.y = y_.data();
    a.eps = eps_;
    a.width = codec::grid_width(codec::Type::f32, eps_, 0);
    a.divisor = 1;
    a.workspace = workspace_.data();
    a.result = reinterpret_cast<codec::cuda::Result*>(result_.data());
    a.host_result = reinterpret_cast<codec::cuda::Result*>(host_result_.data());
    a.stream = stream_.get();
    return a;
  }

  void write(StreamOperation operation, std::size_t n, const Memory* to) {
    Arguments a = arguments(operation, n);
    a.out = reinterpret_cast<codec::cuda::u8*>(to->data());
    a.capacity = to->bytes();
    check(plugin().launch(a), "a kernel");
  }
  void read(std::size_t n, std::size_t length) {
    Arguments a = arguments(StreamOperation::decompress, n);
    a.a = {reinterpret_cast<const codec::cuda::u8*>(a_.data()), length};
    check(plugin().launch(a), "a kernel");
  }
  void sum(StreamOperation operation, std::size_t n, std::size_t length) {
    Arguments a = arguments(operation, n);
    a.a = a.b = {reinterpret_cast<const codec::cuda::u8*>(a_.data()), length};
    a.out = reinterpret_cast<codec::cuda::u8*>(out_.data());
    a.capacity = out_.bytes();
    check(plugin().launch(a), "a kernel");
  }

  // Bytes of the latest operation's stream. Throws if the operation failed.
  std::size_t stream_bytes() {
    stream_.finish();
    const auto& r = *reinterpret_cast<const codec::cuda::Result*>(host_result_.data());
    if (r.outcome != static_cast<device::u32>(Status::ok))
      throw std::runtime_error(fmt::format("the codec ended in status {} on the device", r.outcome));
    return static_cast<std::size_t>(r.bytes);
  }

  std::size_t workspace_bytes() const {
    device::u64 most = 0;
    for (const auto operation :
         {StreamOperation::compress, StreamOperation::decompress, StreamOperation::add, StreamOperation::add_values}) {
      device::u64 bytes = 0;
      check(plugin().workspace_bytes(operation, codec::cuda::Type::f32, large_ / sizeof(float), &bytes), "a workspace");
      most = std::max(most, bytes);
    }
    return static_cast<std::size_t>(most);
  }

  const std::size_t large_;
  const double eps_;
  const int repeats_;
  Stream stream_;
  Memory x_, y_;
  Memory a_{MemoryKind::device, codec::compress_bound(codec::Type::f32, large_ / sizeof(float))};
  Memory out_{MemoryKind::device, 2 * codec::compress_bound(codec::Type::f32, large_ / sizeof(float))};
  Memory workspace_{MemoryKind::device, workspace_bytes()};
  Memory result_{MemoryKind::device, sizeof(codec::cuda::Result)};
  Memory host_result_{MemoryKind::pinned, sizeof(codec::cuda::Result)};
};

}  // namespace

DeviceCosts measure_device(const float* values, std::size_t large, double eps, int repeats) {
  return Measurement(values, large, eps, repeats).run();
}

}  // namespace stretto::bench
