#include "mpi/process/runtime.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "call/schedule_names.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/tell.hpp"
#include "mpi/report/report.hpp"
#include "mpi/report/unreported.hpp"
#include "mpi/requests/cores.hpp"
#include "mpi/requests/started.hpp"
#include "mpi/settings/uniform_settings.hpp"
#include "mpi/settings/variables.hpp"

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

// Never freed: calls come until exit. Null without memory.
Runtime* whole() noexcept {
  static Runtime* const made = value_or<Runtime*>(nullptr, [] {
    const ScheduleNames schedules = call::schedule_names();
    const auto environment = [](const char* name) { return secure_getenv(name); };
    auto* fresh = new Runtime{read_settings(environment, &schedules), {}, false};
    for (const std::string& c : fresh->settings.complaints) tell_once(c);
    for (char** v = environ; v && *v; ++v)
      if (const std::string slip = slip_in(std::string_view(*v).substr(0, std::string_view(*v).find('=')));
          !slip.empty())
        tell_once(slip);
    return fresh;
  });
  return made;
}

// Checked at the start, since the report may follow a long run.
void expect_report(const std::string& file) noexcept {
  static_cast<void>(attempt([&] {  // otherwise reported at the end
    if (!file.empty() && !can_be_written(file))
      tell_once("STRETTO_REPORT: '" + file + "' cannot be written as it is now");
  }));
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
  if (done.exchange(true)) return;  // Fortran layers may call C's function
  Runtime* r = whole();
  if (!r) tell_once("no memory for what it keeps; the program goes on without it");
  static const Settings none;  // unlike every rank with memory
  UniformSettings uniform = compare(r ? r->settings : none);
  if (int ranks = 0; uniform.one_kernel && PMPI_Comm_size(MPI_COMM_WORLD, &ranks) == MPI_SUCCESS)
    api::found_under_kernel(ranks, uniform.same_cores);
  runtime();
  if (!uniform.yes)
    expect_report(uniform.report_file);
  else if (r && r->settings.on)
    expect_report(r->settings.report_file);
  if (uniform.yes && r && r->settings.on) {
    r->threads = uniform.thread_level == MPI_THREAD_MULTIPLE;
    if (Communicator* const world = r->threads ? find_communicator(MPI_COMM_WORLD) : nullptr)
      reserve(MPI_COMM_WORLD, world, r->settings.timeout);
    open_cores(r);
  }
  if (uniform.yes || !r) return;
  r->apart = true;
  r->settings = Settings();
  r->settings.report = uniform.report;
  r->settings.report_file = std::move(uniform.report_file);
  activate(uniform.report ? r : nullptr);
  const bool told = attempt([&] {
    if (uniform.difference.empty()) uniform.difference = "ranks are set differently";
    tell_once(uniform.difference + "; all ranks go on without stretto");
  });
  if (!told) tell_once("ranks are set differently; all go on without stretto");
}

void close_down() noexcept {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  if (constexpr double patience = 10; in_flight.load() > 0 && !finish_all(nullptr, patience))
    tell_once("MPI_Finalize was called with collectives in flight, which other ranks have not started");
  keep_communicators();
  report_was_made();
  Runtime* r = runtime();
  if (!r || !r->settings.report) return;
  const bool told = attempt([&] {
    if (const Status s = report(r->statistics, r->settings); s != Status::ok)
      tell_once(std::string("STRETTO_REPORT: ") + message());
  });
  if (!told) tell_once("STRETTO_REPORT: no memory");
}

}  // namespace stretto::mpi
