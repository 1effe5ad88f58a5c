// Messages to a peer begin in the order of the schedule, but for a few: some transports stop looking at a connection when many messages
// have come that nobody asked for, and what is asked for stands behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/binding.hpp"
#include "engine/run.hpp"
#include "ranks.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

// Passes everything on, and writes down the tags of what is sent to each peer.
class Listening final : public carrier::Carrier {
 public:
  using Sent = std::map<int, std::vector<std::uint64_t>>;
  Listening(std::unique_ptr<carrier::Carrier> inner, Sent* sent) : inner_(std::move(inner)), sent_(sent) {}

  const char* name() const noexcept override { return "listening"; }
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::uint64_t tags() const noexcept override { return inner_->tags(); }
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    (*sent_)[peer].push_back(tag);
    return inner_->start_send(peer, tag, data, bytes, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return inner_->start_recv(peer, tag, data, capacity, id);
  }
  Status wait_any(std::span<carrier::Completion> done, std::size_t* n, double seconds) noexcept override {
    return inner_->wait_any(done, n, seconds);
  }
  bool cancel(std::uint64_t id) noexcept override { return inner_->cancel(id); }
  void raise(const carrier::Alarm& alarm) noexcept override { inner_->raise(alarm); }
  bool hear(carrier::Alarm* alarm) noexcept override { return inner_->hear(alarm); }

 private:
  std::unique_ptr<carrier::Carrier> inner_;
  Sent* sent_;
};

// Of messages numbered by their tags: how many had been sent at most while an earlier one had not.
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
      [&](int rank, engine::Engine& engine) {
        std::vector<float> in(400000), out(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i) * 0.01F);
        schedule::Request request;
        request.collective = collective;
        request.ranks = ranks;
        request.rank = rank;
        engine::Call call;
        call.schedule = std::make_shared<schedule::Schedule>(schedule::find(collective, algorithm)->build(request));
        call.payload.kind = kind;
        call.payload.eps = 1e-3;
        call.options.segment_bytes = 1024;
        call.options.timeout = 60;
        engine::Arguments arguments;
        arguments.in = in.data();
        arguments.out = collective == schedule::Collective::broadcast ? in.data() : out.data();
        arguments.count = in.size();
        ASSERT_EQ(engine::bind(*call.schedule, payload::Type::f32, arguments, &call.blocks), Status::ok) << message();
        ASSERT_EQ(engine.run(call), Status::ok) << message();
      },
      [&](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Listening>(std::move(c), &sent[static_cast<std::size_t>(rank)]);
      });
  std::size_t messages = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const auto& [peer, tags] : sent[static_cast<std::size_t>(rank)]) {
      EXPECT_LE(furthest_ahead(tags), engine::most_ahead) << algorithm << ", rank " << rank << " to " << peer;
      messages = std::max(messages, tags.size());
    }
  }
  EXPECT_GT(messages, 2 * engine::most_ahead) << "too few messages to say anything";
}

TEST(SendOrder, NoMessageRunsFarAheadOfTheSchedule) {
  for (const int ranks : {4, 5}) {
    for (const payload::Kind kind : {payload::Kind::raw, payload::Kind::fused}) {
      for (const char* algorithm : {"ring", "recursive_doubling", "rabenseifner", "two_tree"})
        sum_or_spread(schedule::Collective::allreduce, algorithm, kind, ranks);
      for (const char* algorithm : {"scatter_allgather", "binomial", "two_tree"})
        sum_or_spread(schedule::Collective::broadcast, algorithm, kind, ranks);
    }
  }
}

}  // namespace
}  // namespace stretto::tests
