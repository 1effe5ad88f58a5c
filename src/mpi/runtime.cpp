#include "mpi/runtime.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "mpi/alike.hpp"
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

std::atomic<Runtime*> active{nullptr};
std::atomic<bool> off{false};

void activate(Runtime* r) noexcept {
  active = r;
  off = r == nullptr;
}

// Never freed: calls may come until the process ends. Null without memory.
Runtime* whole() noexcept {
  static Runtime* const made = []() noexcept -> Runtime* {
    try {
      auto* fresh = new Runtime{read_settings([](const char* name) { return std::getenv(name); }), {}, false};
      for (const std::string& c : fresh->settings.complaints) tell_once(c + "; the program goes on without it");
      return fresh;
    } catch (...) {
      return nullptr;
    }
  }();
  return made;
}

}  // namespace

Runtime* runtime() noexcept {
  Runtime* r = active.load(std::memory_order_acquire);
  if (r || off.load(std::memory_order_relaxed)) return r;
  if (!is_up()) return nullptr;
  static std::once_flag once;
  std::call_once(once, [&] { activate(whole() && whole()->settings.on ? whole() : nullptr); });
  return active.load(std::memory_order_acquire);
}

void open_up() noexcept {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;  // an MPI's Fortran may come by the C function, too
  Runtime* r = whole();
  static const Settings none;  // like no rank's that has any
  Alike alike = compare(r ? r->settings : none);
  runtime();
  if (alike.yes || !r) return;
  r->apart = true;
  r->settings = Settings();
  r->settings.report = alike.report;
  r->settings.report_file = std::move(alike.report_file);
  activate(alike.report ? r : nullptr);
  try {
    tell_once(alike.difference + "; all ranks go on without stretto");
  } catch (...) {
    tell_once("ranks are set differently; all go on without stretto");
  }
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
