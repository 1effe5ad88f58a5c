// Every collective in every form over UCX, on the started ranks: between processes alone, and in a host's memory.
#include <cstdlib>

#include "../ranks.hpp"
#include "forms.hpp"
#include "stretto/stretto_store.h"

using namespace api_test;

TEST(FormsOverUcx, GiveWhatArithmeticSaysWithinWhatIsPromised) {
  for (const char* node : {"0", "1"}) {
    setenv("STRETTO_NODE", node, 1);
    stretto_comm comm = nullptr;
    ASSERT_STRETTO_OK(stretto_comm_create_environment(nullptr, &comm));
    for (std::uint64_t seed = 21; seed <= 24; ++seed)
      for (const auto& wrong : run_forms(comm, seed)) ADD_FAILURE() << wrong;
    ASSERT_STRETTO_OK(stretto_comm_free(comm));
  }
}
