// Soak test of the C interface: each cycle makes a communicator of all or some ranks, runs drawn forms, and frees it.
// Prints wrong results. If a rank dies, one communicator serves until a call on it fails.
#include "../api/forms/forms.hpp"

#include "ranks.hpp"
#include "stretto/stretto_mpi.h"

using namespace soak;

namespace {

constexpr std::size_t kFormsEachCycle = 40;

// Returns the number of forms that went wrong. `limited`: a rank may die, and the first failure is the last.
int run(stretto_comm comm, std::uint64_t seed, bool limited, long* calls) {
  int wrong = 0;
  const std::vector<api_test::Form> forms = api_test::draw_forms(stretto_comm_size(comm), seed);
  for (std::size_t i = 0; i < forms.size() && i < kFormsEachCycle; ++i) {
    api_test::Form form = forms[i];
    if (limited) form.options.timeout = 5;
    const std::string text = api_test::run_form(form, comm);
    ++*calls;
    if (text.empty()) continue;
    ++wrong;
    std::fprintf(stderr, "seed %llu, form %zu, %s: %s\n", static_cast<unsigned long long>(seed), i,
                 api_test::describe(form).c_str(), text.c_str());
    if (limited) break;
  }
  return wrong;
}

stretto_comm created(MPI_Comm comm) {
  stretto_comm made = nullptr;
  if (stretto_comm_create(comm, &made) == STRETTO_OK) return made;
  std::fprintf(stderr, "no communicator: %s\n", stretto_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const Arguments arguments(argc, argv);
  long doomed_calls = 0;
  const stretto_comm one = arguments.dies_after > 0 ? created(MPI_COMM_WORLD) : nullptr;
  const auto doomed = [&](Draws& draws) {
    if (run(one, draws.below(~0ull), true, &doomed_calls) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  };
  const int status = soak::soak(arguments, doomed, [](MPI_Comm part, Draws& draws, long* calls) {
    const stretto_comm comm = created(part);
    const int wrong = run(comm, draws.below(~0ull), false, calls);
    stretto_comm_free(comm);
    return wrong;
  });
  MPI_Finalize();
  return status;
}
