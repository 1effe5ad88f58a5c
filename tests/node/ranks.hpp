// Ranks as threads for the tests of the node floor: each meets the others over the threads carrier.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "carrier/threads.hpp"
#include "node/collectives/collectives.hpp"
#include "node/group/exchange.hpp"
#include "node/group/group.hpp"

namespace stretto::node {

// body(exchange) on each of p threads.
template <class Body>
void on_exchanges(int ranks, const Body& body) {
  const auto mailboxes = carrier::make_thread_group(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      const auto carrier = carrier::make_thread_carrier(mailboxes, r);
      CarrierExchange exchange(*carrier);
      body(static_cast<Exchange&>(exchange));
    });
  for (auto& t : threads) t.join();
}

// body(made) on each of p threads, which made a Group or Collectives together.
template <class Made, class OptionsOfIt, class Body>
void on_made(int ranks, const OptionsOfIt& options, const Body& body) {
  on_exchanges(ranks, [&](Exchange& exchange) {
    std::unique_ptr<Made> made;
    ASSERT_EQ(Made::create(exchange, options, &made), Status::ok) << message();
    body(*made);
    ASSERT_EQ(agree(exchange, Status::ok), Status::ok);  // nobody frees what others still read
  });
}
template <class Body>
void on_groups(int ranks, const GroupOptions& options, const Body& body) {
  on_made<Group>(ranks, options, body);
}
template <class Body>
void on_collectives(int ranks, const Options& options, const Body& body) {
  on_made<Collectives>(ranks, options, body);
}

}  // namespace stretto::node
