#include "mpi/settings/uniform_settings.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>

#include "api/profiling.hpp"
#include "base/guarded.hpp"

namespace stretto::mpi {
namespace {

// Ranks without memory must not block others: until the last message has arrived, only what may fail allocates.
constexpr std::size_t kMostCommon = 8, kLongestShown = 256, kLongestFileName = 4096;

// FNV-1a: unlike std::hash equal in every process
struct Hash {
  std::uint64_t value = 0xCBF29CE484222325u;
  void add(std::string_view text) noexcept {
    for (const char c : text) add(c);
    add('\0');
  }
  void add(char c) noexcept { value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3u; }
};

using Hashes = std::array<std::uint64_t, kMostCommon>;

Hashes hashes_of(const Settings& own) noexcept {
  Hashes all{};
  for (std::size_t i = 0; i < std::min(own.common.size(), kMostCommon); ++i) {
    Hash h;
    h.add(own.common[i].meaning);
    all[i] = h.value;
  }
  return all;
}

template <std::size_t n>
bool spread(std::array<char, n>* text, std::string_view own, int from) noexcept {
  const std::size_t length = std::min(own.size(), n - 1);
  std::memcpy(text->data(), own.data(), length);
  (*text)[length] = '\0';
  return PMPI_Bcast(text->data(), static_cast<int>(n), MPI_CHAR, from, MPI_COMM_WORLD) == MPI_SUCCESS;
}

// Lowest ranks that differ from rank 0, lack memory, or want a report; INT_MAX: none.
struct LowestRanks {
  std::array<int, kMostCommon> differs;
  int without_memory, reports;
};

bool find_lowest(const Settings& own, int rank, LowestRanks* lowest) noexcept {
  const Hashes mine = hashes_of(own);
  Hashes first = mine;
  if (PMPI_Bcast(first.data(), int{kMostCommon}, MPI_UINT64_T, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return false;
  const auto here = [rank](bool yes) { return yes ? rank : INT_MAX; };
  for (std::size_t i = 0; i < kMostCommon; ++i) lowest->differs[i] = here(mine[i] != first[i]);
  lowest->without_memory = here(own.common.empty());
  lowest->reports = here(own.report);
  static_assert(sizeof *lowest == (kMostCommon + 2) * sizeof(int));
  return PMPI_Allreduce(MPI_IN_PLACE, lowest, int{kMostCommon + 2}, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS;
}

bool tell(const Settings& own, std::size_t which, int other, std::string* difference) noexcept {
  const CommonSetting* d = which < own.common.size() ? &own.common[which] : nullptr;
  const std::string_view given = d ? std::string_view(d->given) : std::string_view();
  std::array<char, kLongestShown> there{}, first{};
  if (!spread(&there, given, other) || !spread(&first, given, 0)) return false;
  if (d)
    static_cast<void>(attempt([&] { add_difference({d->variable, there.data(), first.data(), other}, difference); }));
  return true;
}

void ask(const Settings& own, UniformSettings* uniform) noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  LowestRanks lowest{};
  if (!find_lowest(own, rank, &lowest)) return;
  if (lowest.without_memory != INT_MAX) {  // there is no report either
    static_cast<void>(attempt([&] {
      uniform->difference = "rank " + std::to_string(lowest.without_memory) + " had no memory for its settings";
    }));
    return;
  }
  for (std::size_t i = 0; i < kMostCommon; ++i)
    if (lowest.differs[i] != INT_MAX && !tell(own, i, lowest.differs[i], &uniform->difference)) return;
  if (lowest.reports == INT_MAX) return;
  std::array<char, kLongestFileName> file{};
  if (!spread(&file, own.report_file, lowest.reports)) return;
  uniform->report = true;
  static_cast<void>(attempt([&] { uniform->report_file = file.data(); }));  // otherwise standard error
}

}  // namespace

UniformSettings compare(const Settings& own) noexcept {
  UniformSettings uniform;
  Hash mine;
  for (const CommonSetting& d : own.common) mine.add(d.meaning);
  PMPI_Query_thread(&uniform.thread_level);
  const std::uint64_t kernel = api::kernel_hash(false), cores = api::kernel_hash(true);
  std::array<std::uint64_t, 7> extremes{
      mine.value, ~mine.value, kernel, ~kernel, cores, ~cores, static_cast<std::uint64_t>(uniform.thread_level)};
  const bool met = PMPI_Allreduce(MPI_IN_PLACE, extremes.data(), int{extremes.size()}, MPI_UINT64_T, MPI_MAX,
                                  MPI_COMM_WORLD) == MPI_SUCCESS;
  uniform.yes = met && extremes[0] == ~extremes[1];
  uniform.one_kernel = met && extremes[2] != 0 && extremes[2] == ~extremes[3];
  uniform.same_cores = uniform.one_kernel && extremes[4] == ~extremes[5];
  uniform.thread_level = static_cast<int>(extremes[6]);
  if (!uniform.yes) ask(own, &uniform);
  return uniform;
}

}  // namespace stretto::mpi
