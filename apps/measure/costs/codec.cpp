#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include "codec/codec.hpp"
#include "costs/together.hpp"
#include "timing/data.hpp"

namespace stretto::measure {
namespace {

// Synthetic data with bounds (relative to the range) that give ratios from about 2 to about 30.
struct Data {
  timing::Kind kind;
  double bound;
};
constexpr Data kData[] = {{timing::Kind::normal, 1e-5},
                          {timing::Kind::normal, 1e-3},
                          {timing::Kind::walk, 1e-4},
                          {timing::Kind::sines, 1e-2},
                          {timing::Kind::walk, 1e-1}};
constexpr Data kQuickData[] = {{timing::Kind::normal, 1e-3}, {timing::Kind::walk, 1e-1}};
// For dense streams, whose ratios are about 1.5 times those of fixed ones.
constexpr Data kDenseData[] = {{timing::Kind::normal, 1e-3}, {timing::Kind::walk, 1e-4}, {timing::Kind::walk, 1e-2}};
constexpr std::size_t kSizes[] = {std::size_t{4} << 10, std::size_t{32} << 10, std::size_t{256} << 10,
                                  std::size_t{2} << 20};

enum class Operation : std::uint8_t { compress, decompress, add, fused };
constexpr Operation kOperations[] = {Operation::compress, Operation::decompress, Operation::add, Operation::fused};

const char* name(Operation operation) {
  switch (operation) {
    case Operation::compress: return "compress";
    case Operation::decompress: return "decompress";
    case Operation::add: return "add";
    case Operation::fused: return "fused";
  }
  return "?";
}

// Values, their streams, and room for results, in equal chunks that successive calls walk through.
template <class T>
class Walk {
 public:
  Walk(const Data& data, std::size_t bytes, codec::Coding coding) : values_(bytes / sizeof(T)), out_(values_.size()) {
    options_.coding = coding;
    timing::compute<T>(data.kind, values_);
    eps_ = data.bound * timing::range_of<T>(values_);
  }

  // Compresses the values in chunks of `bytes` raw bytes. Returns the ratio.
  double cut(std::size_t bytes) {
    count_ = bytes / sizeof(T);
    const std::size_t chunks = values_.size() / count_;
    const std::size_t room = codec::compress_bound(timing::type_of<T>(), count_);
    streams_.clear();
    std::size_t all = 0;
    std::vector<std::byte> stream(room);
    for (std::size_t i = 0; i < chunks; ++i) {
      std::size_t written = 0;
      must(codec::compress(timing::type_of<T>(), &values_[i * count_], count_, eps_, stream, &written, options_));
      streams_.emplace_back(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(written));
      all += written;
    }
    result_.resize(codec::combine_bound(timing::type_of<T>(), count_));
    at_ = 0;
    return static_cast<double>(chunks * count_ * sizeof(T)) / static_cast<double>(all);
  }

  void run(Operation operation) {
    const std::size_t i = at_, next = (at_ + 1) % streams_.size();
    at_ = next;
    std::size_t written = 0;
    switch (operation) {
      case Operation::compress:
        return must(
            codec::compress(timing::type_of<T>(), &values_[i * count_], count_, eps_, result_, &written, options_));
      case Operation::decompress: return must(codec::decompress(streams_[i], &out_[i * count_], count_));
      case Operation::add:
        return must(codec::combine(codec::Combine::add, streams_[i], streams_[next], result_, &written, options_));
      case Operation::fused:
        return must(codec::add_values(streams_[i], &values_[next * count_], count_, result_, &written, options_));
    }
  }

 private:
  std::vector<T> values_, out_;
  codec::Options options_;
  double eps_ = 0;
  std::size_t count_ = 0, at_ = 0;
  std::vector<std::vector<std::byte>> streams_;
  std::vector<std::byte> result_;
};

template <class T>
void measure_type(const Job& job, std::span<const Data> all, codec::Coding coding) {
  const std::string type =
      fmt::format("{}{}", coding == codec::Coding::dense ? "dense_" : "", sizeof(T) == 4 ? "f32" : "f64");
  const std::vector<RankGroup> groups = rank_groups(job);
  const bool works = std::any_of(groups.begin(), groups.end(), [](const RankGroup& g) { return g.active; });
  for (const Data& data : all) {
    std::optional<Walk<T>> walk;
    if (works) walk.emplace(data, std::size_t{job.quick ? 4u : 32u} << 20, coding);
    for (const std::size_t bytes : kSizes) {
      const double ratio = job.ranks.from(0, works ? walk->cut(bytes) : 0);
      for (const Operation operation : kOperations) {
        for (const RankGroup& group : groups) {
          const Timing t = time_group(job, group, {job.seconds(0.02), 5, 2000}, [&] { walk->run(operation); });
          job.report.row({{"type", type},
                          {"data", fmt::format("{} {:.0e}", timing::name(data.kind), data.bound)},
                          {"ratio", ratio},
                          {"operation", name(operation)},
                          {"bytes", bytes},
                          {"busy", group.busy},
                          {"seconds", t.median},
                          {"samples", t.samples}});
        }
      }
      job.report.step();
    }
  }
}

}  // namespace

void codec(const Job& job) {
  const std::span<const Data> all = job.quick ? std::span<const Data>(kQuickData) : std::span<const Data>(kData);
  const std::span<const Data> dense = job.quick ? all : std::span<const Data>(kDenseData);
  job.report.begin(Part::codec, static_cast<int>(2 * (all.size() + dense.size()) * std::size(kSizes)));
  measure_type<float>(job, all, codec::Coding::fixed);
  measure_type<double>(job, all, codec::Coding::fixed);
  measure_type<float>(job, dense, codec::Coding::dense);
  measure_type<double>(job, dense, codec::Coding::dense);
}

}  // namespace stretto::measure
