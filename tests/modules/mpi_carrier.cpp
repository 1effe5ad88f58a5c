// The MPI carrier and transport, on as many ranks as it is launched on. Exit status 1 if anything fails.
#include "modules/mpi/carrier.hpp"

#include <dlfcn.h>

#include <atomic>
#include <chrono>

#include "carrier_cases.hpp"
#include "modules/mpi/transport.hpp"

using namespace carrier_cases;

namespace {

int freed = 0;
int probes = 0;

std::unique_ptr<stretto::backend::Transport> transport() {
  std::unique_ptr<stretto::backend::Transport> made;
  expect(stretto::modules::make_mpi_transport(MPI_COMM_WORLD, &made) == Status::ok, "no transport");
  return made;
}

void first_carrier_without_memory() {
  for (int any = 1, n = 0; any != 0; ++n) {
    auto t = transport();
    std::unique_ptr<Carrier> c;
    int struck = 0;
    {
      const stretto::tests::Scarce scarce(n);
      const Status s = t->make_carrier(&c);
      struck = scarce.struck() ? 1 : 0;
      expect((s == Status::ok) == (c != nullptr), "a carrier that failed is there");
    }
    c.reset();
    freed = 0;
    t.reset();
    expect(freed == 1, "the duplicate of a transport is not freed", static_cast<std::size_t>(n));
    MPI_Allreduce(&struck, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
}

// Rank 0 receives a long message while it only progresses, and a word waits on the transport's communicator.
void progress_beside_a_word() {
  auto t = transport();
  std::unique_ptr<Carrier> c;
  expect(t->make_carrier(&c) == Status::ok, "no carrier");
  if (c->size() < 2) return;
  MPI_Win window = MPI_WIN_NULL;
  int* own = nullptr;
  MPI_Win_allocate_shared(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  int* sent = nullptr;
  MPI_Win_shared_query(window, 1, &bytes, &unit, &sent);
  const std::atomic_ref<int> is_sent(*sent);
  if (c->rank() == 1) is_sent.store(0);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<char> data(std::size_t{8} << 20);
  char word = 1;
  if (c->rank() == 1) {
    expect(c->start_send(0, 5, &word, 1, 0) == Status::ok, "start_send fails");
    ends(*c, 1);
    MPI_Send(data.data(), static_cast<int>(data.size()), MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    is_sent.store(1);
  } else if (c->rank() == 0) {
    stretto::carrier::Arrival found;
    while (!c->peek(1, &found)) sched_yield();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (is_sent.load() == 0 && std::chrono::steady_clock::now() < end) t->progress();
    expect(is_sent.load() == 1, "a word keeps the MPI from progress");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(c->start_recv(1, 5, &word, 1, 0) == Status::ok, "start_recv fails");
    ends(*c, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

// A carrier that expects nothing ends without a probe, and sets its word before it sends.
void end_without_a_look() {
  for (const bool sends : {false, true}) {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) == Status::ok, "no carrier");
    std::atomic<std::uint32_t> sent{0};
    c->announce_in(sent);
    char out = 1, in = 0;
    const int next = (c->rank() + 1) % c->size(), previous = (c->rank() + c->size() - 1) % c->size();
    expect(c->start_recv(previous, 3, &in, 1, 0) == Status::ok, "start_recv fails");
    expect(sent == 0, "a receive is announced");
    if (!sends) expect(c->cancel(0), "a receive is not withdrawn");
    if (sends) expect(c->start_send(next, 3, &out, 1, 1) == Status::ok, "start_send fails");
    expect(sent == (sends ? 1U : 0U), "what is sent is not announced", sent);
    if (sends) ends(*c, 2);
    if (!sends) c->expect_nothing();
    freed = probes = 0;
    c.reset();
    expect(freed == 1, "a carrier's duplicate is not freed");
    expect((probes > 0) == sends, "probes at the end of a carrier", static_cast<std::size_t>(probes));
  }
  std::unique_ptr<Carrier> c;
  expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) == Status::ok, "no carrier");
  std::atomic<std::uint32_t> sent{0};
  c->announce_in(sent);
  stretto::carrier::Alarm alarm;
  alarm.rank = c->rank();
  c->raise(alarm);
  expect(sent == 1, "an alarm is not announced");
}

// Open MPI has the number of tags on no communicator that was split off.
void tags_of_a_part() {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
  {
    std::unique_ptr<Carrier> world, c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &world) == Status::ok, "no carrier");
    expect(stretto::modules::make_mpi_carrier(part, {}, &c) == Status::ok, "no carrier of a part");
    expect(c->tags() == world->tags(), "a part has fewer tags than the world", c->tags());
  }
  MPI_Comm_free(&part);
}

}  // namespace

// In the place of the MPI's, for the library.
extern "C" int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
  static const auto own = reinterpret_cast<decltype(&PMPI_Iprobe)>(dlsym(RTLD_NEXT, "PMPI_Iprobe"));
  ++probes;
  return own(source, tag, comm, found, status);
}

extern "C" int PMPI_Comm_free(MPI_Comm* comm) {
  static const auto own = reinterpret_cast<decltype(&PMPI_Comm_free)>(dlsym(RTLD_NEXT, "PMPI_Comm_free"));
  ++freed;
  return own(comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const std::size_t chunk : {std::size_t{64}, std::size_t{100000}}) {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {chunk}, &c) == Status::ok, "no carrier");
    around(*c, chunk);
    exact_fit(*c, chunk);
    if (c->size() > 1) too_long(*c, 8, 4);  // to itself, Open MPI 5 cuts a message off and does not say so
    withdraw(*c);
    alarms(*c);
    expect(c->start_send(c->size(), 0, nullptr, 0, 0) == Status::invalid_argument, "a peer outside is not refused");
  }
  {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) == Status::ok, "no carrier");
    give_up(*c);
  }
  {
    std::unique_ptr<Carrier> c;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &c) == Status::ok, "no carrier");
    sleep_in_waits(*c);
  }
  tags_of_a_part();
  end_without_a_look();
  first_carrier_without_memory();
  progress_beside_a_word();
  std::unique_ptr<Carrier> none;
  expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {0}, &none) == Status::invalid_argument,
         "a chunk of 0 is not refused");
  int any = 0;
  MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any > 0;
}
