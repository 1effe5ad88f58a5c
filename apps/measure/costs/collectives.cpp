#include "costs/collectives.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <thread>

#include "model/profile/profile.hpp"
#include "schedule/names.hpp"
#include "schedule/schedule.hpp"
#include "timing/steady.hpp"

namespace stretto::measure {
namespace {

using schedule::Collective;

constexpr Collective kCollectives[] = {Collective::allreduce, Collective::bcast,          Collective::reduce,
                                       Collective::allgather, Collective::reduce_scatter, Collective::gather,
                                       Collective::scatter,   Collective::alltoall,       Collective::barrier};

bool is_cut(Collective c) noexcept {
  return c != Collective::allreduce && c != Collective::bcast && c != Collective::reduce && c != Collective::barrier;
}

struct Vectors {
  std::vector<float> in, out;
  float value = 0;

  Vectors(int ranks, std::size_t largest)
      : in(largest / sizeof(float) + static_cast<std::size_t>(ranks)), out(in.size()) {}
  // One function, so that the time that is subtracted is that of the loop that ran: two copies of it may differ
  // twofold.
  [[gnu::noinline]] void rewrite(std::size_t bytes) {
    value += 1;
    std::fill_n(in.begin(), bytes / sizeof(float), value);
  }
};

constexpr int kPasses = 3;   // over all collectives and sizes, so that a short disturbance affects only some samples
constexpr int kRepeats = 2;  // of series in doubt; the fastest counts

// Samples of a collective's time. A sample is a batch of `batch_` calls after a barrier, with inputs rewritten before
// each, and a moving root, as in IMB, so that no rank runs ahead. Its value is the slowest rank's time per call, less
// that of rewriting. The result is the median over all passes. Short vectors between hosts have pauses, in which a
// shaped port's burst comes back, so that they are measured as calls that come one by one (Messages::short_calls).
class Series {
 public:
  Series(const Ranks& ranks, Vectors& vectors, Provider& provider, Collective collective, std::size_t bytes)
      : ranks_(ranks),
        vectors_(vectors),
        provider_(provider),
        collective_(collective),
        bytes_(bytes),
        pauses_(ranks.hosts > 1 && bytes >= model::kShortCall / 16 && bytes <= model::kShortCall) {}

  // Runs one pass; `budget` is for all passes.
  void pass(const Budget& budget) {
    batch_seconds(samples_.empty() ? 2 : 1);  // uncounted
    if (samples_.empty()) {
      const double each = agreed(batch_seconds(2) / 2);
      batch_ = static_cast<int>(std::clamp(kSample / each, 1.0, 64.0));
      count_ = (budget.samples(each * batch_) + kPasses - 1) / kPasses;
      rewriting_ = rewrite_seconds() + clock_cost() / batch_;
    }
    std::vector<double> samples;
    for (int i = 0; i < count_; ++i) {
      const double seconds = batch_seconds(batch_);
      samples.push_back(std::max(0.0, seconds / batch_ - rewriting_));
      if (pauses_) pause(kPause * seconds);
    }
    ranks_.largest(samples);
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  }

  // Runs all passes once more at once. The faster samples count.
  void repeat(const Budget& budget) {
    std::vector<double> before = std::move(samples_);
    samples_.clear();
    for (int pass_number = 0; pass_number < kPasses; ++pass_number) pass(budget);
    if (timing::median(before) < timing::median(samples_)) samples_ = std::move(before);
  }

  Timing result() const { return summary(samples_); }
  timing::GrowingPoint point() const { return {timing::median(samples_), timing::is_steady(samples_)}; }
  Collective collective() const { return collective_; }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr double kPause = 4;        // times the sample before it
  static constexpr double kSample = 100e-6;  // least seconds of a sample, so that the barrier's exit has no effect

  double batch_seconds(int calls) {
    ranks_.world.barrier();
    const double start = now();
    for (int i = 0; i < calls; ++i) {
      vectors_.rewrite(bytes_);
      const std::size_t whole = bytes_ / sizeof(float);
      provider_.run(collective_, vectors_.in.data(), vectors_.out.data(), whole,
                    whole / static_cast<std::size_t>(ranks_.size), i % ranks_.size);
    }
    return now() - start;
  }

  static void pause(double seconds) {
    const double start = now();
    while (now() - start < seconds) std::this_thread::yield();
  }

  double rewrite_seconds() {
    return sample({1e-3, 3, 50}, [&] { vectors_.rewrite(bytes_); }).least;
  }

  double agreed(double seconds) const {
    ranks_.largest({&seconds, 1});
    return std::max(seconds, 1e-9);
  }

  const Ranks& ranks_;
  Vectors& vectors_;
  Provider& provider_;
  Collective collective_;
  std::size_t bytes_;
  int batch_ = 1, count_ = 0;  // calls per sample; samples per pass
  double rewriting_ = 0;
  bool pauses_;
  std::vector<double> samples_;
};

// The longest short call between hosts is measured as such, not taken from longer ones.
std::vector<std::size_t> sizes(Collective collective, int hosts, bool quick) {
  if (collective == Collective::barrier) return {0};
  std::vector<std::size_t> all;
  for (std::size_t n = 8; n <= (std::size_t{16} << 20); n *= quick ? 16 : 4) all.push_back(n);
  if (all.back() != std::size_t{16} << 20) all.push_back(std::size_t{16} << 20);
  if (hosts > 1) all.insert(std::upper_bound(all.begin(), all.end(), model::kShortCall), model::kShortCall);
  return all;
}

// Runs three passes over all series, which are complete after the last.
template <class All, class Each>
void pass_over(const Job& job, Part part, All& all, const Each& each) {
  job.report.begin(part, kPasses * static_cast<int>(all.size()));
  for (int pass = 0; pass < kPasses; ++pass) {
    for (auto& one : all) {
      each(one);
      job.report.step();
    }
  }
}

// Ranks agree, since samples are equal on all.
void repeat_doubtful(const Budget& budget, std::vector<Series>& all) {
  for (auto first = all.begin(); first != all.end();) {
    const auto last =
        std::find_if(first, all.end(), [&](const Series& s) { return s.collective() != first->collective(); });
    std::vector<timing::GrowingPoint> points;
    std::transform(first, last, std::back_inserter(points), [](const Series& s) { return s.point(); });
    const std::vector<bool> doubts = timing::in_doubt(points);
    for (auto series = first; series != last; ++series)
      if (doubts[static_cast<std::size_t>(series - first)]) series->repeat(budget);
    first = last;
  }
}

}  // namespace

void collectives(const Job& job, Part part, Provider& provider) {
  const Ranks& ranks = job.ranks;
  const std::size_t least = static_cast<std::size_t>(ranks.size) * sizeof(float);  // one value per block
  Vectors vectors(ranks.size, std::size_t{16} << 20);
  std::vector<Series> all;
  for (const Collective collective : kCollectives) {
    for (const std::size_t bytes : sizes(collective, ranks.hosts, job.quick)) {
      if (is_cut(collective) && bytes < least) continue;
      // Blocks are equal: the rest of a cut vector is not sent, and not counted.
      const std::size_t whole = is_cut(collective) ? bytes / least * least : bytes;
      all.emplace_back(ranks, vectors, provider, collective, whole);
    }
  }
  const Budget budget{job.seconds(0.06), 6, 500};
  pass_over(job, part, all, [&](Series& series) { series.pass(budget); });
  for (int k = 0; k < (job.quick ? 0 : kRepeats); ++k) repeat_doubtful(budget, all);
  for (const Series& series : all) {
    const Timing t = series.result();
    job.report.row({{"collective", schedule::name(series.collective())},
                    {"bytes", series.bytes()},
                    {"seconds", t.median},
                    {"least", t.least},
                    {"samples", t.samples}});
  }
}

void native(const Job& job) {
  const std::unique_ptr<Provider> natives = job.ranks.world.natives();
  if (natives)
    collectives(job, Part::native, *natives);
  else
    job.report.begin(Part::native, 0);
}

void compare(const Job& job, Part part, const std::vector<Switch>& switches) {
  struct Pair {
    const Switch* of;
    Series shorter, longer;
  };
  Vectors vectors(job.ranks.size, std::size_t{16} << 20);
  std::vector<Pair> all;
  for (const Switch& s : switches)
    for (std::size_t bytes = s.smallest; bytes <= s.largest; bytes *= job.quick ? 4 : 2)
      all.push_back({&s,
                     {job.ranks, vectors, *s.shorter, s.collective, bytes},
                     {job.ranks, vectors, *s.longer, s.collective, bytes}});
  pass_over(job, part, all, [&](Pair& pair) {
    pair.shorter.pass({job.seconds(0.03), 6, 500});
    pair.longer.pass({job.seconds(0.03), 6, 500});
  });
  for (const Pair& pair : all)
    job.report.row({{"switch", pair.of->name},
                    {"bytes", pair.shorter.bytes() / pair.of->parts},
                    {"shorter", pair.shorter.result().median},
                    {"longer", pair.longer.result().median}});
}

}  // namespace stretto::measure
