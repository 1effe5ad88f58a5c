// Every schedule with every payload and operation over MPI. Exit status 1 if any fails.
#include "launched_cases.hpp"
#include "modules/mpi/carrier.hpp"

namespace {

bool run(std::size_t chunk, bool whole) {
  std::unique_ptr<stretto::carrier::Carrier> carrier;
  if (stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {chunk}, &carrier) == stretto::Status::ok)
    return stretto::tests::run_over(*carrier, whole);
  std::fprintf(stderr, "%s\n", stretto::message());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // A small chunk, so that streams and raw segments travel as several MPI messages, too.
  const int failed = run(std::size_t{1} << 30, true) && run(1500, false) ? 0 : 1;
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
