#include "schedule/check/dependencies.hpp"

#include <algorithm>
#include <iterator>

namespace stretto::schedule {
namespace {

// A block's last write, and its later readers, a list in Tracker::readers.
struct Touch {
  std::int32_t writer = -1;
  std::int32_t readers = -1;
};

// Stores only named blocks: of an alltoall's p * p a rank touches 2 * p.
class Tracker {
 public:
  explicit Tracker(const Schedule& s) {
    for (const Step& step : s.steps) {
      for (const Range& range : {read_by(step), written_by(step)}) {
        auto& named = named_[static_cast<std::size_t>(range.buffer)];
        for (std::int32_t i = 0; i < range.count; ++i) named.push_back(range.first + i);
      }
    }
    for (std::size_t b = 0; b < kBuffers; ++b) {
      std::sort(named_[b].begin(), named_[b].end());
      named_[b].erase(std::unique(named_[b].begin(), named_[b].end()), named_[b].end());
      touched_[b].resize(named_[b].size());
    }
  }

  void read(const Range& range, std::int32_t step, std::vector<std::int32_t>& waits_for) {
    for (Touch& t : touched(range)) {
      if (t.writer >= 0 && t.writer != step) waits_for.push_back(t.writer);
      readers_.push_back({step, t.readers});
      t.readers = static_cast<std::int32_t>(readers_.size()) - 1;
    }
  }

  // A writer waits for the previous write through that write's readers, if any.
  void write(const Range& range, std::int32_t step, std::vector<std::int32_t>& waits_for) {
    for (Touch& t : touched(range)) {
      bool others = false;
      for (std::int32_t r = t.readers; r >= 0; r = readers_[static_cast<std::size_t>(r)].next) {
        const std::int32_t reader = readers_[static_cast<std::size_t>(r)].step;
        if (reader == step) continue;
        waits_for.push_back(reader);
        others = true;
      }
      if (!others && t.writer >= 0) waits_for.push_back(t.writer);
      t = {step, -1};
    }
  }

 private:
  struct Reader {
    std::int32_t step;
    std::int32_t next;
  };
  static constexpr std::size_t kBuffers = 3;

  std::span<Touch> touched(const Range& range) {
    if (range.count <= 0) return {};
    const auto b = static_cast<std::size_t>(range.buffer);
    const auto at = std::lower_bound(named_[b].begin(), named_[b].end(), range.first) - named_[b].begin();
    return {touched_[b].data() + at, static_cast<std::size_t>(range.count)};
  }

  std::vector<std::int32_t> named_[kBuffers];
  std::vector<Touch> touched_[kBuffers];
  std::vector<Reader> readers_;
};

bool is_signal(const Step& step) { return step.dst.count <= 0 && step.src.count <= 0; }

}  // namespace

Range read_by(const Step& step) noexcept {
  switch (step.kind) {
    case Kind::send:
    case Kind::copy:
    case Kind::combine: return step.src;
    case Kind::recv_replace:
    case Kind::recv_combine: break;
  }
  return {step.src.buffer, step.src.first, 0};
}

Range written_by(const Step& step) noexcept {
  switch (step.kind) {
    case Kind::recv_replace:
    case Kind::recv_combine:
    case Kind::copy:
    case Kind::combine: return step.dst;
    case Kind::send: break;
  }
  return {step.dst.buffer, step.dst.first, 0};
}

Dependencies::Dependencies(const Schedule& schedule) {
  Tracker tracker(schedule);
  std::vector<std::int32_t> waits_for;
  std::vector<std::int32_t> signals;
  first_.reserve(schedule.steps.size() + 1);
  first_.push_back(0);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const auto index = static_cast<std::int32_t>(i);
    waits_for.clear();
    tracker.read(read_by(step), index, waits_for);
    tracker.write(written_by(step), index, waits_for);
    const auto of_other_level = [&](std::int32_t e) {
      return schedule.steps[static_cast<std::size_t>(e)].level != step.level;
    };
    if (is_signal(step)) {
      for (std::int32_t e = 0; e < index; ++e) {
        if (of_other_level(e)) waits_for.push_back(e);
      }
      signals.push_back(index);
    } else {
      std::copy_if(signals.begin(), signals.end(), std::back_inserter(waits_for), of_other_level);
    }
    std::sort(waits_for.begin(), waits_for.end());
    waits_for.erase(std::unique(waits_for.begin(), waits_for.end()), waits_for.end());
    edges_.insert(edges_.end(), waits_for.begin(), waits_for.end());
    first_.push_back(static_cast<std::int32_t>(edges_.size()));
  }
}

}  // namespace stretto::schedule
