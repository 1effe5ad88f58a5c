// bench_codec: speed of the codec in GB/s of original data, on one core and on several, beside memcpy and the prototype
// (if present), in one run. docs/measurements.md describes the method.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/codec/ours.hpp"
#include "bench/codec/prototype.hpp"
#include "codec/kernels.hpp"
#include "timing/rows.hpp"
#ifdef STRETTO_PORTABLE
#include "codec/portable/portable.hpp"
#endif

namespace {

using namespace stretto;
using bench::Clock;
using bench::Contest;
using bench::kOperations;
using codec::Isa;

struct Settings {
  std::string data, json;
  std::vector<std::string> bounds{"1e-3", "1e-4"};
  std::vector<int> threads{1, 2};
  std::size_t count = 64'000'000;  // 400^3, and a multiple of the prototype's chunk
  int rounds = 7;
  bool quick = false;
  std::vector<std::string> only;  // all if empty
  bool wants(const char* what) const { return only.empty() || std::find(only.begin(), only.end(), what) != only.end(); }
};
constexpr const char* kMeasurements[] = {"one-core",  "dense", "portable", "threads", "checksum",
                                         "reference", "fills", "float64",  "integers"};

// The portable vector path, forced to AVX2 if available; empty if this build lacks it.
std::string portable_isa() {
#ifdef STRETTO_PORTABLE
  if (codec::find_kernels(Isa::portable) == nullptr) return "";
  static_cast<void>(codec::choose_portable_target("AVX2"));
  return codec::portable_target();
#else
  return "";
#endif
}

std::string best_isa() {
  if (codec::find_kernels(Isa::avx512) != nullptr) return "avx512";
  return codec::find_kernels(Isa::portable) != nullptr ? "portable" : "reference";
}

class Bench {
 public:
  Bench(const Settings& s, timing::Writer* rows) : s_(s), rows_(rows) {}

  // All measurements of one float32 data set.
  void float32(const std::string& field, std::span<const float> values) {
    if (!s_.wants("one-core") && !s_.wants("dense") && !s_.wants("portable")) return;
    const double range = timing::range_of<float>(values);
    f32_.load(values, s_.count);
    for (const std::string& bound : s_.bounds) {
      begin(fmt::format("{} {}", field, bound), std::strtod(bound.c_str(), nullptr) * range);
      if (s_.wants("one-core")) one_core();
      if (s_.wants("dense")) dense(values);
      if (s_.wants("portable")) portable();
    }
  }

  // A bound with fills and NaN in place, against the data with 0 there, on a quarter of the values. The summands'
  // missing places differ, or are equal.
  void fills(const std::string& field, std::span<const float> values, std::span<const float> plain) {
    if (!s_.wants("fills")) return;
    bench::Ours<float> with;
    for (const auto& [other, suffix] : {std::pair{bench::Other::from_a_third, "_with_fills"},
                                        std::pair{bench::Other::same_places, "_with_same_fills"}}) {
      with.load(values, s_.count / 4, other);
      f32_.load(plain, s_.count / 4, other);
      for (const std::string& bound : s_.bounds) {
        begin(fmt::format("{} {}", field, bound), std::strtod(bound.c_str(), nullptr) * timing::range_of<float>(plain));
        with.bound(f32_.eps());
        against(&with, "fills", plain_, &f32_, "fills set to 0", plain_, Clock::thread, suffix, Fields::object());
      }
    }
  }

  void float64(const std::string& field, std::span<const double> values) {
    if (!s_.wants("float64")) return;
    const std::vector<float> rounded(values.begin(), values.end());
    bench::Ours<double> f64;
    f64.load(values, s_.count / 2);
    f32_.load(rounded, s_.count);
    for (const std::string& bound : s_.bounds) {
      begin(fmt::format("{} {}", field, bound), std::strtod(bound.c_str(), nullptr) * timing::range_of<double>(values));
      f64.bound(f32_.eps());
      against(&f64, "f64", plain_, &f32_, "float32", plain_, Clock::thread, "", {{"type", "f64"}});
    }
  }

  // Fixed and dense streams of integers against those of a walk of floats of the same size within 1e-3.
  template <class T>
  void integers() {
    if (!s_.wants("integers")) return;
    using Float = std::conditional_t<sizeof(T) == 4, float, double>;
    const std::size_t count = s_.count * 4 / sizeof(T) / 2;
    std::vector<Float> walk(count);
    timing::compute<Float>(timing::Kind::walk, walk);
    bench::Ours<Float> floats;
    floats.load(walk, count);
    const std::string type = sizeof(T) == 4 ? "i32" : "i64", peer = sizeof(T) == 4 ? "float32" : "float64";
    for (const timing::Integers kind : timing::kIntegers) {
      bench::Ours<T> ours;
      ours.load(timing::integers<T>(kind, count), count);
      for (const codec::Coding coding : {codec::Coding::fixed, codec::Coding::dense}) {
        codec::Options o;
        o.coding = coding;
        subject_ = fmt::format("{}_{} {}", timing::name(kind), type, codec::name(coding));
        floats.bound(1e-3 * timing::range_of<Float>(walk), false, coding);
        ours.bound(0, false, coding);
        against(&ours, type, o, &floats, peer, o, Clock::thread, "", {{"type", type}, {"compression", ours.ratio()}});
      }
    }
  }

  // Several threads against one and against memcpy with as many; a checksum against none.
  void variants(const std::string& field, std::span<const float> values) {
    if (!s_.wants("threads") && !s_.wants("checksum")) return;
    const double range = timing::range_of<float>(values);
    bench::Ours<float> checked;
    checked.load(values, s_.count);
    f32_.load(values, s_.count);
    for (const std::string& bound : s_.bounds) {
      begin(fmt::format("{} {}", field, bound), std::strtod(bound.c_str(), nullptr) * range);
      if (s_.wants("threads")) {
        for (const int width : s_.threads) several_threads(width);
      }
      if (!s_.wants("checksum")) continue;
      codec::Options checksum;
      checksum.checksum = true;
      checked.bound(f32_.eps(), true);
      against(&checked, "checksum", checksum, &f32_, "without checksum", plain_, Clock::thread, "_checksum",
              {{"checksum", true}});
    }
  }

  void reference(const std::string& field, std::span<const float> values) {
    if (!s_.wants("reference")) return;
    f32_.load(values, std::min(s_.count, s_.count / 16));
    codec::Options reference;
    reference.isa = Isa::reference;
    for (const std::string& bound : s_.bounds) {
      begin(fmt::format("{} {}", field, bound), std::strtod(bound.c_str(), nullptr) * timing::range_of<float>(values));
      against(&f32_, "reference", reference, &f32_, best_isa(), plain_, Clock::thread, "_reference",
              {{"isa", "reference"}, {"values", f32_.count()}});
    }
  }

 private:
  using Fields = nlohmann::ordered_json;

  void begin(const std::string& subject, double eps) {
    subject_ = subject;
    f32_.bound(eps);
  }

  void one_core() {
    Contest contest;
    std::size_t broken = 0;
    if (bench::prototype::present()) prepare_prototype();
    f32_.check(plain_);
    for (const std::string operation : kOperations) {
      f32_.enter(&contest, "ours", operation, plain_);
      if (bench::prototype::present()) enter_prototype(&contest, operation, &broken);
      if (operation == "compress") f32_.enter_memcpy(&contest);
    }
    contest.run(Clock::thread, s_.rounds);
    const double copied = contest.time("memcpy");
    for (const std::string operation : kOperations) {
      const double ours = contest.time("ours " + operation);
      const Fields fields{{"isa", best_isa()}, {"compression", f32_.ratio()}};
      if (bench::prototype::present()) {
        const bool fused = operation == "add_values";
        const std::string peer = fused ? "compress" : operation;
        Fields with = fields;
        with["prototype_chunks_out_of_bound"] = broken;
        row(operation, "", ours, fused ? "prototype compress" : "prototype", contest.time("prototype " + peer), with);
      }
      row(operation, "", ours, "memcpy", copied, fields);
    }
  }

  // Dense streams beside fixed ones, and of the portable kernels beside those for this processor.
  void dense(std::span<const float> values) {
    dense_.load(values, f32_.count());
    dense_.bound(f32_.eps(), false, codec::Coding::dense);
    codec::Options o;
    o.coding = codec::Coding::dense;
    against(&dense_, "dense", o, &f32_, "fixed", plain_, Clock::thread, "_dense",
            {{"isa", best_isa()}, {"compression", dense_.ratio()}, {"compression_fixed", f32_.ratio()}});
    if (best_isa() == "portable") return;
    const std::string isa = portable_isa();
    if (isa.empty()) return;
    codec::Options portable = o;
    portable.isa = Isa::portable;
    against(&dense_, "portable", portable, &dense_, best_isa(), o, Clock::thread, "_dense_portable", {{"isa", isa}});
  }

  void prepare_prototype() {
    const std::size_t n = f32_.count();
    const auto eps = static_cast<float>(f32_.eps());
    std::size_t broken = 0;
    for (bench::Buffer* b : {&p_a_, &p_b_, &p_out_}) b->reserve(bench::prototype::room(n));
    bench::prototype::compress(f32_.x(), n, eps, p_a_.as<std::uint8_t>(), &broken);
    bench::prototype::compress(f32_.other(), n, eps, p_b_.as<std::uint8_t>(), &broken);
  }

  // The prototype's operations: compress, decompress and add.
  void enter_prototype(Contest* contest, const std::string& operation, std::size_t* broken) {
    const std::size_t n = f32_.count();
    const auto eps = static_cast<float>(f32_.eps());
    const auto* const a = p_a_.as<std::uint8_t>();
    const auto* const b = p_b_.as<std::uint8_t>();
    auto* const out = p_out_.as<std::uint8_t>();
    const std::string name = "prototype " + operation;
    if (operation == "compress") {
      contest->add(name, [=, this] { bench::prototype::compress(f32_.x(), n, eps, out, broken); });
    }
    if (operation == "decompress") {
      contest->add(name, [=, this] { bench::prototype::decompress(a, n, eps, f32_.y()); });
    }
    if (operation == "add") contest->add(name, [=] { bench::prototype::add(a, b, n, out); });
  }

  void portable() {
    if (best_isa() == "portable") return;  // already measured
    const std::string isa = portable_isa();
    if (isa.empty()) return;
    codec::Options portable;
    portable.isa = Isa::portable;
    against(&f32_, "portable", portable, &f32_, best_isa(), plain_, Clock::thread, "_portable", {{"isa", isa}});
  }

  void several_threads(int width) {
    const codec::Parallel many = codec::threads(width);
    codec::Options wide;
    wide.parallel = &many;
    Contest contest;
    f32_.check(wide);
    for (const std::string operation : kOperations) {
      f32_.enter(&contest, "many", operation, wide);
      f32_.enter(&contest, "one", operation, plain_);
    }
    const std::size_t part = f32_.bytes() / static_cast<std::size_t>(width);
    std::pair<bench::Ours<float>*, std::size_t> copy{&f32_, part};
    contest.add("memcpy", [&] {
      many.run(
          many.self, width,
          [](void* arg, int i) {
            const auto& [data, bytes] = *static_cast<std::pair<bench::Ours<float>*, std::size_t>*>(arg);
            const std::size_t from = static_cast<std::size_t>(i) * bytes;
            std::memcpy(reinterpret_cast<std::byte*>(data->y()) + from,
                        reinterpret_cast<const std::byte*>(data->x()) + from, bytes);
          },
          &copy);
    });
    contest.run(Clock::wall, s_.rounds);
    for (const std::string operation : kOperations) {
      const double ours = contest.time("many " + operation);
      row(operation, "_threads", ours, "memcpy", contest.time("memcpy"), {{"threads", width}});
      row(operation, "_threads", ours, "without threads", contest.time("one " + operation), {{"threads", width}});
    }
  }

  // One variant against another, each with its own data and options; the rows are ours.
  template <class T, class U>
  void against(bench::Ours<T>* ours, const std::string& who, const codec::Options& o, bench::Ours<U>* peer,
               const std::string& peer_name, const codec::Options& peer_options, Clock clock, const std::string& suffix,
               const Fields& fields) {
    Contest contest;
    ours->check(o);
    for (const std::string operation : kOperations) {
      ours->enter(&contest, who, operation, o);
      peer->enter(&contest, peer_name, operation, peer_options);
    }
    contest.run(clock, s_.rounds);
    for (const std::string operation : kOperations) {
      row(operation, suffix, contest.time(who + " " + operation), peer_name, contest.time(peer_name + " " + operation),
          fields, ours->bytes());
    }
  }

  void row(const std::string& operation, const std::string& suffix, double seconds, const std::string& peer,
           double peer_seconds, const Fields& fields, std::size_t bytes = 0) {
    const double gb = 1e-9 * static_cast<double>(bytes != 0 ? bytes : f32_.bytes());
    rows_->write({.bench = "codec",
                  .subject = subject_,
                  .metric = operation + "_gbps" + suffix,
                  .value = gb / seconds,
                  .unit = "GB/s",
                  .peer = timing::Peer{peer, gb / peer_seconds},
                  .fields = fields});
  }

  const Settings& s_;
  timing::Writer* rows_;
  const codec::Options plain_{};
  std::string subject_;
  bench::Ours<float> f32_, dense_;
  bench::Buffer p_a_, p_b_, p_out_;
};

void run(const Settings& s) {
  timing::Writer rows(s.json);
  Bench b(s, &rows);
  for (const timing::Kind kind : timing::kKinds) {
    std::vector<float> values(s.count);
    timing::compute<float>(kind, values);
    b.float32(timing::name(kind), values);
    b.variants(timing::name(kind), values);
    b.reference(timing::name(kind), values);
  }
  for (const auto& field : timing::fields<float>(s.data)) {
    const std::vector<float> plain = timing::without_gaps(field.values);
    b.float32(field.name, plain);
    if (timing::has_gaps<float>(field.values)) b.fills(field.name, field.values, plain);
  }
  for (const timing::Kind kind : timing::kKinds) {
    std::vector<double> values(s.count / 2);
    timing::compute<double>(kind, values);
    b.float64(fmt::format("{}_f64", timing::name(kind)), values);
  }
  for (const auto& field : timing::fields<double>(s.data)) b.float64(field.name, timing::without_gaps(field.values));
  b.integers<std::int32_t>();
  b.integers<std::int64_t>();
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  const std::vector<std::string> measurements(std::begin(kMeasurements), std::end(kMeasurements));
  CLI::App app{"Speed of the codec in GB/s of original data, beside memcpy and the prototype"};
  app.add_option("--data", s.data, "Directory of the real fields; without them computed ones are used")
      ->envname("STRETTO_DATA_DIR");
  app.add_option("--json", s.json, "Append rows to this file instead of printing them");
  const auto* const bounds = app.add_option("--bounds", s.bounds, "Bounds relative to the range")->delimiter(',');
  app.add_option("--threads", s.threads, "Numbers of threads")->delimiter(',')->check(CLI::PositiveNumber);
  const auto* const rounds =
      app.add_option("--rounds", s.rounds, "Rounds whose median counts")->check(CLI::PositiveNumber);
  app.add_option("--only", s.only, "Measure these alone")->delimiter(',')->check(CLI::IsMember(measurements));
  app.add_flag("--quick", s.quick, "A quarter of the values; unless they are given, three rounds and one bound");
  CLI11_PARSE(app, argc, argv);
  if (s.quick) {
    s.count = 16'384'000;
    if (rounds->count() == 0) s.rounds = 3;
    if (bounds->count() == 0) s.bounds.resize(1);
  }
  try {
    run(s);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_codec: {}\n", e.what());
    return 1;
  }
  return 0;
}
