// stacking: partial seismic images, summed on every rank. See --help, and docs/stacking.md.
//
// Exit status: 0; 1 when a promise did not hold or a collective failed; 2 when the arguments or the files are wrong.

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
  try {
    check_together(MPI_COMM_WORLD, options);
    probe(MPI_COMM_WORLD, options);
  } catch (const Problem& p) {  // every rank is here
    if (rank == 0) fmt::print(stderr, "stacking: {}\n", p.what());
    return 2;
  }

  const Images images = obtain(MPI_COMM_WORLD, options);
  Result result;
  try {
    result = stack_all(MPI_COMM_WORLD, options, images);
  } catch (const Problem& p) {
    if (rank == 0) fmt::print(stderr, "stacking: {}\n", p.what());
    return 1;
  }
  if (rank == 0) {
    fmt::print("{}\n{}\n", heading(result.setting), text_table(result.rows));
    const auto broken = violations(result.rows);
    for (const auto& what : broken) fmt::print("BROKEN: {}\n", what);
    if (broken.empty()) {
      fmt::print("All promises hold; every rank holds the same bytes; sums in code space have one hash.\n");
    }
    fmt::print("{}{}", note(result.setting), write_outputs(options, images, result));
    code = broken.empty() ? 0 : 1;
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

}  // namespace

int main(int argc, char** argv) { return stretto::mpi_main(argc, argv, "stacking", run); }
