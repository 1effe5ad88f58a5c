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
#include <memory>
#include <new>

#include <fmt/format.h>

#include "node/arena/anonymous.hpp"

namespace stretto::node {
namespace {

constexpr int patience_ms = 10000;  // far longer than a connection between two processes takes that both wait for it

// What a rank tells of its descriptor.
struct Offer {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t device = 0, inode = 0;  // of the memory, so that a stranger's descriptor is not mistaken for it
  Token name{}, token{};                // of the socket, and who may have the descriptor
};

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
                       name[1]);  // the leading 0 makes it abstract: no file, gone with the process
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

// Connecting succeeds before anybody accepts, so all can connect first and serve afterwards.
Descriptor ask(const Offer& offer) noexcept {
  sockaddr_un address;
  const socklen_t length = address_of(offer.name, &address);
  Descriptor s = Descriptor::aside(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!s || connect(s.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return {};
  if (write(s.get(), &offer.token, sizeof offer.token) != static_cast<ssize_t>(sizeof offer.token)) return {};
  return s;
}

bool readable(int fd, int timeout_ms) noexcept {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, timeout_ms) == 1;
}

bool give(int connection, int fd) noexcept {
  char byte = 1;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

Descriptor take(int connection, const Offer& offer) noexcept {
  if (!readable(connection, patience_ms)) return {};
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  Descriptor d = Descriptor::aside(fd);
  return is_offered(d.get(), offer) ? std::move(d) : Descriptor();
}

// Gives `fd` to `expected` callers who know the token; others get nothing and do not count. Returns how many had it.
int serve(int listener, int fd, const Token& token, int expected) noexcept {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  int served = 0;
  while (served < expected && std::chrono::steady_clock::now() < end) {
    if (!readable(listener, 100)) continue;
    Descriptor connection = Descriptor::aside(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection || !of_this_user(connection.get())) continue;
    // A rank wrote its token before it told that it had connected: what is not there now is a stranger.
    Token shown{};
    if (read(connection.get(), &shown, sizeof shown) != static_cast<ssize_t>(sizeof shown)) continue;
    if (shown == token && give(connection.get(), fd)) ++served;
  }
  return served;
}

// What a rank keeps while descriptors pass.
struct Passage {
  std::vector<Offer> offers;
  std::vector<char> asks, all_asks;
  std::vector<Descriptor> connections;
};

void reserve(std::size_t p, Passage* passage, std::vector<Descriptor>* all) {
  all->clear();
  all->resize(p);
  passage->offers.resize(p);
  passage->asks.resize(p);
  passage->all_asks.resize(p * p);
  passage->connections.resize(p);
}

Status pass(Exchange& exchange, int offered, const std::vector<char>& skip, Passing passing, Passage& passage,
            std::vector<Descriptor>* all) noexcept {
  const auto p = static_cast<std::size_t>(exchange.size()), me = static_cast<std::size_t>(exchange.rank());
  auto& [offers, asks, all_asks, connections] = passage;
  Offer mine;
  Descriptor listener;
  if (offered >= 0) {
    struct stat found {};
    if (fstat(offered, &found) == 0) mine.device = found.st_dev, mine.inode = found.st_ino;
    mine.pid = getpid();
    mine.fd = offered;
    mine.name = random_token();
    mine.token = random_token();
    listener = listen_as(mine.name);
  }
  if (const Status s = exchange.allgather(&mine, sizeof mine, offers.data()); s != Status::ok) return s;
  for (std::size_t r = 0; r < p; ++r) {
    if (r == me || offers[r].fd < 0 || (!skip.empty() && skip[r])) continue;
    if (passing == Passing::proc_then_socket) (*all)[r] = open_through_proc(offers[r]);
    if ((*all)[r]) continue;
    connections[r] = ask(offers[r]);
    asks[r] = connections[r] ? 1 : 0;
  }
  if (const Status s = exchange.allgather(asks.data(), p, all_asks.data()); s != Status::ok) return s;

  int expected = 0;
  for (std::size_t r = 0; r < p; ++r) expected += all_asks[r * p + me];
  Status status = Status::ok;
  if (expected > 0 && serve(listener.get(), offered, mine.token, expected) < expected)
    status = fail(Status::internal, "a rank asked for shared memory and did not take it within {} ms", patience_ms);
  for (std::size_t r = 0; r < p; ++r) {
    if (r == me || offers[r].fd < 0 || (!skip.empty() && skip[r]) || (*all)[r]) continue;
    if (connections[r]) (*all)[r] = take(connections[r].get(), offers[r]);
    if (!(*all)[r])
      status = fail(Status::unsupported,
                    "shared memory of rank {} (process {}) can be had neither through /proc/{}/fd nor through a socket",
                    r, offers[r].pid, offers[r].pid);
  }
  return agree(exchange, status);
}

}  // namespace

Descriptor Descriptor::aside(int fd) noexcept { return Descriptor(arena::out_of_the_way(fd)); }

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

bool of_this_user(int connection) noexcept {
  constexpr uid_t without_number = 65534;  // kernel.overflowuid
  ucred other{};
  socklen_t length = sizeof other;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0) return false;
  return other.uid == geteuid() || other.uid == without_number;
}

Token random_token() noexcept {
  Token t{};
  while (getrandom(&t, sizeof t, 0) != static_cast<ssize_t>(sizeof t)) {
  }
  return t;
}

Status agree(Exchange& exchange, Status mine) noexcept {
  // Takes no memory for any usual number of ranks, so that a rank without can say so.
  std::array<std::uint8_t, 4096> few;
  std::unique_ptr<std::uint8_t[]> many;
  const auto p = static_cast<std::size_t>(exchange.size());
  if (p > few.size()) many.reset(new (std::nothrow) std::uint8_t[p]);
  std::uint8_t* all = p > few.size() ? many.get() : few.data();
  if (all == nullptr) return fail(Status::out_of_memory, "no memory for {} ranks to agree", p);
  const auto own = static_cast<std::uint8_t>(mine);
  if (const Status s = exchange.allgather(&own, 1, all); s != Status::ok) return s;
  if (mine != Status::ok) return mine;
  for (std::size_t r = 0; r < p; ++r) {
    const auto s = static_cast<Status>(all[r]);
    if (s != Status::ok) return fail(s, "rank {} failed: {}", r, stretto::name(s));
  }
  return Status::ok;
}

Status pass_descriptors(Exchange& exchange, int offered, const std::vector<char>& skip, Passing passing,
                        std::vector<Descriptor>* all) noexcept {
  Passage passage;
  Status status = Status::ok;
  try {
    reserve(static_cast<std::size_t>(exchange.size()), &passage, all);
  } catch (const std::bad_alloc&) {
    status = fail(Status::out_of_memory, "no memory to pass descriptors between {} ranks", exchange.size());
  }
  if (status = agree(exchange, status); status != Status::ok) return status;
  return pass(exchange, offered, skip, passing, passage, all);
}

}  // namespace stretto::node
