#include "mpi/settings/variables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

namespace stretto::mpi {
namespace {

constexpr std::string_view kPrefix = "STRETTO_";
constexpr std::array<std::string_view, 35> kKnown = {
    "ARENA_MIN",   "ARENA_REPORT", "ARENA_SIZE",   "BOUND",          "BOUND_MOVES",  "CODEC_THREADS", "COMM_CORES",
    "CONNECTIONS", "CUDA_PLUGIN",  "DATA_DIR",     "DEVICE_CARRIER", "DEVICE_CODES", "DEVICE_MPI",    "FIRST_PROCESS",
    "HIERARCHY",   "HOST",         "IGNORE_ABOVE", "LEVELS",         "LIBEXEC",      "LINK_GBIT",     "MODULES",
    "NAME",        "NCCL",         "NODE",         "PROFILE",        "RANK",         "REPORT",        "REPRODUCIBLE",
    "RULES",       "SIZE",         "SPLIT",        "STORE",          "TIMEOUT",      "UCX",           "WAIT"};

std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string slip_in(std::string_view name) {
  if (!name.starts_with(kPrefix)) return {};
  const std::string_view own = name.substr(kPrefix.size());
  if (std::find(kKnown.begin(), kKnown.end(), own) != kKnown.end()) return {};
  const auto further = [own](std::string_view a, std::string_view b) { return slips(own, a) < slips(own, b); };
  const std::string_view nearest = *std::min_element(kKnown.begin(), kKnown.end(), further);
  if (slips(own, nearest) > (nearest.size() < 8 ? 1u : 2u)) return {};
  return fmt::format("{} is no variable of stretto's, and without effect; is {}{} meant?", name, kPrefix, nearest);
}

}  // namespace stretto::mpi
