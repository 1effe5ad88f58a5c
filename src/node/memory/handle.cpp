#include "node/memory/handle.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/guarded.hpp"
#include "node/arena/anonymous.hpp"

namespace stretto::node {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPatienceMs = 10000;  // far longer than a connection takes

bool is_offered(int fd, const Offer& offer) noexcept {
  struct stat found {};
  return fstat(fd, &found) == 0 && found.st_dev == offer.device && found.st_ino == offer.inode;
}

Descriptor open_through_proc(const Offer& offer) noexcept {
  char path[64];
  *fmt::format_to_n(path, sizeof path - 1, "/proc/{}/fd/{}", offer.pid, offer.fd).out = '\0';
  Descriptor d = Descriptor::aside(open(path, O_RDWR | O_CLOEXEC));
  return d && is_offered(d.get(), offer) ? std::move(d) : Descriptor();
}

socklen_t address_of(const Token& name, sockaddr_un* address) noexcept {
  *address = {};
  address->sun_family = AF_UNIX;
  const auto end =
      fmt::format_to_n(address->sun_path + 1, sizeof address->sun_path - 1, "stretto-{:016x}{:016x}", name[0],
                       name[1]);  // the leading 0 makes the name abstract: no file, gone with the process
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + end.size);
}

Descriptor listen_as(const Token& name) noexcept {
  sockaddr_un address;
  const socklen_t length = address_of(name, &address);
  Descriptor s = Descriptor::aside(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s || bind(s.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(s.get(), SOMAXCONN) != 0)
    return {};
  return s;
}

// Connecting succeeds before the peer accepts: all ranks can connect first and serve afterwards.
Descriptor ask(const Offer& offer) noexcept {
  sockaddr_un address;
  const socklen_t length = address_of(offer.name, &address);
  Descriptor s = Descriptor::aside(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s || connect(s.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return {};
  if (write(s.get(), &offer.token, sizeof offer.token) != static_cast<ssize_t>(sizeof offer.token)) return {};
  return s;
}

// A signal interrupts poll() even if it restarts other calls.
bool readable(int fd, int timeout_ms) noexcept {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (auto left = end - Clock::now(); left > Clock::duration::zero(); left = end - Clock::now()) {
    pollfd p{fd, POLLIN, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (const int n = poll(&p, 1, static_cast<int>(ms)); n >= 0 || errno != EINTR) return n == 1;
  }
  return false;
}

struct DescriptorMessage {
  DescriptorMessage() noexcept {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  char byte = 1;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

bool give(int connection, int fd) noexcept {
  DescriptorMessage message;
  cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(connection, &message.header, MSG_NOSIGNAL) == 1;
}

Descriptor take(int connection, const Offer& offer) noexcept {
  if (!readable(connection, kPatienceMs)) return {};
  DescriptorMessage message;
  if (recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  Descriptor d = Descriptor::aside(fd);
  return is_offered(d.get(), offer) ? std::move(d) : Descriptor();
}

// To `expected` callers with the token. Others get nothing.
Status serve(int listener, int fd, const Token& token, int expected) noexcept {
  const auto refuse = [] {
    return fail(Status::unsupported, "shared memory could not be given to a rank that asked: {}", std::strerror(errno));
  };
  const auto end = Clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (int served = 0; served < expected;) {
    if (Clock::now() >= end)
      return fail(Status::internal, "a rank asked for shared memory and did not take it within {} ms", kPatienceMs);
    if (!readable(listener, 100)) continue;
    Descriptor connection = Descriptor::aside(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection && errno != EAGAIN && errno != ECONNABORTED) return refuse();
    if (!connection || !of_this_user(connection.get())) continue;
    // A rank writes its token before it reports its connection: one without is a stranger's.
    Token shown{};
    if (read(connection.get(), &shown, sizeof shown) != static_cast<ssize_t>(sizeof shown) || shown != token) continue;
    if (!give(connection.get(), fd)) return refuse();
    ++served;
  }
  return Status::ok;
}

}  // namespace

Descriptor Descriptor::aside(int fd) noexcept { return Descriptor(arena::out_of_the_way(fd)); }

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

bool of_this_user(int connection) noexcept {
  constexpr uid_t without_number = 65534;
  ucred other{};
  socklen_t length = sizeof other;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0) return false;
  return other.uid == geteuid() || other.uid == without_number;
}

Status random_token(Token* token) noexcept {
  ssize_t n = 0;
  do n = getrandom(token, sizeof *token, 0);
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof *token)) return Status::ok;
  return fail(Status::unsupported, "getrandom: {}", n < 0 ? std::strerror(errno) : "too few bytes");
}

Status make_offer(int fd, Offer* offer) noexcept {
  *offer = {};
  if (fd < 0) return Status::ok;
  struct stat found {};
  if (fstat(fd, &found) == 0) offer->device = found.st_dev, offer->inode = found.st_ino;
  offer->pid = getpid();
  offer->fd = fd;
  const Status s = random_token(&offer->name);
  return s == Status::ok ? random_token(&offer->token) : s;
}

bool open_offers(Passing passing, int rank, std::span<const Offer> offers, std::span<Descriptor> all) noexcept {
  bool complete = true;
  for (std::size_t r = 0; r < offers.size(); ++r) {
    if (offers[r].fd < 0 || r == static_cast<std::size_t>(rank)) continue;
    if (passing == Passing::proc_then_socket) all[r] = open_through_proc(offers[r]);
    complete = complete && all[r];
  }
  return complete;
}

Status ask_for_offers(Exchange& exchange, const Offer& own, std::span<const Offer> offers,
                      std::span<Descriptor> all) noexcept {
  const auto p = static_cast<std::size_t>(exchange.size()), me = static_cast<std::size_t>(exchange.rank());
  std::vector<char> asks, all_asks;
  std::vector<Descriptor> connections;
  Status status = guarded({"to pass descriptors between {} ranks", p}, [&] {
    asks.resize(p);
    all_asks.resize(p * p);
    connections.resize(p);
  });
  Descriptor listener = own.fd >= 0 ? listen_as(own.name) : Descriptor();
  if (status = agree(exchange, status); status != Status::ok) return status;
  const auto lacks = [&](std::size_t r) { return offers[r].fd >= 0 && r != me && !all[r]; };
  for (std::size_t r = 0; r < offers.size(); ++r) {
    if (!lacks(r)) continue;
    connections[r] = ask(offers[r]);
    asks[r] = connections[r] ? 1 : 0;
  }
  if (const Status s = exchange.allgather(asks.data(), p, all_asks.data()); s != Status::ok) return s;

  int expected = 0;
  for (std::size_t r = 0; r < p; ++r) expected += all_asks[r * p + me];
  if (expected > 0) status = serve(listener.get(), own.fd, own.token, expected);
  listener = {};  // callers still in the queue get an error at once
  for (std::size_t r = 0; r < offers.size(); ++r) {
    if (!lacks(r)) continue;
    if (connections[r]) all[r] = take(connections[r].get(), offers[r]);
    if (!all[r])
      status = fail(Status::unsupported,
                    "shared memory of rank {} (process {}) can be had neither through /proc/{}/fd nor through a socket",
                    r, offers[r].pid, offers[r].pid);
  }
  return status;
}

}  // namespace stretto::node
