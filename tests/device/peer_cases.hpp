// Collectives with messages between devices that reach each other's memory.
#pragma once

#include "backend/peer/messages.hpp"
#include "cases.hpp"

namespace stretto::tests {

// Messages by peer access between `ranks` threads, whose notes use their own thread group.
inline std::shared_ptr<Between> in_reach(const Case& c, int ranks) {
  std::vector<backend::PeerCard> cards;
  for (int r = 0; r < ranks; ++r) cards.push_back(backend::peer_card(c.one_device ? 0 : device_of(r)));
  return std::make_shared<Between>([group = carrier::make_thread_group(ranks), cards](int rank, device::Device& d) {
    std::unique_ptr<carrier::Carrier> notes = carrier::make_thread_carrier(group, rank);
    std::unique_ptr<backend::PeerMessages> made;
    EXPECT_EQ(make_peer_messages(d, cards, &notes, &made), Status::ok) << message();
    return made;
  });
}

// The case with messages by peer access.
inline Case over(Case c, int ranks) {
  c.between = in_reach(c, ranks);
  return c;
}

}  // namespace stretto::tests
