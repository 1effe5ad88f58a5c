#include "node/memory/handle.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "../processes.hpp"
#include "../ranks.hpp"
#include "node/memory/segment.hpp"

namespace stretto::node {
namespace {

// The descriptors that the ranks offer, but for those in `skip`.
Status pass(Exchange& e, int offered, const std::vector<int>& skip, Passing passing, std::vector<Descriptor>* all) {
  Offer mine;
  std::span<const Offer> told;
  if (const Status s = e.step(make_offer(offered, &mine), mine, &told); s != Status::ok) return s;
  std::vector<Offer> offers(told.begin(), told.end());
  for (const int r : skip) offers[static_cast<std::size_t>(r)] = {};
  all->resize(offers.size());
  static_cast<void>(open_offers(passing, e.rank(), offers, *all));
  return agree(e, ask_for_offers(e, mine, offers, *all));
}

// Each rank offers memory that holds its number; all see everybody's.
void pass_around(Exchange& e, Passing passing) {
  const Descriptor mine = make_memory("stretto-test", 4096);
  ASSERT_TRUE(mine);
  const int value = 100 + e.rank();
  ASSERT_EQ(pwrite(mine.get(), &value, sizeof value, 0), static_cast<ssize_t>(sizeof value));
  std::vector<Descriptor> all;
  ASSERT_EQ(pass(e, mine.get(), {}, passing, &all), Status::ok) << message();
  for (int r = 0; r < e.size(); ++r) {
    const Descriptor& d = all[static_cast<std::size_t>(r)];
    EXPECT_EQ(static_cast<bool>(d), r != e.rank());
    if (!d) continue;
    int seen = 0;
    ASSERT_EQ(pread(d.get(), &seen, sizeof seen, 0), static_cast<ssize_t>(sizeof seen));
    EXPECT_EQ(seen, 100 + r);
  }
  ASSERT_EQ(agree(e, Status::ok), Status::ok);
}

TEST(Handle, MemoryPassesThroughProc) {
  for (const int ranks : {1, 2, 5}) on_exchanges(ranks, [](Exchange& e) { pass_around(e, Passing::proc_then_socket); });
}

TEST(Handle, MemoryPassesThroughSockets) {
  for (const int ranks : {1, 2, 5}) on_exchanges(ranks, [](Exchange& e) { pass_around(e, Passing::socket_only); });
}

TEST(Handle, MemoryReachesOnlyRanksThatRequestIt) {
  on_exchanges(3, [](Exchange& e) {
    const Descriptor mine = e.rank() == 1 ? make_memory("stretto-test", 4096) : Descriptor();
    const std::vector<int> skip = e.rank() == 2 ? std::vector{0, 1, 2} : std::vector<int>();
    std::vector<Descriptor> all;
    ASSERT_EQ(pass(e, mine.get(), skip, Passing::socket_only, &all), Status::ok) << message();
    EXPECT_EQ(static_cast<bool>(all[1]), e.rank() == 0);
    EXPECT_FALSE(all[0]);
    EXPECT_FALSE(all[2]);
    ASSERT_EQ(agree(e, Status::ok), Status::ok);
  });
}

// Connects to every socket of this kind, and holds the connections. Returns the number of received descriptors.
int connect_to_all(std::vector<Descriptor>* held, bool guesses) {
  int given = 0;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const auto at = line.find("@stretto-");
    if (at == std::string::npos) continue;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = line.substr(at + 1);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    Descriptor s(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (connect(s.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) continue;
    if (guesses) {
      const Token guess{};
      if (send(s.get(), &guess, sizeof guess, MSG_NOSIGNAL) < 0) continue;
      char byte;
      if (recv(s.get(), &byte, 1, 0) > 0) ++given;
    }
    held->push_back(std::move(s));
  }
  return given;
}

// A stranger that finds a socket but lacks its token gets nothing, and the ranks do not wait for it. It connects to
// every socket of this kind while the ranks pass their memory.
TEST(Handle, ProcessWithoutTheTokenGetsNothing) {
  std::atomic<bool> over{false};
  std::atomic<int> connected{0}, given{0};
  std::thread stranger([&] {
    while (!over) {
      std::vector<Descriptor> held;
      given += connect_to_all(&held, true);
      connected += static_cast<int>(held.size());
      std::this_thread::yield();
    }
  });
  for (int k = 0; k < 200 && (k < 5 || connected < 3); ++k)
    on_exchanges(3, [](Exchange& e) { pass_around(e, Passing::socket_only); });
  over = true;
  stranger.join();
  EXPECT_GT(connected, 0);
  EXPECT_EQ(given, 0);
}

// Runs body() in a child that is of another user.
template <class Body>
pid_t as_another_user(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(setgid(4321) == 0 && setuid(4321) == 0 ? body() : 255);
  return child;
}

TEST(Handle, AnotherUsersConnectionIsDetected) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can try as another user";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t length = sizeof(sa_family_t);  // the kernel finds a name
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  length = sizeof address;
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const auto connects = [&] {
    const Descriptor s(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect(s.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 ? 0 : 1;
  };
  const auto accepted = [&] { return Descriptor(accept(listener.get(), nullptr, nullptr)); };
  ASSERT_EQ(connects(), 0);
  EXPECT_TRUE(of_this_user(accepted().get()));
  int status = 1;
  waitpid(as_another_user(connects), &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(of_this_user(accepted().get()));
}

// Another user who connects over and over and says nothing: ranks pass their memory all the same.
TEST(Handle, AnotherUsersConnectionsDelayNoRank) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can try as another user";
  Inherited memory(1);
  const pid_t stranger = as_another_user([&] {
    std::vector<Descriptor> held;
    while (memory.count() >= 0) {
      const std::size_t before = held.size();
      connect_to_all(&held, false);
      memory.count().fetch_add(static_cast<int>(held.size() - before));
      if (held.size() > 200) held.clear();
      sched_yield();
    }
    return 0;
  });
  for (int k = 0; k < 200 && (k < 5 || memory.count() < 3); ++k)
    on_exchanges(3, [](Exchange& e) { pass_around(e, Passing::socket_only); });
  EXPECT_GT(memory.count(), 0);
  memory.count() = -1000000;
  int status = 1;
  waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Handle, HoldersCannotResizeSharedMemory) {
  const Descriptor d = make_memory("stretto-test", 8192);
  ASSERT_TRUE(d);
  EXPECT_NE(ftruncate(d.get(), 4096), 0);
  EXPECT_NE(ftruncate(d.get(), 1 << 20), 0);
}

}  // namespace
}  // namespace stretto::node
