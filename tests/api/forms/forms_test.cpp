// Every collective in every form over threads.
#include "forms.hpp"
#include "../../sanitized.hpp"
#include "../ranks.hpp"

using namespace api_test;

namespace {

constexpr std::uint64_t kSeeds = kSanitized ? 1 : 3;

class Forms : public testing::TestWithParam<int> {};

TEST_P(Forms, GiveWhatArithmeticSaysWithinWhatIsPromised) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    on_ranks(GetParam(), [&](stretto_comm comm, int, int) {
      for (const auto& wrong : run_forms(comm, seed)) ADD_FAILURE() << wrong;
    });
}

TEST(DistinctCommunicators, ServeEveryFormAtTheSameTime) {
  std::vector<std::thread> users;
  for (const std::uint64_t seed : {4, 5, 6})
    users.emplace_back([seed] {
      on_ranks(3, [&](stretto_comm comm, int, int) {
        for (const auto& wrong : run_forms(comm, seed)) ADD_FAILURE() << wrong;
      });
    });
  for (auto& u : users) u.join();
}

INSTANTIATE_TEST_SUITE_P(Ranks, Forms, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

}  // namespace
