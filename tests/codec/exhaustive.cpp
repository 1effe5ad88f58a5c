// Every float32 pattern, for ten bounds: each decodes within the bound in exact arithmetic, or bit for bit.
//
//   exhaustive [--stride N] [--threads N] [--isa best|reference|portable|avx512]
//
// Patterns are taken twice: in order, so that groups are smooth, and scrambled, so that groups mix all magnitudes and
// NaN. With a stride, every N-th is taken (a different residue for each order and bound).
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "codec/codec.hpp"
#include "sums/exactly.hpp"

namespace stretto::codec {
namespace {

constexpr std::size_t kBatch = 64 * 1024;
constexpr std::uint64_t kPatterns = std::uint64_t{1} << 32;
constexpr double kBounds[] = {1e-30, 1e-6, 1e-3, 0.1, 1, 1e6, 1e34, 3.3e36, 5e37, 3e38};

// A bijection of the 32-bit numbers: each step can be undone.
std::uint32_t scramble(std::uint32_t u) {
  u = (u ^ (u >> 16)) * 0x21f0aaad;
  u = (u ^ (u >> 15)) * 0x735a2d97;
  return u ^ (u >> 15);
}

struct Pass {
  double eps;
  bool scrambled;
  std::uint64_t stride, offset;
  Options options;
};

// Patterns offset + stride * i for i in [first, last). Returns "" or a description of the failure.
std::string check(const Pass& pass, std::uint64_t first, std::uint64_t last, std::uint64_t* exceptions) {
  std::vector<std::uint32_t> x(static_cast<std::size_t>(last - first)), y(x.size());
  for (std::uint64_t i = first; i < last; ++i) {
    const auto u = static_cast<std::uint32_t>(pass.offset + pass.stride * i);
    x[static_cast<std::size_t>(i - first)] = pass.scrambled ? scramble(u) : u;
  }
  std::vector<std::byte> out(compress_bound(Type::f32, x.size()));
  std::size_t written = 0;
  if (compress(Type::f32, x.data(), x.size(), pass.eps, out, &written, pass.options) != Status::ok) return message();
  Info info;
  if (inspect(Bytes(out).first(written), &info) != Status::ok) return message();
  *exceptions += info.exceptions;
  if (decompress(Bytes(out).first(written), y.data(), y.size(), pass.options) != Status::ok) return message();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    const float a = std::bit_cast<float>(x[i]), b = std::bit_cast<float>(y[i]);
    if (!(std::isfinite(a) && std::isfinite(b) && within(a, b, pass.eps)))
      return fmt::format("pattern {:#010x} ({}) became {:#010x} ({}) at bound {}", x[i], a, y[i], b, pass.eps);
  }
  return {};
}

// False if some pattern breaks its bound.
bool run(const Pass& pass, int threads) {
  const std::uint64_t n = (kPatterns - pass.offset + pass.stride - 1) / pass.stride;
  std::atomic<std::uint64_t> next{0}, exceptions{0};
  std::atomic<bool> failed{false};
  std::mutex printing;
  const auto work = [&] {
    std::uint64_t own = 0;
    while (!failed) {
      const std::uint64_t first = next.fetch_add(kBatch);
      if (first >= n) break;
      const std::string wrong = check(pass, first, std::min(first + kBatch, n), &own);
      if (wrong.empty()) continue;
      failed = true;
      const std::lock_guard lock(printing);
      fmt::print("FAILED: {}\n", wrong);
    }
    exceptions += own;
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work);
  for (auto& w : workers) w.join();
  fmt::print("{} {:>10} patterns {}, bound {}: {} verbatim\n", failed ? "FAILED" : "ok    ", n,
             pass.scrambled ? "scrambled" : "in order ", pass.eps, exceptions.load());
  std::fflush(stdout);
  return !failed;
}

}  // namespace
}  // namespace stretto::codec

int main(int argc, char** argv) {
  using namespace stretto::codec;
  std::uint64_t stride = 1;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Isa isa = Isa::best;
  const std::map<std::string, Isa> names{
      {"best", Isa::best}, {"reference", Isa::reference}, {"portable", Isa::portable}, {"avx512", Isa::avx512}};
  bool understood = argc % 2 == 1;
  for (int i = 1; understood && i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--stride") {
      stride = std::strtoull(value.c_str(), nullptr, 10);
      understood = stride >= 1 && stride <= kPatterns;
    } else if (option == "--threads") {
      threads = std::atoi(value.c_str());
      understood = threads >= 1 && threads <= 1024;
    } else if (option == "--isa" && names.contains(value)) {
      isa = names.at(value);
    } else {
      understood = false;
    }
  }
  if (!understood) {
    fmt::print(stderr, "usage: {} [--stride N] [--threads N] [--isa best|reference|portable|avx512]\n", argv[0]);
    return 2;
  }
  bool ok = true;
  std::uint64_t pass = 0;
  for (const double eps : kBounds)
    for (const bool scrambled : {false, true}) {
      Options options;
      options.isa = isa;
      ok = run({eps, scrambled, stride, pass++ * 40503 % stride, options}, threads) && ok;
    }
  return ok ? 0 : 1;
}
