#include "mpi/runtime.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "mpi/communicators.hpp"
#include "mpi/report.hpp"

namespace stretto::mpi {
namespace {

bool is_up() noexcept {
  int yes = 0, over = 0;
  PMPI_Initialized(&yes);
  PMPI_Finalized(&over);
  return yes && !over;
}

// Never freed: calls may come until the process ends.
Runtime* start() noexcept try {
  auto* made = new Runtime{read_settings([](const char* name) { return std::getenv(name); }), {}};
  for (const std::string& c : made->settings.complaints) tell_once(c + "; the program goes on without it");
  return made;
} catch (...) {
  return nullptr;
}

}  // namespace

Runtime* runtime() noexcept {
  static std::atomic<Runtime*> made{nullptr};
  static std::atomic<bool> off{false};
  Runtime* r = made.load(std::memory_order_acquire);
  if (r || off.load(std::memory_order_relaxed)) return r;
  if (!is_up()) return nullptr;
  static std::once_flag once;
  std::call_once(once, [&] {
    Runtime* fresh = start();
    off = !fresh || !fresh->settings.on;
    made = off ? nullptr : fresh;
  });
  return made.load(std::memory_order_acquire);
}

void tell_once(std::string_view text) noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::fprintf(stderr, "stretto: %.*s\n", static_cast<int>(text.size()), text.data());
}

void close_down() noexcept {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;  // an MPI's Fortran may come by the C function, too
  keep_communicators();
  Runtime* r = runtime();
  if (!r || !r->settings.report) return;
  try {
    if (const Status s = report(r->statistics.all(), r->settings.report_file); s != Status::ok)
      tell_once(std::string("STRETTO_REPORT: ") + message());
  } catch (...) {
    tell_once("STRETTO_REPORT: no memory");
  }
}

}  // namespace stretto::mpi
