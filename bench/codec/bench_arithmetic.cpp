// Reductions of raw values: bytes of one operand per second, in a core's caches, with the processor's best instructions
// and with the baseline of its architecture.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "payload/arithmetic/arithmetic.hpp"
#include "payload/arithmetic/loops.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;
using payload::Op;
using payload::Type;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 16 * 1024;
constexpr int kCalls = 64;  // consecutive, timed together

// GB/s of one run.
double run(payload::CombineLoop loop, Type type, std::vector<std::byte>& left, std::vector<std::byte>& right,
           std::vector<std::byte>& out) {
  const auto begin = Clock::now();
  for (int k = 0; k < kCalls; ++k) loop(left.data(), right.data(), out.data(), kBytes / payload::size_of(type));
  return static_cast<double>(kBytes) * kCalls / std::chrono::duration<double>(Clock::now() - begin).count() / 1e9;
}

// Highway's name of the baseline of this library's processors.
const char* plain() {
  for (const char* name : {"SSE2", "SCALAR", "EMU128"})  // names in releases of Highway
    if (payload::choose_loops_target(name)) return name;
  return nullptr;
}

void measure(timing::Writer& rows, Op op, Type type, const char* best, const char* least, int repeats) {
  std::vector<std::byte> left(kBytes, std::byte{0x3F}), right(kBytes, std::byte{0x3F}), out(kBytes);
  std::vector<double> ours, others;
  for (int k = 0; k < repeats; ++k) {
    payload::choose_loops_target(nullptr);
    ours.push_back(run(payload::combine_loop(op, type), type, left, right, out));
    payload::choose_loops_target(least);
    others.push_back(run(payload::combine_loop(op, type), type, left, right, out));
  }
  payload::choose_loops_target(nullptr);
  rows.write({.bench = "arithmetic",
              .subject = fmt::format("{} {}", name(op), name(type)),
              .metric = "combine",
              .value = timing::median(std::move(ours)),
              .unit = "GB/s",
              .peer = timing::Peer{"baseline", timing::median(std::move(others))},
              .fields = {{"instructions", best}}});
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  int repeats = 101;
  CLI::App app{"Operations of reductions, on raw values in a core's caches"};
  app.add_option("--json", json, "Append rows to this file instead of printing them");
  app.add_option("--repeats", repeats, "Runs of each")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const char* const least = plain();
  payload::choose_loops_target(nullptr);
  const char* const best = payload::loops_target();
  if (least == nullptr) {
    fmt::print(stderr, "bench_arithmetic: {} is all there is, with nothing to compare it with\n", best);
    return 77;
  }
  timing::Writer rows(json);
  for (const Op op : {Op::sum, Op::prod, Op::max})
    for (const Type type :
         {Type::i8, Type::i32, Type::i64, Type::f16, Type::bf16, Type::f32, Type::f64, Type::c64, Type::c128})
      if (payload::defined(op, type)) measure(rows, op, type, best, least, repeats);
  return 0;
}
