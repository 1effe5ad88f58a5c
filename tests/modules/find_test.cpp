// Choice of the module for a process' MPI, in a program without an MPI: it loads one privately, like Python. A single
// test, since a process searches its module once.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "stretto/stretto.h"

namespace {

bool contains(const std::string& text) {
  const std::string message = stretto_message();
  if (message.find(text) != std::string::npos) return true;
  ADD_FAILURE() << "'" << message << "' does not contain '" << text << "'";
  return false;
}

// MPI_COMM_WORLD of the MPI that was loaded: Open MPI's is an address, MPICH's a number.
struct World {
  explicit World(void* mpi) : address(dlsym(mpi, "ompi_mpi_comm_world")) {}
  const void* handle() const { return address ? static_cast<const void*>(&address) : &number; }
  void* address;
  int number = 0x44000000;
};

stretto_status create(const void* handle, stretto_mpi compiled_for, const char* modules = nullptr) {
  if (modules)
    setenv("STRETTO_MODULES", modules, 1);
  else
    unsetenv("STRETTO_MODULES");
  stretto_comm comm = nullptr;
  const stretto_status s = stretto_comm_create_from(handle, compiled_for, &comm);
  EXPECT_EQ(comm, nullptr);
  return s;
}

}  // namespace

TEST(Modules, TheOneIsTakenThatFitsTheMpiOfTheProcess) {
  const int nothing = 0;
  EXPECT_EQ(create(&nothing, STRETTO_MPI_LOADED), STRETTO_UNSUPPORTED);
  EXPECT_TRUE(contains("no MPI is loaded in this process"));

  void* const mpi = dlopen(MPI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(mpi, nullptr) << dlerror();
  const World world(mpi);
  const bool openmpi = std::string(FLAVOUR) == "openmpi";
  const stretto_mpi own = openmpi ? STRETTO_MPI_OPENMPI : STRETTO_MPI_MPICH,
                    other = openmpi ? STRETTO_MPI_MPICH : STRETTO_MPI_OPENMPI;

  EXPECT_EQ(create(nullptr, own), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(create(world.handle(), static_cast<stretto_mpi>(4)), STRETTO_INVALID_ARGUMENT);
  EXPECT_TRUE(contains("4"));
  EXPECT_EQ(create(world.handle(), own, "/nowhere"), STRETTO_UNSUPPORTED);
  EXPECT_TRUE(contains("/nowhere/libstretto_" FLAVOUR ".so") && contains(openmpi ? "Open MPI v" : "MPICH Version"));
  EXPECT_EQ(create(world.handle(), own, HERE "/of_another_version"), STRETTO_UNSUPPORTED);
  EXPECT_TRUE(contains("is of stretto 0.0.7, and this is stretto " + std::string(stretto_version())));
  EXPECT_EQ(create(world.handle(), own, HERE "/of_another_build"), STRETTO_UNSUPPORTED);
  EXPECT_TRUE(contains("/of_another_build/libstretto_" FLAVOUR ".so is of build 000000000007 of stretto " +
                       std::string(stretto_version()) + ", and this is build "));
  EXPECT_EQ(create(world.handle(), own, HERE "/no_module"), STRETTO_UNSUPPORTED);
  EXPECT_TRUE(contains("is no module of stretto"));
  EXPECT_EQ(create(world.handle(), own, MODULES), STRETTO_INVALID_ARGUMENT);
  EXPECT_TRUE(contains("MPI is not initialised"));

  const auto init = reinterpret_cast<int (*)(int*, char***)>(dlsym(mpi, "MPI_Init"));
  const auto finalize = reinterpret_cast<int (*)()>(dlsym(mpi, "MPI_Finalize"));
  ASSERT_EQ(init(nullptr, nullptr), 0);
  EXPECT_EQ(create(world.handle(), other), STRETTO_UNSUPPORTED);
  EXPECT_TRUE(contains("Open MPI") && contains("MPICH"));
  for (const stretto_mpi told : {own, STRETTO_MPI_LOADED}) {
    stretto_comm comm = nullptr;
    ASSERT_EQ(stretto_comm_create_from(world.handle(), told, &comm), STRETTO_OK) << stretto_message();
    const int rank = stretto_comm_rank(comm), ranks = stretto_comm_size(comm);
    double x = rank + 1, sum = 0;
    EXPECT_EQ(stretto_allreduce(&x, &sum, 1, STRETTO_F64, STRETTO_SUM, comm, nullptr), STRETTO_OK) << stretto_message();
    EXPECT_EQ(sum, ranks * (ranks + 1) / 2.0);
    EXPECT_EQ(stretto_comm_free(comm), STRETTO_OK);
  }
  EXPECT_EQ(finalize(), 0);
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
