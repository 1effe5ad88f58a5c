// codec_kernel_sections TARGET: each portable kernel on one group, in sections whose instructions count_instructions.py
// counts in an emulator's trace. Prints the sections' names in order; status 77: the processor lacks the instruction
// set.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "codec/portable/portable.hpp"

// Where a section begins and ends: the emulator's trace has these names.
extern "C" {
[[gnu::noinline]] void section_begins() { asm volatile(""); }
[[gnu::noinline]] void section_ends() { asm volatile(""); }
}

namespace stretto::codec {
namespace {

bool declined = false;

// The second call counts: the first finds addresses of functions, and pages.
template <class Kernel>
void section(const std::string& name, const Kernel& kernel) {
  kernel();
  section_begins();
  const bool done = kernel();
  section_ends();
  declined |= !done;
  std::printf("%s%s\n", name.c_str(), done ? "" : " declined");
}

template <class T>
void kernels_of(const std::string& type) {
  constexpr double eps = 1e-3;
  constexpr Type kind = sizeof(T) == 4 ? Type::f32 : Type::f64;
  const Grid<T> grid = make_grid<T>(kind, eps, grid_width(kind, eps, 0));
  const ValueKernels<T>& kernels = value_kernels<T>(*portable_kernels());
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  double walk = 0;
  const auto field = [&](const std::string& name, const auto& value) {
    std::vector<T> x(kGroup), y(kGroup);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(value(static_cast<double>(i)));
    std::vector<std::uint8_t> group(kKernelRoom), sum(4 * kMaxGroupWords);
    const std::string suffix = "_" + type + "_" + name;
    Tally tally;
    std::size_t words = 0;
    section("compress" + suffix, [&] {
      tally = {};
      words = kernels.compress(x.data(), grid, group.data(), &tally);
      return words != kDeclined;
    });
    const std::uint64_t bound = tally.bound;
    section("decompress" + suffix,
            [&] { return kernels.decompress(group.data(), words, grid, bound, 1, false, y.data()); });
    section("add_values" + suffix, [&] {
      return kernels.add_values(group.data(), words, x.data(), grid, sum.data(), sum.size(), &tally) != kDeclined;
    });
    const bool filled = tally.exceptions > 0;
    section("add" + suffix, [&] {
      if (filled)
        return kernels.add_filled(group.data(), words, group.data(), words, false, grid.width, sum.data(), sum.size(),
                                  &tally) != kDeclined;
      return portable_kernels()->add(group.data(), words, group.data(), words, false, sum.data()) != kDeclined;
    });
  };
  const auto sine = [](double i) { return std::sin(0.003 * i); };
  field("sine", sine);
  field("walk", [&](double) { return walk += 0.01 * normal(random); });
  field("noise", [&](double) { return 0.3 * normal(random); });
  field("gaps", [&](double i) { return static_cast<int>(i) / 64 % 5 == 3 ? 1e20 : sine(i); });

  // Sixteen groups of a dense stream.
  {
    std::vector<T> values(16 * kGroup), decoded(16 * kGroup);
    for (T& one : values) one = static_cast<T>(walk += 0.01 * normal(random));
    std::vector<std::byte> stream(compress_bound(kind, values.size()));
    std::size_t bytes = 0;
    Options dense;
    dense.isa = Isa::portable;
    dense.coding = Coding::dense;
    section("dense_compress_16_" + type,
            [&] { return compress(kind, values.data(), values.size(), eps, stream, &bytes, dense) == Status::ok; });
    section("dense_decompress_16_" + type, [&] {
      return decompress({stream.data(), bytes}, decoded.data(), decoded.size(), dense) == Status::ok;
    });
  }

  std::vector<T> x(kGroup), out(kGroup);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(sine(static_cast<double>(i)));
  MarkSet<T> marks;
  marks.count = 1;
  marks.mark[0] = -9999;
  section("range_" + type, [&] {
    T lo, hi;
    kernels.range(x.data(), x.size(), &lo, &hi);
    return lo < hi;
  });
  section("ranges_" + type, [&] {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    PartRanges<T> found{infinity, -infinity, infinity, -infinity};
    kernels.ranges(x.data(), x.size(), marks, &found);
    return found.lo < found.hi;
  });
  section("survey_" + type, [&] {
    T kept;
    return kernels.survey(x.data(), marks, out.data(), &kept) == KeptValues::none;
  });
}

}  // namespace
}  // namespace stretto::codec

int main(int count, char** arguments) {
  if (count != 2 || !stretto::codec::choose_portable_target(arguments[1])) return 77;
  stretto::codec::kernels_of<float>("f32");
  stretto::codec::kernels_of<double>("f64");
  return stretto::codec::declined ? 1 : 0;
}
