#include <cstring>
#include <stdexcept>

#include "costs/together.hpp"
#include "payload/arithmetic/arithmetic.hpp"

namespace stretto::measure {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;  // bytes per call, a segment of the engine

}  // namespace

void local(const Job& job) {
  const std::size_t count = (std::size_t{job.quick ? 8u : 64u} << 20) / sizeof(float);
  std::vector<float> in(count, 1.5F), out(count, 0.5F);
  constexpr std::size_t step = kChunk / sizeof(float);
  std::size_t at = 0;
  const auto advance = [&] { at = at + 2 * step > count ? 0 : at + step; };
  const auto add = [&] {
    advance();
    if (payload::combine_values(payload::Op::sum, payload::Type::f32, &in[at], &out[at], &out[at], step) !=
        Status::ok) {
      throw std::runtime_error(stretto::message());
    }
  };
  const auto copy = [&] {
    advance();
    std::memcpy(&out[at], &in[at], kChunk);
  };

  const auto all = rank_groups(job);
  job.report.begin(Part::local, static_cast<int>(2 * all.size()));
  for (const RankGroup& group : all) {
    const auto measure = [&](const char* operation, const std::function<void()>& work) {
      const Timing t = time_group(job, group, {job.seconds(0.2), 20, 5000}, work);
      job.report.row({{"operation", operation}, {"bytes", kChunk}, {"busy", group.busy}, {"seconds", t.median}});
      job.report.step();
    };
    measure("gamma", add);
    measure("copy", copy);
  }
}

}  // namespace stretto::measure
