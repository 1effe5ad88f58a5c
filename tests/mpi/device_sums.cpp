// A program that knows nothing of stretto; its sums lie in memory of an emulated device, which the host cannot touch: on
// all ranks, then on rank 1 alone. The last ones lie in memory that only the driver's stand-in calls a device's.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "device/plugin.hpp"

extern "C" int cuMemAlloc_v2(std::uintptr_t* given, std::size_t bytes);

namespace {

using namespace stretto::device;

constexpr int n = 20'000;
constexpr double bound = 1e-3, rounding = 1e-5;
int rank = 0, ranks = 1;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "rank %d: %s\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void check(int error) {
  if (error != 0) stop("the plugin failed");
}

const Plugin& plugin() {
  static const Plugin* const found = [] {
    void* library = dlopen(std::getenv("STRETTO_CUDA_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    const auto table = library ? reinterpret_cast<const Plugin* (*)()>(dlsym(library, kPluginSymbol)) : nullptr;
    return table ? table() : nullptr;
  }();
  if (!found) stop("no plugin");
  return *found;
}

// Of the host or of a device.
class Vector {
 public:
  Vector(bool device, std::size_t count) : device_(device), host_(count) {
    if (!device_) return;
    check(plugin().allocate(MemoryKind::device, bytes(), &data_));
    check(plugin().allocate(MemoryKind::pinned, bytes(), &pinned_));
    check(plugin().create_event(&event_));
  }
  float* data() { return device_ ? static_cast<float*>(data_) : host_.data(); }
  void write(const std::vector<float>& values) {
    host_ = values;
    if (!device_) return;
    std::memcpy(pinned_, values.data(), bytes());
    copy(data_, pinned_);
  }
  const std::vector<float>& read() {
    if (device_) {
      copy(pinned_, data_);
      std::memcpy(host_.data(), pinned_, bytes());
    }
    return host_;
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(float); }
  void copy(void* to, const void* from) {
    check(plugin().copy(to, from, bytes(), nullptr));
    check(plugin().record(event_, nullptr));
    for (int over = 0; !over;) check(plugin().is_over(event_, &over));
  }
  const bool device_;
  std::vector<float> host_;
  void *data_ = nullptr, *pinned_ = nullptr, *event_ = nullptr;
};

float value(int of, std::size_t i) { return std::sin(0.37f * static_cast<float>(i) + static_cast<float>(of)); }

std::vector<float> values(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value(rank, i);
  return all;
}

void expect_sum(const std::vector<float>& got, std::size_t from, const char* what) {
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int r = 0; r < ranks; ++r) sum += static_cast<double>(value(r, from + i));
    if (!(std::fabs(static_cast<double>(got[i]) - sum) <= bound + rounding)) stop(what);
  }
}

void sums(bool device) {
  const auto all = static_cast<std::size_t>(n * ranks);
  Vector x(device, n), sum(device, n), blocks(device, all), block(device, n);
  x.write(values(n));
  blocks.write(values(all));
  MPI_Allreduce(x.data(), sum.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum(sum.read(), 0, "allreduce");
  sum.write(values(n));
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum(sum.read(), 0, "allreduce in place");
  const bool root = rank == ranks - 1;
  MPI_Reduce(x.data(), root ? sum.data() : nullptr, n, MPI_FLOAT, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
  if (root) expect_sum(sum.read(), 0, "reduce");
  MPI_Reduce_scatter_block(blocks.data(), block.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum(block.read(), static_cast<std::size_t>(n * rank), "reduce_scatter_block");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sums(true);
  sums(rank == 1);
  std::uintptr_t of_driver = 0;
  if (cuMemAlloc_v2(&of_driver, n * sizeof(float)) != 0) stop("no memory of the driver");
  const std::vector<float> x = values(n);
  auto* const sum = reinterpret_cast<float*>(of_driver);
  MPI_Allreduce(x.data(), sum, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect_sum({sum, sum + n}, 0, "allreduce in memory of the driver");
  std::vector<float> most(n);
  MPI_Allreduce(x.data(), most.data(), n, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
