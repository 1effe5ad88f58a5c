// Open MPI's component han serves collectives of several hosts by default since 5.0, and not with a negative priority.
// The argument, if any, is its priority. Exit status 1: mpi_has_han() says otherwise.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "modules/mpi/settings/variables.hpp"

int main(int argc, char** argv) {
  constexpr const char* variable = "OMPI_MCA_coll_han_priority";
  const bool given = argc > 1;
  if (given) setenv(variable, argv[1], 1);
  MPI_Init(&argc, &argv);
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  const bool is_open = version.find("Open MPI") != std::string::npos;
  // The least that exceeds the 30 of component tuned.
  const bool expected = is_open && (given ? std::atoi(argv[1]) > 30 : version.find("Open MPI v5") != std::string::npos);
  const bool has = stretto::modules::mpi_has_han();
  const bool asked_otherwise = !given && (std::getenv(variable) != nullptr || std::getenv("OMPI_MCA_coll") != nullptr);
  if (has != expected && !asked_otherwise) std::fprintf(stderr, "has han: %d; %s\n", has, version.c_str());
  MPI_Finalize();
  return has != expected && !asked_otherwise ? 1 : 0;
}
