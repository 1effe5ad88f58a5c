// bench_ratio: compression ratios of fields at bounds relative to their range, beside those of published formats of its
// class, and whether the bound held. Ratios are original bytes over stream bytes, including header and index. Missing
// data (1e20, NaN) are first set to 0 and then the range is taken; rows with fills keep that bound.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/codec/ratio_measure.hpp"
#include "bench/codec/ratio_published.hpp"
#include "timing/data.hpp"
#include "timing/rows.hpp"

namespace {

using namespace stretto;
using bench::kRatioBounds;
using bench::measure;
using bench::Measured;

class Bench {
 public:
  explicit Bench(timing::Writer* rows) : rows_(rows) {}

  // Keeps the ratios for the means and for float64.
  void float32(const timing::Field<float>& field) {
    const std::vector<float> plain = timing::without_gaps(field.values);
    const double range = timing::range_of<float>(plain);
    for (std::size_t b = 0; b < kRatioBounds.size(); ++b) {
      const double eps = std::strtod(kRatioBounds[b], nullptr) * range;
      const std::string subject = fmt::format("{} {}", field.name, kRatioBounds[b]);
      const Measured m = measure<float>(plain, eps);
      const std::optional<bench::Published> peers = bench::published(field.name, b);
      if (peers) {
        write(subject, "ratio", m, timing::Peer{kBest, peers->best()});
        write(subject, "ratio", m, timing::Peer{kNewest, peers->tiles256});
        log_ratio_[b] += std::log(m.ratio);
        log_best_[b] += std::log(peers->best());
        log_newest_[b] += std::log(peers->tiles256);
        ++compared_[b];
      } else {
        write(subject, "ratio", m, std::nullopt);
      }
      if (timing::has_gaps<float>(field.values)) {
        write(subject, "ratio_with_fills", measure<float>(field.values, eps), timing::Peer{"fills set to 0", m.ratio});
      }
    }
  }

  void float64(const timing::Field<double>& field) {
    const std::vector<double> plain = timing::without_gaps(field.values);
    const double range = timing::range_of<double>(plain);
    const std::vector<float> rounded(plain.begin(), plain.end());
    for (const char* bound : kRatioBounds) {
      const double eps = std::strtod(bound, nullptr) * range;
      const Measured m = measure<double>(plain, eps);
      write(fmt::format("{} {}", field.name, bound), "ratio", m,
            timing::Peer{"twice the float32 ratio", 2 * measure<float>(rounded, eps).ratio});
    }
  }

  void means() {
    for (std::size_t b = 0; b < kRatioBounds.size(); ++b) {
      if (compared_[b] == 0) continue;
      const auto mean = [&](double log_sum) { return std::exp(log_sum / compared_[b]); };
      for (const timing::Peer& peer : {timing::Peer{kBest, mean(log_best_[b])}, {kNewest, mean(log_newest_[b])}}) {
        rows_->write({.bench = "ratio",
                      .subject = fmt::format("geometric_mean {}", kRatioBounds[b]),
                      .metric = "ratio",
                      .value = mean(log_ratio_[b]),
                      .unit = "x",
                      .peer = peer,
                      .fields = {{"of_fields", compared_[b]}}});
      }
    }
  }

  void zeros(std::size_t bytes, const std::string& subject) {
    const std::unique_ptr<float[], void (*)(void*)> x(static_cast<float*>(std::calloc(bytes, 1)), &free_floats);
    if (!x) throw std::runtime_error("out of memory for the zeros");
    write(subject, "ratio", measure<float>({x.get(), bytes / sizeof(float)}, 1e-3), std::nullopt);
  }

 private:
  static constexpr const char* kBest = "best published format";
  static constexpr const char* kNewest = "newest of the class (tiles of 256)";

  static void free_floats(void* p) { std::free(p); }

  void write(const std::string& subject, const std::string& metric, const Measured& m,
             const std::optional<timing::Peer>& peer) {
    rows_->write({.bench = "ratio",
                  .subject = subject,
                  .metric = metric,
                  .value = m.ratio,
                  .unit = "x",
                  .peer = peer,
                  .fields = {{"exceptions", m.exceptions}}});
    // once per stream, not per peer
    if (subject + metric == last_) return;
    last_ = subject + metric;
    rows_->write({.bench = "ratio",
                  .subject = subject,
                  .metric = metric == "ratio" ? "worst_error_over_bound" : "worst_error_over_bound_with_fills",
                  .value = m.error_over_bound,
                  .unit = "eps",
                  .better = timing::Better::smaller});
    if (!(m.error_over_bound <= 1)) {
      throw std::runtime_error(fmt::format("{}: the bound is broken: {} times", subject, m.error_over_bound));
    }
  }

  timing::Writer* rows_;
  std::string last_;
  double log_ratio_[3] = {}, log_best_[3] = {}, log_newest_[3] = {};
  int compared_[3] = {};
};

void run(const std::string& data, const std::string& json, bool quick) {
  timing::Writer rows(json);
  Bench b(&rows);
  for (const auto& field : timing::fields<float>(data)) b.float32(field);
  b.means();
  for (const auto& field : timing::fields<double>(data)) b.float64(field);
  if (quick) {
    b.zeros(100'000'000, "zeros 100MB");
  } else {
    b.zeros(1'000'000'000, "zeros 1GB");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string data, json;
  bool quick = false;
  CLI::App app{"Ratios of the codec on fields, beside those of published formats"};
  app.add_option("--data", data, "Directory of the real fields; without them computed ones are used")
      ->envname("STRETTO_DATA_DIR");
  app.add_option("--json", json, "Append rows to this file instead of printing them");
  app.add_flag("--quick", quick, "A tenth of the zeros");
  CLI11_PARSE(app, argc, argv);
  try {
    run(data, json, quick);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_ratio: {}\n", e.what());
    return 1;
  }
  return 0;
}
