// Effects of the settings of device messages over an MPI that takes device pointers (stand_in_mpi.cpp), with settings
// per rank. Exit status 1 if anything fails.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../devices.hpp"
#include "stretto/stretto_cuda.h"
#include "stretto/stretto_mpi.h"

namespace {

using namespace stretto;

struct Settings {
  const char* carrier = nullptr;
  const char* mpi = nullptr;
  const char* gbit = nullptr;
};

struct Case {
  Settings others, last;  // of the last rank
  stretto_status status;
  std::string text_others, text_last;  // in the message
  bool direct = false;                 // between the devices
};

int wrong = 0;

void set(const char* name, const char* value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

void apply(const Settings& s) {
  set("STRETTO_DEVICE_CARRIER", s.carrier);
  set("STRETTO_DEVICE_MPI", s.mpi);
  set("STRETTO_LINK_GBIT", s.gbit);
}

void expect(bool holds, const Case& c, int rank, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d, '%s': %s: %s\n", rank, c.text_last.c_str(), what, stretto_message());
  ++wrong;
}

// The status of making a communicator, or of a sum.
stretto_status sum(int rank, int ranks, bool* right) {
  stretto_comm comm = nullptr;
  stretto_status s = stretto_comm_create(MPI_COMM_WORLD, &comm);
  if (s != STRETTO_OK) return s;
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.timeout = 60;
  const std::size_t n = 5000;
  const tests::DeviceVector<float> from(0, std::vector<float>(n, static_cast<float>(rank))), to(0, n);
  for (int i = 0; i < 2 && s == STRETTO_OK; ++i)
    s = stretto_allreduce(from.data(), to.data(), n, STRETTO_F32, STRETTO_SUM, comm, &o);
  const std::string text = stretto_message();
  *right = s != STRETTO_OK || to.read() == std::vector<float>(n, static_cast<float>(ranks * (ranks - 1) / 2));
  stretto_comm_free(comm);
  if (s == STRETTO_OK) return s;
  std::fprintf(stderr, "%s\n", text.c_str());
  return s;
}

void run(const Case& c, int rank, int ranks) {
  tests::emulation().reset(1);
  apply(rank == ranks - 1 ? c.last : c.others);
  bool right = true;
  const stretto_status s = sum(rank, ranks, &right);
  expect(s == c.status, c, rank, stretto_status_name(s));
  const std::string& text = rank == ranks - 1 ? c.text_last : c.text_others;
  expect(s == STRETTO_OK || std::string(stretto_message()).find(text) != std::string::npos, c, rank, "the message");
  expect(right, c, rank, "a wrong sum");
  expect((tests::emulation().loans() > 0) == c.direct, c, rank, "another way");
}

const Case kCases[] = {
    // Supported settings.
    {{}, {}, STRETTO_OK, "", "nothing is set", true},
    {{"transport"}, {"transport"}, STRETTO_OK, "", "transport", true},
    {{"peer"}, {"peer"}, STRETTO_OK, "", "peer"},
    {{"host"}, {"host"}, STRETTO_OK, "", "host"},
    {{}, {"peer"}, STRETTO_OK, "", "one rank asks for peer"},
    {{}, {"host"}, STRETTO_OK, "", "one rank asks for host"},
    {{}, {"transport"}, STRETTO_OK, "", "one rank asks for transport", true},
    {{""}, {""}, STRETTO_OK, "", "an empty value", true},
    {{nullptr, "1"}, {nullptr, "0"}, STRETTO_OK, "", "one MPI takes no such memory"},
    {{nullptr, nullptr, "50"}, {nullptr, nullptr, "50"}, STRETTO_OK, "", "a slowed link"},
    {{}, {nullptr, nullptr, "50"}, STRETTO_OK, "", "a slowed link of one rank"},
    {{"host", nullptr, "50"}, {"host", nullptr, "50"}, STRETTO_OK, "", "a slowed link through the host"},
    // Refused settings.
    {{},
     {"pigeons"},
     STRETTO_UNSUPPORTED,
     "STRETTO_DEVICE_CARRIER is '' here; ranks may give nccl, transport, peer or host",
     "STRETTO_DEVICE_CARRIER is 'pigeons' here"},
    {{"host"},
     {"transport"},
     STRETTO_UNSUPPORTED,
     "here STRETTO_DEVICE_CARRIER is 'host'",
     "ranks ask for different ways of devices' messages: here STRETTO_DEVICE_CARRIER is 'transport'"},
    {{"transport"},
     {nullptr, nullptr, "50"},
     STRETTO_UNSUPPORTED,
     "here STRETTO_DEVICE_CARRIER is 'transport'",
     "here STRETTO_DEVICE_CARRIER is '', and messages are slowed down"},
    {{"transport", nullptr, "50"},
     {"transport", nullptr, "50"},
     STRETTO_UNSUPPORTED,
     "STRETTO_LINK_GBIT slows down",
     "STRETTO_LINK_GBIT slows down what passes the host, and STRETTO_DEVICE_CARRIER of the same rank asks for another "
     "way"},
    {{"peer", nullptr, "50"},
     {"peer", nullptr, "50"},
     STRETTO_UNSUPPORTED,
     "STRETTO_LINK_GBIT slows down",
     "STRETTO_LINK_GBIT slows down"},
    {{"peer"}, {"transport"}, STRETTO_UNSUPPORTED, "ranks ask for different ways", "ranks ask for different ways"},
    {{"nccl"},
     {"nccl"},
     STRETTO_UNSUPPORTED,
     "nccl cannot be had on all ranks",
     "nccl cannot be had on all ranks, as STRETTO_DEVICE_CARRIER of some rank asks"},
    {{"transport", "0"},
     {"transport", "1"},
     STRETTO_UNSUPPORTED,
     "transport cannot be had on all ranks",
     "transport cannot be had on all ranks"},
    {{nullptr, "1"},
     {nullptr, "yes"},
     STRETTO_INVALID_ARGUMENT,
     "a rank cannot say",
     "STRETTO_DEVICE_MPI is 'yes'; it takes 0 or 1"},
    {{nullptr, nullptr, "50"},
     {nullptr, nullptr, "50Gb"},
     STRETTO_INVALID_ARGUMENT,
     "",
     "STRETTO_LINK_GBIT is '50Gb', which is no positive number"},
    {{nullptr, nullptr, "0"},
     {nullptr, nullptr, "0"},
     STRETTO_INVALID_ARGUMENT,
     "STRETTO_LINK_GBIT is '0'",
     "STRETTO_LINK_GBIT is '0', which is no positive number"},
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  wrong += stretto_cuda_available() != STRETTO_OK;
  for (const Case& c : kCases) run(c, rank, ranks);
  int any = 0;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any > 0;
}
