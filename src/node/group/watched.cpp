#include "node/group/watched.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/guarded.hpp"
#include "base/status.hpp"
#include "node/memory/shared.hpp"

namespace stretto::node {
namespace {

Descriptor open_process(pid_t pid) noexcept {
#ifdef SYS_pidfd_open
  return Descriptor::aside(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  static_cast<void>(pid);
  return {};
#endif
}

bool is_pidfd(int descriptor) noexcept {
#ifdef SYS_pidfd_send_signal
  return syscall(SYS_pidfd_send_signal, descriptor, 0, nullptr, 0) == 0 || errno != EBADF;
#else
  static_cast<void>(descriptor);
  return false;
#endif
}

bool room_for(std::size_t descriptors) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || descriptors <= limit.rlim_cur / 4;
}

}  // namespace

WatchedProcess::WatchedProcess(Descriptor process) noexcept : process_(std::move(process)) {
  arena::identify(process_.get(), &which_);
}

WatchedProcess::~WatchedProcess() {
  if (!still_ours()) process_.leave();
}

// Before Linux 6.9 all pidfds share one inode with other anonymous files, so the type is checked too.
bool WatchedProcess::still_ours() const noexcept {
  arena::Identity found;
  return arena::identify(process_.get(), &found) && found == which_ && is_pidfd(process_.get());
}

bool WatchedProcess::has_ended() const noexcept {
  pollfd p{process_.get(), POLLIN, 0};
  return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0 && still_ours();
}

std::shared_ptr<const WatchedProcess> watch_process(pid_t pid, const Token& token) noexcept {
  using Watched = std::shared_ptr<const WatchedProcess>;
  const auto open = [pid](std::size_t held) -> Watched {
    if (!room_for(held + 1)) return nullptr;
    Descriptor opened = open_process(pid);
    return opened ? std::make_shared<const WatchedProcess>(std::move(opened)) : nullptr;
  };
  return value_or<Watched>(nullptr, [&] { return Shared<Token, const WatchedProcess>::mine().get(token, open); });
}

std::string ended(const std::vector<Peer>& peers) {
  std::string all;
  for (const Peer& p : peers) {
    if (!p.process->has_ended()) continue;
    all += fmt::format("{}rank {} (process {}) has ended", all.empty() ? "" : ", ", p.rank, p.pid);
  }
  return all;
}

}  // namespace stretto::node
