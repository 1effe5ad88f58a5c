#include "api/comm_cores.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "stretto/stretto_nonblocking.h"

namespace stretto::api {
namespace {

std::mutex saying;
bool said = false;

constexpr const char* kSplitVariable = "STRETTO_SPLIT";
constexpr int kMostLevels = 30;

// False: the setting is no number of levels.
bool read_split(std::optional<int>* levels) noexcept {
  const char* const text = secure_getenv(kSplitVariable);
  if (text == nullptr || *text == '\0') return true;
  const char* const end = text + std::strlen(text);
  int n = 0;
  const auto [at, error] = std::from_chars(text, end, n);
  if (error != std::errc() || at != end || n < 0 || n > kMostLevels) return false;
  *levels = n;
  return true;
}

}  // namespace

std::optional<int> asked_split() noexcept {
  std::optional<int> levels;
  static_cast<void>(read_split(&levels));
  return levels;
}

Status ask_comm_cores() noexcept {
  if (std::optional<int> levels; !read_split(&levels))
    return fail(Status::invalid_argument, "{}={}: a number of levels, from 0 to {}", kSplitVariable,
                secure_getenv(kSplitVariable), kMostLevels);
  const std::lock_guard lock(saying);
  const char* const text = secure_getenv("STRETTO_COMM_CORES");
  if (said || text == nullptr || *text == '\0' || std::string_view(text) == "auto") return Status::ok;
  std::vector<int> cores;
  Status s = parse_cores(text, &cores);
  if (s == Status::ok) s = CommunicationCores::mine().use(std::move(cores));
  said = s == Status::ok;
  return said ? s : fail(s, "STRETTO_COMM_CORES={}: {}", text, message());
}

Status use_free_core(std::span<const topology::Cpus> bound, std::size_t rank) noexcept {
  return guarded("to find a free core", [&] {
    std::vector<int> cores;
    int serving = 0;
    if (const Status s = topology::free_core(bound, rank, &cores, &serving); s != Status::ok) return s;
    if (cores.empty())
      return fail(
          Status::unsupported,
          std::string_view("no core is free: ranks that are bound to cores leave none, and those that are not may "
                           "run on all (--bind-to core)"));
    const std::lock_guard lock(saying);
    const Status s = CommunicationCores::mine().use(std::move(cores), serving);
    said = said || s == Status::ok;
    return s;
  });
}

}  // namespace stretto::api

extern "C" stretto_status stretto_comm_cores(const int* cores, int n) {
  using namespace stretto;
  if (n < 0) return call::to_c(fail(Status::invalid_argument, "{} cores", n));
  if (n > 0 && !cores) return call::to_c(fail(Status::invalid_argument, "cores is NULL, and n is {}", n));
  const std::lock_guard lock(api::saying);
  const Status s = guarded({"for a list of {} cores", n},
                           [&] { return CommunicationCores::mine().use(std::vector<int>(cores, cores + n)); });
  api::said = api::said || s == Status::ok;
  return call::to_c(s);
}
