// Messages between devices by an MPI that takes device pointers (stand_in_mpi.cpp). Exit status 1 if anything fails.
#include "../messages.hpp"
#include "modules/mpi/device_messages.hpp"

namespace {

using namespace stretto;

int wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, message());
  ++wrong;
}

void ask(const char* given, bool stand_in, bool takes) {
  given ? setenv("STRETTO_DEVICE_MPI", given, 1) : unsetenv("STRETTO_DEVICE_MPI");
  stand_in ? setenv("STRETTO_STAND_IN", "1", 1) : unsetenv("STRETTO_STAND_IN");
  bool answer = !takes;
  expect(modules::takes_device_memory(&answer) == Status::ok && answer == takes, given ? given : "not given");
}

void asked_and_overridden() {
  ask(nullptr, false, false);
  ask(nullptr, true, true);
  ask("", true, true);
  ask("0", true, false);
  ask("1", false, true);
}

// One rank's answer holds for all.
void one_rank_does_not(int rank, int ranks) {
  setenv("STRETTO_DEVICE_MPI", rank == ranks - 1 ? "0" : "1", 1);
  std::unique_ptr<carrier::DeviceMessages> made;
  expect(modules::make_mpi_device_messages(MPI_COMM_WORLD, 30, 64, &made) == Status::ok && !made, "one does not");
  setenv("STRETTO_DEVICE_MPI", rank == ranks - 1 ? "yes" : "1", 1);
  const Status s = modules::make_mpi_device_messages(MPI_COMM_WORLD, 30, 64, &made);
  expect(s == Status::invalid_argument && !made, "a wrong value on one rank");
  const std::string text = message();
  expect(text.find(rank == ranks - 1 ? "STRETTO_DEVICE_MPI is 'yes'; it takes 0 or 1" : "a rank cannot say") == 0,
         "the message");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  asked_and_overridden();
  one_rank_does_not(rank, ranks);
  setenv("STRETTO_DEVICE_MPI", "1", 1);
  setenv("STRETTO_STAND_IN", "1", 1);
  for (const std::size_t chunk : {std::size_t{1000}, std::size_t{1} << 30}) {
    std::unique_ptr<carrier::DeviceMessages> messages;
    expect(modules::make_mpi_device_messages(MPI_COMM_WORLD, 30, chunk, &messages) == Status::ok, "none are made");
    if (!messages) break;
    wrong += tests::pass_around(*messages, rank, ranks);
    messages->abort();
    expect(messages->start({}) == Status::internal, "messages that were ended begin");
  }
  int any = 0;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any > 0;
}
