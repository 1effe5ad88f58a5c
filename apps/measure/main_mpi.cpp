// stretto-measure: under mpirun, over the MPI.
#include "apps/mpi_main.hpp"
#include "measure.hpp"

int main(int argc, char** argv) {
  return stretto::mpi_main(argc, argv, "stretto-measure", [](int count, char** words, int) {
    return stretto::measure::measure(count, words, *stretto::measure::make_mpi_world());
  });
}
