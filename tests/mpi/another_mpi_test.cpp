// A program under the library for another MPI: its call that begins MPI returns an error, in C and in Fortran, and the
// MPI is not called.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>

// In place of the MPI's own: the name of an MPI of another binary interface.
extern "C" int PMPI_Get_library_version(char* text, int* length) {
#ifdef OPEN_MPI
  std::strcpy(text, "MPICH Version:      5.0.2");
#else
  std::strcpy(text, "Open MPI v5.0.11");
#endif
  *length = static_cast<int>(std::strlen(text));
  return MPI_SUCCESS;
}

namespace {

void expect_refused(int code, const std::string& said) {
  EXPECT_EQ(code, MPI_ERR_OTHER);
  EXPECT_NE(said.find("preload the one for that MPI"), std::string::npos) << said;
  int initialised = 1;
  PMPI_Initialized(&initialised);
  EXPECT_EQ(initialised, 0);
}

TEST(AnotherMpi, CallsOfCAreRefused) {
  int provided = 0;
  testing::internal::CaptureStderr();
  const int code = MPI_Init(nullptr, nullptr);
  expect_refused(code, testing::internal::GetCapturedStderr());
  testing::internal::CaptureStderr();
  const int threaded = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  expect_refused(threaded, testing::internal::GetCapturedStderr());
}

TEST(AnotherMpi, ProceduresOfFortranAreRefused) {
  const auto init = reinterpret_cast<void (*)(MPI_Fint*)>(dlsym(RTLD_DEFAULT, "mpi_init_"));
  const auto init_thread =
      reinterpret_cast<void (*)(MPI_Fint*, MPI_Fint*, MPI_Fint*)>(dlsym(RTLD_DEFAULT, "mpi_init_thread_"));
  if (!init || !init_thread) GTEST_SKIP() << "neither MPI nor library has procedures of Fortran";
  MPI_Fint code = MPI_SUCCESS, required = MPI_THREAD_SINGLE, provided = 0;
  testing::internal::CaptureStderr();
  init(&code);
  expect_refused(code, testing::internal::GetCapturedStderr());
  code = MPI_SUCCESS;
  testing::internal::CaptureStderr();
  init_thread(&required, &provided, &code);
  expect_refused(code, testing::internal::GetCapturedStderr());
}

}  // namespace
