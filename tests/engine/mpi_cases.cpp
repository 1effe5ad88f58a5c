// Every schedule with every payload over MPI, on as many ranks as it is launched on. Prints failures; exit status 1 if any.
#include <cstdio>

#include "carrier/mpi.hpp"
#include "cases.hpp"
#include "schedule/floors.hpp"

namespace {

int run() {
  std::unique_ptr<stretto::carrier::Carrier> carrier;
  // A small chunk, so that streams and raw segments travel as several MPI messages, too.
  for (const std::size_t chunk : {std::size_t{1} << 30, std::size_t{1500}}) {
    if (stretto::carrier::make_mpi_carrier(MPI_COMM_WORLD, {chunk}, &carrier) != stretto::Status::ok) {
      std::fprintf(stderr, "%s\n", stretto::message());
      return 1;
    }
    stretto::engine::Engine engine(*carrier);
    const auto cases = stretto::tests::all_cases(carrier->size(), chunk < 4096 ? 5 : carrier->size() > 4 ? 3 : 1);
    std::size_t done = 0;
    const auto failures = stretto::tests::run_all(engine, cases, &done);
    for (const auto& f : failures) std::fprintf(stderr, "rank %d: %s\n", carrier->rank(), f.c_str());
    if (!failures.empty() || done != cases.size()) return 1;
    std::vector<std::int32_t> node_of;
    for (std::int32_t r = 0; r < carrier->size(); ++r) node_of.push_back(r % 3 == 2 ? 1 : 0);
    if (node_of.size() < 3) node_of.assign(node_of.size(), 0);
    const auto groups = stretto::schedule::groups_of(node_of);
    const auto mixed = stretto::tests::mixed_cases(groups, chunk < 4096 ? 41 : 17);
    for (const auto& f : stretto::tests::run_all(engine, mixed, &done)) {
      std::fprintf(stderr, "rank %d: %s\n", carrier->rank(), f.c_str());
      return 1;
    }
    done += cases.size();
    if (carrier->rank() == 0) std::printf("%zu cases on %d ranks, chunks of %zu bytes\n", done, carrier->size(), chunk);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = run();
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
