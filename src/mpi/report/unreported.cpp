#include "mpi/report/unreported.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>

namespace stretto::mpi {
namespace {

std::atomic<bool> seen{false}, made{false};

// Launchers may start a shell or an interpreter whose children use the MPI. A rank's first process passes its id on; a
// child that calls MPI_Init leaves a file for it.
constexpr const char* kFirst = "STRETTO_FIRST_PROCESS";

using Path = char[64];
void marker_path(long process, Path& path) noexcept {
  std::snprintf(path, sizeof path, "/tmp/stretto-mpi-seen-%ld", process);
}

long first_process() noexcept {
  const char* text = secure_getenv(kFirst);
  const std::string_view given = text != nullptr ? text : "";
  long process = 0;
  std::from_chars(given.data(), given.data() + given.size(), process);
  return process;
}

bool is_wanted() noexcept {
  const char *report = secure_getenv("STRETTO_REPORT"), *on = secure_getenv("STRETTO");
  if (report == nullptr || *report == '\0' || std::string_view(report) == "0") return false;
  return on == nullptr || std::string_view(on) != "0";
}

// A launcher is no rank.
bool is_first_rank() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = secure_getenv(name)) return std::string_view(rank) == "0";
  return false;
}

[[gnu::constructor]] void begin() noexcept {
  if (!is_wanted() || first_process() != 0) return;
  char text[24];
  std::snprintf(text, sizeof text, "%ld", static_cast<long>(getpid()));
  static_cast<void>(setenv(kFirst, text, 0));
  Path path;
  marker_path(getpid(), path);
  unlink(path);
}

[[gnu::destructor]] void end() noexcept {
  if (!is_wanted() || first_process() != getpid()) return;
  Path path;
  marker_path(getpid(), path);
  if (unlink(path) == 0 || made || !is_first_rank()) return;
  std::fputs(seen ? "stretto: the program ended without MPI_Finalize, so there is no report\n"
                  : "stretto: no MPI call was seen, so there was nothing to speed up: the program never calls "
                    "MPI_Init, or is linked to its MPI statically\n",
             stderr);
}

}  // namespace

void mpi_was_seen() noexcept {
  seen = true;
  const long process = first_process();
  if (process == 0 || process == getpid() || !is_wanted()) return;
  Path path;
  marker_path(process, path);
  const int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
}

void report_was_made() noexcept { made = true; }

}  // namespace stretto::mpi
