// Every collective in every form over MPI.
#include "../../launched.hpp"
#include "../forms/forms.hpp"
#include "launched_ranks.hpp"

using namespace api_test;

TEST_F(LaunchedRanks, GiveWhatArithmeticSaysWithinWhatIsPromised) {
  for (std::uint64_t seed = 11; seed <= 18; ++seed)
    for (const auto& wrong : run_forms(comm, seed)) ADD_FAILURE() << wrong;
}

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
