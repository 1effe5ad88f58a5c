// The carrier over UCX, on as many ranks as it is started on (ranks.py). Exit status 1 if anything fails.
#include "modules/ucx/carrier.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "carrier/directory_store.hpp"
#include "carrier_cases.hpp"
#include "modules/ucx/worker.hpp"

using namespace carrier_cases;
namespace modules = stretto::modules;

namespace {

// One that reaches rank 0, speaks UCX and says that it is another rank, but does not know the secret.
void stranger(Carrier& c, const stretto::carrier::Session& session) {
  const int last = c.size() - 1;  // whom the stranger says it is
  for (const bool knows : {false, true}) {
    std::unique_ptr<modules::UcxWorker> worker;
    stretto::carrier::Session told = session;
    if (!knows) told.secret.fill(7);
    expect(modules::UcxWorker::make("", &worker) == Status::ok, "no worker of a stranger");
    worker->join(told, last);
    std::unique_ptr<Carrier> theirs;
    expect(modules::make_ucx_carrier(*worker, 2, 1, &theirs) == Status::ok, "no carrier of a stranger");
    int lie = 13, got = 0;
    expect(c.start_recv(last, 6, &got, sizeof got, 0) == Status::ok, "start_recv fails");
    expect(theirs->start_send(0, 6, &lie, sizeof lie, 0) == Status::ok, "start_send fails");
    Completion done;
    std::size_t n = 0, sent = 0;
    for (int turn = 0; turn < 200 && n == 0; ++turn) {
      static_cast<void>(theirs->wait_any({&done, 1}, &sent, 0));
      static_cast<void>(c.wait_any({&done, 1}, &n, 1e-3));
    }
    // With the secret it is taken for the rank: so the other did arrive, and was not taken.
    expect(knows ? n == 1 && got == 13 : n == 0 && got == 0,
           "who does not know the secret is heard, or who knows it is not", knows);
    if (n == 0) expect(c.cancel(0), "the receive cannot be withdrawn");
    // The stranger leaves while rank 0 goes on.
    std::atomic<bool> gone{false};
    std::thread leaving([&] {
      theirs.reset();
      worker.reset();
      gone = true;
    });
    while (!gone) static_cast<void>(c.wait_any({&done, 1}, &n, 0));
    leaving.join();
  }
}

// The latest TCP connection of this process; -1: there is none.
int latest_connection() {
  for (int fd = 1023; fd > 2; --fd) {
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.sin_family == AF_INET) return fd;
  }
  return -1;
}

// One of several connections between two ranks breaks: transfers in flight on all of them fail.
void one_breaks(Carrier& c) {
  const int other = 1 - c.rank();
  std::vector<unsigned char> in(1000000), out(in.size());
  expect(c.start_send(other, 12, out.data(), out.size(), 0) == Status::ok, "start_send fails");
  expect(c.start_recv(other, 13, in.data(), in.size(), 1) == Status::ok, "start_recv fails");
  Completion done;
  std::size_t n = 0;
  static_cast<void>(c.wait_any({&done, 1}, &n, 0.2));
  expect(n == 0, "a send that nobody takes has ended");
  char go = 0;
  if (c.rank() == 1) {
    expect(c.start_send(0, 14, &go, sizeof go, 2) == Status::ok, "start_send fails");
  } else {
    expect(c.start_recv(1, 14, &go, sizeof go, 2) == Status::ok, "start_recv fails");
    expect(c.wait_any({&done, 1}, &n, 60) == Status::ok && n == 1 && done.id == 2, "the other rank does not wait");
    expect(shutdown(latest_connection(), SHUT_RDWR) == 0, "no connection to break");
  }
  auto last = ends(c, c.rank() == 1 ? 3 : 2);
  last.resize(2);
  for (const Completion& end : last) expect(end.status == Status::mpi_error, "a transfer did not fail", end.id);
}

// A file through which ranks agree without messages: neither makes progress meanwhile.
class Sign {
 public:
  explicit Sign(const char* name) {
    const std::string_view store = std::getenv("STRETTO_STORE");
    path_ = std::filesystem::path(store.substr(store.find("//") + 2)) / name;
  }
  void write(std::uint64_t value) const {
    std::ofstream(path_.string() + ".new") << value;
    std::filesystem::rename(path_.string() + ".new", path_);
  }
  std::uint64_t read() const {
    while (!std::filesystem::exists(path_)) pause();
    std::uint64_t value = 0;
    std::ifstream(path_) >> value;
    return value;
  }
  void remove() const { std::filesystem::remove(path_); }
  void wait_for_removal() const {
    while (std::filesystem::exists(path_)) pause();
  }

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  std::filesystem::path path_;
};

constexpr std::size_t kLengthOfFill = 7001;  // eager

// Sends to rank 0 until a send does not end within 0.05 s (a full socket). Returns the sends that ended; the next, if
// any, is in flight.
std::uint64_t fill(Carrier& c, const std::vector<unsigned char>& message, bool* in_flight) {
  Completion done;
  std::uint64_t sent = 0;
  for (std::size_t n = 1; n == 1 && sent < 5000; sent += n) {
    expect(c.start_send(0, 20, message.data(), message.size(), sent) == Status::ok, "start_send fails");
    static_cast<void>(c.wait_any({&done, 1}, &n, 0.05));
    *in_flight = n == 0;
  }
  return sent;
}

bool receives(Carrier& c, std::vector<unsigned char>* message, double seconds) {
  Completion done;
  std::size_t n = 0;
  expect(c.start_recv(1, 20, message->data(), message->size(), 0) == Status::ok, "start_recv fails");
  return c.wait_any({&done, 1}, &n, seconds) == Status::ok && n == 1;
}

// A message reported as sent reaches a rank that receives it later, while the sender is elsewhere: UCX holds back bytes
// of completed sends when a socket is full.
void leaves(Carrier& c) {
  const Sign told("sent");
  std::vector<unsigned char> message(kLengthOfFill, 3);
  Completion done;
  std::size_t n = 0;
  if (c.rank() == 1) {
    bool in_flight = false;
    const std::uint64_t sent = fill(c, message, &in_flight);
    told.write(2 * sent + in_flight);
    told.wait_for_removal();
    if (in_flight) expect(c.wait_any({&done, 1}, &n, 60) == Status::ok && n == 1, "the last message does not leave");
    return;
  }
  const std::uint64_t value = told.read();
  std::uint64_t got = 0;
  while (got < value / 2 && receives(c, &message, 2)) ++got;
  expect(got == value / 2, "messages that were reported as sent do not come", value / 2 - got);
  told.remove();
  if (got < value / 2) expect(c.cancel(0), "the receive cannot be withdrawn");
  if (value % 2 == 1) expect(receives(c, &message, 60), "the last message does not come");
}

// A rank's last send ends although its receiver makes no progress any more: ranks that have ended a collective need not
// answer those that have not.
void ends_alone(Carrier& c) {
  const Sign told("filled"), taken("taken");
  std::vector<unsigned char> message(kLengthOfFill, 3);
  Completion done;
  std::size_t n = 0;
  if (c.rank() == 1) {
    bool in_flight = false;
    const std::uint64_t sent = fill(c, message, &in_flight);
    told.write(sent + in_flight);
    if (in_flight) expect(c.wait_any({&done, 1}, &n, 20) == Status::ok && n == 1, "a send waits for a rank that left");
    taken.read();
    taken.remove();
    return;
  }
  const std::uint64_t messages = told.read();
  told.remove();
  for (std::uint64_t got = 0; got < messages; ++got) expect(receives(c, &message, 60), "a message does not come", got);
  taken.write(1);
  taken.wait_for_removal();
}

}  // namespace

int main() {
  setenv("UCX_RNDV_THRESH", "65536", 0);  // UCX 1.18 over TCP would end long sends before anybody takes them
  std::unique_ptr<stretto::carrier::Store> store;
  std::unique_ptr<modules::UcxWorker> worker;
  stretto::carrier::Participant me{
      "carrier", std::atoi(std::getenv("STRETTO_RANK")), std::atoi(std::getenv("STRETTO_SIZE")), "test", {}, {}};
  stretto::carrier::Session session;
  if (stretto::carrier::open_directory_store(std::getenv("STRETTO_STORE"), &store) != Status::ok ||
      modules::UcxWorker::make("", &worker) != Status::ok || worker->address(&me.address) != Status::ok ||
      stretto::carrier::meet_in(*store, me, 60, &session) != Status::ok) {
    std::fprintf(stderr, "%s\n", stretto::message());
    return 1;
  }
  worker->join(session, me.rank);
  const char* const told = std::getenv("STRETTO_CONNECTIONS");
  for (int peer = 0; peer < me.size; ++peer) {
    const auto& members = session.members;
    const bool inside = members[std::size_t(peer)].host == members[std::size_t(me.rank)].host;
    const unsigned usual = inside ? 1 : worker->connections();
    const unsigned expected = told && *told ? static_cast<unsigned>(std::atoi(told)) : usual;
    expect(worker->connections_to(peer) == expected, "other connections inside a host, or not those of the setting");
  }
  for (const unsigned channel : {1u, 0u}) {
    std::unique_ptr<Carrier> c;
    expect(modules::make_ucx_carrier(*worker, channel, worker->connections(), &c) == Status::ok, "no carrier");
    for (const std::size_t chunk : {std::size_t{64}, std::size_t{8192}, std::size_t{100000}, std::size_t{300001}}) {
      around(*c, chunk);
      exact_fit(*c, chunk);
    }
    for (const std::size_t room : {4u, 16u, 100000u}) {
      too_long(*c, room + 4, room);
      too_long(*c, 1000000, room);
    }
    for (const std::size_t bytes : {8u, 40000u, 1000000u}) of_one_tag(*c, bytes);
    withdraw(*c);
    give_up(*c);
    alarms(*c);
    expect(c->start_send(c->size(), 0, nullptr, 0, 0) == Status::invalid_argument, "a peer outside is not refused");
    expect(c->tags() == 1u << 20, "the number of tags is another", c->tags());
  }
  {
    std::unique_ptr<Carrier> c;
    expect(modules::make_ucx_carrier(*worker, 2, worker->connections(), &c) == Status::ok, "no carrier");
    if (me.rank == 0 && me.size > 1) stranger(*c, session);
    barrier(*c);
    sleep_in_waits(*c);
  }
  if (me.size == 2) {
    std::unique_ptr<Carrier> c;
    expect(modules::make_ucx_carrier(*worker, 2, worker->connections(), &c) == Status::ok, "no carrier");
    leaves(*c);
    barrier(*c);
    for (int round = 0; round < 40; ++round) ends_alone(*c);
    barrier(*c);
    one_breaks(*c);
  }
  if (me.rank == 0) stretto::carrier::clean_up(*store, session);
  return failures > 0;
}
