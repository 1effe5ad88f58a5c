// Random MPI programs for the profiling library: 1 to 3 threads, each with its own communicators, run sequences of
// blocking, started and persistent collectives, with synchronous messages and windows in between. Every result is
// compared with arithmetic, so the program without the library is the control. SEED determines everything.
//
// usage: torture SECONDS SEED [BOUND]: the bound for sums of doubles; 0: exact.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "ranks.hpp"

using namespace soak;

namespace {

std::atomic<int> all_wrong{0};
std::atomic<long> all_calls{0};
double bound = 0;

std::size_t size(int n) { return static_cast<std::size_t>(n); }

// The value that a rank gives at a place: small integers, which every order adds exactly.
double given(int rank, int i) { return (rank * 7 + i * 3) % 23 - 9; }

// (slope, shift) pairs modulo 2^64 as maps, one after the other in the order of the ranks: does not commute.
void compose(void* in, void* inout, int* n, MPI_Datatype*) {
  const auto* a = static_cast<const std::uint64_t*>(in);
  auto* b = static_cast<std::uint64_t*>(inout);
  for (int i = 0; i < *n; ++i, a += 2, b += 2) {
    b[1] += a[1] * b[0];
    b[0] *= a[0];
  }
}

struct Types {
  Types() {
    MPI_Type_vector(1, 1, 1, MPI_DOUBLE, &one);
    MPI_Type_create_resized(one, 0, 3 * sizeof(double), &gaps);  // each double is followed by a gap of two
    MPI_Type_contiguous(2, MPI_UINT64_T, &map);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&map);
    MPI_Op_create(compose, 0, &op);
  }
  ~Types() {
    MPI_Op_free(&op);
    for (MPI_Datatype* type : {&one, &gaps, &map}) MPI_Type_free(type);
  }
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  MPI_Datatype one = MPI_DATATYPE_NULL, gaps = MPI_DATATYPE_NULL, map = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

enum Kind {
  allreduce,
  reduce,
  bcast,
  allgather,
  alltoall,
  gather,
  scatter,
  block,
  scattered,
  blocks,
  own,
  barrier,
  kinds
};
enum Form { blocking, started, persistent, forms };

// One collective: its buffers, its call in every form, and its check. Lives until it is complete.
struct Call {
  Call(Draws& draws, MPI_Comm c, const Types& t) : comm(c), types(t), rank(rank_in(c)), ranks(ranks_in(c)) {
    kind = static_cast<Kind>(draws.below(kinds));
    const std::array<int, 6> lengths{0, 1, 37, 700, 5'003, 40'009};
    n = lengths[draws.below(lengths.size())];
    root = static_cast<int>(draws.below(static_cast<std::uint64_t>(ranks)));
    in_place = draws.below(4) == 0;
    const bool moves = kind >= bcast && kind <= scatter;
    gap = moves && draws.below(3) == 0 ? 3 : 1;
    type = gap == 3 ? types.gaps : MPI_DOUBLE;
    for (int r = 0; r < ranks; ++r)
      counts.push_back(n / (r % 3 + 1) + r % 2), displs.push_back(total), total += counts.back();
    if (kind == alltoall || kind == scatter) in_place = false;
    fill();
  }

  int given_length() const {
    switch (kind) {
      case alltoall:
      case block: return n * ranks;
      case scatter: return rank == root ? n * ranks : 0;
      case scattered: return total;
      case blocks: return counts[size(rank)];
      default: return n;
    }
  }
  int got_length() const {
    switch (kind) {
      case allgather:
      case alltoall: return n * ranks;
      case gather: return rank == root ? n * ranks : 0;
      case reduce: return rank == root ? n : 0;
      case block: return in_place ? n * ranks : n;
      case scattered: return in_place ? total : counts[size(rank)];
      case blocks: return total;
      default: return n;
    }
  }

  void fill() {
    send.assign(size(given_length() * gap) + 1, -77);
    recv.assign(size(got_length() * gap) + 1, -55);
    for (int i = 0; i < given_length(); ++i) send[size(i * gap)] = given(rank, i);
    const bool gives_here = kind == bcast ? rank == root : in_place;
    if (gives_here && kind != own) {
      int at = 0;
      if (kind == allgather || (kind == gather && rank == root)) at = n * rank;
      if (kind == blocks) at = displs[size(rank)];
      if (kind != gather || rank == root)
        for (int i = 0; i < given_length() && at + i < got_length(); ++i) recv[size((at + i) * gap)] = given(rank, i);
    }
    if (kind != own) return;
    maps.assign(size(2 * n) + 2, 0);
    results.assign(size(2 * n) + 2, 0);
    for (int i = 0; i < n; ++i)
      maps[size(2 * i)] = size(2 * (rank + i) + 1), maps[size(2 * i + 1)] = size(rank * 5 + i);
    if (in_place) results = maps;
  }

  // The MPI's function in this form, started by the second.
  void run(Form form, MPI_Request* r) {
    const void* const s = in_place && (kind != gather || rank == root) && (kind != reduce || rank == root)
                              ? MPI_IN_PLACE
                              : static_cast<const void*>(send.data());
    void* const v = recv.data();
    const int c = counts[size(rank)];
#define FORMS(NAME, ...)                                    \
  (form == blocking  ? MPI_##NAME(__VA_ARGS__, comm)        \
   : form == started ? MPI_I##NAME##_(__VA_ARGS__, comm, r) \
                     : MPI_##NAME##_init(__VA_ARGS__, comm, MPI_INFO_NULL, r))
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAllgatherv_ MPI_Iallgatherv
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IGather_ MPI_Igather
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IReduce_scatter_ MPI_Ireduce_scatter
    switch (kind) {
      case allreduce: FORMS(Allreduce, s, v, n, MPI_DOUBLE, MPI_SUM); break;
      case reduce: FORMS(Reduce, s, v, n, MPI_DOUBLE, MPI_SUM, root); break;
      case bcast: FORMS(Bcast, v, n, type, root); break;
      case allgather: FORMS(Allgather, s, n, type, v, n, type); break;
      case alltoall: FORMS(Alltoall, s, n, type, v, n, type); break;
      case gather: FORMS(Gather, s, n, type, v, n, type, root); break;
      case scatter: FORMS(Scatter, s, n, type, v, n, type, root); break;
      case block: FORMS(Reduce_scatter_block, s, v, n, MPI_DOUBLE, MPI_SUM); break;
      case scattered: FORMS(Reduce_scatter, s, v, counts.data(), MPI_DOUBLE, MPI_SUM); break;
      case blocks: FORMS(Allgatherv, s, c, MPI_DOUBLE, v, counts.data(), displs.data(), MPI_DOUBLE); break;
      case own: {
        const void* const m = in_place ? MPI_IN_PLACE : static_cast<const void*>(maps.data());
        FORMS(Allreduce, m, results.data(), n, types.map, types.op);
        break;
      }
      case barrier:
      case kinds:
        if (form == blocking) MPI_Barrier(comm);
        if (form == started) MPI_Ibarrier(comm, r);
        if (form == persistent) MPI_Barrier_init(comm, MPI_INFO_NULL, r);
        break;
    }
#undef FORMS
  }

  double expected(int i) const {
    double sum = 0;
    switch (kind) {
      case bcast: return given(root, i);
      case allgather:
      case gather: return given(i / n, i % n);
      case alltoall: return given(i / n, rank * n + i % n);
      case scatter: return given(root, rank * n + i);
      case blocks: {
        const auto after = std::upper_bound(displs.begin(), displs.end(), i);
        const auto r = after - displs.begin() - 1;
        return given(static_cast<int>(r), i - displs[static_cast<std::size_t>(r)]);
      }
      default: break;
    }
    const int from = kind == block ? n * rank : kind == scattered ? displs[size(rank)] : 0;
    for (int r = 0; r < ranks; ++r) sum += given(r, from + i);
    return sum;
  }

  void check(const char* form) const {
    ++all_calls;
    const bool sums = kind == allreduce || kind == reduce || kind == block || kind == scattered;
    const int length = kind == barrier     ? 0
                       : kind == own       ? 0
                       : kind == block     ? n
                       : kind == scattered ? counts[size(rank)]
                                           : got_length();
    for (int i = 0; i < length; ++i)
      if (std::fabs(recv[size(i * gap)] - expected(i)) > (sums ? bound : 0)) return wrong(form, i);
    for (int i = 0; gap == 3 && i < length; ++i)
      if (recv[size(i * gap + 1)] != -55 && recv[size(i * gap + 1)] != -77) return wrong(form, i);
    for (int i = 0; kind == own && i < n; ++i) {
      std::array<std::uint64_t, 2> all{size(2 * i + 1), size(i)};
      for (int r = 1; r < ranks; ++r) {
        std::array<std::uint64_t, 2> next{size(2 * (r + i) + 1), size(r * 5 + i)};
        int once = 1;
        compose(all.data(), next.data(), &once, nullptr);
        all = next;
      }
      if (results[size(2 * i)] != all[0] || results[size(2 * i + 1)] != all[1]) return wrong(form, i);
    }
  }

  void wrong(const char* form, int at) const {
    ++all_wrong;
    std::fprintf(stderr, "rank %d of %d: wrong at %d: kind %d, %s, count %d, root %d, in place %d, gap %d\n", rank,
                 ranks, at, kind, form, n, root, in_place, gap);
  }

  MPI_Comm comm;
  const Types& types;
  const int rank, ranks;
  Kind kind{};
  int n = 0, root = 0, gap = 1, total = 0;
  bool in_place = false;
  MPI_Datatype type = MPI_DOUBLE;
  std::vector<int> counts, displs;
  std::vector<double> send, recv;
  std::vector<std::uint64_t> maps, results;
};

// Every form of Wait and Test.
void complete(Draws& draws, std::vector<MPI_Request>& requests) {
  const int n = static_cast<int>(requests.size());
  std::vector<int> indices(requests.size() + 1);
  int at = 0, done = 0, left = n;
  switch (draws.below(8)) {
    case 0: MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE); break;
    case 1:
      for (int i = n; i > 0; --i) MPI_Wait(&requests[size(i - 1)], MPI_STATUS_IGNORE);
      break;
    case 2:
      for (; left > 0; --left) MPI_Waitany(n, requests.data(), &at, MPI_STATUS_IGNORE);
      break;
    case 3:
      for (; left > 0; left -= done) MPI_Waitsome(n, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case 4:
      for (MPI_Request& r : requests)
        for (done = 0; !done;) MPI_Test(&r, &done, MPI_STATUS_IGNORE);
      break;
    case 5:
      while (!done) MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE);
      break;
    case 6:
      for (; left > 0; left -= done ? 1 : 0) MPI_Testany(n, requests.data(), &at, &done, MPI_STATUS_IGNORE);
      break;
    default:
      for (; left > 0; left -= done) MPI_Testsome(n, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
  }
}

void start(Draws& draws, MPI_Comm comm, const Types& types) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<MPI_Request> requests;
  const std::uint64_t count = 1 + draws.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    calls.push_back(std::make_unique<Call>(draws, comm, types));
    calls.back()->run(started, &requests.emplace_back(MPI_REQUEST_NULL));
  }
  if (draws.below(3) == 0) {  // a blocking one behind them
    Call behind(draws, comm, types);
    behind.run(blocking, nullptr);
    behind.check("blocking behind started ones");
  }
  complete(draws, requests);
  for (const auto& call : calls) call->check("started");
}

// The bounds of the loops are drawn before anything differs from rank to rank.
void persist(Draws& draws, MPI_Comm comm, const Types& types) {
  Call call(draws, comm, types);
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  call.run(persistent, request.data());
  const MPI_Request kept = request[0];
  for (std::uint64_t times = 1 + draws.below(3); times > 0; --times) {
    call.fill();
    request[0] = kept;
    MPI_Start(request.data());
    complete(draws, request);
    call.check("persistent");
  }
  request[0] = kept;
  MPI_Request_free(request.data());
}

// A ring of synchronous sends, whose receives come before or after a collective is started.
void exchange(Draws& draws, MPI_Comm comm, const Types& types) {
  const int rank = rank_in(comm), ranks = ranks_in(comm), n = draws.below(2) ? 10 : 40'000;
  std::vector<double> out(size(n), rank), in(size(n), -1);
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  Call call(draws, comm, types);
  call.run(started, &requests[1]);
  MPI_Irecv(in.data(), n, MPI_DOUBLE, (rank + ranks - 1) % ranks, 3, comm, requests.data());
  MPI_Ssend(out.data(), n, MPI_DOUBLE, (rank + 1) % ranks, 3, comm);
  complete(draws, requests);
  call.check("beside messages");
  if (in.back() != (rank + ranks - 1) % ranks) call.wrong("message", 0);
}

void window(Draws& draws, MPI_Comm comm, const Types& types) {
  const int rank = rank_in(comm), ranks = ranks_in(comm);
  std::vector<double> memory(64, -1), mine(64, rank);
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), 64 * sizeof(double), sizeof(double), MPI_INFO_NULL, comm, &win);
  MPI_Win_fence(0, win);
  MPI_Put(mine.data(), 64, MPI_DOUBLE, (rank + 1) % ranks, 0, 64, MPI_DOUBLE, win);
  Call call(draws, comm, types);
  call.run(blocking, nullptr);
  call.check("in an epoch");
  MPI_Win_fence(0, win);
  if (memory[63] != (rank + ranks - 1) % ranks) call.wrong("window", 0);
  MPI_Win_free(&win);
}

// A thread's program on its communicator: every rank's thread draws the same.
void program(Draws draws, MPI_Comm comm, bool makes, const Types& types) {
  for (std::uint64_t steps = 4 + draws.below(8); steps > 0; --steps) {
    switch (draws.below(makes ? 7 : 5)) {
      case 0:
      case 1: {  // the same again and again, as programs do
        Call call(draws, comm, types);
        for (std::uint64_t times = 1 + draws.below(call.n > 1000 ? 8 : 90); times > 0; --times) {
          call.fill();
          call.run(blocking, nullptr);
          call.check("blocking");
        }
        break;
      }
      case 2: start(draws, comm, types); break;
      case 3: persist(draws, comm, types); break;
      case 4: exchange(draws, comm, types); break;
      case 5: window(draws, comm, types); break;
      default: {
        MPI_Comm other = MPI_COMM_NULL;
        MPI_Comm_dup(comm, &other);
        start(draws, other, types);
        MPI_Comm_free(&other);
        break;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  Draws draws(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  const int threads = 1 + static_cast<int>(draws.below(3));
  MPI_Init_thread(&argc, &argv, threads > 1 || draws.below(2) ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  bound = argc > 3 ? std::atof(argv[3]) : 0;
  const Clock::time_point begun = Clock::now();
  long cycles = 0;
  {
    const Types types;
    do {
      // Threads may not make communicators at once in every MPI, so that is the first thread's.
      std::array<MPI_Comm, 3> comms{};
      const int rank = rank_in(MPI_COMM_WORLD), ranks = ranks_in(MPI_COMM_WORLD);
      for (int t = 0; t < threads; ++t) {
        const int parts = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(ranks)));
        const bool backwards = draws.below(2) != 0;
        MPI_Comm_split(MPI_COMM_WORLD, rank % parts, backwards ? -rank : rank, &comms[size(t)]);
      }
      std::vector<std::thread> others;
      const std::uint64_t seed = draws.below(~0ull);
      for (int t = 1; t < threads; ++t)
        others.emplace_back([&, t] { program(Draws(seed + size(t)), comms[size(t)], false, types); });
      program(Draws(seed), comms[0], true, types);
      for (std::thread& other : others) other.join();
      for (int t = 0; t < threads; ++t) MPI_Comm_free(&comms[size(t)]);
      ++cycles;
    } while (!over(begun, seconds));
  }
  const long wrong = most(all_wrong), calls = most(all_calls);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("{\"threads\": %d, \"cycles\": %ld, \"calls\": %ld, \"wrong\": %ld}\n", threads, cycles, calls, wrong);
  MPI_Finalize();
  return wrong > 0;
}
