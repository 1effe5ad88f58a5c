// Times public error-bounded codecs and stretto's on the same GPU, fields, bounds and rounds: cuSZp (fixed-length codes
// in blocks of 32 values), compiled from the user's sources (`PEER_CUSZP=DIR make gpu-bench`), and Bitcomp of nvCOMP
// (`PEER_NVCOMP=DIR`, its wheel).
//
// A round runs every codec once, each after a read of several times the cache. "us" is the median over rounds of the
// device's time between events, with all memory allocated before: cuSZp's memset of flags and kernel, Bitcomp's call
// with a plan, stretto's call. "us_call" is the host's time in cuSZp's own function, which allocates, waits and frees.
// Results are compared with the field on the device: values beyond the bound are counted, also NaN that became a number
// ("nan_lost"). The largest error of the others is a multiple of the bound. Bounds are rounded down to powers of two,
// since Bitcomp knows no others. Prints rows of JSON.
//
// usage: bench_gpu_peer [--data DIRECTORY] [--bytes N] [--rounds N] [--seconds LIMIT]
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../timing/gpu_support.hpp"
#include "gpu_fields.hpp"
#include "gpu_timing.hpp"
#include "peer_codec.hpp"
#ifdef STRETTO_PEER_CUSZP
#include "peer_cuszp.hpp"
#endif
#ifdef STRETTO_PEER_NVCOMP
#include "peer_nvcomp.hpp"
#endif

namespace {

using namespace stretto::codec;
using Count = unsigned long long;
using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Errors {
  Count beyond;    // values whose error exceeds the bound
  Count nan_lost;  // of these, NaN in x alone
  Count largest;   // the largest other error, as the bits of a double, which order like numbers
};

__global__ void compare(const float* x, const float* y, std::size_t n, double eps, Errors* errors) {
  Count beyond = 0, nan_lost = 0;
  double largest = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const bool x_nan = isnan(x[i]), y_nan = isnan(y[i]);
    if (x[i] == y[i] || (x_nan && y_nan)) continue;
    const double e = y_nan ? INFINITY : fabs(static_cast<double>(x[i]) - y[i]);
    nan_lost += x_nan;
    beyond += x_nan || e > eps;
    if (!x_nan) largest = fmax(largest, e);
  }
  if (beyond) atomicAdd(&errors->beyond, beyond);
  if (nan_lost) atomicAdd(&errors->nan_lost, nan_lost);
  atomicMax(&errors->largest, static_cast<Count>(__double_as_longlong(largest)));
}

class Stretto : public Codec {
 public:
  explicit Stretto(const Work& work)
      : Codec("stretto", "", work), capacity_(stretto_compress_bound(STRETTO_F32, work.n)), out_(device(capacity_)) {
    const std::size_t most = std::max(work.n, cold_.bytes() / 4);
    for (const auto operation : {STRETTO_CUDA_COMPRESS, STRETTO_CUDA_DECOMPRESS, STRETTO_CUDA_RANGE}) {
      std::size_t bytes = 0;
      must(stretto_cuda_workspace(operation, STRETTO_F32, most, &bytes), "workspace");
      call_.workspace_bytes = std::max(call_.workspace_bytes, bytes);
    }
    call_.workspace = device(call_.workspace_bytes);
    call_.result = static_cast<stretto_cuda_result*>(device(sizeof(stretto_cuda_result)));
    call_.stream = work.stream;
  }
  void flush() const { cold_.flush(call_); }

  void compress(float eps) override {
    must(stretto_compress_on_stream(STRETTO_F32, work_.x, work_.n, eps, out_, capacity_, &call_), "compress");
  }
  std::size_t compressed() override { return bytes_ = result().bytes; }
  void decompress(float) override {
    must(stretto_decompress_on_stream(STRETTO_F32, out_, bytes_, work_.y, work_.n, 1, &call_), "decompress");
  }
  void decompressed() override { result(); }

 private:
  stretto_cuda_result result() const {
    stretto_cuda_result r;
    must(cudaStreamSynchronize(work_.stream), "stretto");
    must(cudaMemcpy(&r, call_.result, sizeof r, cudaMemcpyDeviceToHost), "copy");
    if (r.status) stop(std::string("stretto: ") + stretto_status_name(static_cast<stretto_status>(r.status)));
    return r;
  }
  ColdCache cold_;
  std::size_t capacity_, bytes_ = 0;
  void* out_;
  stretto_cuda_call call_ = STRETTO_CUDA_CALL_INIT;
};

class Bench {
 public:
  Bench(std::size_t bytes, int rounds) : rounds_(rounds) {
    work_.n = bytes / 4;
    must(cudaStreamCreate(&work_.stream), "stream");
    work_.x = static_cast<float*>(device(bytes));
    work_.y = static_cast<float*>(device(bytes));
    errors_ = static_cast<Errors*>(device(sizeof(Errors)));
    auto ours = std::make_unique<Stretto>(work_);
    ours_ = ours.get();
    codecs_.push_back(std::move(ours));
#ifdef STRETTO_PEER_CUSZP
    for (const Mode& mode : kCuszpModes) codecs_.push_back(std::make_unique<CuSZp>(mode, work_));
#endif
#ifdef STRETTO_PEER_NVCOMP
    codecs_.push_back(std::make_unique<Bitcomp>("default", BITCOMP_DEFAULT_ALGO, work_));
    codecs_.push_back(std::make_unique<Bitcomp>("sparse", BITCOMP_SPARSE_ALGO, work_));
#endif
  }
  void load(const Field& field) { tile(field.x, work_.x, work_.n); }

  void rows(const std::string& field, double rel, float eps) {
    std::vector<Case> cases;
    for (const auto& codec : codecs_) cases.push_back(check(*codec, eps));
    Timer timer(work_.stream);
    const auto device_time = [&](std::vector<double>& seconds, auto call) {
      ours_->flush();
      seconds.push_back(timer.seconds(call));
    };
    const auto host_time = [&](std::vector<double>& seconds, auto call) {
      ours_->flush();
      must(cudaStreamSynchronize(work_.stream), "flush");
      const auto begin = Clock::now();
      call();
      must(cudaDeviceSynchronize(), "call");
      seconds.push_back(since(begin));
    };
    for (int round = 0; round < rounds_; ++round)
      for (Case& c : cases) {
        device_time(c.compress, [&] { c.codec->compress(eps); });
        c.codec->compressed();
        device_time(c.decompress, [&] { c.codec->decompress(eps); });
        c.codec->decompressed();
        if (!c.codec->has_calls()) continue;
        host_time(c.call_compress, [&] { c.codec->call_compress(eps); });
        host_time(c.call_decompress, [&] { c.codec->call_decompress(eps); });
      }
    for (const Case& c : cases) {
      print("compress", field, rel, eps, c, c.compress, c.call_compress);
      print("decompress", field, rel, eps, c, c.decompress, c.call_decompress);
    }
  }

 private:
  struct Case {
    Codec* codec;
    std::size_t stream_bytes;
    Errors errors;
    double largest;
    std::vector<double> compress, decompress, call_compress, call_decompress;  // seconds of each round
  };

  // Compresses and decompresses, untimed.
  Case check(Codec& codec, float eps) {
    Errors errors{};
    codec.compress(eps);
    const std::size_t bytes = codec.compressed();
    must(cudaMemsetAsync(work_.y, 0xff, 4 * work_.n, work_.stream), "memset");  // NaN, which no field has everywhere
    codec.decompress(eps);
    codec.decompressed();
    must(cudaMemcpy(errors_, &errors, sizeof errors, cudaMemcpyHostToDevice), "copy");
    compare<<<1024, 256, 0, work_.stream>>>(work_.x, work_.y, work_.n, eps, errors_);
    must(cudaGetLastError(), "compare");
    must(cudaStreamSynchronize(work_.stream), "compare");
    must(cudaMemcpy(&errors, errors_, sizeof errors, cudaMemcpyDeviceToHost), "copy");
    double largest = 0;
    std::memcpy(&largest, &errors.largest, sizeof largest);
    return {&codec, bytes, errors, largest, {}, {}, {}, {}};
  }

  void print(const char* op, const std::string& field, double rel, double eps, const Case& c,
             const std::vector<double>& seconds, const std::vector<double>& call) const {
    const double t = median(seconds), raw = 4.0 * static_cast<double>(work_.n);
    std::printf("{\"bench\": \"gpu_peer\", \"op\": \"%s\", \"codec\": \"%s\", \"mode\": \"%s\", \"field\": \"%s\", ",
                op, c.codec->name, c.codec->mode, field.c_str());
    std::printf("\"rel\": %g, \"bytes\": %.0f, \"us\": %.2f, \"gbs\": %.1f, ", rel, raw, t * 1e6, raw / t * 1e-9);
    if (!call.empty()) std::printf("\"us_call\": %.2f, ", median(call) * 1e6);
    std::printf("\"ratio\": %.3f, \"beyond_bound\": %llu, \"nan_lost\": %llu, ",
                raw / static_cast<double>(c.stream_bytes), c.errors.beyond, c.errors.nan_lost);
    if (std::isfinite(c.largest))
      std::printf("\"max_error_over_bound\": %.9g}\n", c.largest / eps);
    else
      std::printf("\"max_error_over_bound\": null}\n");
    std::fflush(stdout);
  }

  int rounds_;
  Work work_;
  Errors* errors_;
  Stretto* ours_;
  std::vector<std::unique_ptr<Codec>> codecs_;
};

}  // namespace

int main(int count, char** arguments) {
  std::string data;
  std::size_t bytes = std::size_t{256} << 20;
  int rounds = 11;
  double limit = 60;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i], value = arguments[i + 1];
    if (name == "--data")
      data = value;
    else if (name == "--bytes")
      bytes = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--rounds")
      rounds = std::atoi(value.c_str());
    else if (name == "--seconds")
      limit = std::atof(value.c_str());
    else
      stop("unknown option " + name);
  }
  if (bytes < 1 << 18 || bytes > std::size_t{1} << 31) stop("--bytes takes 256 KB to 2 GB: cuSZp counts in 32 bits");
  if (rounds < 1) stop("--rounds takes 1 or more");
  must(stretto_cuda_available(), "no GPU");
  std::printf("%s\n", device_properties().c_str());
  const auto start = Clock::now();
  Bench bench(bytes, rounds);
  for (const Field& f : fields(data)) {
    bench.load(f);
    for (const double rel : {1e-2, 1e-3, 1e-4}) {
      if (since(start) > limit) stop("out of time after " + std::to_string(limit) + " s; rows are missing");
      bench.rows(f.name, rel, std::exp2(std::floor(std::log2(static_cast<float>(rel * f.range)))));
    }
  }
}
