// stacking: partial seismic images, summed on every rank. See --help, and docs/command.md.
//
// Exit status: 0; 1 if a promise did not hold, a collective failed or the results cannot be written; 2 if the arguments
// or the files are wrong.

#include <mpi.h>

#include <fmt/core.h>

#include "apps/mpi_main.hpp"
#include "job/images.hpp"
#include "job/options.hpp"
#include "job/output.hpp"
#include "job/stack.hpp"

namespace {

using namespace stretto::stacking;

int run(int argc, char** argv, int rank) {
  Options options;
  int code = 0;
  if (!parse_options(argc, argv, rank == 0, &options, &code)) return code;
  const auto complain = [rank](const std::exception& e) {
    if (rank == 0) fmt::print(stderr, "stacking: {}\n", e.what());
  };
  try {
    check_together(MPI_COMM_WORLD, options);
    probe(MPI_COMM_WORLD, options);
  } catch (const Problem& p) {  // every rank is here
    complain(p);
    return 2;
  }

  const Images images = obtain(MPI_COMM_WORLD, options);
  Result result;
  code = 2;
  try {
    const Budget budget = budget_of_all(MPI_COMM_WORLD, options, images);
    code = 1;
    result = stack_all(MPI_COMM_WORLD, options, images, budget);
  } catch (const Problem& p) {
    complain(p);
    return code;
  }
  if (rank == 0) {
    fmt::print("{}\n{}\n", heading(result.setting), text_table(result.rows));
    const auto broken = violations(result.rows);
    for (const auto& what : broken) fmt::print("BROKEN: {}\n", what);
    if (broken.empty()) {
      fmt::print("All promises hold; every rank holds the same bytes; sums in code space have one hash.\n");
    }
    fmt::print("{}{}", notes(result.setting, result.rows), note(result.setting));
    code = broken.empty() ? 0 : 1;
    try {
      fmt::print("{}", write_outputs(options, images, result));
    } catch (const std::exception& e) {  // e.g. a full disk; the other ranks need not act
      complain(e);
      code = 1;
    }
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "stacking", run); }
