#include "mpi/process/own_mpi.hpp"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/text/printable.hpp"

namespace stretto::mpi {
namespace {

// The standard ABI suits any MPI.
#if defined(MPI_ABI)
constexpr std::string_view kOwn = "";
constexpr std::array<std::string_view, 0> kOthers{};
#elif defined(OPEN_MPI)
constexpr std::string_view kOwn = "Open MPI";
constexpr std::array<std::string_view, 3> kOthers{"MPICH", "MVAPICH", "Intel(R) MPI"};
#else
constexpr std::string_view kOwn = "MPICH or its kin";
constexpr std::array<std::string_view, 1> kOthers{"Open MPI"};
#endif

// Launchers export the rank; MPI_Init would tell too late.
bool is_first() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = secure_getenv(name)) return std::string_view(rank) == "0";
  return true;
}

}  // namespace

bool is_own_mpi() noexcept {
  char text[8192] = "";  // largest of all MPIs: the running MPI is unknown
  int length = 0;
  if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS) return true;
  const std::string_view version(text);
  for (const std::string_view other : kOthers) {
    if (version.find(other) == std::string_view::npos) continue;
    char shown[256];
    const auto length =
        static_cast<int>(printable(version.substr(0, version.find_first_of("\n,")), shown, sizeof shown));
    if (is_first())
      std::fprintf(
          stderr,
          "stretto: this library was built for %s, and the program's MPI is %.*s; preload the one for that MPI\n",
          kOwn.data(), length, shown);
    return false;
  }
  return true;
}

}  // namespace stretto::mpi
