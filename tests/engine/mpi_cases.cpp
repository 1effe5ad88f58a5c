// Every schedule with every payload and operation over MPI, on as many ranks as it is launched on. Prints failures; exit status 1 if any.
#include <cstdio>

#include "case_list.hpp"
#include "modules/mpi/carrier.hpp"
#include "operations.hpp"
#include "schedule/floors.hpp"

namespace {

using namespace stretto::tests;

std::size_t done = 0;

// Whether all went well.
bool told(int rank, const std::vector<std::string>& failures) {
  for (const auto& f : failures) std::fprintf(stderr, "rank %d: %s\n", rank, f.c_str());
  return failures.empty();
}

bool run_cases(stretto::engine::Engine& engine, const std::vector<Case>& cases) {
  std::size_t ran = 0;
  const bool well = told(engine.carrier().rank(), run_all(engine, cases, &ran));
  done += ran;
  return well && ran == cases.size();
}

bool walk(stretto::engine::Engine& engine, const Walk& walk) {
  done += static_cast<std::size_t>(walk.done);
  return told(engine.carrier().rank(), walk.failures) && walk.done > 60;
}

// Nodes of ranks that are not in a row.
stretto::schedule::Groups nodes(int ranks) {
  std::vector<std::int32_t> node_of;
  for (std::int32_t r = 0; r < ranks; ++r) node_of.push_back(ranks > 2 && r % 3 == 2 ? 1 : 0);
  return stretto::schedule::groups_of(node_of);
}

bool run(std::size_t chunk) {
  std::unique_ptr<stretto::carrier::Carrier> carrier;
  if (stretto::modules::make_mpi_carrier(MPI_COMM_WORLD, {chunk}, &carrier) != stretto::Status::ok) {
    std::fprintf(stderr, "%s\n", stretto::message());
    return false;
  }
  stretto::engine::Engine engine(*carrier);
  const int ranks = carrier->size();
  const auto groups = nodes(ranks);
  const bool whole = chunk > 4096;
  done = 0;
  bool well = run_cases(engine, whole ? all_cases(ranks, Each::operation, ranks > 4 ? 11 : 2)
                                      : all_cases(ranks, Each::payload, 11)) &&
              run_cases(engine, mixed_cases(groups, whole ? 17 : 41));
  if (whole) well = well && walk(engine, walk_operations(engine, 2)) && walk(engine, walk_user_operation(engine));
  if (carrier->rank() == 0) std::printf("%zu cases on %d ranks, chunks of %zu bytes\n", done, ranks, chunk);
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // A small chunk, so that streams and raw segments travel as several MPI messages, too.
  const int failed = run(std::size_t{1} << 30) && run(1500) ? 0 : 1;
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
