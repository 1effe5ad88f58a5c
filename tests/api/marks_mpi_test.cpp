// Over an MPI, in messages and in a host's memory: marks of missing data, on one rank, are left out of the range of a relative bound on all.
#include <numeric>

#include "../launched.hpp"
#include "bounds.hpp"
#include "launched_ranks.hpp"
#include "marks.hpp"

using namespace api_test;

namespace {

class MarksOverMpi : public LaunchedRanks {
 protected:
  void expect_kept(const char* schedule, stretto_payload payload) {
    std::vector<std::vector<float>> all;
    for (int r = 0; r < ranks; ++r) all.push_back(marked(r, n, r == ranks - 1 ? 7 : 0));
    const double eps = 1e-4 * ends_of(all).width();
    const auto& x = all[static_cast<std::size_t>(rank)];
    stretto_options o = by(schedule);
    o.bound_kind = STRETTO_BOUND_RELATIVE;
    o.bound = 1e-4;
    o.payload = payload;
    std::vector<float> y(n);
    for (int call = 0; call < 12; ++call) {  // some of a trial, where nothing is forced
      ASSERT_STRETTO_OK(stretto_allreduce(x.data(), y.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o));
      if (payload == STRETTO_PAYLOAD_FUSED) {
        ASSERT_DOUBLE_EQ(report.eps, eps);
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

TEST_F(MarksOverMpi, InMessages) { expect_kept("ring", STRETTO_PAYLOAD_FUSED); }

TEST_F(MarksOverMpi, InTheHostsMemory) { expect_kept("node", STRETTO_PAYLOAD_FUSED); }

TEST_F(MarksOverMpi, WhereNothingIsForced) { expect_kept(nullptr, STRETTO_PAYLOAD_AUTO); }

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
