// Sums of streams keep their report's promise against exact arithmetic: by every schedule, and on a machine where a
// codec call takes as long as the transfer of some kilobytes.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "../exact.hpp"
#include "../ranks.hpp"
#include "schedule/registry.hpp"

using namespace api_test;

namespace {

constexpr const char* kProfile = R"({
  "version": 1, "name": "slow-calls", "cores": 16, "nics": 1,
  "links": {"cache": [{"from": 0, "alpha": 4.1e-5, "beta": 1.05e-8}],
            "network": [{"from": 0, "alpha": 4.1e-5, "beta": 1.05e-8}]},
  "gamma": 8.3e-11, "copy": 8.3e-11, "step": 2.7e-7, "agreement": 1e-6,
  "codec": {"f32": [{"ratio": 1, "call": 5.4e-5, "compress": 5.9e-11, "decompress": 1.1e-10, "add": 5.9e-11,
                     "fused": 5.9e-11}]}
})";

template <class T>
class StreamedSums : public testing::Test {
 protected:
  StreamedSums() {
    std::ofstream(path_) << kProfile;
    setenv("STRETTO_PROFILE", path_.c_str(), 1);
  }
  ~StreamedSums() override {
    unsetenv("STRETTO_PROFILE");
    std::remove(path_.c_str());
  }

 private:
  std::string path_ = testing::TempDir() + "stretto_slow_calls_" + T::kName + "." + std::to_string(getpid()) + ".json";
};
using All = testing::Types<F16, BF16, F32, F64>;
TYPED_TEST_SUITE(StreamedSums, All, TypeNames);

// A vector with one value per rank: large ones that cancel, and small ones. Sums in the type would round by more than
// the bound.
template <class T>
std::vector<std::vector<typename T::Bits>> cancelling(std::mt19937_64& random, int ranks, std::size_t count) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values;
  const double large = std::ldexp(uniform(random), 10 + static_cast<int>(random() % 4));
  for (int r = 0; r < ranks; ++r) values.push_back((r == 0 ? large : r == 1 ? -large : 0) + uniform(random) * 0x1p-3);
  std::shuffle(values.begin(), values.end(), random);
  std::vector<std::vector<typename T::Bits>> all;
  for (const double v : values) all.emplace_back(count, T::cut(v));
  return all;
}

TYPED_TEST(StreamedSums, AreWithinWhatIsPromisedByEverySchedule) {
  using T = TypeParam;
  constexpr std::size_t count = 20'928 / sizeof(typename T::Bits);
  std::mt19937_64 random(6);
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (int draw = 0; draw < 4; ++draw) {
      const auto all = cancelling<T>(random, ranks, count);
      int streamed = 0;
      on_ranks(ranks, [&](stretto_comm comm, int rank, int) {
        const auto* x = all[static_cast<std::size_t>(rank)].data();
        std::vector<typename T::Bits> y(count);
        for (const auto& algorithm : stretto::schedule::algorithms()) {
          if (algorithm.collective != stretto::schedule::Collective::allreduce) continue;
          const std::string name(algorithm.name);
          for (const stretto_op op : {STRETTO_SUM, STRETTO_MEAN, STRETTO_DIFFERENCE}) {
            stretto_report report = STRETTO_REPORT_INIT;
            stretto_options o = bounded(128 * T::kUnit);
            o.schedule = name.c_str();
            o.report = &report;
            const stretto_status s = stretto_allreduce(x, y.data(), count, T::kType, op, comm, &o);
            if (s == STRETTO_UNSUPPORTED) continue;  // the schedule is for other numbers of ranks or hosts
            ASSERT_EQ(s, STRETTO_OK) << stretto_message();
            if (std::string(report.payload) != "fused") continue;
            if (rank == 0) ++streamed;
            std::size_t over = 0;
            for (std::size_t i = 0; i < count; i += 61)
              over += !within<T>(y[i], terms_of<T>(all, i, op), op, report.promised_error);
            EXPECT_EQ(over, 0u) << "off by more than " << report.promised_error << " on " << ranks << " ranks by "
                                << name << ", operation " << op;
          }
        }
      });
      EXPECT_GT(streamed, 0) << ranks;
    }
}

}  // namespace
