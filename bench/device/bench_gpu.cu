// Times the codec on a GPU: every operation over sizes, bounds and fields (tiled), with the bytes that it must move and
// the fraction of the copy bandwidth of this run. A second copy at the end shows the device's drift. Before each timed
// call memory of several times the cache's size is read, so that operands come from memory. Where operands fit in the
// cache, "us_cached" times consecutive calls. Prints rows of JSON.
//
// usage: bench_gpu [--data DIRECTORY] [--most BYTES] [--seconds LIMIT]
//        bench_gpu --profile yes [--data DIRECTORY]    each operation once at 256 MB, for a profiler
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../timing/gpu_support.hpp"
#include "gpu_fields.hpp"
#include "gpu_timing.hpp"

namespace {

using namespace stretto::codec;

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// Seconds of one call between two events, the median of `repeats`. `before` precedes each call, untimed.
template <class F, class G>
double seconds(cudaStream_t stream, int repeats, F call, G before) {
  Timer timer(stream);
  if (repeats > 1) call();
  call();
  std::vector<double> t;
  for (int i = 0; i < repeats; ++i) {
    before();
    t.push_back(timer.seconds(call));
  }
  return median(t);
}

bool profiled = false;
int repeats_for(std::size_t bytes) {
  return profiled ? 1 : bytes >= std::size_t{1} << 30 ? 5 : bytes >= std::size_t{1} << 26 ? 11 : 41;
}

// Buffers for up to `most` bytes of float32.
class Bench {
 public:
  Bench(std::size_t most, double limit) : most_(most), limit_(limit), start_(Clock::now()) {
    must(cudaStreamCreate(&stream_), "stream");
    const std::size_t n = most / 4, stream_bytes = stretto_compress_bound(STRETTO_F32, n) + 4096;
    x_ = static_cast<float*>(device(most));
    y_ = static_cast<float*>(device(most));
    out_bytes_ = stream_bytes + stream_bytes / 8;
    a_ = device(out_bytes_);
    b_ = device(out_bytes_);
    out_ = device(out_bytes_);
    codes_ = device(most);
    range_ = static_cast<double*>(device(64));
    std::size_t workspace = 0;
    for (int op = STRETTO_CUDA_COMPRESS; op <= STRETTO_CUDA_TO_FIXED; ++op) {
      std::size_t bytes = 0;
      must(stretto_cuda_workspace(static_cast<stretto_cuda_operation>(op), STRETTO_F32, n, &bytes), "workspace");
      workspace = std::max(workspace, bytes);
    }
    call_.workspace = device(workspace);
    call_.workspace_bytes = workspace;
    call_.result = static_cast<stretto_cuda_result*>(device(64));
    call_.stream = stream_;
  }
  // The copy bandwidth. x_ is loaded, since a device may copy zeros faster.
  void measure_copy(const char* when) {
    const double copy =
        2 * static_cast<double>(most_) /
        seconds(
            stream_, 9, [&] { must(cudaMemcpyAsync(y_, x_, most_, cudaMemcpyDeviceToDevice, stream_), "copy"); },
            [] {});
    if (copy_ == 0) copy_ = copy;
    std::printf("{\"op\": \"copy\", \"when\": \"%s\", \"bytes\": %zu, \"gbs_moved\": %.1f}\n", when, most_,
                copy * 1e-9);
    std::fflush(stdout);
  }
  bool in_time() const { return since(start_) < limit_; }

  // Tiles a field over `bytes` of the input.
  void load(const std::vector<float>& field, std::size_t bytes) { tile(field, x_, std::min(bytes, most_) / 4); }

  void rows(const std::string& name, double rel, double eps, std::size_t bytes) {
    const std::size_t n = bytes / 4;
    const double raw = static_cast<double>(bytes);
    const auto result = [&] {
      stretto_cuda_result r;
      must(cudaStreamSynchronize(stream_), "synchronise");
      must(cudaMemcpy(&r, call_.result, sizeof r, cudaMemcpyDeviceToHost), "copy");
      if (r.status) stop(name + ": " + stretto_status_name(static_cast<stretto_status>(r.status)));
      return static_cast<double>(r.bytes);
    };
    // moved(result): bytes that must be read and written at least.
    const auto row = [&](const char* op, auto call, auto moved) {
      const auto timed = [&] { must(call(), op); };
      const double t = seconds(stream_, repeats_for(bytes), timed, [&] { cold_.flush(call_); });
      const double bytes_moved = moved(result());
      char cached[64] = "";
      if (bytes_moved < static_cast<double>(cold_.cache_bytes()) / 2)
        std::snprintf(cached, sizeof cached, ", \"us_cached\": %.2f",
                      1e6 * seconds(stream_, repeats_for(bytes), timed, [] {}));
      std::printf(
          "{\"op\": \"%s\", \"field\": \"%s\", \"rel\": %g, \"bytes\": %zu, \"us\": %.2f, \"gbs\": %.1f, \"moved\": "
          "%.0f, "
          "\"of_copy\": %.3f, \"ratio\": %.2f%s}\n",
          op, name.c_str(), rel, bytes, t * 1e6, raw / t * 1e-9, bytes_moved, bytes_moved / t / copy_,
          raw / stream_bytes_, cached);
      std::fflush(stdout);
    };
    must(stretto_compress_on_stream(STRETTO_F32, x_, n, eps, a_, out_bytes_, &call_), "compress");
    stream_bytes_ = result();
    must(cudaMemcpy(b_, a_, static_cast<std::size_t>(stream_bytes_), cudaMemcpyDeviceToDevice), "copy");
    const double s = stream_bytes_;
    const auto room = static_cast<std::size_t>(s);
    const auto combine = [&](stretto_cuda_operation op) {
      return stretto_combine_on_stream(op, STRETTO_F32, a_, room, b_, room, n, out_, out_bytes_, &call_);
    };
    row(
        "compress", [&] { return stretto_compress_on_stream(STRETTO_F32, x_, n, eps, out_, out_bytes_, &call_); },
        [&](double out) { return raw + out; });
    row(
        "decompress", [&] { return stretto_decompress_on_stream(STRETTO_F32, a_, room, y_, n, 1, &call_); },
        [&](double) { return s + raw; });
    row(
        "mean", [&] { return stretto_decompress_on_stream(STRETTO_F32, a_, room, y_, n, 3, &call_); },
        [&](double) { return s + raw; });
    row(
        "add", [&] { return combine(STRETTO_CUDA_ADD); }, [&](double out) { return 2 * s + out; });
    row(
        "add_values",
        [&] { return stretto_add_values_on_stream(STRETTO_F32, a_, room, x_, n, out_, out_bytes_, &call_); },
        [&](double out) { return s + raw + out; });
    row(
        "quantise", [&] { return stretto_quantise_on_stream(STRETTO_F32, x_, n, eps, codes_, &call_); },
        [&](double) { return 2 * raw; });
    row(
        "add_codes",
        [&] { return stretto_add_codes_on_stream(STRETTO_F32, a_, room, codes_, x_, n, out_, out_bytes_, &call_); },
        [&](double out) { return s + raw + out; });
    row(
        "min", [&] { return combine(STRETTO_CUDA_MIN); }, [&](double out) { return 2 * s + out; });
    const auto recode = [&](stretto_coding to, const void* from, std::size_t size) {
      return stretto_recode_on_stream(STRETTO_F32, to, from, size, n, out_, out_bytes_, &call_);
    };
    row(
        "to_dense", [&] { return recode(STRETTO_CODING_DENSE, a_, room); }, [&](double out) { return s + out; });
    const double dense = result();
    must(cudaMemcpy(b_, out_, static_cast<std::size_t>(dense), cudaMemcpyDeviceToDevice), "copy");
    row(
        "to_fixed", [&] { return recode(STRETTO_CODING_FIXED, b_, static_cast<std::size_t>(dense)); },
        [&](double out) { return dense + out; });
    row(
        "range", [&] { return stretto_value_range_on_stream(STRETTO_F32, x_, n, range_, &call_); },
        [&](double) { return raw; });
  }

  // The caller's time to enqueue a call, and the device's time per call, for 64 KB. Too few calls to fill the queue.
  void launches() {
    const std::size_t n = 1 << 14;
    const int calls = 200;
    const auto enqueue = [&] {
      for (int i = 0; i < calls; ++i)
        must(stretto_compress_on_stream(STRETTO_F32, x_, n, 1e-3, out_, out_bytes_, &call_), "compress");
    };
    enqueue();
    must(cudaStreamSynchronize(stream_), "synchronise");
    const auto begin = Clock::now();
    enqueue();
    const double host = since(begin);
    must(cudaStreamSynchronize(stream_), "synchronise");
    std::printf("{\"op\": \"launch\", \"bytes\": %zu, \"host_us\": %.2f, \"us\": %.2f}\n", 4 * n, host / calls * 1e6,
                since(begin) / calls * 1e6);
  }

 private:
  ColdCache cold_;
  std::size_t most_, out_bytes_ = 0;
  double limit_, copy_ = 0, stream_bytes_ = 1;
  Clock::time_point start_;
  cudaStream_t stream_ = nullptr;
  float *x_, *y_;
  void *a_, *b_, *out_, *codes_;
  double* range_;
  stretto_cuda_call call_ = STRETTO_CUDA_CALL_INIT;
};

}  // namespace

int main(int count, char** arguments) {
  std::string data;
  std::size_t most = std::size_t{4} << 30;
  double limit = 240;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    if (name == "--data")
      data = arguments[i + 1];
    else if (name == "--most")
      most = std::strtoull(arguments[i + 1], nullptr, 10);
    else if (name == "--profile")
      profiled = true;
    else if (name == "--seconds")
      limit = std::atof(arguments[i + 1]);
    else
      stop("unknown option " + name);
  }
  must(stretto_cuda_available(), "no GPU");
  std::size_t free = 0, total = 0;
  must(cudaMemGetInfo(&free, &total), "memory");
  if (profiled) most = std::size_t{256} << 20;
  while (most > 4096 && 7 * most > free) most /= 2;  // inputs, outputs and three streams, with room
  std::printf("%s\n{\"most\": %zu}\n", device_properties().c_str(), most);
  const auto all = fields(data);
  Bench bench(most, limit);
  bench.load(all.front().x, most);
  if (profiled) {
    bench.rows(all.front().name, 1e-3, 1e-3 * all.front().range, most);
    return 0;
  }
  bench.measure_copy("first");
  // Every field at 256 MB, then every field at all other sizes, within the time limit.
  const std::size_t middle = std::min(most, std::size_t{256} << 20);
  const auto all_bounds = [&](const Field& f, std::size_t bytes) {
    for (const double rel : {1e-2, 1e-3, 1e-4})
      if (bench.in_time()) bench.rows(f.name, rel, rel * f.range, bytes);
  };
  for (const Field& f : all) {
    bench.load(f.x, middle);
    all_bounds(f, middle);
  }
  bench.launches();
  for (const Field& f : all) {
    if (!bench.in_time()) break;
    bench.load(f.x, most);
    for (std::size_t bytes = 4096; bytes <= most; bytes *= 4)
      if (bytes != middle) all_bounds(f, bytes);
  }
  bench.measure_copy("last");
  if (!bench.in_time()) std::fprintf(stderr, "bench_gpu: out of time after %.0f s; rows are missing\n", limit);
}
