// On a GPU: every operation gives the host's bytes, on all fields and on a given number of random and adversarial
// values.
//
// usage: gpu_check [--values N] [--data DIRECTORY] [--threads N] [--seconds LIMIT]
//        gpu_check --device yes    prints what the device is, and ends
// Prints what it compared, which is less than N if the time is over first; exits 1 at the first difference.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "codec/numbers/half.hpp"
#include "gpu_checker.hpp"
#include "gpu_inputs.hpp"

namespace {

using namespace stretto::codec;
using Clock = std::chrono::steady_clock;

void fill_any(std::vector<float>& x, int kind, double eps, Random& r) { fill(x, kind, eps, r); }
void fill_any(std::vector<double>& x, int kind, double eps, Random& r) { fill(x, kind, eps, r); }
template <class Half>
void fill_any(std::vector<Half>& x, int kind, double eps, Random& r) {
  std::vector<float> wide(x.size());
  fill(wide, kind, eps, r);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i].bits = kind == 2                    ? static_cast<std::uint16_t>(r.bits())
                : kType<Half> == STRETTO_F16 ? round_f16(wide[i])
                                             : round_bf16(wide[i]);
}

template <class T>
void random_values(std::uint64_t seed, std::atomic<std::int64_t>& left, std::atomic<std::int64_t>& done,
                   Clock::time_point end) {
  constexpr std::size_t chunk = (1 << 18) + 333;
  Checker<T> checker(chunk);
  Random r{seed};
  std::vector<T> x(chunk);
  for (std::uint64_t k = 0; Clock::now() < end && left.fetch_sub(static_cast<std::int64_t>(2 * chunk)) > 0; ++k) {
    const double eps = std::ldexp(1.0, static_cast<int>(k / 16 % 40) - 20) * (1 + r.uniform());
    for (int again = 0; again < 2; ++again) {  // two of a bound, so that they can be added
      const int kind = static_cast<int>(r.bits() % kKinds);
      fill_any(x, kind, eps, r);
      checker.check(x, eps,
                    "seed " + std::to_string(seed) + ", chunk " + std::to_string(k) + ", kind " + std::to_string(kind),
                    k % 2);
    }
    done += static_cast<std::int64_t>(2 * chunk);
  }
}

template <class T>
void one_field(const std::filesystem::path& file) {
  const std::size_t n = std::filesystem::file_size(file) / sizeof(T);
  std::vector<T> x(n);
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(n * sizeof(T)));
  double lo = 0, hi = 0;
  must(stretto_value_range(kType<T>, x.data(), n, &lo, &hi), file.string());
  if (!(hi > lo)) hi = lo + 1;
  if (hi > 1e19) hi = lo + 30;
  const std::vector<T> half(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n / 2)),
      rest(x.end() - static_cast<std::ptrdiff_t>(half.size()), x.end());
  Checker<T> checker(half.size());
  for (const double rel : {1e-2, 1e-3, 1e-4}) {
    checker.check(half, rel * (hi - lo), file.filename().string(), false);
    checker.check(rest, rel * (hi - lo), file.filename().string(), true);
  }
}

// What stretto takes each kind of memory for.
void check_memory_kinds() {
  void *device = nullptr, *managed = nullptr, *pinned = nullptr;
  int plain = 0;
  must(cudaMalloc(&device, 256), "cudaMalloc");
  must(cudaMallocManaged(&managed, 256), "cudaMallocManaged");
  must(cudaMallocHost(&pinned, 256), "cudaMallocHost");
  const auto expect = [](const void* p, stretto_memory expected, const char* what) {
    stretto_memory kind;
    must(stretto_cuda_memory(p, &kind), what);
    if (kind != expected) stop(std::string(what) + " memory is taken for kind " + std::to_string(kind));
  };
  expect(device, STRETTO_MEMORY_DEVICE, "device");
  expect(managed, STRETTO_MEMORY_MANAGED, "managed");
  expect(pinned, STRETTO_MEMORY_PINNED, "pinned");
  expect(&plain, STRETTO_MEMORY_HOST, "host");
  cudaFree(device);
  cudaFree(managed);
  cudaFreeHost(pinned);
}

}  // namespace

int main(int count, char** arguments) {
  std::int64_t values = 1000000000;
  std::string data;
  double limit = 1e6;
  bool device_only = false;
  int threads = static_cast<int>(std::min(8u, std::max(1u, std::thread::hardware_concurrency())));
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    if (name == "--values")
      values = std::atoll(arguments[i + 1]);
    else if (name == "--data")
      data = arguments[i + 1];
    else if (name == "--seconds")
      limit = std::atof(arguments[i + 1]);
    else if (name == "--device")
      device_only = true;
    else if (name == "--threads")
      threads = std::atoi(arguments[i + 1]);
    else
      stop("unknown option " + name);
  }
  must(stretto_cuda_available(), "no GPU");
  if (device_only) {
    std::printf("%s\n", device_properties().c_str());
    return 0;
  }
  check_memory_kinds();
  const auto start = Clock::now(),
             end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
  Checker<float>(4096).check_capture_comes_first();
  Checker<double>(4096).check_capture_comes_first();
  int fields = 0;
  if (std::filesystem::is_directory(data))
    for (const auto& e : std::filesystem::directory_iterator(data)) {
      if (e.path().extension() != ".f32" && e.path().extension() != ".f64") continue;
      e.path().extension() == ".f32" ? one_field<float>(e.path()) : one_field<double>(e.path());
      ++fields;
    }
  std::atomic<std::int64_t> left32{values - 2 * (values / 4)}, left64{values / 4}, left16{values / 8},
      left_b16{values / 8}, done{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      random_values<float>(1000 + static_cast<std::uint64_t>(t), left32, done, end);
      random_values<double>(2000 + static_cast<std::uint64_t>(t), left64, done, end);
      random_values<F16>(3000 + static_cast<std::uint64_t>(t), left16, done, end);
      random_values<BF16>(4000 + static_cast<std::uint64_t>(t), left_b16, done, end);
    });
  for (auto& w : workers) w.join();
  std::printf("{\"fields\": %d, \"values\": %lld, \"seconds\": %.1f, \"exact\": true}\n", fields,
              static_cast<long long>(done), std::chrono::duration<double>(Clock::now() - start).count());
}
