#include "modules/ucx/settings.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/guarded.hpp"
#include "modules/ucx/pieces.hpp"

namespace stretto::modules {
namespace {

constexpr unsigned kOverTcp = 4;  // docs/measurements.md
constexpr const char* kPortRange = "UCX_TCP_PORT_RANGE";

// RDMA devices most likely replace TCP.
unsigned usual_connections() noexcept {
  return value_or(1u, [] {
    std::error_code error;
    const std::filesystem::directory_iterator first("/sys/class/infiniband", error);
    return error || first == std::filesystem::directory_iterator() ? kOverTcp : 1;
  });
}

template <class T>
bool take(std::string_view* from, T* number) noexcept {
  const auto [end, error] = std::from_chars(from->data(), from->data() + from->size(), *number);
  from->remove_prefix(static_cast<std::size_t>(end - from->data()));
  return error == std::errc{};
}

bool is_free(std::uint16_t port) noexcept {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) return true;  // UCX will report the reason
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  const bool free = bind(s, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  close(s);
  return free;
}

}  // namespace

Status read_connections(Connections* connections) noexcept {
  const char* const given = secure_getenv("STRETTO_CONNECTIONS");
  if (!given || !*given) {
    *connections = {usual_connections(), 1};  // nothing limits a connection inside a host
    return Status::ok;
  }
  std::string_view rest(given);
  unsigned all = 0;
  if (take(&rest, &all) && rest.empty() && all >= 1 && all <= kMostConnections) {
    *connections = {all, all};
    return Status::ok;
  }
  return fail(Status::invalid_argument, "STRETTO_CONNECTIONS is '{}'; it takes 1 to {}", given, kMostConnections);
}

Status find_port() noexcept {
  const char* const given = secure_getenv(kPortRange);
  if (!given) return Status::ok;
  std::string_view rest(given);
  std::uint16_t first = 0, last = 0;
  const bool one = take(&rest, &first) && rest.empty();
  const bool two = !one && rest.starts_with('-') && (rest.remove_prefix(1), take(&rest, &last)) && rest.empty();
  if (one) last = first;
  if ((!one && !two) || last == 0) return Status::ok;  // UCX refuses it, or takes it for no range
  for (unsigned port = first; port <= last; ++port)
    if (is_free(static_cast<std::uint16_t>(port))) return Status::ok;
  return fail(Status::unsupported, "every port of {}={} is taken", kPortRange, given);
}

std::string settings_of_ucx() noexcept {
  return value_or(std::string(), [] {
    std::string all;
    for (char** variable = environ; variable && *variable; ++variable)
      if (std::string_view(*variable).starts_with("UCX_")) all += fmt::format(", {}", *variable);
    return all;
  });
}

}  // namespace stretto::modules
