#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/guarded.hpp"
#include "node/memory/memory_setup.hpp"

namespace stretto::node {
namespace {

struct Probe {
  std::uint64_t address;
  std::uint64_t value;
};

struct Outcome {
  bool can = true;
  bool refused = false;
  char why[160] = "";

  void deny(std::string_view reason) noexcept {
    can = false;
    reason.copy(why, sizeof why - 1);
  }
};

// Only a real read shows whether the kernel permits it.
template <class Pid>
Outcome read_all(std::span<const Probe> probes, const Pid& pid) noexcept {
  Outcome o;
  for (std::size_t r = 0; r < probes.size(); ++r) {
    std::uint64_t seen = 0;
    if (read_process(pid(r), probes[r].address, &seen, sizeof seen) != Status::ok) {
      o.refused = errno == EPERM;
      o.deny(message());
      return o;
    }
    if (seen == probes[r].value) continue;
    o.can = false;
    fmt::format("process {} is another one here: the ranks have namespaces of their own", pid(r))
        .copy(o.why, sizeof o.why - 1);
    return o;
  }
  return o;
}

// Under Yama's scope 1 only ancestors and named processes may.
void let_siblings_read(const char* yama_scope) noexcept {
#ifdef PR_SET_PTRACER_ANY
  int scope = 0;
  if (!attempt([&] { std::ifstream(yama_scope) >> scope; })) return;
  if (scope == 1) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#else
  static_cast<void>(yama_scope);
#endif
}

}  // namespace

// Opens this process to readers (PR_SET_PTRACER) only if a rank needs it: any process may then read all its memory.
Status Memory::build_kernel(Setup& setup, const MemoryOptions& options) noexcept {
  Outcome o;
  Token token{};
  if (!options.kernel)
    o.deny("switched off");
  else if (random_token(&token) != Status::ok)
    o.deny(message());
  const std::uint64_t secret = token[0];
  const Probe mine{o.can ? reinterpret_cast<std::uintptr_t>(&secret) : 0, secret};
  const auto pid = [this](std::size_t r) { return peers_[r].pid; };
  std::span<const Probe> probes;
  if (const Status s = setup.gathering(setup.exchange, mine, &probes); s != Status::ok) return s;
  const bool wanted = std::none_of(probes.begin(), probes.end(), [](const Probe& p) { return p.address == 0; });
  if (!wanted) return settle(setup, Access::kernel, o.can, o.why);
  o = read_all(probes, pid);

  std::span<const char> refused;
  if (const Status s = setup.gathering(setup.exchange, static_cast<char>(o.refused), &refused); s != Status::ok)
    return s;
  if (std::count(refused.begin(), refused.end(), 0) < std::ssize(refused)) {
    let_siblings_read(options.yama_scope);
    if (const Status s = setup.gathering(setup.exchange, mine, &probes); s != Status::ok) return s;
    o = read_all(probes, pid);
  }
  return settle(setup, Access::kernel, o.can, o.why);  // also keeps `secret` alive until all ranks have read it
}

}  // namespace stretto::node
