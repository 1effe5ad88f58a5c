// What a decision costs: for the first time, for another size once the schedules are at hand, and asked again.
#include <chrono>

#include <CLI/CLI.hpp>

#include "bench/rows.hpp"
#include "model/choose.hpp"

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
  return median(samples);
}

void must(Status s) {
  if (s != Status::ok) throw std::runtime_error(message());
}

void run(const std::string& json) {
  Writer rows(json);
  for (const int ranks : {4, 64, 1024}) {
    const auto where = topology::Topology::regular(ranks, 4);
    model::Question q;
    q.collective = schedule::Collective::allreduce;
    q.bytes = 1 << 20;
    q.compress = q.native = true;
    q.ratio = 8;
    const auto write = [&](const char* metric, double us) {
      rows.write({"choose_cost", fmt::format("allreduce, {} ranks", ranks), metric, us, "us", Better::smaller});
    };
    model::Candidate best;
    write("first", microseconds(5, 1, [&] {
            model::Chooser chooser(model::built_in(), where);
            must(chooser.choose(q, &best));
          }));
    model::Chooser chooser(model::built_in(), where);
    must(chooser.choose(q, &best));
    q.bytes = 1 << 10;
    write("other_size", microseconds(8, 1, [&] {
            q.bytes *= 2;
            must(chooser.choose(q, &best));
          }));
    write("cached", microseconds(50, 1000, [&] {
            q.bytes ^= 1;  // two sizes of one cell
            must(chooser.choose(q, &best));
          }));
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
