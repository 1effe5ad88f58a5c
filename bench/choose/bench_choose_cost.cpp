// Cost of a decision: the first, one for another size with existing schedules, and a repeated one.
#include <chrono>

#include <CLI/CLI.hpp>

#include "model/decide.hpp"
#include "timing/rows.hpp"

namespace stretto::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Median microseconds of one call of `f`, which runs in batches.
template <class F>
double microseconds(int batches, int batch, F f) {
  std::vector<double> samples;
  for (int i = 0; i < batches; ++i) {
    const auto begun = Clock::now();
    for (int k = 0; k < batch; ++k) f();
    samples.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count() / batch);
  }
  return timing::median(samples);
}

void must(Status s) {
  if (s != Status::ok) throw std::runtime_error(message());
}

// The decision of an allreduce over an unmeasured MPI, with a bound and the built-in profile.
void run(const std::string& json) {
  timing::Writer rows(json);
  struct Place {
    int ranks, per_host;
  };
  for (const auto [ranks, per_host] : {Place{2, 1}, {4, 1}, {4, 2}, {16, 4}, {64, 4}}) {
    for (const std::uint64_t bytes :
         {std::uint64_t{64}, std::uint64_t{8} << 10, std::uint64_t{512} << 10, std::uint64_t{8} << 20}) {
      const auto where = topology::Topology::regular(ranks, per_host);
      model::Question q;
      q.collective = schedule::Collective::allreduce;
      q.bytes = bytes;
      q.compress = q.native = true;
      q.ratio = 4;
      q.dense_ratio = 6;  // dense streams are candidates, as in calls that leave the coding open
      const auto write = [&, of = bytes](const char* metric, double us) {
        rows.write({"choose_cost", fmt::format("allreduce of {} B, {} ranks, {} a host", of, ranks, per_host), metric,
                    us, "us", timing::Better::smaller});
      };
      model::ModelChoice decided;
      write("first", microseconds(21, 1, [&] {
              model::Chooser chooser(model::built_in(), where);
              must(model::decide(chooser, q, &decided));
            }));
      model::Chooser chooser(model::built_in(), where);
      must(model::decide(chooser, q, &decided));
      write("other_size", microseconds(8, 1, [&] {
              q.bytes += q.bytes / 8;
              must(model::decide(chooser, q, &decided));
            }));
      write("cached", microseconds(50, 1000, [&] {
              q.bytes ^= 1;  // two sizes of one cell
              must(model::decide(chooser, q, &decided));
            }));
    }
  }
}

}  // namespace
}  // namespace stretto::bench

int main(int argc, char** argv) {
  std::string json;
  CLI::App app{"What a decision of the model costs"};
  app.add_option("--json", json, "Append rows to this file instead of printing them");
  CLI11_PARSE(app, argc, argv);
  try {
    stretto::bench::run(json);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_choose_cost: {}\n", e.what());
    return 1;
  }
  return 0;
}
