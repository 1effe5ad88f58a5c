// The C interface for long: in each cycle a communicator of all ranks or of some is made, runs forms that are drawn, and
// is freed. Wrong results are printed. Where a rank dies, one communicator serves until a call on it fails.
#include "../api/forms.hpp"

#include "ranks.hpp"
#include "stretto/stretto_mpi.h"

using namespace soak;

namespace {

constexpr int forms_each_cycle = 40;

// Returns the number of forms that went wrong.
int run(stretto_comm comm, std::uint64_t seed, std::size_t count, bool limited, long* calls) {
  int wrong = 0;
  const std::vector<api_test::Form> forms = api_test::draw_forms(stretto_comm_size(comm), seed);
  for (std::size_t i = 0; i < forms.size() && i < count; ++i) {
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
  const int rank = rank_in(MPI_COMM_WORLD), ranks = ranks_in(MPI_COMM_WORLD);
  Draws draws(arguments.seed);
  const Clock::time_point begun = Clock::now();
  long calls = 0, communicators = 0, wrong = 0;

  if (arguments.dies_after > 0) {
    const stretto_comm comm = created(MPI_COMM_WORLD);
    if (rank == ranks - 1) die_after(arguments.dies_after);
    while (std::chrono::duration<double>(Clock::now() - begun).count() < arguments.seconds)
      if (run(comm, draws.below(~0ull), forms_each_cycle, true, &calls) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    std::fprintf(stderr, "rank %d outlived the time\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  Usage usage;
  while (!over(begun, arguments.seconds)) {
    const int parts = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(ranks)));
    const std::uint64_t seed = draws.below(~0ull);
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % parts, rank, &some);
    const stretto_comm comm = created(some);
    wrong += run(comm, seed + static_cast<std::uint64_t>(rank % parts), forms_each_cycle, false, &calls);
    ++communicators;
    stretto_comm_free(comm);
    MPI_Comm_free(&some);
    usage.look();
  }
  print(usage, calls, communicators);
  const int status = most(wrong) > 0 ? 1 : 0;
  MPI_Finalize();
  return status;
}
