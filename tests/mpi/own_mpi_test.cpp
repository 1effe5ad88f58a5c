#include "mpi/process/own_mpi.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <string>

namespace {

std::string version;  // of the MPI that answers

}  // namespace

// In place of the MPI's own.
extern "C" int PMPI_Get_library_version(char* text, int* length) {
  std::strcpy(text, version.c_str());
  *length = static_cast<int>(version.size());
  return MPI_SUCCESS;
}

using stretto::mpi::is_own_mpi;

namespace {

std::string said_of(const char* text, bool own) {
  version = text;
  testing::internal::CaptureStderr();
  EXPECT_EQ(is_own_mpi(), own) << text;
  return testing::internal::GetCapturedStderr();
}

#ifdef OPEN_MPI
constexpr const char* kOwn[] = {"Open MPI v4.1.4, package: ...", "Open MPI v5.0.11", "an MPI that nobody knows"};
constexpr const char* kOthers[] = {"MPICH Version:      5.0.2\nMPICH Release date: ...",
                                   "Intel(R) MPI Library 2021.11 for Linux", "MVAPICH2 Version : 2.3.7"};
#else
constexpr const char* kOwn[] = {"MPICH Version:      5.0.2\nMPICH Release date: ...",
                                "Intel(R) MPI Library 2021.11 for Linux", "an MPI that nobody knows"};
constexpr const char* kOthers[] = {"Open MPI v5.0.11, package: ..."};
#endif

}  // namespace

TEST(OwnMpi, AndOnesThatAreNotKnownAreTakenInSilence) {
  for (const char* text : kOwn) EXPECT_EQ(said_of(text, true), "");
}

TEST(OwnMpi, OneOfAnotherBinaryInterfaceIsRefusedByItsName) {
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) unsetenv(rank);
  for (const char* text : kOthers) {
    const std::string said = said_of(text, false);
    const std::string name = std::string(text).substr(0, std::string(text).find_first_of("\n,"));
    EXPECT_NE(said.find("and the program's MPI is " + name + ";"), std::string::npos) << said;
  }
}

TEST(OwnMpi, OneRankSpeaksForAll) {
  setenv("PMI_RANK", "2", 1);
  EXPECT_EQ(said_of(kOthers[0], false), "");
  unsetenv("PMI_RANK");
}
