// Messages to a peer begin nearly in the order of the schedule: some transports stop reading a connection after many
// unexpected messages, with the expected message behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cases/calls.hpp"
#include "engine/run/units.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"

namespace stretto::tests {
namespace {

// Forwards everything, and records the tags of the messages sent to each peer.
class Listening final : public Forwarding {
 public:
  using Sent = std::map<int, std::vector<std::uint64_t>>;
  Listening(std::unique_ptr<carrier::Carrier> inner, Sent* sent) : Forwarding(std::move(inner)), sent_(sent) {}

  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    (*sent_)[peer].push_back(tag);
    return Forwarding::start_send(peer, tag, data, bytes, id);
  }

 private:
  Sent* sent_;
};

// Tags number the messages: the largest number that had been sent before an earlier message.
std::size_t furthest_ahead(const std::vector<std::uint64_t>& tags) {
  std::set<std::uint64_t> missing(tags.begin(), tags.end());
  std::size_t most = 0, sent = 0;
  for (const std::uint64_t tag : tags) {
    missing.erase(tag);
    ++sent;
    const std::uint64_t least = missing.empty() ? ~std::uint64_t{0} : *missing.begin();
    const auto before = static_cast<std::size_t>(std::count_if(
        tags.begin(), tags.begin() + static_cast<std::ptrdiff_t>(sent), [&](auto t) { return t < least; }));
    most = std::max(most, sent - before);
  }
  return most;
}

void sum_or_spread(schedule::Collective collective, const char* algorithm, payload::Kind kind, int ranks) {
  std::vector<Listening::Sent> sent(static_cast<std::size_t>(ranks));
  on_ranks(
      ranks,
      [&](int, engine::Engine& engine) {
        auto in = numbers(400000), out = in;
        engine::Work call =
            call_of(engine, collective, algorithm, kind, in, collective == schedule::Collective::bcast ? in : out);
        call.options.segment_bytes = 1024;
        ASSERT_EQ(engine.run(call), Status::ok) << message();
      },
      [&](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Listening>(std::move(c), &sent[static_cast<std::size_t>(rank)]);
      });
  std::size_t messages = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const auto& [peer, tags] : sent[static_cast<std::size_t>(rank)]) {
      EXPECT_LE(furthest_ahead(tags), engine::kMostAhead) << algorithm << ", rank " << rank << " to " << peer;
      messages = std::max(messages, tags.size());
    }
  }
  EXPECT_GT(messages, 2 * engine::kMostAhead) << "too few messages to say anything";
}

TEST(SendOrder, NoMessageRunsFarAheadOfTheSchedule) {
  for (const int ranks : {4, 5}) {
    for (const payload::Kind kind : {payload::Kind::raw, payload::Kind::fused}) {
      for (const char* algorithm : {"ring", "recursive_doubling", "rabenseifner", "two_tree"})
        sum_or_spread(schedule::Collective::allreduce, algorithm, kind, ranks);
      for (const char* algorithm : {"scatter_allgather", "binomial", "two_tree"})
        sum_or_spread(schedule::Collective::bcast, algorithm, kind, ranks);
    }
  }
}

}  // namespace
}  // namespace stretto::tests
