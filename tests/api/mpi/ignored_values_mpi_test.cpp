// Over an MPI, in messages and in a host's memory: the range of a relative bound excludes fill values of one rank on
// all ranks.
#include <numeric>

#include "../../launched.hpp"
#include "../bounds/bounds.hpp"
#include "../fill_values.hpp"
#include "launched_ranks.hpp"

using namespace api_test;

namespace {

class IgnoredValuesOverMpi : public LaunchedRanks {
 protected:
  void expect_kept(const char* schedule, stretto_payload payload) {
    std::vector<std::vector<float>> all;
    for (int r = 0; r < ranks; ++r) all.push_back(filled(r, kN, r == ranks - 1 ? 7 : 0));
    const double eps = 1e-4 * ends_of(all).width();
    const auto& x = all[static_cast<std::size_t>(rank)];
    stretto_options o = by(schedule);
    o.bound_kind = STRETTO_BOUND_RELATIVE;
    o.scope = STRETTO_SCOPE_CONTRIBUTION;
    o.bound = 1e-4;
    o.payload = payload;
    std::vector<float> y(kN);
    for (int call = 0; call < 12; ++call) {
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), kN, STRETTO_F32, STRETTO_SUM, comm, &o));
      if (payload == STRETTO_PAYLOAD_FUSED) {
        ASSERT_DOUBLE_EQ(report.eps, eps);
        ASSERT_EQ(report.ignored, ends_of(all).ignored);
        ASSERT_EQ(report.ignored_hi, kFill);
        expect_sum(y, all, eps);
      }
      for (std::size_t i = 1; i < 7; ++i)
        ASSERT_NEAR(y[i],
                    std::accumulate(all.begin(), all.end(), 0.0, [i](double s, const auto& v) { return s + v[i]; }),
                    ranks * eps + 1e-3);
    }
  }
};

}  // namespace

TEST_F(IgnoredValuesOverMpi, InMessages) { expect_kept("ring", STRETTO_PAYLOAD_FUSED); }

TEST_F(IgnoredValuesOverMpi, InTheHostsMemory) { expect_kept("node", STRETTO_PAYLOAD_FUSED); }

TEST_F(IgnoredValuesOverMpi, WhereNothingIsForced) { expect_kept(nullptr, STRETTO_PAYLOAD_AUTO); }

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
