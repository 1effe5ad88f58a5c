// Messages by peer access alone, with both ranks on one thread: the order of completions, and detection of a rank that
// does not wait for the other.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "../engine/forwarding.hpp"
#include "backend/peer/messages.hpp"
#include "backend/peer/notes.hpp"
#include "carrier/threads.hpp"
#include "devices.hpp"

namespace stretto::tests {
namespace {

using backend::Note;
using backend::PeerMessages;
using carrier::Completion;
using carrier::DeviceTransfer;

constexpr std::size_t kCount = 5000, kBytes = kCount * sizeof(float);

// Reports each offered message as taken at once, so that its rank does not wait.
class Hasty final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t n, std::uint64_t id) noexcept override {
    Note note;
    std::memcpy(&note, data, sizeof note);
    if (note.kind == Note::offer) offered_ = note.transfer;
    return Forwarding::start_send(peer, tag, data, n, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t n, std::uint64_t id) noexcept override {
    if (std::exchange(listens_, true)) return Status::ok;  // already posted
    inbox_ = data;
    id_ = id;
    return Forwarding::start_recv(peer, tag, data, n, id);
  }
  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    if (offered_ == 0) {
      const Status s = Forwarding::wait_any(done, n, seconds);
      for (std::size_t i = 0; i < *n; ++i) listens_ = listens_ && done[i].id != id_;
      return s;
    }
    const Note taken{Note::taken, std::exchange(offered_, 0)};
    std::memcpy(inbox_, &taken, sizeof taken);
    done[0] = {id_, sizeof taken, Status::ok};
    *n = 1;
    return Status::ok;
  }

 private:
  void* inbox_ = nullptr;
  bool listens_ = false;
  std::uint64_t id_ = 0, offered_ = 0;
};

// Reports rank 0 as gone, on request.
class Parting final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  static inline bool parts = false;
  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    if (!std::exchange(parts, false)) return Forwarding::wait_any(done, n, seconds);
    static_cast<void>(cancel(0));
    done[0] = {0, 0, Status::mpi_error};
    *n = 1;
    return Status::ok;
  }
};

std::vector<float> values(float first) {
  std::vector<float> v(kCount);
  for (std::size_t i = 0; i < kCount; ++i) v[i] = first + static_cast<float>(i);
  return v;
}

// The emulated plugin with memory handles inside one process.
const device::Plugin& plugin_of_processes() {
  static const device::Plugin made = [] {
    device::Plugin p = plugin();
    p.export_memory = [](void* base, device::MemoryHandle* handle) {
      *handle = {};
      std::memcpy(handle->bytes, &base, sizeof base);
      return 0;
    };
    p.import_memory = [](const device::MemoryHandle& handle, void** base) {
      std::memcpy(base, handle.bytes, sizeof *base);
      return 0;
    };
    p.end_import = [](void*) { return 0; };
    return p;
  }();
  return made;
}

// Rank 0 sends on device 0, rank 1 receives on device 1.
struct Pair {
  std::unique_ptr<device::Device> device[2];
  std::unique_ptr<PeerMessages> messages[2];
  std::vector<Completion> ended[2];

  explicit Pair(bool hasty = false, bool processes = false, bool parting = false) {
    const auto group = carrier::make_thread_group(2);
    backend::PeerCard cards[] = {backend::peer_card(0), backend::peer_card(1)};
    if (processes) ++cards[1].process;
    for (int r = 0; r < 2; ++r) {
      EXPECT_EQ(device::Device::open(processes ? plugin_of_processes() : plugin(), r, &device[r]), Status::ok);
      const device::Device::Visit visit(*device[r]);
      std::unique_ptr<carrier::Carrier> c = carrier::make_thread_carrier(group, r);
      if (hasty && r == 0) c = std::make_unique<Hasty>(std::move(c));
      if (parting && r == 1) c = std::make_unique<Parting>(std::move(c));
      EXPECT_EQ(make_peer_messages(*device[r], cards, &c, &messages[r]), Status::ok) << message();
    }
  }
  ~Pair() {  // concurrently, since each waits for the other
    std::thread other([this] { messages[1].reset(); });
    messages[0].reset();
    other.join();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void start(int r, DeviceTransfer t) {
    const device::Device::Visit visit(*device[r]);
    t.peer = 1 - r;
    t.sends = r == 0;
    EXPECT_EQ(messages[r]->start({&t, 1}), Status::ok) << message();
  }
  void poll(int r) {
    const device::Device::Visit visit(*device[r]);
    std::array<Completion, 4> done;
    std::size_t n = 0;
    EXPECT_EQ(messages[r]->poll(done, &n), Status::ok) << message();
    ended[r].insert(ended[r].end(), done.begin(), done.begin() + static_cast<std::ptrdiff_t>(n));
  }
  void until(std::size_t sent, std::size_t received) {
    while (ended[0].size() < sent || ended[1].size() < received) {
      poll(0);
      poll(1);
    }
  }
};

// Sends, and reuses the memory at once after completion. True if anything was wrong.
bool goes_wrong(std::uint64_t seed, bool hasty) {
  emulation().reset(seed);
  const DeviceVector<float> from(0, values(1)), to(1, kCount);
  Pair pair(hasty);
  pair.start(0, {.tag = 1, .data = from.data(), .bytes = kBytes, .id = 7});
  pair.until(0, 0);
  pair.start(1, {.tag = 1, .data = to.data(), .bytes = kBytes, .id = 8});
  pair.until(1, 0);
  check(plugin().use_device(0));
  check(plugin().clear(from.data(), kBytes, pair.device[0]->stream(0)));
  static_cast<void>(from.read(pair.device[0]->stream(0)));
  pair.until(1, 1);
  const bool came = to.read(pair.device[1]->stream(0)) == values(1);
  return !came || emulation().races() > 0;
}

TEST(PeerFaults, MemoryIsUsedAgainWhenTheMessageHasBeenTaken) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_FALSE(goes_wrong(seed, false)) << emulation().first_race();
}

TEST(PeerFaults, ASenderThatDoesNotAwaitItsReceiverIsFound) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) found += goes_wrong(seed, true);
  EXPECT_GT(found, 0);
}

TEST(PeerFaults, AReceiverThatDoesNotWaitForItsCopyIsFound) {
  int found = 0, asked = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulation().reset(seed);
    const DeviceVector<float> from(0, values(1)), to(1, kCount);
    Pair pair;
    emulation().lie(1, 0);
    pair.start(0, {.tag = 1, .data = from.data(), .bytes = kBytes, .id = 7});
    pair.start(1, {.tag = 1, .data = to.data(), .bytes = kBytes, .id = 8});
    pair.until(0, 1);
    const bool came = to.read(pair.device[1]->stream(0)) == values(1);
    asked += emulation().unready(1) > 0;
    found += !came || emulation().races() > 0;
    while (pair.ended[0].empty()) {
      pair.poll(0);
      static_cast<void>(to.read());  // queries drive emulated devices
    }
  }
  EXPECT_GT(asked, 0);
  EXPECT_EQ(found, asked);
}

// Between processes the receiver's device copies messages from pools, and the sender's device copies the program's
// memory. Neither rank completes while that device is stalled.
void waits_for_who_copies(bool of_pool, int stalled) {
  SCOPED_TRACE(testing::Message() << (of_pool ? "of a pool" : "the program's") << ", device " << stalled << " stalls");
  emulation().reset(1);
  const DeviceVector<float> from(0, values(1)), to(1, kCount);
  Pair pair(false, true);
  payload::Buffer sent, received;
  ASSERT_EQ(pair.device[0]->pool(0).take(kBytes, &sent), Status::ok);
  ASSERT_EQ(pair.device[1]->pool(0).take(kBytes, &received), Status::ok);
  check(plugin().use_device(0));
  check(plugin().copy(sent.data(), from.data(), kBytes, pair.device[0]->stream(0)));
  static_cast<void>(from.read(pair.device[0]->stream(0)));
  emulation().stall(stalled);
  void* const data = of_pool ? static_cast<void*>(sent.data()) : from.data();
  pair.start(0, {.tag = 1, .data = data, .bytes = kBytes, .id = 1});
  pair.start(1, {.tag = 1, .data = received.data(), .bytes = kBytes, .id = 2});
  const bool copies = stalled == (of_pool ? 1 : 0);
  if (!copies) pair.until(1, 1);
  for (int i = 0; i < 200; ++i) {
    pair.poll(0);
    pair.poll(1);
  }
  for (const auto& ended : pair.ended) EXPECT_EQ(ended.empty(), copies);
  emulation().stall(-1);
  pair.until(1, 1);
  check(plugin().use_device(1));
  check(plugin().copy(to.data(), received.data(), kBytes, pair.device[1]->stream(0)));
  EXPECT_EQ(to.read(pair.device[1]->stream(0)), values(1));
}

TEST(PeerFaults, RanksOfProcessesWaitForWhoCopies) {
  for (const bool of_pool : {true, false})
    for (const int stalled : {0, 1}) waits_for_who_copies(of_pool, stalled);
}

// Rank 1 reads rank 0's loan by a copy on its own stream, and returns it when its device has passed the copy. Rank 0
// reuses the memory at once after completion.
enum class Fault { none, too_early };

struct Lending {
  const bool processes;
  DeviceVector<float> to{1, kCount};
  Pair pair;
  carrier::Loan loan;
  payload::Buffer sent;  // of a pool, as all loans between processes
  void* asks = nullptr;
  bool reads = false;

  explicit Lending(bool of_processes, bool parting = false) : processes(of_processes), pair(false, processes, parting) {
    const DeviceVector<float> from(0, values(1));
    EXPECT_EQ(pair.device[0]->pool(0).take(kBytes, &sent), Status::ok);
    check(plugin().use_device(0));
    check(plugin().copy(sent.data(), from.data(), kBytes, pair.device[0]->stream(0)));
    static_cast<void>(from.read(pair.device[0]->stream(0)));
    pair.start(0, {.tag = 1, .data = sent.data(), .bytes = kBytes, .id = 7});
    pair.start(1, {.tag = 1, .bytes = kBytes, .id = 8, .loan = &loan});
    pair.until(0, 1);
    check(plugin().use_device(1));
    check(plugin().create_event(&asks));
  }
  ~Lending() { static_cast<void>(plugin().destroy_event(asks)); }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

  void read(Fault fault = Fault::none) {
    const device::Device::Visit visit(*pair.device[1]);
    void* const stream = pair.device[1]->stream(0);
    EXPECT_EQ(pair.messages[1]->borrow(loan), Status::ok) << message();
    check(plugin().copy(to.data(), loan.data, kBytes, stream));
    check(plugin().record(asks, stream));
    reads = true;
    if (fault == Fault::too_early) give_back();
  }

  void give_back() {
    reads = false;
    EXPECT_EQ(pair.messages[1]->give_back(loan), Status::ok) << message();
  }

  void poll() {
    pair.poll(0);
    pair.poll(1);
    check(plugin().use_device(1));
    int over = 0;  // queries drive emulated devices
    check(plugin().is_over(asks, &over));
    if (over != 0 && reads) give_back();
  }

  // True if the data have come without unordered accesses. The emulation does not know the order between processes.
  bool ends_well() {
    while (pair.ended[0].empty()) poll();
    check(plugin().use_device(0));
    check(plugin().clear(sent.data(), kBytes, pair.device[0]->stream(0)));
    const DeviceVector<float> other(0, kCount);
    static_cast<void>(other.read(pair.device[0]->stream(0)));
    pair.until(1, 2);
    return to.read(pair.device[1]->stream(0)) == values(1) && (processes || emulation().races() == 0);
  }
};

TEST(PeerFaults, WhatIsLentIsReadWhereItLies) {
  for (const bool processes : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      emulation().reset(seed);
      Lending lending(processes);
      EXPECT_EQ(lending.loan.data, lending.sent.data());
      EXPECT_TRUE(lending.pair.ended[0].empty());
      lending.read();
      EXPECT_TRUE(lending.ends_well()) << emulation().first_race();
      EXPECT_EQ(emulation().copies(1), 1);  // the test's own
    }
  }
}

TEST(PeerFaults, WhatIsLentIsGivenBackUnread) {
  for (const bool processes : {false, true}) {
    emulation().reset(1);
    Lending lending(processes);
    EXPECT_EQ(lending.pair.messages[1]->give_back(lending.loan), Status::ok);
    lending.pair.until(1, 2);
    EXPECT_EQ(lending.pair.messages[1]->give_back(lending.loan), Status::internal);
    EXPECT_EQ(lending.pair.messages[1]->borrow(lending.loan), Status::internal);
  }
}

// The reader has no peer to notify.
TEST(PeerFaults, AReadOfWhatAPeerThatHasGoneHadLentEnds) {
  emulation().reset(1);
  Lending lending(true, true);
  lending.read();
  Parting::parts = true;
  for (int i = 0; i < 100000 && lending.pair.ended[1].size() < 2; ++i) lending.poll();
  ASSERT_EQ(lending.pair.ended[1].size(), 2u);
  EXPECT_EQ(lending.pair.ended[1][1].status, Status::ok);
}

int faults_found(bool processes, Fault fault) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulation().reset(seed);
    Lending lending(processes);
    lending.read(fault);
    found += !lending.ends_well();
  }
  return found;
}

TEST(PeerFaults, AReaderThatGivesBackTooEarlyIsFound) {
  for (const bool processes : {false, true}) EXPECT_GT(faults_found(processes, Fault::too_early), 0);
}

TEST(PeerFaults, AHostThatDoesNotWaitForItsReadIsFound) {
  for (const bool processes : {false, true}) {
    int found = 0, asked = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      emulation().reset(seed);
      Lending lending(processes);
      lending.read();
      const long before = emulation().unready(1);
      emulation().lie(1, before);
      found += !lending.ends_well();
      asked += emulation().unready(1) > before;
    }
    EXPECT_GT(asked, 0);
    EXPECT_GT(found, 0);
  }
}

// Neither rank completes while the reader's device is stalled.
TEST(PeerFaults, ASenderWaitsForTheReadersDevice) {
  for (const bool processes : {false, true}) {
    emulation().reset(1);
    Lending lending(processes);
    emulation().stall(1);
    lending.read();
    for (int i = 0; i < 200; ++i) lending.poll();
    EXPECT_TRUE(lending.pair.ended[0].empty());
    emulation().stall(-1);
    EXPECT_TRUE(lending.ends_well());
  }
}

TEST(PeerFaults, MessagesMeetByTheirTags) {
  emulation().reset(1);
  const DeviceVector<float> a(0, values(1)), b(0, values(2)), x(1, kCount), y(1, kCount);
  Pair pair;
  pair.start(0, {.tag = 1, .data = a.data(), .bytes = kBytes, .id = 1});
  pair.start(0, {.tag = 2, .data = b.data(), .bytes = kBytes, .id = 2});
  pair.start(1, {.tag = 2, .data = y.data(), .bytes = kBytes, .id = 3});
  pair.until(1, 1);
  EXPECT_EQ(pair.ended[0][0].id, 2u);
  pair.start(1, {.tag = 1, .data = x.data(), .bytes = kBytes, .id = 4});
  pair.until(2, 2);
  EXPECT_EQ(x.read(), values(1));
  EXPECT_EQ(y.read(), values(2));
}

TEST(PeerFaults, AMessageThatIsDroppedEndsWell) {
  emulation().reset(1);
  const DeviceVector<float> from(0, values(1));
  Pair pair;
  pair.start(0, {.tag = 1, .data = from.data(), .bytes = kBytes, .id = 1});
  pair.start(1, {.tag = 1, .bytes = kBytes, .id = 2});
  pair.until(1, 1);
  EXPECT_EQ(pair.ended[0][0].status, Status::ok);
  EXPECT_EQ(pair.ended[1][0].status, Status::ok);
}

TEST(PeerFaults, AMessageOfAnotherLengthIsNamed) {
  emulation().reset(1);
  const DeviceVector<float> from(0, values(1)), to(1, kCount);
  Pair pair;
  pair.start(0, {.tag = 1, .data = from.data(), .bytes = kBytes, .id = 1});
  pair.start(1, {.tag = 1, .data = to.data(), .bytes = kBytes - 4, .id = 2});
  pair.until(1, 1);
  EXPECT_EQ(pair.ended[0][0].status, Status::ok);
  EXPECT_EQ(pair.ended[1][0].status, Status::incompatible);
}

}  // namespace
}  // namespace stretto::tests
