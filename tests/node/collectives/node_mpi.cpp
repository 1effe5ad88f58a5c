// The node's collectives between processes, on any number of launched ranks: buffers in the arena, private ones that
// the kernel copies, private ones that are staged; shared memory passed through /proc and through sockets; the MPI
// progressing inside a wait; a forked child in the middle. Prints failures; exit status 1 if there are any.
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cases.hpp"
#include "modules/mpi/carrier.hpp"
#include "node/arena/arena.hpp"

namespace {

using namespace stretto;        // NOLINT: a test program
using namespace stretto::node;  // NOLINT

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s: %s\n", what, message());
}

Options small() {
  Options o;
  o.group.slot = 4096;
  o.eager = o.eager_reduce = 256;
  o.direct = 1024;
  o.memory.xpmem = false;  // which would map private buffers (xpmem_module_test.cpp)
  return o;
}

void run(Exchange& exchange, const Options& options, const cases::Buffers& buffers,
         const std::vector<std::size_t>& lengths, Visibility wanted) {
  std::unique_ptr<Collectives> c;
  expect(Collectives::create(exchange, options, &c) == Status::ok, "no collectives");
  if (!c) return;
  cases::Cases cases(*c, buffers);
  for (const std::size_t n : lengths) cases.all(n);
  failures += cases.failures();
  const Counters& n = c->counters();
  const bool only =
      (n.mapped > 0) == (wanted == Visibility::mapped) && (n.copyable > 0) == (wanted == Visibility::copyable);
  expect(c->size() == 1 || wanted == Visibility::mapped || only, "another kind of memory was used than was asked for");
  expect(c->size() == 1 || wanted != Visibility::mapped || n.mapped > 0, "memory in the arena was not mapped");
}

// A child that exits, and a child that writes to inherited memory, change nothing for the ranks.
void fork_in_the_middle(Exchange& exchange) {
  std::unique_ptr<Collectives> c;
  expect(Collectives::create(exchange, small(), &c) == Status::ok, "no collectives");
  auto* shared = static_cast<int*>(arena::allocate(1 << 20, 64));
  expect(shared != nullptr, "no arena");
  if (!c || shared == nullptr) return;
  shared[0] = 1;
  int x = 1, sum = 0;
  for (int k = 0; k < 3; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      const bool copied = shared[0] == 1 + k;
      shared[0] = 99;
      const bool refused = c->barrier() == Status::unsupported && arena::allocate(1 << 20, 64) == nullptr;
      _exit(copied && refused ? 0 : 1);
    }
    expect(c->allreduce(&x, &sum, 1, payload::Type::i32, {payload::Op::sum}) == Status::ok && sum == c->size(),
           "allreduce beside a child");
    int status = 1;
    expect(waitpid(child, &status, 0) == child && status == 0,
           "a child could use the group, or saw other memory than its parent");
    expect(shared[0] == 1 + k, "a child wrote to its parent's memory");
    ++shared[0];
  }
  arena::release(shared);
}

// A posts a receive from B and broadcasts; B first sends a long message. B's send completes only if A progresses the
// MPI inside its wait for B.
void mpi_progresses_in_a_wait(Exchange& exchange) {
  if (exchange.size() < 2) return;
  Options options;
  options.group.patience.limit = 60;
  options.group.patience.progress = [](void*) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  };
  std::unique_ptr<Collectives> c;
  expect(Collectives::create(exchange, options, &c) == Status::ok, "no collectives");
  if (!c) return;
  std::vector<int> message(1 << 22, exchange.rank());
  int x = exchange.rank() == 1 ? 17 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (exchange.rank() == 0) MPI_Irecv(message.data(), 1 << 22, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
  if (exchange.rank() == 1) MPI_Send(message.data(), 1 << 22, MPI_INT, 0, 5, MPI_COMM_WORLD);
  expect(c->bcast(&x, sizeof x, 1) == Status::ok && x == 17, "a broadcast whose root sends first");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(exchange.rank() != 0 || message.back() == 1, "the message that was sent first");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    std::unique_ptr<carrier::Carrier> carrier;
    expect(stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {}, &carrier) == Status::ok, "no carrier");
    CarrierExchange exchange(*carrier);
    const std::vector<std::size_t> lengths{0, 3, 12, 700, 5003};
    const cases::Buffers in_arena{[](std::size_t n) { return arena::allocate(n, 64); },
                                  [](void* at) { arena::release(at); }};

    Options options = small();
    options.kernel = 1024;
    run(exchange, options, in_arena, lengths, Visibility::mapped);
    options.group.passing = options.memory.passing = Passing::socket_only;
    run(exchange, options, in_arena, {700}, Visibility::mapped);
    options = small();
    options.kernel = 1024;
    run(exchange, options, {}, lengths, Visibility::copyable);
    options.memory.kernel = false;
    run(exchange, options, {}, lengths, Visibility::staged);

    // Buffers of one rank in the arena, of the others not.
    options = small();
    options.kernel = 1024;
    run(exchange, options, exchange.rank() == 0 ? in_arena : cases::Buffers{}, {5003},
        exchange.rank() == 0 ? Visibility::mapped : Visibility::copyable);

    // With slots as the only way for the other ranks; and with every second buffer of one rank in the arena.
    options.memory.kernel = false;
    run(exchange, options, exchange.rank() == 0 ? in_arena : cases::Buffers{}, {5003},
        exchange.rank() == 0 ? Visibility::mapped : Visibility::staged);
    int made = 0;
    const cases::Buffers by_turns{
        [&](std::size_t n) { return ++made % 2 == exchange.rank() % 2 ? arena::allocate(n, 64) : ::operator new(n); },
        [](void* at) { arena::owns(at) ? arena::release(at) : ::operator delete(at); }};
    run(exchange, options, by_turns, {5003}, Visibility::mapped);

    // Chunks and slots as they are by default, over several megabytes.
    options = {};
    options.memory.xpmem = options.memory.kernel = false;
    run(exchange, options, {}, {300000}, Visibility::staged);
    run(exchange, {}, in_arena, {300000}, Visibility::mapped);
    mpi_progresses_in_a_wait(exchange);
    fork_in_the_middle(exchange);
    expect(agree(exchange, Status::ok) == Status::ok, "agree");
  }
  int any = 0;
  MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any > 0;
}
