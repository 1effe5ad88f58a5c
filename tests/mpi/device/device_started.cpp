// A program unaware of stretto: started and persistent reductions and data movement, in memory of an emulated device on
// all ranks, on rank 1 alone, on a device and the host in one call, and on a second device. Compared with blocking
// calls on the host: with forced schedules results have equal bits, else they are within the program's first argument.
// A second argument keeps device memory out of blocking calls.
#include <array>
#include <functional>

#include "device_memory.hpp"

using namespace mpi_test;

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT
#endif

namespace {

constexpr int kN = 20'000;

// An MPI that takes memory of devices packs it. Elements with their gaps go to the host, and come back.
template <class Step>
int on_host(void* memory, int count, MPI_Datatype type, bool writes, const Step& step) {
  if (!is_on_device(memory)) return step(memory);
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * extent));
  Copies copies(bytes.size());
  copies.to_host(bytes.data(), memory);
  const int code = step(bytes.data());
  if (writes) copies.to_device(memory, bytes.data());
  return code;
}

}  // namespace

extern "C" {

int PMPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* position, MPI_Comm comm) {
  static const auto real = reinterpret_cast<decltype(&PMPI_Pack)>(dlsym(RTLD_NEXT, "PMPI_Pack"));
  return on_host(const_cast<void*>(in), count, type, false,
                 [&](const void* from) { return real(from, count, type, out, size, position, comm); });
}

int PMPI_Unpack(const void* in, int size, int* position, void* out, int count, MPI_Datatype type, MPI_Comm comm) {
  static const auto real = reinterpret_cast<decltype(&PMPI_Unpack)>(dlsym(RTLD_NEXT, "PMPI_Unpack"));
  return on_host(out, count, type, true, [&](void* to) { return real(in, size, position, to, count, type, comm); });
}

}  // extern "C"

namespace {

const MPI_Comm kWorld = MPI_COMM_WORLD;

std::size_t of_all_ranks() { return static_cast<std::size_t>(kN * ranks); }
int last() { return ranks - 1; }

double tolerance = 0;  // 0: none

void expect(const std::vector<float>& got, const std::vector<float>& host, const char* what) {
  for (std::size_t i = 0; i < got.size() && tolerance > 0; ++i)
    if (!(std::fabs(static_cast<double>(got[i]) - static_cast<double>(host[i])) <= tolerance)) stop(what);
  if (tolerance == 0 && std::memcmp(got.data(), host.data(), got.size() * sizeof(float)) != 0) stop(what);
}

// A rank's buffers of each collective.
struct Results {
  explicit Results(bool device)
      : sum(device, kN),
        in_place(device, kN),
        at_root(device, kN),
        block(device, kN),
        scattered(device, kN),
        cast(device, kN),
        gathered(device, of_all_ranks()) {}

  void expect_those_of(Results& host) {
    expect(sum.read(), host.sum.read(), "allreduce");
    expect(in_place.read(), host.in_place.read(), "allreduce in place");
    if (rank == last()) expect(at_root.read(), host.at_root.read(), "reduce");
    expect(block.read(), host.block.read(), "reduce_scatter_block");
    expect(scattered.read(), host.scattered.read(), "reduce_scatter");
    expect(cast.read(), values(last(), kN), "bcast");
    expect(gathered.read(), host.gathered.read(), "allgather");
  }

  Vector sum, in_place, at_root, block, scattered, cast, gathered;
};

struct Inputs {
  explicit Inputs(bool device, int of = rank) : x(device, values(of, kN)), blocks(device, values(of, of_all_ranks())) {}
  Vector x, blocks;
};

// Whose send buffers may lie elsewhere than the others.
void blocking(Inputs& in, Results& out) {
  const std::vector<int> counts(static_cast<std::size_t>(ranks), kN);
  out.in_place.write(values(rank, kN));
  if (rank == last()) out.cast.write(values(rank, kN));
  MPI_Allreduce(in.x.data(), out.sum.data(), kN, MPI_FLOAT, MPI_SUM, kWorld);
  MPI_Allreduce(MPI_IN_PLACE, out.in_place.data(), kN, MPI_FLOAT, MPI_SUM, kWorld);
  MPI_Reduce(in.x.data(), rank == last() ? out.at_root.data() : nullptr, kN, MPI_FLOAT, MPI_SUM, last(), kWorld);
  MPI_Reduce_scatter_block(in.blocks.data(), out.block.data(), kN, MPI_FLOAT, MPI_SUM, kWorld);
  MPI_Reduce_scatter(in.blocks.data(), out.scattered.data(), counts.data(), MPI_FLOAT, MPI_SUM, kWorld);
  MPI_Bcast(out.cast.data(), kN, MPI_FLOAT, last(), kWorld);
  MPI_Allgather(in.x.data(), kN, MPI_FLOAT, out.gathered.data(), kN, MPI_FLOAT, kWorld);
}

void started(Inputs& in, Results& out) {
  const std::vector<int> counts(static_cast<std::size_t>(ranks), kN);
  out.in_place.write(values(rank, kN));
  if (rank == last()) out.cast.write(values(rank, kN));
  std::array<MPI_Request, 7> r;
  MPI_Iallreduce(in.x.data(), out.sum.data(), kN, MPI_FLOAT, MPI_SUM, kWorld, &r[0]);
  MPI_Iallreduce(MPI_IN_PLACE, out.in_place.data(), kN, MPI_FLOAT, MPI_SUM, kWorld, &r[1]);
  MPI_Ireduce(in.x.data(), rank == last() ? out.at_root.data() : nullptr, kN, MPI_FLOAT, MPI_SUM, last(), kWorld,
              &r[2]);
  MPI_Ireduce_scatter_block(in.blocks.data(), out.block.data(), kN, MPI_FLOAT, MPI_SUM, kWorld, &r[3]);
  MPI_Ireduce_scatter(in.blocks.data(), out.scattered.data(), counts.data(), MPI_FLOAT, MPI_SUM, kWorld, &r[4]);
  MPI_Ibcast(out.cast.data(), kN, MPI_FLOAT, last(), kWorld, &r[5]);
  MPI_Iallgather(in.x.data(), kN, MPI_FLOAT, out.gathered.data(), kN, MPI_FLOAT, kWorld, &r[6]);
  MPI_Waitall(static_cast<int>(r.size()), r.data(), MPI_STATUSES_IGNORE);
}

#ifdef HAS_PERSISTENT
// Two starts each, with other values at the second.
void persistent(bool device) {
  const std::vector<int> counts(static_cast<std::size_t>(ranks), kN);
  Inputs in(device);
  Results out(device);
  std::array<MPI_Request, 4> r;
  MPI_Allreduce_init(in.x.data(), out.sum.data(), kN, MPI_FLOAT, MPI_SUM, kWorld, MPI_INFO_NULL, &r[0]);
  MPI_Reduce_init(in.x.data(), out.at_root.data(), kN, MPI_FLOAT, MPI_SUM, last(), kWorld, MPI_INFO_NULL, &r[1]);
  MPI_Reduce_scatter_block_init(in.blocks.data(), out.block.data(), kN, MPI_FLOAT, MPI_SUM, kWorld, MPI_INFO_NULL,
                                &r[2]);
  MPI_Reduce_scatter_init(in.blocks.data(), out.scattered.data(), counts.data(), MPI_FLOAT, MPI_SUM, kWorld,
                          MPI_INFO_NULL, &r[3]);
  for (int round = 0; round < 2; ++round) {
    Inputs host(false, rank + round);
    Results expected(false);
    blocking(host, expected);
    in.x.write(values(rank + round, kN));
    in.blocks.write(values(rank + round, of_all_ranks()));
    MPI_Startall(static_cast<int>(r.size()), r.data());
    MPI_Waitall(static_cast<int>(r.size()), r.data(), MPI_STATUSES_IGNORE);
    expect(out.sum.read(), expected.sum.read(), "allreduce_start");
    if (rank == last()) expect(out.at_root.read(), expected.at_root.read(), "reduce_start");
    expect(out.block.read(), expected.block.read(), "reduce_scatter_block_start");
    expect(out.scattered.read(), expected.scattered.read(), "reduce_scatter_start");
  }
  for (MPI_Request& one : r) MPI_Request_free(&one);
}
#endif

// Every other value of a vector, to a rank whose memory is a device's.
void with_gaps() {
  MPI_Datatype pairs = MPI_DATATYPE_NULL, spread = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_FLOAT, 0, 2 * sizeof(float), &pairs);
  MPI_Type_contiguous(1, pairs, &spread);
  MPI_Type_commit(&spread);
  const auto sent = values(last(), 2 * kN), kept = values(rank, 2 * kN);
  auto expected = kept;
  for (std::size_t i = 0; i < expected.size(); i += 2) expected[i] = sent[i];
  Vector cast(true, kept);
  MPI_Bcast(cast.data(), kN, spread, last(), kWorld);
  expect(cast.read(), expected, "bcast with gaps");
  MPI_Type_free(&spread);
  MPI_Type_free(&pairs);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  find_ranks();
  if (provided != MPI_THREAD_MULTIPLE) stop("the MPI has no MPI_THREAD_MULTIPLE");
  if (argc > 1) tolerance = std::atof(argv[1]);
  {
    Inputs host_inputs(false);
    Results host(false);
    blocking(host_inputs, host);
    const auto run = [&](const std::function<void(Inputs&, Results&)>& calls, bool sends, bool receives) {
      Inputs in(sends);
      Results out(receives);
      calls(in, out);
      out.expect_those_of(host);
    };
    run(started, true, true);
    run(started, rank == 1, rank == 1);
    run(started, rank == 0, rank == 1);  // one call's buffers in different memory
    run(started, false, rank == 0);
    int devices = 0;
    check(plugin().device_count(&devices));
    if (devices > 1) {
      check(plugin().use_device(1));  // a communicator uses one device, and has used device 0
      run(started, true, true);
      check(plugin().use_device(0));
    }
    if (argc <= 2) {
      run(blocking, true, true);
      run(blocking, rank == 0, rank == 1);
    }
#ifdef HAS_PERSISTENT
    persistent(true);
    persistent(rank == 1);
#endif
    with_gaps();
  }
  MPI_Finalize();
  return 0;
}
